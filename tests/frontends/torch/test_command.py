"""How people meet Python models on the command line: targets, arguments, exit statuses, formats; no traceback of ours."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rxlang.cli import apart as processes, main
from rxlang.cli.apart import apart
from rxlang.cli.files import Unusable
from support.places import ROOT
from support.torch_cases import command, environment, needs_torch

MODEL = """
import os
import sys
import torch
from torch import nn

print("noise on standard output")


class Config:
    def __init__(self, block=32, dim=16):
        self.block, self.dim = block, dim


class Net(nn.Module):
    def __init__(self, config, heads=2):
        super().__init__()
        if heads == 0:
            raise ValueError("no heads")
        self.block = config.block
        self.table = nn.Embedding(97, config.dim)
        self.out = nn.Linear(config.dim, 97)

    def forward(self, ids, keep=None):
        print("called")
        b, t = ids.shape
        assert t <= self.block
        x = self.table(ids)
        if keep is not None:
            x = x * keep[:, :, None]
        return self.out(x)


def make():
    return Net(Config(8))


model = Net(Config(16))
table = torch.zeros(3, 4)


def through(model, ids):
    return model(ids)


def pair(xs, more):
    a, b = xs
    return torch.cat([a, b, more["c"]], dim=0)


def tied(x):
    return x + x.transpose(0, 1)


def repeated(x, n):
    return x.reshape(n, -1)


def plain(x):
    return 3


def raising(x):
    y = x * 2
    raise RuntimeError("not today")


def many(count=1):
    return model


def leaving(x):
    sys.exit(3)


def dying(x):
    os._exit(7)


def endless(x):
    while True:
        x = x + 1 if False else x


def loud(x):
    for _ in range(20000):
        print("x" * 60)
    return x


def free(x):
    return torch.special.chebyshev_polynomial_t(x, 3)


def odd(x):
    raise BaseException("odd")


def stopping(x):
    raise KeyboardInterrupt


def later(x):
    yield x


async def awaited(x):
    return x


def _hidden(x):
    return x
"""


SCHEMAS = ROOT / "docs" / "schema"


@pytest.fixture
def rx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """The command in a folder with a model; the user's code runs in this process, which has torch already."""
    (tmp_path / "net.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RX_CACHE_DIR", "")
    monkeypatch.setattr(processes, "apart", lambda _, function, *args: function(*args))

    def run(*args: str) -> tuple[int, str, str]:
        capfd.readouterr()
        path = list(sys.path)
        status = main.invoke(list(args))
        sys.path[:] = path
        for name in ("net", "net_", "broken", "user", "lost"):
            sys.modules.pop(name, None)
        out, err = capfd.readouterr()
        assert "rxlang" not in err and "Traceback" not in out, err
        return status, out, err

    return run


def line(text: str) -> int:
    """The line of the model that has a text."""
    return next(n for n, one in enumerate(MODEL.splitlines(), 1) if text in one)


TIED, ASSERT, X = line("return x + x.transpose"), line("assert t"), line("x = self.table(ids)")
NET = ("net.py:Net", "--init", "config=Config(block=32)", "--arg", "ids=int64[b, t]")


@needs_torch
def test_a_class_is_built_and_its_contract_printed(rx: Any) -> None:
    status, out, err = rx("check", *NET)
    assert status == 0, err
    assert (
        "net.py:Net accepts" in out and f"t   0 to 32   net.py:{ASSERT}: assert t <= self.block; fails at t = 33" in out
    )
    assert "noise" not in out and "called" not in out


ACCEPTED = {
    "factory": (("net.py:make", "--arg", "ids=int64[b, t]"), "t <= 8"),
    "instance": (("net.py:model", "--arg", "ids=int64[b, t]"), "t <= 16"),
    "method": (("net.py:model.forward", "--arg", "ids=int64[b, t]"), "t <= 16"),
    "torch's dtype": (("net.py:model", "--arg", "ids=torch.int64[b, t]"), "t <= 16"),
    "module name": (("net:model", "--arg", "ids=int64[b, t]"), "t <= 16"),
    "None": (("net.py:model", "--arg", "ids=int64[b, t]", "--arg", "keep=None"), "t <= 16"),
    "several at once": (("net.py:model", "--arg", "ids=int64[b, t], keep=float32[b, t]"), "t <= 16"),
    "expression": (("net.py:through", "--arg", "ids=int64[b, t]", "--arg", "model=Net(Config(4))"), "t <= 4"),
    "nested": (
        ("net.py:pair", "--arg", "xs=(float32[a, d], float32[c, d])", "--arg", "more={'c': float32[e, d]}"), None,
    ),
    "list": (("net.py:pair", "--arg", "xs=[float32[a, 3], float32[c, 3]]", "--arg", "more=dict(c=float32[e, 3])"), None),
    "size": (("net.py:repeated", "--arg", "x=float32[a, d]", "--arg", "n=Size"), "n"),
}  # fmt: skip


