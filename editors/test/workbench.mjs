// A real VS Code: code-server's workbench in a headless Chromium, with the extension and nothing of the network.

import { spawn, execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const HERE = path.dirname(fileURLToPath(import.meta.url));
export const ROOT = path.resolve(HERE, "../..");
export const RX = path.join(ROOT, ".venv/bin/rx");
export const PATIENCE = 120000;
const CODE = path.join(HERE, "node_modules/code-server/lib/vscode");
const SERVER = path.join(CODE, "out/server-main.js");
const VSIX = path.join(ROOT, "editors/vscode/rxlang.vsix");

// What a user would switch off by hand: what covers the text, asks for the network, or moves.
const QUIET = {
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "workbench.enableExperiments": false,
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.commandCenter.enabled": false,
  "security.workspace.trust.enabled": false,
  "git.enabled": false,
  "editor.minimap.enabled": false,
  "editor.cursorBlinking": "solid",
};

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

export const browser = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost"],
  });

/** Gives `scenario` an empty folder `home`, and `open`, which opens files with the extension and these settings; the first
 * file is shown. What was opened is gone afterwards. */
export async function workbench(chrome, scenario) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "rx-workbench-"));
  const ends = [];
  const open = async (files, settings = {}, look = { viewport: { width: 1000, height: 640 } }) => {
    const folder = path.join(home, "work");
    write(folder, files);
    write(home, { "user/User/settings.json": JSON.stringify({ ...QUIET, "rx.path": RX, ...settings }) });
    const server = await serve(home);
    ends.push(() => server.process.kill());
    const page = await chrome.newPage(look);
    ends.push(() => page.close());
    page.setDefaultTimeout(PATIENCE);
    const first = `vscode-remote://${new URL(server.url).host}${folder}/${Object.keys(files)[0]}`;
    const query = new URLSearchParams({ folder, payload: JSON.stringify([["openFile", first]]) });
    await page.goto(`${server.url}&${query}`, { waitUntil: "commit" });
    await page.waitForSelector(".view-line");
    return { page, folder };
  };
  open.script = (name, text) => {
    fs.writeFileSync(path.join(home, name), text, { mode: 0o755 });
    return path.join(home, name);
  };
  try {
    await scenario({ open, home });
  } finally {
    for (const end of ends.reverse()) await end();
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
}

/** Waits until a function says yes in the page; where it does not, a picture of the page stays. */
export async function shown(page, what, found, argument) {
  try {
    await page.waitForFunction(found, argument, { polling: 200, timeout: PATIENCE });
  } catch (problem) {
    const picture = path.join(os.tmpdir(), "rx-workbench.png");
    await page.screenshot({ path: picture });
    throw new Error(`VS Code does not show ${what}: ${picture}`, { cause: problem });
  }
  console.log(`ok: ${what}`);
}

/** In the page: whether a line of the editor, with its hints, has this text. */
export function hasText(part) {
  const lines = [...document.querySelectorAll(".view-line")].map((line) => line.textContent.replaceAll("\u00a0", " "));
  return lines.some((line) => line.includes(part));
}

function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
}

async function serve(home) {
  // The client asks for some packages below its own folder; npm has put them beside it.
  const packages = path.join(CODE, "node_modules");
  if (!fs.existsSync(packages)) fs.symlinkSync(path.join(HERE, "node_modules"), packages);
  const where = ["--server-data-dir", `${home}/server`, "--user-data-dir", `${home}/user`];
  where.push("--extensions-dir", `${home}/extensions`);
  execFileSync("node", [SERVER, ...where, "--install-extension", VSIX], { stdio: "pipe" });
  const options = ["--host", "localhost", "--port", "0", "--accept-server-license-terms", "--telemetry-level", "off"];
  const child = spawn("node", [SERVER, ...where, ...options]);
  process.once("exit", () => child.kill());
  const url = await new Promise((found, failed) => {
    let said = "";
    const read = (chunk) => {
      said += chunk;
      const at = said.match(/Web UI available at (\S+)/);
      if (at) found(at[1]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", () => failed(new Error(`the server of VS Code ended: ${said}`)));
  });
  return { process: child, url };
}
