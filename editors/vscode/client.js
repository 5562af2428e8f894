// Starts `rx lsp` and says what to do where it cannot be started.

const fs = require("fs");
const vscode = require("vscode");
const { LanguageClient, State } = require("vscode-languageclient/node");

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

async function start(context) {
  const rx = vscode.workspace.getConfiguration("rx");
  const command = rx.get("path") || "rx";
  const log = rx.get("log");
  const server = { command, args: log ? ["lsp", "--log", log] : ["lsp"], options: { cwd: folder() } };
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.{rx,onnx,safetensors,npy,npz}");
  context.subscriptions.push(watcher);
  client = new LanguageClient("rx", "Rx", server, {
    documentSelector: [{ language: "rx" }],
    initializationOptions: settings(),
    synchronize: { fileEvents: watcher },
    middleware: { workspace: { configuration: (asked) => asked.items.map(() => settings()) } },
  });
  try {
    await client.start();
  } catch (problem) {
    await missing(context, command, problem);
  }
}

function folder() {
  const folders = vscode.workspace.workspaceFolders;
  const path = folders && folders.length ? folders[0].uri.fsPath : undefined;
  return path && fs.existsSync(path) ? path : undefined;
}

async function missing(context, command, problem) {
  const text =
    `Rx: \`${command} lsp\` cannot be started (${problem.message || problem}). ` +
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
  await start(context);
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
  await start(context);
};

exports.deactivate = function () {
  return client ? client.stop() : undefined;
};