@needs_torch
@pytest.mark.parametrize("name", ACCEPTED)
def test_arguments_in_all_forms(rx: Any, name: str) -> None:
    asked, wanted = ACCEPTED[name]
    status, out, err = rx("check", *asked, "--format", "json")
    assert status == 0, err
    conditions = [c["condition"] for c in json.loads(out)["contracts"][asked[0]]["conditions"]]
    assert conditions == [] if wanted is None else any(wanted in c for c in conditions)


REFUSED = {
    "no file": (("nothing.py:Net",), "cannot read 'nothing.py': No such file"),
    "near file": (("nett.py:Net",), "cannot read 'nett.py': No such file or directory; is 'net.py' meant?"),
    "no module": (("nothing.there:Net",), "importing nothing.there: No module named 'nothing' in "),
    "near module": (("nett:Net",), "importing nett: No module named 'nett'; is `net` meant?"),
    "no name": (("net.py:Nett",), "net.py has no `Nett`: is `Net` meant?"),
    "no attribute": (("net.py:model.forwards",), "net.py has no `model.forwards`"),
    "no init": (("net.py:Net", "--arg", "ids=int64[b, t]"), "missing a required argument: 'config'"),
    "wrong init": (("net.py:Net", "--init", "konfig=1"), "it takes `config`"),
    "init of no class": (("net.py:table", "--init", "a=1"), "net.py:table is a value of Tensor"),
    "init raises": (("net.py:Net", "--init", "config=Config(), heads=0"), "ValueError: no heads"),
    "init undefined": (("net.py:Net", "--init", "config=Zq()"), "name 'Zq' is not defined"),
    "init near": (("net.py:Net", "--init", "config=Konfig()"), "nothing is called `Konfig`; is `Config` meant?"),
    "init no syntax": (("net.py:Net", "--init", "config=("), "--init 'config=(' is not like"),
    "init positional": (("net.py:Net", "--init", "Config()"), "is not like `dim=64, heads=4`: `Config()` has no name"),
    "wrong arg": (("net.py:model", "--arg", "idx=int64[b, t]"), "takes no `idx`, is `ids` meant: it takes `ids`"),
    "no arg": (("net.py:model", "--arg", "keep=float32[b, t]"), "takes `ids`, which is not given"),
    "nothing given": (("net.py:model",), "takes `ids`, which is not given"),
    "no input": (
        ("net.py:model", "--arg", "ids=3"),
        'no argument of `ids`, `keep=None` is an input: `--arg "ids=float32[b, 3]"` declares one',
    ),
    "no such size": (("net.py:model", "--arg", "ids=int64[b, -1]"), "`-1` is no size: a size is a whole number of at"),
    "reserved size": (("net.py:model", "--arg", "ids=int64[b, fn]"), "`fn` is a word of Rx: a size is"),
    "computed size": (
        ("net.py:model", "--arg", "ids=int64[b, 2 * b, b / 3]"),
        "neither a number nor a name: write int64[b, ids_1, ids_2] and --given 'ids_1 == 2 * b, ids_2 == b // 3'",
    ),
    "no dtype": (("net.py:model", "--arg", "ids=int[b, t]"), "`int` is not a dtype; the dtypes are bool, uint8"),
    "no arg syntax": (("net.py:model", "--arg", "ids=int64[b"), "is not like `x=float32[b, 3]`"),
    "arg raises": (("net.py:through", "--arg", "ids=int64[b]", "--arg", "model=1 / 0"), "ZeroDivisionError"),
    "dtype": (("net.py:tied", "--arg", "x=float33[b]"), "an input is declared like `x=float32[b, 3]`"),
    "no dtype near": (("net.py:tied", "--arg", "x=Matrix[b]"), "like `x=float32[b, 3]`, a size `x=Size`"),
    "dtype alone": (("net.py:tied", "--arg", "x=float32"), "an input is declared like `x=float32[b, 3]`"),
    "generator": (("net.py:later", "--arg", "x=float32[b]"), "net.py:later is a generator"),
    "coroutine": (("net.py:awaited", "--arg", "x=float32[b]"), "net.py:awaited is a coroutine"),
    "not callable": (("net.py:table", "--arg", "x=float32[b]"), "is a value of Tensor"),
    "two of one name": (("net.py:model", "--arg", "ids=int64[b], ids=int64[t]"), "`ids` is given twice"),
    "given twice": (("net.py:model", "--arg", "ids=int64[b]", "--arg", "ids=int64[t]"), "`ids` is given twice"),
    "at": (("net.py:model", "--arg", "ids=int64[b, t]", "--at", "q=3"), "the inputs have no size `q`"),
    **{
        f"at {text}": (("net.py:model", "--arg", "ids=int64[b, t]", "--at", text), said)
        for text, said in {
            "t": "--at 't' is not like h=40", "=3": "is not like h=40", "t=": "is not like h=40",
            "t=-3": "a size is a whole number of at least 0, like t=40", "t=3.5": "a whole number", "t=x": "a whole number",
            "t=3,b=2": "give each size its own --at", f"t={10 ** 19}": "a size is at most", f"t={2**63}": "a size is at most",
        }.items()
    },
    "dynamic no axis": (("net.py:model", "--arg", "ids=int64[b, 4]", "--dynamic", "ids"), "'ids' is not like images.0=b"),
    "dynamic no name": (("net.py:model", "--arg", "ids=int64[b, 4]", "--dynamic", "ids.1=3"), "is not like images.0=b"),
    "method": (("net.py:Net.forward", "--arg", "ids=int64[b, 4]"), '`self`, which is not given: `--arg "self=NAME(...)"`'),
    "factory": (("net.py:many", "--arg", "ids=int64[b, 4]"), "it takes `count=1`; `--init` calls it for what it makes"),
    "dynamic": (("net.py:model", "--arg", "ids=int64[b, 4]", "--dynamic", "x.1"), "no input has this axis"),
    "profile": (("net.py:model", "--arg", "ids=int64[b, t]", "--profile", "x=1:2"), "'x=1:2': the model has no input `x`"),
    "given": (("net.py:model", "--arg", "ids=int64[b, t]", "--given", "q <= 3"), "the inputs have no size `q`; they have b, t"),
    **{
        option: (("net.py:model", "--arg", "ids=int64[b, t]", option, *more), f"{option} is not for Python code")
        for option, more in {
            "--run-witness": (), "--signature": (), "--guards": (), "--watch": (), "--explain": ("t",),
            "--prelude": ("a.rx",), "--root": (".",),
        }.items()
    },
}  # fmt: skip


