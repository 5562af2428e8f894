"""One program about sizes in five notations, and what Rx, torch.export, jax.export, TVM Relax and Pyrefly say of it.

A peer that is not installed is left out, so each is imported where it is asked; `HOW_TO_INSTALL` says what brings it.
Nothing is run on data by anyone.
"""

from __future__ import annotations

import gc
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from textwrap import dedent, indent
from typing import Any, NamedTuple

from rxlang.pipeline import check_text

HOW_TO_INSTALL = {
    "Rx": "make test",
    "torch.export": "pip install torch --index-url https://download.pytorch.org/whl/cpu",
    "jax.export": "pip install jax",
    "TVM Relax": "pip install apache-tvm",
    "Pyrefly": "pip install pyrefly pyrefly-torch-stubs torch",
}


class Program(NamedTuple):
    """A function of tensors. `params` gives each one's dimensions ("b, t, 384") and `result` the result's, "" for none.

    `rx` is the body in Rx; `torch`, `jax` and `relax` are lines of Python that end in `return`. `pyrefly` is what it reads in
    place of `torch`, and a `relax` that begins with a decorator is a whole module. What can't be said is empty.
    """

    params: Mapping[str, str]
    result: str
    rx: str
    torch: str = ""
    jax: str = ""
    relax: str = ""
    pyrefly: str = ""
    where: str = ""
    dtypes: Mapping[str, str] = {}

    def dtype(self, name: str) -> str:
        return self.dtypes.get(name, "float32")

    @property
    def names(self) -> list[str]:
        """The symbolic sizes, in the order in which they are first mentioned."""
        return list(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", ", ".join(self.params.values()))))


class Answer(NamedTuple):
    """`verdict` is "accepts", "warns" (Rx: it stays as a check at run time), "refuses", or "" where a size can't be said; `why`
    is the first line of what is said."""

    verdict: str
    why: str
    seconds: float


Refusals = tuple[type[BaseException], ...]


@contextmanager
def _quiet() -> Iterator[None]:
    """What is written below Python's own streams is silenced as well."""
    sys.stdout.flush()
    streams = (1, 2)
    kept = [os.dup(stream) for stream in streams]
    with open(os.devnull, "w") as nowhere:
        for stream in streams:
            os.dup2(nowhere.fileno(), stream)
        try:
            yield
        finally:
            for stream, copy in zip(streams, kept, strict=True):
                os.dup2(copy, stream)
                os.close(copy)


def _asked(action: Callable[[], object], refusals: Refusals) -> Answer:
    """What a peer says that answers by an exception or by none; the time is CPU time of this process."""
    verdict, why = "accepts", ""
    start = time.process_time()
    with _quiet():
        try:
            action()
        except refusals as problem:
            lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
            verdict, why = "refuses", lines[0] if lines else type(problem).__name__
        spent = time.process_time() - start
        gc.collect()  # what a refusal leaves behind has something to say when it is freed
    return Answer(verdict, why, spent)


def rx(program: Program) -> Answer:
    params = ", ".join(f"{n} : Tensor([{dims}], {program.dtype(n)})" for n, dims in program.params.items())
    result = f" : Tensor([{program.result}], float32)" if program.result else " : Tensor"
    where = f" where {program.where}" if program.where else ""
    text = f"@model = fn({params}){result}{where} {{\n{program.rx}\n}}\n"
    start = time.process_time()
    report = check_text(text, "model.rx", Path("."))
    spent = time.process_time() - start
    for severity, verdict in (("error", "refuses"), ("warning", "warns")):
        found = next((d.message for d in report.diagnostics if d.severity == severity), None)
        if found is not None:
            return Answer(verdict, found, spent)
    return Answer("accepts", "", spent)


def _python(name: str, program: Program, body: str, space: dict[str, Any]) -> Callable[..., Any]:
    """The Python function whose body is given."""
    exec(f"def {name}({', '.join(program.params)}):\n{_indented(body)}\n", space)
    return space[name]  # type: ignore[no-any-return]


def _indented(lines: str) -> str:
    return indent(dedent(lines).strip("\n"), "    ")


def _tuple(dims: str, space: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(eval(f"({dims},)" if dims else "()", dict(space)))


def torch_export(program: Program) -> Answer:
    import torch

    body = _python("forward", program, program.torch, {"torch": torch, "F": torch.nn.functional})
    module = type("Model", (torch.nn.Module,), {"forward": lambda self, *given: body(*given)})()
    sample = dict(zip(program.names, (5, 7, 11, 13, 17), strict=False))
    symbols = {name: torch.export.Dim(name) for name in program.names}
    args, dynamic = [], []
    for name, dims in program.params.items():
        args.append(torch.zeros(_tuple(dims, sample), dtype=getattr(torch, program.dtype(name))))
        try:
            symbolic = _tuple(dims, symbols)
        except (NotImplementedError, TypeError) as problem:  # a Dim is linear in one name
            return Answer("", str(problem), 0.0)
        dynamic.append({i: dim for i, dim in enumerate(symbolic) if not isinstance(dim, int)})
    refusals = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)
    return _asked(
        lambda: torch.export.export(module, tuple(args), dynamic_shapes={"given": tuple(dynamic)}, strict=False),
        refusals,
    )


def jax_export(program: Program) -> Answer:
    import jax
    import jax.numpy as jnp
    from jax import export

    body = _python("model", program, program.jax, {"jax": jax, "jnp": jnp})
    scope = export.SymbolicScope([c.strip() for c in program.where.split(",") if c.strip()])
    written = {n: re.sub(r"\((.*?)\) // (\w+)", r"floordiv(\1, \2)", d) for n, d in program.params.items()}
    args = [
        jax.ShapeDtypeStruct(export.symbolic_shape(dims, scope=scope), jnp.dtype(program.dtype(name)))
        for name, dims in written.items()
    ]
    refusals = (TypeError, ValueError, IndexError, NotImplementedError, jax.errors.InconclusiveDimensionOperation)
    return _asked(lambda: export.export(jax.jit(body))(*args), refusals)


def tvm_relax(program: Program) -> Answer:
    import tvm.error
    import tvm.script

    def shape(dims: str) -> str:
        parts = [d.strip() for d in dims.split(",") if d.strip()]
        return "(" + "".join(f"{part if part.isdigit() else repr(part)}, " for part in parts) + ")"

    head = ", ".join(f"{n}: R.Tensor({shape(d)}, '{program.dtype(n)}')" for n, d in program.params.items())
    result = f" -> R.Tensor({shape(program.result)}, 'float32')" if program.result else ""
    names = "".join(f"    {name} = T.int64()\n" for name in program.names)
    body = names + _indented(program.relax)
    text = program.relax if program.relax.startswith("@") else f"@R.function\ndef main({head}){result}:\n{body}\n"
    return _asked(
        lambda: tvm.script.from_source(text), (tvm.error.DiagnosticError, RuntimeError, ValueError, TypeError)
    )


def pyrefly(program: Program) -> Answer:
    """Shapes are checked as soon as the stubs are installed; the time is that of a process of its own, start-up included."""

    def tensor(name: str, dims: str) -> str:
        return f"{name}: Tensor[[{dims.upper()}]]"

    names = ", ".join(f"{name.upper()}: IntVar" for name in program.names)
    params = ", ".join(tensor(name, dims) for name, dims in program.params.items())
    result = f"Tensor[[{program.result.upper()}]]" if program.result else "Tensor"
    body = _indented(program.pyrefly or program.torch)
    text = (
        "from __future__ import annotations\nimport torch\nfrom shape_extensions import IntVar\nfrom torch import Tensor\n"
        f"from torch.nn import functional as F\n\ndef model{f'[{names}]' if names else ''}({params}) -> {result}:\n{body}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.py").write_text(text, encoding="utf-8")
        Path(folder, "pyrefly.toml").write_text('python-version = "3.13"\n', encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [
            _pyrefly(),
            "check",
            "--python-interpreter-path",
            sys.executable,
            "--output-format",
            "min-text",
            "model.py",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    errors = [line.partition("ERROR ")[2] for line in done.stdout.splitlines() if line.startswith("ERROR ")]
    if done.returncode and not errors:
        raise RuntimeError(f"Pyrefly did not answer: {done.stderr}")
    return Answer("refuses" if errors else "accepts", errors[0] if errors else "", spent)


def _pyrefly() -> str:
    """The command of this environment, else the one on the path; "" if there is none."""
    beside = Path(sys.executable).with_name("pyrefly")
    return str(beside) if os.access(beside, os.X_OK) else which("pyrefly") or ""


ASK: dict[str, Callable[[Program], Answer]] = {
    "Rx": rx,
    "torch.export": torch_export,
    "jax.export": jax_export,
    "TVM Relax": tvm_relax,
    "Pyrefly": pyrefly,
}


def can_say(peer: str, program: Program) -> bool:
    """Whether there is a text of the program in a peer's notation."""
    text = {"Rx": program.rx, "jax.export": program.jax, "TVM Relax": program.relax, "Pyrefly": program.pyrefly}
    return bool(text.get(peer) or (peer in ("torch.export", "Pyrefly") and program.torch))


def installed() -> list[str]:
    """The peers that are here, Rx first; for each other a line is printed that says how to install it."""
    here = {
        "Rx": True,
        "torch.export": find_spec("torch") is not None,
        "jax.export": find_spec("jax") is not None,
        "TVM Relax": find_spec("tvm") is not None,
        "Pyrefly": bool(_pyrefly()) and find_spec("shape_extensions") is not None,
    }
    for peer, present in here.items():
        if not present:
            print(f"{peer} is not installed: {HOW_TO_INSTALL[peer]}")
    return [peer for peer, present in here.items() if present]
