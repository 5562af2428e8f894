// The extension in a real VS Code, as somebody meets it who has just installed it: node vscode.mjs, the browser in $CHROMIUM.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { RX, browser, hasText, shown, workbench } from "./workbench.mjs";

const WRONG = `# Both have rows of 3.
@wrong = fn(x : Tensor([n, 3], float32), w : Tensor([5, 3], float32)) : Tensor([n, 5], float32) {
  let y = @relu(x)
  @matmul(y, w)
}
`;
const OPEN = `import "../lib/rows.rx" as lib

@open = fn(x : Tensor([n, m], float32), y : Tensor([m, k], float32)) : Tensor([n, m], float32) {
  let z = @lib.rows(x)
  z + y
}
`;
const ROWS = "@rows = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) {\n  @relu(x)\n}\n";

const script = (...lines) => ["#!/bin/sh", ...lines, ""].join("\n");

/** Colours, squiggle, hint and problem of a wrong program; its fix by the keyboard; the server again after a crash. */
async function wrongProgram({ open, home }) {
  const starts = `${home}/starts`;
  const rx = open.script("rx", script(`echo $$ >> ${starts}`, `exec ${RX} "$@"`));
  const { page, folder } = await open({ "wrong.rx": WRONG }, { "rx.path": rx });
  await shown(page, "the squiggle", () => document.querySelector(".squiggly-error") !== null);
  await shown(page, "the hint", hasText, "let y : Tensor([n, 3], float32)");
  await shown(page, "the colours", coloursDiffer, ["let", "float32", "# Both have rows of 3.", "x"]);

  await page.keyboard.press("Control+Shift+M");
  await shown(page, "the problem", listed, "E305");
  await page.keyboard.press("Control+Shift+M");
  await page.keyboard.press("Control+1");

  await page.keyboard.press("F8");
  await shown(page, "the problem in the text", () => document.querySelector(".marker-widget") !== null);
  await page.keyboard.press("Control+.");
  await shown(page, "the quick fixes", () => document.querySelector(".action-widget")?.innerText.includes("ranspose"));
  await page.keyboard.press("Enter");
  await shown(page, "the fix", hasText, "@matmul(y, @matrix_transpose(w))");
  await shown(page, "nothing wrong", () => document.querySelector(".squiggly-error") === null);
  await page.keyboard.press("Control+S");
  await eventually("the fixed file", () => fs.readFileSync(`${folder}/wrong.rx`, "utf8").includes("@matrix_transpose"));
  execFileSync(RX, ["check", "--no-cache", `${folder}/wrong.rx`]);

  const pids = () => fs.readFileSync(starts, "utf8").trim().split("\n");
  process.kill(Number(pids()[0]), "SIGKILL");
  await eventually("a second server", () => pids().length === 2);
  await page.keyboard.press("Control+Z");
  await shown(page, "the squiggle after a crash", () => document.querySelector(".squiggly-error") !== null);
}

/** What is said where \`rx\` is not there, and where it is without its extra. */
async function missing({ open }) {
  const { page } = await open({ "wrong.rx": WRONG }, { "rx.path": "/nowhere/rx" });
  await shown(page, "what is missing", notified, ["/nowhere/rx", "pip install 'rxlang[lsp]'", "Open settings"]);
}

async function withoutExtra({ open }) {
  const rx = open.script("rx", script("echo 'rx: this one has no pygls' >&2", "exit 2"));
  const { page } = await open({ "wrong.rx": WRONG }, { "rx.path": rx });
  await shown(page, "what is missing", notified, ["this one has no pygls", "pip install 'rxlang[lsp]'"]);
}

/** A folder that is not trusted does not say what is started. */
async function restricted({ open, home }) {
  const evil = open.script("evil", script(`touch ${home}/was-run`, `exec ${RX} "$@"`));
  const files = { "wrong.rx": WRONG, ".vscode/settings.json": JSON.stringify({ "rx.path": evil }) };
  const trust = { "security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never" };
  const { page } = await open(files, trust);
  await shown(page, "the restricted mode", () => document.body.innerText.includes("Restricted Mode"));
  await shown(page, "the squiggle", () => document.querySelector(".squiggly-error") !== null);
  assert(!fs.existsSync(`${home}/was-run`), "what the folder named was started");
}

/** Each setting does what it says. */
async function settings({ open, home }) {
  fs.mkdirSync(`${home}/lib`);
  fs.writeFileSync(`${home}/lib/rows.rx`, ROWS);
  const wanted = { "rx.strict": true, "rx.hints.shapes": false, "rx.roots": [`${home}/lib`], "rx.log": `${home}/log` };
  const { page } = await open({ "open.rx": OPEN }, wanted);
  await shown(page, "an error for what stays open", () => document.querySelector(".squiggly-error") !== null);
  await page.keyboard.press("Control+Shift+M");
  await shown(page, "the problem", listed, "W311");
  const said = await page.locator(".markers-panel").innerText();
  assert.equal(said.match(/\b[EW]\d\d\d\b/g).length, 1, `more than one problem: ${said}`);
  assert(!(await page.evaluate(hasText, "let z :")), "a hint that is switched off");
  assert(fs.readFileSync(`${home}/log`, "utf8").includes("textDocument/didOpen"), "the log does not say what was asked");
}

// These run in the page.

function listed(code) {
  return document.querySelector(".markers-panel")?.innerText.includes(code);
}

function coloursDiffer(words) {
  const tokens = [...document.querySelectorAll(".view-line span span")];
  const token = (word) => tokens.find((t) => t.textContent.replaceAll("\u00a0", " ").trim() === word);
  const colours = words.map(token).filter(Boolean).map((found) => getComputedStyle(found).color);
  return new Set(colours).size === words.length;
}

function notified(parts) {
  const said = [...document.querySelectorAll(".notification-toast")].map((toast) => toast.innerText);
  return said.some((text) => parts.every((part) => text.includes(part)));
}

async function eventually(what, found) {
  for (let i = 0; i < 600; i++) {
    if (found()) return console.log(`ok: ${what}`);
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`VS Code does not show ${what}`);
}

const chrome = await browser();
try {
  const wanted = process.argv.slice(2);
  for (const scenario of [wrongProgram, missing, withoutExtra, restricted, settings]) {
    if (wanted.length && !wanted.includes(scenario.name)) continue;
    console.log(`VS Code: ${scenario.name}`);
    await workbench(chrome, scenario);
  }
} finally {
  await chrome.close();
}
