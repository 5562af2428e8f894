// The pictures of docs/, taken of what they show: node pictures.mjs FOLDER, the browser in $CHROMIUM.

import fs from "node:fs";
import path from "node:path";
import { ROOT, browser, hasText, shown, workbench } from "./workbench.mjs";

const INTO = process.argv[2];
const SHARP = 1.5;
const HEADS = `# Each of h heads looks at its own part of a row.

@heads = fn(x : Tensor([n, h * 64], float32), w : Tensor([128, 64], float32)) {
  let split = @reshape(x, [n, h, 64])
  let turned = @permute_dims(split, [1, 0, 2])
  @matmul(turned, w)
}
`;
const BARE = {
  "workbench.activityBar.location": "hidden",
  "workbench.sideBar.location": "right",
  "workbench.editor.showTabs": "none",
  "breadcrumbs.enabled": false,
  "editor.lineNumbersMinChars": 3,
  "editor.scrollbar.vertical": "hidden",
  "editor.overviewRulerBorder": false,
  "editor.scrollBeyondLastLine": false,
  "editor.fontSize": 13,
};

const picture = (name) => path.join(INTO, `${name}.png`);

async function editor({ open }) {
  const look = { viewport: { width: 950, height: 420 }, deviceScaleFactor: SHARP };
  const { page } = await open({ "heads.rx": HEADS }, BARE, look);
  await page.keyboard.press("Control+B");
  await shown(page, "the squiggle", () => document.querySelector(".squiggly-error") !== null);
  await shown(page, "the hints", hasText, ": Tensor([h, n, 64], float32)");
  await page.keyboard.press("F8");
  await shown(page, "the problem", () => document.querySelector(".marker-widget") !== null);
  await page.waitForTimeout(1000);
  await taken(page, "vscode", 298);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+.");
  await shown(page, "the quick fixes", () => document.querySelector(".action-widget")?.innerText.includes("Quick Fix"));
  await page.waitForTimeout(1000);
  await taken(page, "vscode-quick-fix", 220);
}

/** The upper part of the editor. */
async function taken(page, name, height) {
  const { x, y, width } = await page.locator(".part.editor").boundingBox();
  await page.screenshot({ path: picture(name), clip: { x, y, width, height } });
}

/** The cells of docs/notebook.ipynb that a program with a mistake makes, on a page like Jupyter's. */
async function notebook() {
  const { cells } = JSON.parse(fs.readFileSync(path.join(ROOT, "docs/notebook.ipynb"), "utf8"));
  const cell = cells.find((c) => c.source[0].startsWith("%%rx wrong"));
  const source = cell.source.join("").replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const html = cell.outputs.map((o) => o.data["text/html"].join("")).join("");
  const style = "body{width:840px;margin:0;padding:12px;box-sizing:border-box;font:13px monospace}";
  const code = "pre.code{margin:0 0 8px;padding:8px;background:#8882;font:13px monospace}";
  for (const colorScheme of ["light", "dark"]) {
    const page = await chrome.newPage({ colorScheme, deviceScaleFactor: SHARP, viewport: { width: 840, height: 200 } });
    const look = `<meta name="color-scheme" content="light dark"><style>${style}${code}</style>`;
    await page.setContent(`${look}<pre class="code">${source}</pre>${html}`);
    await page.locator("body").screenshot({ path: picture(`notebook-${colorScheme}`) });
    await page.close();
  }
}

fs.mkdirSync(INTO, { recursive: true });
const chrome = await browser();
try {
  await notebook();
  await workbench(chrome, editor);
} finally {
  await chrome.close();
}