@needs_torch
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_status_2_and_says_why(rx: Any, name: str) -> None:
    asked, said = REFUSED[name]
    status, out, err = rx("check", *asked)
    assert (status, out) == (2, "")
    assert said in err


@needs_torch
def test_a_traceback_is_the_users_from_his_own_first_line(rx: Any, tmp_path: Path) -> None:
    status, _, err = rx("check", "net.py:Net", "--init", "config=Config(), heads=0")
    assert status == 2
    assert "rx: building net.py:Net with --init 'config=Config(), heads=0': ValueError: no heads\n" in err
    trace = err[err.index("Traceback") :].splitlines()
    assert "net.py" in trace[1] and "in __init__" in trace[1] and trace[-1] == "ValueError: no heads"
    (tmp_path / "broken.py").write_text("import torch\nclass A(:\n    pass\n")
    (tmp_path / "user.py").write_text("import broken\n")
    (tmp_path / "lost.py").write_text("import os\nimport nowhere_at_all\n")
    for target, said in (
        ("broken.py:A", "SyntaxError"),
        ("user.py:A", "SyntaxError"),
        ("lost.py:A", "No module named"),
    ):
        status, _, err = rx("check", target)
        assert status == 2 and said in err and "line 2" in err, err


WRONG = {
    "tied": "x + x.transpose(0, 1)",
    "raising": "not today",
    "leaving": "SystemExit",
    "odd": "BaseException(odd)",
}


@needs_torch
@pytest.mark.parametrize("name", WRONG)
def test_what_never_works_or_ties_sizes_is_status_1_at_its_line(rx: Any, name: str) -> None:
    status, _, err = rx("check", f"net.py:{name}", "--arg", "x=float32[a, c]")
    assert status == 1 and "error[" in err and "--> net.py:" in err and WRONG[name] in err


