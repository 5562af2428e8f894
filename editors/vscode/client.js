// Starts `rx lsp` and says what to do where it cannot be started.

const { spawn } = require("child_process");
const fs = require("fs");
const vscode = require("vscode");
const { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn, State } = require("vscode-languageclient/node");

let client;

function settings() {
  const rx = vscode.workspace.getConfiguration("rx");
  return {
    strict: rx.get("strict"),
    roots: rx.get("roots"),
    hints: { shapes: rx.get("hints.shapes"), sizes: rx.get("hints.sizes"), checks: rx.get("hints.checks") },
    refresh: true,
  };
}

function start(context) {
  const rx = vscode.workspace.getConfiguration("rx");
  const command = rx.get("path") || "rx";
  const log = rx.get("log");
  const server = () => launched(command, log ? ["lsp", "--log", log] : ["lsp"], early);
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.{rx,onnx,safetensors,npy,npz}");
  context.subscriptions.push(watcher);
  const started = new LanguageClient("rx", "Rx", server, {
    documentSelector: [{ language: "rx" }],
    initializationOptions: settings(),
    synchronize: { fileEvents: watcher },
    middleware: { workspace: { configuration: (asked) => asked.items.map(() => settings()) } },
    // The library's own words about a server that does not come up; `missing` has better ones.
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationFailedHandler: () => false,
    errorHandler: {
      error: (...problem) => (answered() ? afterwards.error(...problem) : { action: ErrorAction.Continue, handled: true }),
      closed: () => (answered() ? afterwards.closed() : { action: CloseAction.DoNotRestart, handled: true }),
    },
  });
  const afterwards = started.createDefaultErrorHandler();
  const answered = () => started.initializeResult !== undefined;
  // A server that ends before it has answered would do so again, and says why on its standard error.
  function early(said) {
    if (!answered() && client === started) missing(context, command, said.trim() || "it ended at once");
  }
  client = started;
  // What fails is told by `early`, and the promise of a server that ends at once stays open.
  started.start().catch((problem) => console.error(`Rx: ${problem}`));
}

/** The server's process once it runs; what it said is told to `ended`, also where it cannot run. */
function launched(command, args, ended) {
  return new Promise((runs, fails) => {
    const child = spawn(command, args, { cwd: folder() });
    let said = "";
    child.stderr.on("data", (chunk) => (said = (said + chunk).slice(-500)));
    child.stderr.once("close", () => ended(said));
    child.once("spawn", () => runs(child));
    child.once("error", (problem) => {
      said = problem.message;
      fails(problem);
    });
  });
}

function folder() {
  const folders = vscode.workspace.workspaceFolders;
  const path = folders && folders.length ? folders[0].uri.fsPath : undefined;
  return path && fs.existsSync(path) ? path : undefined;
}

async function missing(context, command, problem) {
  const text =
    `Rx: \`${command} lsp\` cannot be started (${problem}). ` +
    "It needs Python 3.11 or newer: pip install 'rxlang[lsp]', then set rx.path if it is not on the path.";
  const settingsButton = "Open settings";
  const again = "Try again";
  const chosen = await vscode.window.showErrorMessage(text, settingsButton, again);
  if (chosen === settingsButton) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "rx.path");
  } else if (chosen === again) {
    await restart(context);
  }
}

async function restart(context) {
  if (client) {
    const old = client;
    client = undefined;
    if (old.state !== State.Stopped) {
      await old.stop().catch(() => undefined);
    }
  }
  start(context);
}

exports.activate = async function (context) {
  context.subscriptions.push(vscode.commands.registerCommand("rx.restart", () => restart(context)));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("rx.path") || event.affectsConfiguration("rx.log")) {
        restart(context);
      }
    })
  );
  context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(() => restart(context)));
  start(context);
};

exports.deactivate = function () {
  return client ? client.stop() : undefined;
};
