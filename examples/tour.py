"""The tour of `make demo`: each example as a command, its output below it; the last ones hear speech and embed sentences."""

from __future__ import annotations

import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"
COMMANDS = {"rx": [sys.executable, "-m", "rxlang"], "python": [sys.executable]}

# What is shown, the command, and the exit status that it has to end with.
FIRST = (
    ("Attention, checked once for all sizes", "rx check examples/attention.rx", 0),
    (
        "The mistake that everybody makes once: `k` is not transposed. With --strict it is an error",
        "rx check --strict examples/attention_wrong.rx",
        1,
    ),
    (
        "The right one, run",
        "rx run examples/attention.rx --call @attention --arg q=float32[1,2,3]:ones --arg k=float32[1,5,3]:ones "
        "--arg v=float32[1,5,3]:arange",
        0,
    ),
    ("An ONNX model: which sizes it accepts, and which node says so", "rx check examples/exported/gpt.onnx", 0),
)
PYTHON = (
    "The same model in Python as it stands: which line of it says so",
    'rx check examples/exported/model.py:GPT --arg "ids=int64[batch, time]"',
    0,
)
LARGER = (
    (
        "A language model whose heads share keys and values, with two kinds of caches, against NumPy's results",
        "python examples/decoder/run.py",
        0,
    ),
)
# Those that need trained weights: what each is called, its folder, the file, and the steps.
TRAINED = (
    (
        "voice activity detector",
        "vad",
        CACHE / "vad" / "silero_vad_16k_op15.onnx",
        (
            (
                "A trained voice activity detector, written in Rx: a loop carries what it remembers through a minute of sound",
                "python examples/vad/listen.py",
                0,
            ),
            (
                "The same detector as its authors exported it: what the ONNX model demands of its inputs",
                "rx check .cache/vad/silero_vad_16k_op15.onnx",
                0,
            ),
        ),
    ),
    (
        "sentence encoder",
        "minilm",
        CACHE / "minilm" / "model.safetensors",
        (
            (
                "A trained sentence encoder, all-MiniLM-L6-v2, written in Rx: how alike are five sentences?",
                "python examples/minilm/embed.py",
                0,
            ),
        ),
    ),
)

YOUR_TURN = """
# Your turn: the command `rx` is {rx}
$ {rx} --help
$ {rx} check examples/attention_wrong.rx --fix
An ONNX file or a PyTorch model of yours: docs/existing-project.md. The language: docs/tutorial.md, ten minutes."""


def show(title: str, command: str, expected: int) -> bool:
    """Run one command and show what it prints; False if it did not end as expected."""
    print(f"\n# {title}\n$ {command}", flush=True)
    program, *arguments = shlex.split(command)
    done = subprocess.run([*COMMANDS[program], *arguments], cwd=ROOT, stderr=subprocess.STDOUT)
    if done.returncode != expected:
        print(f"ended with status {done.returncode} instead of {expected}")
    return done.returncode == expected


def main() -> int:
    fine = [show(*step) for step in FIRST]
    if find_spec("torch"):
        fine.append(show(*PYTHON))
    else:
        print("\n(The same model in Python is left out: PyTorch is not installed; pip install -e '.[torch]' has it.)")
    fine += [show(*step) for step in LARGER]
    for name, example, weights, steps in TRAINED:
        if fetched(example, weights):
            fine += [show(*step) for step in steps]
        else:
            print(f"\nThe {name} was left out: it could not be downloaded (`make demo` tries again).")
    print(YOUR_TURN.format(rx=rx()), flush=True)
    return int(not all(fine))


def fetched(example: str, weights: Path) -> bool:
    """Whether the weights of an example are there, and what else it needs; both are downloaded when its turn comes."""
    if not weights.is_file():
        print(flush=True)
        subprocess.run([sys.executable, "examples/fetch.py", example], cwd=ROOT)
    if weights.is_file() and example == "minilm" and not find_spec("tokenizers"):
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check"]
        return subprocess.run([*pip, "tokenizers>=0.20"]).returncode == 0
    return weights.is_file()


def rx() -> str:
    """The command as it is called from the project's folder."""
    command = Path(sys.executable).with_name("rx")
    return str(command.relative_to(ROOT) if command.is_relative_to(ROOT) else command)


if __name__ == "__main__":
    sys.exit(main())
