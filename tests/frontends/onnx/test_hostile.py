"""Model files that are damaged, contradict themselves or mean harm: every command says what is wrong, and how it ends."""

from __future__ import annotations

import resource
import time
import warnings
from pathlib import Path
from random import Random
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")
from rxlang.cli.main import invoke  # noqa: E402
from rxlang.frontends.onnx.reading import read_model  # noqa: E402
from rxlang.frontends.onnx.translate import translate  # noqa: E402
from rxlang.lang.diagnostics import RxError  # noqa: E402
from support import fuzz  # noqa: E402
from support.hostile_models import EVIL, Files, mutated, odd  # noqa: E402

# What needs a pipe or root's rights, or some seconds, is tried by benchmarks/onnx_hostile.py.
LONG = {
    "doubling_functions", "many_nodes", "unreadable", "growing_products", "a_name_of_a_megabyte", "concat_of_sixty_thousand",
    "integers_without_end",
}  # fmt: skip
SECONDS, BYTES = 10, 2**30
COMMANDS = ("check", "infer", "import", "run")


def ends_well(path: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A command ends in time with a status that it has, and says something where it is not 0."""
    more = ["-o", str(path.parent / "imported")] if command == "import" else []
    began = time.process_time()
    status = invoke([command, str(path), *more])
    said = "".join(capfd.readouterr())
    assert time.process_time() - began < SECONDS
    assert status in (0, 1, 2, 3) and "Traceback" not in said
    assert status == 0 or said.strip()


@pytest.mark.parametrize(("turn", "name"), fuzz.some(enumerate(sorted(EVIL.keys() - LONG)), 2))
def test_a_file_that_means_harm_is_refused_or_understood(
    turn: int, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, before = EVIL[name](tmp_path), most_memory()
    for command in COMMANDS if fuzz.FULL else COMMANDS[turn % 4 :][:1]:
        ends_well(path, command, capfd)
    assert most_memory() - before < BYTES


def most_memory() -> int:
    """How much this process had at once until now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


REFUSED = {
    "circle", "circle_of_one", "circle_of_functions", "missing_input", "missing_output", "too_few_inputs", "duplicate_inputs",
    "negative_sizes", "rank_of_ten_thousand", "rank_of_ten_thousand_by_unsqueeze", "huge_attribute", "huge_sparse",
    "external_outside", "external_absolute", "external_link_out", "external_device", "external_pipe", "external_far_offset",
    "nested_a_thousand", "empty", "empty_model", "directory", "absent", "fifo", "device", "link_to_itself", "gzipped",
    "checkpoint", "text_proto", "json_text", "rx_text", "numbers_without_end", "a_length_of_everything",
}  # fmt: skip


@pytest.mark.parametrize(("turn", "name"), list(enumerate(sorted(REFUSED))))
def test_what_is_no_model_is_refused(turn: int, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, commands = EVIL[name](tmp_path), ("check", "infer", "run")
    for command in commands if fuzz.FULL else commands[turn % 3 :][:1]:
        assert invoke([command, str(path)]) in (1, 2), command
        assert "".join(capfd.readouterr()).strip()


def test_damaged_models_are_refused_or_understood(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = Files(None)
    for case in fuzz.cases("damaged models"):
        with case as seed:
            path = mutated(tmp_path, files, Random(seed))
            ends_well(path, COMMANDS[seed % 4], capfd)


def test_operators_with_anything_in_their_places_are_refused_or_understood(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for case in fuzz.cases("odd operators"):
        with case as seed:
            ends_well(odd(tmp_path, Random(seed)), COMMANDS[seed % 4], capfd)


ANY: dict[str, list[object]] = {
    "i": [0, -1, -(2**63), 2**63 - 1, 7],
    "f": [0.0, float("nan"), float("inf"), -1.0],
    "s": [b"", b"\xff", b"other"],
    "ints": [[], [0], [0, 0], [-1, -1], [2**62] * 2, [1] * 7],
}


@pytest.fixture(scope="module")
def node_models() -> list[Any]:
    """The models of ONNX's node tests."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(action="ignore"):
        return [test.model for test in load_model_tests(kind="node")]


@pytest.fixture(scope="module")
def attributes(node_models: list[Any]) -> list[tuple[Any, int, int]]:
    """Node tests of ONNX with a place of a node and one of its attributes: each attribute of each operator once."""
    found: dict[tuple[str, str], tuple[Any, int, int]] = {}
    for model in node_models:
        for at, node in enumerate(model.graph.node):
            for which, attribute in enumerate(node.attribute):
                if any(attribute.HasField(field) for field in "ifs") or attribute.ints:
                    found.setdefault((node.op_type, attribute.name), (model, at, which))
    return list(found.values())


def test_attributes_with_anything_in_them_are_refused_or_understood(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], attributes: list[tuple[Any, int, int]]
) -> None:
    assert len(attributes) > 150
    for case in fuzz.cases("odd attributes"):
        with case as seed:
            random, (model, at, which) = Random(seed), attributes[seed % len(attributes)]
            changed = onnx.ModelProto.FromString(model.SerializeToString())
            attribute = changed.graph.node[at].attribute[which]
            field = next((field for field in "ifs" if attribute.HasField(field)), "ints")
            value: Any = random.choice(ANY[field])
            attribute.ClearField(field)
            if field == "ints":
                attribute.ints.extend(value)
            else:
                setattr(attribute, field, value)
            path = tmp_path / "odd.onnx"
            path.write_bytes(changed.SerializeToString())
            ends_well(path, random.choice(COMMANDS), capfd)


# Where it is not escaped, the program has another line. ONNX keeps texts of attributes as bytes.
FORGED = 'a"\n}\n@forged = fn() { 1 }\n'


def forged(model: Any, random: Random) -> None:
    """Says `FORGED` in one place of a model where there may be any text."""
    node = random.choice(model.graph.node)
    texts = [a for a in node.attribute if a.HasField("s") or a.strings]
    where = random.choice(["producer", "domain", "node", "size", "input", "output", *["attribute"] * 9 * bool(texts)])
    match where:
        case "producer":
            model.producer_name = FORGED
        case "domain":
            model.opset_import.add(domain=FORGED, version=1)
        case "node":
            node.name = FORGED
        case "size":
            model.graph.input.add(name="more").type.tensor_type.shape.dim.add(dim_param=FORGED)
            model.graph.input[-1].type.tensor_type.elem_type = 1
        case "input":
            model.graph.input.add(name=FORGED).type.tensor_type.elem_type = 1
        case "output":
            node.output.append(FORGED)
        case _:
            attribute = random.choice(texts)
            if attribute.HasField("s"):
                attribute.s = FORGED.encode()
            else:
                attribute.strings[random.randrange(len(attribute.strings))] = FORGED.encode()


def test_no_text_of_a_model_writes_lines_of_its_program(tmp_path: Path, node_models: list[Any]) -> None:
    path, written = tmp_path / "model.onnx", 0
    for case in fuzz.cases("forged models"):
        with case as seed:
            random = Random(seed)
            model = onnx.ModelProto.FromString(random.choice(node_models).SerializeToString())
            forged(model, random)
            path.write_bytes(model.SerializeToString())
            for keeps in (False, True):
                try:
                    program = translate(read_model(path), "weights.safetensors", keeps_functions=keeps)
                except RxError:
                    continue
                written += not program.wrong
                assert "\n@forged" not in program.source.text
    assert written > 20
