"""Other tools on the mistakes of torch_mutations.py: how many of them each one reports, at which line, and what it says of the
right models. For Rx and torch.export, torch_mutations.py says it.

    python benchmarks/torch_peers.py [--count 100] [--only Pyrefly] [--list]

It needs `pip install pyrefly pyrefly-torch-stubs torchtyc torchshapeflow jaxtyping beartype` beside PyTorch and Rx; what is not
there is left out. A report counts that the right model does not get: an error or a warning with another line or text.
`annotated` files have the shapes of the model's inputs, as `rx check` is given them by `--arg`, in the tool's own notation; the
others are as they are. `with an example` means that the tool is given tensors of one set of sizes.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

import torch
import torch_mutations as mutations

Finding = tuple[int, str]
Found = tuple[str, int, str]  # with the file before it
# For each notation what is imported and what stands above the function.
NOTATIONS = {
    "jaxtyping": ("from jaxtyping import Bool, Float, Int", ""),
    "static": (
        "from jaxtyping import Bool, Float, Int; from shape_extensions import static_jaxtyping",
        '@static_jaxtyping("{}")',
    ),
    "beartype": (
        "from jaxtyping import Bool, Float, Int, jaxtyped; import beartype",
        "@jaxtyped(typechecker=beartype.beartype)",
    ),
    "Shape": ("from typing import Annotated; from torchshapeflow import Shape", ""),
}


class Case(NamedTuple):
    """A file, the model in it, and its inputs as `--arg` has them."""

    file: Path
    text: str
    model: str
    args: list[str]


def annotated(notation: str, case: Case) -> Case:
    """The file with the shapes of the inputs in a notation; every line stays where it is."""
    given, names = {}, dict[str, None]()
    for arg in case.args:
        name, dtype, dims = re.fullmatch(r"(\w+)=(\w+)\[(.*)\]", arg).groups()  # type: ignore[union-attr]
        names |= dict.fromkeys(d for d in dims.split(", ") if not d.isdigit())
        kind = {"float32": "Float", "int64": "Int", "bool": "Bool"}[dtype]
        given[name] = f'{kind}[torch.Tensor, "{dims.replace(",", "")}"]'
        if notation == "Shape":
            shape = re.sub("([a-z]+)", r'"\1"', dims)
            given[name] = f"Annotated[torch.Tensor, Shape({shape})]"
    imports, above = NOTATIONS[notation]
    text = re.sub(r"^import torch$", f"import torch; {imports}", case.text, count=1, flags=re.M)
    begin = re.search(rf"^(class|def) {case.model}\b", text, re.M).start()  # type: ignore[union-attr]
    found = re.compile(rf"\n\n( *)def (?:forward|{case.model})\(([^)]*)\):").search(text, begin - 2)
    assert found is not None, case.model
    params = ", ".join(f"{p}: {given[p]}" if p in given else p for p in found[2].split(", "))
    head = f"\n{found[1]}{above.format(' '.join(names))}" if above else "\n"
    begun = found[0].removeprefix("\n").removesuffix(f"{found[2]}):")
    return case._replace(text=f"{text[: found.start()]}{head}{begun}{params}):{text[found.end() :]}")


def command(name: str) -> str | None:
    beside = Path(sys.executable).with_name(name)
    return str(beside) if os.access(beside, os.X_OK) else which(name)


def answer(folder: Path, *words: str) -> Any:
    asked = [command(words[0]) or words[0], *words[1:]]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        raise RuntimeError(f"{words[0]} did not answer: {done.stdout[-500:]}{done.stderr[-500:]}")
    return json.loads(done.stdout)


def pyrefly(folder: Path, cases: list[Case]) -> list[Found]:
    """Shapes are checked as soon as the stubs are installed."""
    (folder / "pyrefly.toml").write_text('python-version = "3.13"\n')
    here = ["--python-interpreter-path", sys.executable, "--output-format", "json"]
    said = answer(folder, "pyrefly", "check", *here, *(c.file.name for c in cases))
    return [(e["path"], e["line"], e["description"]) for e in said["errors"]]


def torchtyc(folder: Path, cases: list[Case], example: bool = False) -> list[Found]:
    """Its `check`; with an example, what it says of entry points to run, each of which calls the model."""
    settings = f'[tool.torchtyc]\npython = "{sys.executable}"\n'
    if example:
        settings += f"run = {[f'{c.file.name}::example' for c in cases]}\n"
        for case in cases:
            given = mutations.inputs(case.args, mutations.SIZES[0]).items()
            made = ", ".join(f"{n}=torch.ones({tuple(x.shape)}, dtype={x.dtype})" for n, x in given)
            case.file.write_text(f"{case.text}\n\ndef example():\n    return {case.model}()({made})\n")
    (folder / "pyproject.toml").write_text(settings)
    found, left = list[Found](), [c.file.name for c in cases]
    while left:
        said = answer(folder, "torchtyc", "check", "--format", "json", "--severity", "warning", *left)["diagnostics"]
        found += [(d["path"], d["line"] + 1, d["message"]) for d in said if d["rule"] != "worker-error"]
        # A file that takes longer than its minute ends it: the files after that one are given again.
        stopped = [d["path"] for d in said if d["rule"] == "worker-error"]
        left = left[left.index(stopped[0]) + 1 :] if stopped else []
    return found


def torchshapeflow(folder: Path, cases: list[Case]) -> list[Found]:
    """Its errors; most of its warnings say that it does not follow a shape."""
    files = answer(folder, "tsf", "check", "--json", ".")["files"]
    return [(f["path"], d["line"], d["message"]) for f in files for d in f["diagnostics"] if d["severity"] == "error"]


def beartype(folder: Path, cases: list[Case]) -> list[Found]:
    """What it raises when the model is called; what torch raises is not its report."""
    import jaxtyping

    found = []
    for case in cases:
        made = getattr(mutations.loaded(case.text, case.file), case.model)
        try:
            (made() if isinstance(made, type) else made)(**mutations.inputs(case.args, mutations.SIZES[0]))
        except jaxtyping.TypeCheckError as problem:
            found.append((case.file.name, 0, str(problem)))
        except Exception:  # noqa: BLE001, S110  # whatever torch raises
            continue
    return found


# Each row: the notation of the inputs' shapes, who is asked, and what has to be installed.
ROWS: dict[str, tuple[str, Callable[[Path, list[Case]], list[Found]], str]] = {
    "Pyrefly": ("", pyrefly, "shape_extensions"),
    "Pyrefly, annotated": ("static", pyrefly, "shape_extensions"),
    "torchtyc check": ("", torchtyc, "torchtyc"),
    "torchtyc check, annotated": ("jaxtyping", torchtyc, "torchtyc"),
    "torchtyc run, with an example": ("", functools.partial(torchtyc, example=True), "torchtyc"),
    "torchshapeflow": ("", torchshapeflow, "torchshapeflow"),
    "torchshapeflow, annotated": ("Shape", torchshapeflow, "torchshapeflow"),
    "jaxtyping and beartype, annotated, with an example": ("beartype", beartype, "beartype"),
}


def findings(row: str, cases: Iterable[Case]) -> dict[str, set[Finding]]:
    """What a tool says of each file."""
    notation, ask, _ = ROWS[row]
    with tempfile.TemporaryDirectory() as name:
        given = [c._replace(file=Path(name, c.file.name)) for c in cases]
        given = [annotated(notation, c) for c in given] if notation else given
        for case in given:
            case.file.write_text(case.text)
        found: dict[str, set[Finding]] = {c.file.stem: set() for c in given}
        for path, line, text in ask(Path(name), given):
            found[Path(path).stem].add((line, text.replace(name, "").replace(Path(path).stem, "")))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", default="", help="a part of the names of the rows")
    parser.add_argument("--list", action="store_true", help="what each tool says of each file")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        source, names, truths = mutations.mistakes(Path(name), "", Counter())
    lines = {id(one): {one.line, *what.lines} for one, what in truths}
    chosen = mutations.drawn([one for one, _ in truths], asked.count)
    rights = [Case(Path(f"right_{n}.py"), source, n, args) for n, args in names.items()]
    wrongs = [Case(Path(f"wrong_{k:03}.py"), p.text, p.model, names[p.model]) for k, p in enumerate(chosen)]
    users = {"Block": "ResNet", "Attention": "GPT"}
    model_at = {n: users.get(c.name, c.name) for c in ast.parse(source).body if isinstance(c, ast.ClassDef)
                for n in range(c.lineno, (c.end_lineno or 0) + 1)}  # fmt: skip
    for row, (_, _, needed) in ROWS.items():
        if asked.only not in row:
            continue
        if find_spec(needed) is None:
            print(f"{row}: left out, as {needed} is not installed")
            continue
        said = findings(row, [*rights, *wrongs])
        own = {c.model: said[c.file.stem] for c in rights}
        alarms = {m: {(n, t) for n, t in f if model_at.get(n, m) == m} for m, f in own.items()}
        new = [(p, said[c.file.stem] - own[c.model]) for p, c in zip(chosen, wrongs, strict=True)]
        at_line = sum(any(n in lines[id(p)] for n, _ in f) for p, f in new)
        print(f"{row}: {sum(bool(f) for _, f in new)} of {len(new)}, {at_line} at the line; ", end="")
        print(f"{sum(map(bool, alarms.values()))} of the {len(own)} right models", flush=True)
        if asked.list:
            for label, texts in [*alarms.items(), *((f"{p.model}:{p.line} {p.wrong}", f) for p, f in new)]:
                print(f"    {label}", *(f"        {n}: {t}" for n, t in sorted(texts)), sep="\n")


if __name__ == "__main__":
    main()
