"""Diagnostics, counts and shapes for other programs: JSON against its schemas, SARIF, GitHub's commands."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from rxlang.lang import codes
from rxlang.lang.checked import Binding, Counts, FunctionShapes
from rxlang.lang.diagnostics import Edit, Label, error, warning
from rxlang.lang.formats import check_object, github_lines, sarif_object, shapes_object, span_object
from rxlang.lang.source import NOWHERE, Source, Span
from support.places import ROOT

from ..lang.test_render import GALLERY

SCHEMAS = ROOT / "docs" / "schema"
FF = Source("dir/f f.rx", "let é = 𝒳 + y\nlet z = (1,\n  2)\n")


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return found


def at(text: str) -> Span:
    start = FF.text.index(text)
    return Span(FF, start, start + len(text))


FULL = error(
    codes.E301,
    "100% wrong: this, that",
    at("y"),
    caption="caption",
    labels=(Label(at("é"), "label"),),
    notes=("a note",),
    function="@main",
    help="write `z`",
    witness={"n": 3, "k": 2},
    edits=(Edit(at("y"), "z"),),
)
BARE = warning(codes.W311, "first line\nsecond line", at("(1,\n  2)"))


def test_columns_count_code_points_from_one_and_ends_are_exclusive() -> None:
    assert span_object(at("y")) == {"line": 1, "column": 13, "end_line": 1, "end_column": 14}
    assert span_object(at("(1,\n  2)")) == {"line": 2, "column": 9, "end_line": 3, "end_column": 5}
    assert span_object(Span(FF, len(FF.text), len(FF.text))) == {
        "line": 4, "column": 1, "end_line": 4, "end_column": 1,
    }  # fmt: skip


def test_a_check_prints_the_object_of_the_interface() -> None:
    found = check_object(["dir/f f.rx"], [FULL], Counts(15, 10, 1, 1, 3))
    assert found == {
        "version": 1,
        "files": ["dir/f f.rx"],
        "diagnostics": [
            {
                "code": "E301",
                "severity": "error",
                "message": "100% wrong: this, that",
                "file": "dir/f f.rx",
                "span": {"line": 1, "column": 13, "end_line": 1, "end_column": 14},
                "caption": "caption",
                "labels": [
                    {
                        "file": "dir/f f.rx",
                        "span": {"line": 1, "column": 5, "end_line": 1, "end_column": 6},
                        "message": "label",
                    }
                ],
                "notes": ["a note"],
                "function": "@main",
                "help": "write `z`",
                "witness": {"n": 3, "k": 2},
                "edits": [
                    {
                        "file": "dir/f f.rx",
                        "span": {"line": 1, "column": 13, "end_line": 1, "end_column": 14},
                        "text": "z",
                    }
                ],
                "helps": [],
            }
        ],
        "assertions": {"total": 15, "proved": 10, "refuted": 1, "residual": 1, "entry": 3},
    }


def test_what_is_absent_is_null() -> None:
    (found,) = check_object([], [BARE], Counts())["diagnostics"]
    assert (found["help"], found["witness"], found["function"], found["caption"]) == (None, None, None, None)
    assert (found["labels"], found["edits"], found["notes"]) == ([], [], [])


def test_every_diagnostic_of_the_gallery_fits_the_schema() -> None:
    diagnostics = list(GALLERY.values())
    assert len(diagnostics) > 10
    jsonschema.validate(check_object(["a.rx"], [*diagnostics, FULL, BARE], Counts(1, 1)), schema("check"))


@pytest.mark.parametrize(
    "spoil",
    [
        {"version": 2},
        {"assertions": {"total": 1}},
        {"diagnostics": [{"code": "E1"}]},
        {"files": "a.rx"},
        {"more": 1},
    ],
)
def test_the_schema_refuses_what_is_something_else(spoil: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**check_object(["a.rx"], [FULL], Counts()), **spoil}, schema("check"))


def test_shapes_are_the_object_of_the_interface() -> None:
    y = Binding("y", at("y"), "Tensor", ("n", "?", 3), ("exact", "upper_bound", "exact"), (None, "n", None), "int32")
    k = Binding("k", at("é"), "Size", None, (), (), "")
    pair = Binding("p", NOWHERE, "Tuple", None, (), (), "", items=(y, k))
    found = shapes_object([FunctionShapes("@ff", (k,), (y, pair), y), FunctionShapes("@main", (), (), None)])
    jsonschema.validate(found, schema("shapes"))
    binding = found["functions"]["@ff"]["bindings"][0]
    assert binding["name"] == "y"
    assert binding["shape"] == ["n", "?", 3]
    assert binding["exactness"] == ["exact", "upper_bound", "exact"]
    assert (binding["bound"], binding["bounds"]) == ("n", [None, "n", None])
    assert binding["span"] == {"line": 1, "column": 13, "end_line": 1, "end_column": 14}
    assert found["functions"]["@ff"]["params"][0]["shape"] is None
    assert found["functions"]["@main"]["result"] is None
    assert [item["name"] for item in found["functions"]["@ff"]["bindings"][1]["items"]] == ["y", "k"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("question", {"id": "a1", "assume": ["n >= 1"], "goal": "n > 0", "vars": {"k": "int"}}),
        ("question", {"goal": "n > 0"}),
        ("answer", {"id": "a1", "result": "valid", "by": "normal-form"}),
        ("answer", {"id": None, "result": "error", "message": "no JSON"}),
        ("answer", {"id": 1, "result": "neither", "witness": {"n": 0}}),
    ],
)
def test_the_schemas_of_prove_take_its_lines(name: str, line: dict[str, Any]) -> None:
    jsonschema.validate(line, schema(f"prove-{name}"))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("question", {"assume": []}),
        ("answer", {"id": 1, "result": "neither"}),
        ("answer", {"id": 1, "result": "maybe"}),
    ],
)
def test_the_schemas_of_prove_refuse_other_lines(name: str, line: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(line, schema(f"prove-{name}"))


def test_sarif_has_the_result_with_its_places_and_its_fix() -> None:
    found = sarif_object([FULL, BARE], "0.1.0")
    (run,) = found["runs"]
    assert (found["version"], run["columnKind"]) == ("2.1.0", "unicodeCodePoints")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["E301", "W311"]
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("E301", 0, "error")
    assert (second["ruleIndex"], second["level"]) == (1, "warning")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "dir/f%20f.rx"
    assert place["region"] == {"startLine": 1, "startColumn": 13, "endLine": 1, "endColumn": 14}
    assert first["relatedLocations"][0]["message"]["text"] == "label"
    (change,) = first["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"]["text"] == "z"
    assert first["properties"] == {"function": "@main", "witness": {"n": 3, "k": 2}}
    assert not {"fixes", "relatedLocations", "properties"} & set(second)


def test_github_gets_one_command_a_diagnostic_with_its_signs_escaped() -> None:
    first, second = github_lines([FULL, BARE])
    assert first == (
        "::error file=dir/f f.rx,line=1,col=13,endLine=1,endColumn=14,title=rx E301::"
        "100%25 wrong: this, that%0Acaption%0Aa note%0Ahelp: write `z`"
    )
    assert second.startswith("::warning file=dir/f f.rx,line=2,col=9,endLine=3,endColumn=5,title=rx W311::")
    assert second.endswith("first line%0Asecond line")


def test_github_escapes_what_would_end_a_property() -> None:
    source = Source("a,b:c%.rx", "x")
    (line,) = github_lines([error(codes.E101, "no", Span(source, 0, 1))])
    assert re.match(r"::error file=a%2Cb%3Ac%25\.rx,line=1,", line)
