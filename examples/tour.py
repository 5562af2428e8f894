"""The tour of `make demo`: each example as a command, its output below it; the last ones hear speech and embed sentences."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"
COMMANDS = {"rx": [sys.executable, "-m", "rxlang"], "python": [sys.executable]}

# What is shown, the command, and the exit status that it has to end with.
STEPS = (
    (
        "A function whose type says which shapes fit: checked once, for all sizes. What is left to check are its arguments,"
        "\n# where it is called from outside: on entry",
        "rx check examples/ff.rx",
        0,
    ),
    ("The same function, run on 2 rows of 8", "rx run examples/ff.rx --call @ff --arg x=int8[2,8]:arange", 0),
    ("A call that can never work is found before anything runs", "rx check examples/ff_wrong.rx", 1),
    ("A two-layer perceptron that computes exclusive or", "rx run examples/mlp.rx", 0),
    (
        "A gated feed-forward block against NumPy's results, of many lengths",
        "python examples/ffn/run.py",
        0,
    ),
    (
        "A language model whose heads share keys and values, with two kinds of caches, against NumPy's results",
        "python examples/decoder/run.py",
        0,
    ),
)
# Those that need trained weights: what each is called, the file, and the step.
TRAINED = (
    (
        "voice activity detector",
        CACHE / "vad" / "vad.npz",
        (
            "A trained voice activity detector, written in Rx: a loop carries what it remembers through a minute of sound",
            "python examples/vad/listen.py",
            0,
        ),
    ),
    (
        "voice activity detector's model file",
        CACHE / "vad" / "silero_vad_16k_op15.onnx",
        (
            "The same detector as its authors exported it: what the ONNX model demands of its inputs, and which node says so",
            "rx check .cache/vad/silero_vad_16k_op15.onnx",
            0,
        ),
    ),
    (
        "sentence encoder",
        CACHE / "minilm" / "model.safetensors",
        (
            "A trained sentence encoder, all-MiniLM-L6-v2, written in Rx: how alike are five sentences?",
            "python examples/minilm/embed.py",
            0,
        ),
    ),
)

YOUR_TURN = """
# Your turn: the command `rx` is {rx}
$ {rx} --help
$ {rx} check examples/ff.rx
docs/tutorial.md goes on from here, from nothing to a checked attention block in ten minutes."""


def show(title: str, command: str, expected: int) -> bool:
    """Run one command and show what it prints; False if it did not end as expected."""
    print(f"\n# {title}\n$ {command}", flush=True)
    program, *arguments = shlex.split(command)
    done = subprocess.run([*COMMANDS[program], *arguments], cwd=ROOT, stderr=subprocess.STDOUT)
    if done.returncode != expected:
        print(f"ended with status {done.returncode} instead of {expected}")
    return done.returncode == expected


def main() -> int:
    steps = (*STEPS, *(step for _, weights, step in TRAINED if weights.is_file()))
    fine = [show(*step) for step in steps]
    for name, weights, _ in TRAINED:
        if not weights.is_file():
            print(f"\nThe {name} was left out: its weights could not be downloaded (`make weights` tries again).")
    print(YOUR_TURN.format(rx=rx()), flush=True)
    return int(not all(fine))


def rx() -> str:
    """The command as it is called from the project's folder."""
    command = Path(sys.executable).with_name("rx")
    return str(command.relative_to(ROOT) if command.is_relative_to(ROOT) else command)


if __name__ == "__main__":
    sys.exit(main())