@needs_torch
def test_sizes_that_are_asked_for_decide_alone(rx: Any) -> None:
    tied = ("net.py:tied", "--arg", "x=float32[a, c]")
    assert rx("check", *tied)[0] == 1
    assert rx("check", *tied, "--at", "a=4", "--at", "c=4")[0] == 0
    status, _, err = rx("check", *tied, "--at", "a=4", "--at", "c=5")
    assert status == 1 and f"net.py:{TIED}:" in err and "with a = 4, c = 5" in err
    assert rx("check", *NET, "--at", "t=32")[0] == 0
    status, _, err = rx("check", *NET, "--at", "ids.1=33")
    assert status == 1 and f"--> net.py:{ASSERT}:" in err
    for t in (0, 1):
        assert rx("check", *NET, "--at", f"t={t}", "--at", "b=1")[0] == 0


@needs_torch
def test_what_is_given_bounds_the_sizes(rx: Any) -> None:
    status, out, _ = rx("check", *NET, "--given", "t <= 4")
    assert status == 0 and "accepts, where t <= 4" in out and "t   0 to 4\n" in out
    status, out, _ = rx("check", *NET, "--profile", "ids=1x1:8x64")
    assert "box   not whole: fails at" in out and "t = 33" in out
    assert "box   accepted whole" in rx("check", *NET, "--profile", "ids=1x1:8x32")[1]
    for equal in ("a == c", "a = c"):
        assert rx("check", "net.py:tied", "--arg", "x=float32[a, c]", "--given", equal)[0] == 0
    assert "accepts, where t == 4" in rx("check", *NET, "--given", "t = 4")[1]


@needs_torch
def test_an_axis_is_made_free(rx: Any) -> None:
    asked = ("check", "net.py:model", "--arg", "ids=int64[2, 5]")
    assert "takes   ids : int64[2, 5]" in rx(*asked)[1]
    assert "takes   ids : int64[2, t]" in rx(*asked, "--dynamic", "ids.1=t")[1]


@needs_torch
def test_a_contract_is_written_and_expected(rx: Any, tmp_path: Path) -> None:
    assert rx("check", *NET, "--write-contract", "net.json")[0] == 0
    status, _, err = rx("check", *NET, "--expect", "net.json")
    assert status == 0 and "holds the contract net.json" in err
    narrower = ("net.py:Net", "--init", "config=Config(block=16)", "--arg", "ids=int64[b, t]")
    status, _, err = rx("check", *narrower, "--expect", "net.json")
    assert status == 1 and "narrower than net.json" in err


