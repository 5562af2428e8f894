"""How long an editor waits: 1,000 keystrokes in the sentence encoder, and in a file of 2,000 lines.

    python benchmarks/editor.py [KEYSTROKES]

A keystroke is one character more or less in a place where somebody writes: a name, a call that is begun and taken back. Told
is how long it takes from the change to the diagnostics of the item that was changed; to those of all that uses a changed
signature; and a completion at the place. At the end what the process holds, after the first hundred keystrokes, after all, and
after the signatures, once and again: Python's arenas grow until the largest check has room, and then stay as they are.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rxlang.editor.analysis import Analyst, Settings
from rxlang.editor.completion import completions, warm
from rxlang.lang.source import Source
from rxlang.pipeline import check_source

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = Settings()
TYPED = ("y", "ye", "yes", "ye", "y", "", "@", "@r", "@re", "@relu", "@relu(", "@relu(x", "@relu(x)", "")


def large(lines: int) -> str:
    """Functions of 10 to 100 lines that call each other."""
    chance, parts, length = random.Random(1), list[str](), 0
    while length < lines:
        body, name = chance.randint(6, 96), len(parts)
        called = f"@f{chance.randrange(name)}(x, w)" if name else "x + x"
        steps = [f"  let y{i} = {chance.choice(STEPS).format(y=f'y{i - 1}')}" for i in range(1, body)]
        head = f"@f{name} = fn(x : Tensor([n, m], float32), w : Tensor([m, m], float32)) : Tensor([n, m], float32) {{"
        parts.append("\n".join((head, f"  let y0 = {called}", *steps, f"  y{body - 1}", "}\n")))
        length += body + 4
    return "\n".join(parts)


STEPS = ("@relu({y})", "@matmul({y}, w)", "{y} + x", "@softmax({y}, axis=-1)", "@reshape({y}, [n, m])", "{y} * 2.0")


def edits(text: str, keystrokes: int) -> Iterator[tuple[str, int]]:
    """Texts one after the other, and where the cursor stands."""
    chance, lets = random.Random(2), [i + 6 for i in range(len(text)) if text.startswith("  let ", i)]
    made = 0
    while made < keystrokes:
        at = chance.choice(lets)
        for typed in TYPED:
            yield text[:at] + typed + text[at:], at + len(typed)
            made += 1


def signatures(text: str, keystrokes: int) -> Iterator[str]:
    """A condition is added to a signature and taken away."""
    chance, places = random.Random(3), [i for i in range(len(text)) if text.startswith(" {\n  let", i)]
    for _ in range(keystrokes // 2):
        at = chance.choice(places)
        more = " where n >= 0" if "where" not in text[text.rfind("fn(", 0, at) : at] else ", 0 <= 1"
        yield text[:at] + more + text[at:]
        yield text


def told(analyst: Analyst, path: Path, text: str, *, everything: bool) -> float:
    began = time.perf_counter()
    analyst.edit(path, text)
    steps = analyst.steps(path, SETTINGS)
    found = next(steps)
    found.diagnostics  # noqa: B018
    taken = time.perf_counter() - began
    for further in steps:
        found = further
    found.diagnostics  # noqa: B018
    return time.perf_counter() - began if everything else taken


def whole(path: Path, text: str) -> float:
    began = time.perf_counter()
    check_source(Source(str(path), text), path.parent)
    return time.perf_counter() - began


def completed(analyst: Analyst, path: Path, at: int) -> float:
    began = time.perf_counter()
    completions(analyst.known(path, SETTINGS), at)
    return time.perf_counter() - began


def said(what: str, times: list[float]) -> None:
    times.sort()
    middle, most = times[len(times) // 2], times[min(len(times) * 95 // 100, len(times) - 1)]
    print(f"  {what:<34} median {middle * 1e3:6.1f} ms   p95 {most * 1e3:6.1f} ms   max {times[-1] * 1e3:6.1f} ms")


def megabytes() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(name: str, path: Path, text: str, keystrokes: int) -> None:
    analyst = Analyst()
    print(
        f"{name}: {len(text.splitlines())} lines, opened in {told(analyst, path, text, everything=True) * 1e3:.0f} ms"
    )
    items, completing, held = list[float](), list[float](), 0.0
    for number, (now, at) in enumerate(edits(text, keystrokes)):
        items.append(told(analyst, path, now, everything=False))
        completing.append(completed(analyst, path, at))
        held = megabytes() if number == 99 else held
    at_the_end = megabytes()
    users, after = list[float](), list[float]()
    for _ in range(2):
        users += [told(analyst, path, now, everything=True) for now in signatures(text, max(keystrokes // 10, 2))]
        after.append(megabytes())
    said("a check of all of it, to compare", [whole(path, text) for _ in range(5)])
    said("the item that was changed", items)
    said("users of a changed signature", users)
    said("completion", completing)
    print(
        f"  held after 100 keystrokes {held:.0f} MB, after {len(items)} {at_the_end:.0f}, "
        f"after {len(users) // 2} signatures {after[0]:.0f}, after as many again {after[1]:.0f} MB"
    )


def main(keystrokes: int) -> None:
    warm()
    encoder = ROOT / "examples" / "minilm" / "minilm.rx"
    measured("the sentence encoder", encoder, encoder.read_text(), keystrokes)
    measured("a file of 2,000 lines", ROOT / "benchmarks" / "large.rx", large(2000), keystrokes)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000)