@needs_torch
def test_formats_have_the_lines_of_the_python_code(rx: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    found = json.loads(rx("check", *NET, "--format", "json")[1])
    _conforms(jsonschema, found)
    [condition] = found["contracts"]["net.py:Net"]["conditions"]
    assert condition["demands"][0]["trace"] == f"net.py:{ASSERT}" and found["supposed"] == []
    status, out, _ = rx("check", "net.py:tied", "--arg", "x=float32[a, c]", "--format", "json")
    [said] = [d for d in json.loads(out)["diagnostics"] if d["severity"] == "error"]
    assert status == 1 and (said["file"], said["span"]["line"]) == ("net.py", TIED)
    sarif = json.loads(rx("check", *NET, "--format", "sarif")[1])
    assert sarif["runs"][0]["results"][0]["ruleId"] == "N206"
    assert f"file=net.py,line={TIED}" in rx("check", "net.py:tied", "--arg", "x=float32[a, c]", "--format", "github")[1]


@needs_torch
def test_a_call_without_a_rule_is_listed(rx: Any) -> None:
    found = json.loads(rx("check", "net.py:free", "--arg", "x=float32[a, c]", "--format", "json")[1])
    [one] = found["supposed"]
    assert "chebyshev_polynomial_t" in one["op"] and one["file"] == "net.py"
    assert MODEL.splitlines()[one["line"] - 1].strip() == "return torch.special.chebyshev_polynomial_t(x, 3)"
    assert found["contracts"]["net.py:free"]["supposed"] == [one]
    jsonschema = pytest.importorskip("jsonschema")
    _conforms(jsonschema, found)


def _conforms(jsonschema: Any, found: Any) -> None:
    from referencing import Registry, Resource

    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    registry = Registry().with_resources([(name, Resource.from_contents(s)) for name, s in schemas.items()])
    jsonschema.Draft202012Validator(schemas["check.json"], registry=registry).validate(found)


@needs_torch
def test_other_commands_say_every_value_with_its_shape(rx: Any) -> None:
    status, out, err = rx("infer", *NET)
    assert status == 0, err
    assert f"net.py:{X}  x" in out and "Tensor([b, t, 16], float32)" in out
    values = json.loads(rx("infer", *NET, "--format", "json")[1])
    assert values["values"]["x"] == {"shape": ["b", "t", 16], "dtype": "float32", "exactness": ["exact"] * 3}
    shapes = json.loads(rx("shapes", *NET, "--format", "json")[1])["functions"]["@main"]
    assert [p["name"] for p in shapes["params"]] == ["ids"]
    [x] = [b for b in shapes["bindings"] if b["name"] == "x"]
    assert (x["file"], x["span"]["line"]) == ("net.py", X)
    program = rx("desugar", *NET)[1]
    assert "@embedding" in program and "t <= 32" in program
    assert "bytes" in rx("shapes", *NET, "--memory")[1]
    for asked in (("infer", *NET, "-o", "a.onnx"), ("infer", *NET, "--write"), ("shapes", *NET, "--root", ".")):
        status, _, err = rx(*asked)
        assert status == 2 and "is not for Python code" in err


def test_a_python_file_is_not_run_but_listed(rx: Any, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL.replace("import torch\n", "import torch\nraise SystemExit(5)\n"))
    status, out, err = rx("check", "net.py")
    assert status == 2 and "and nothing of it was run" in err
    lines = out.splitlines()
    assert 'rx check net.py:Net --init "config=..." --arg "ids=float32[...]"' in lines
    assert 'rx check net.py:model --arg "ids=float32[...]"' in lines
    assert 'rx check net.py:tied --arg "x=float32[...]"' in lines
    assert not any("_hidden" in line or "Config" in line for line in lines)
    for name, said in (("", "a name is missing"), (":Net", "`:Net` is not a name"), ("Net()", "`Net()` is not a name")):
        _, names, err = rx("check", f"net.py:{name}")
        assert names == out and f"'net.py:{name}': {said}: name a function or class to check, net.py:NAME" in err


def test_python_options_need_python_code(rx: Any, tmp_path: Path) -> None:
    (tmp_path / "a.rx").write_text("let a = 3\n")
    for command_ in ("check", "shapes", "desugar"):
        status, _, err = rx(command_, "a.rx", "--arg", "x=float32[b]")
        assert status == 2 and "for Python code" in err


# In a process of its own


@needs_torch
def test_whatever_the_code_does_ends_in_its_own_process(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL)
    done = command(tmp_path, "check", "net.py:loud", "--arg", "x=float32[a]")
    assert (
        done.returncode == 0 and done.stdout.startswith("net.py:loud accepts") and done.stderr.count("x" * 60) >= 20000
    )
    done = command(tmp_path, "check", "net.py:dying", "--arg", "x=float32[a]")
    assert (done.returncode, done.stdout) == (2, "")
    assert "rx: net.py:dying: its code ended the process (exit status 7)" in done.stderr
    done = command(tmp_path, "check", "net.py:stopping", "--arg", "x=float32[a]")
    assert done.returncode == 2 and "rx: the code raised KeyboardInterrupt" in done.stderr
    assert "Traceback" not in done.stderr


@needs_torch
def test_an_endless_loop_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL)
    asked = [sys.executable, "-m", "rxlang", "check", "net.py:endless", "--arg", "x=float32[a]"]
    child = subprocess.Popen(
        asked, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # In the background of a shell the signal is ignored, and whoever is started inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        time.sleep(8)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130 and out == "" and "Traceback" not in err


def test_a_function_runs_apart() -> None:
    assert apart("f", divmod, 7, 2) == (3, 1)
    with pytest.raises(Unusable, match="exit status 4"):
        apart("f", sys.exit, 4)


@needs_torch
def test_settings_for_sizes_that_the_code_has_not_are_passed_over(rx: Any, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.rx]\ngiven = ["@*: batch >= 1"]\n')
    assert rx("check", *NET)[1].startswith("net.py:Net accepts\n")
    status, out, _ = rx("check", "net.py:tied", "--arg", "x=float32[batch, batch]")
    assert status == 0 and out.startswith("net.py:tied accepts, where batch >= 1\n")
