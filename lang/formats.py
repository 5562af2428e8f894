"""Diagnostics, counts and shapes for other programs: objects for JSON and SARIF, lines for GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from .cells import shown
from .checked import Binding, Case, Counts, FunctionShapes
from .choices import Choice
from .diagnostics import Diagnostic, Edit, Help
from .source import NOWHERE, Span

# Values that a JSON library accepts: dictionaries, lists, texts, numbers, None.
Object = dict[str, Any]

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
_GITHUB_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def span_object(span: Span) -> Object:
    """Lines and columns from 1, columns in code points, the end exclusive."""
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(max(span.end, span.start))
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


# JSON


def check_object(
    files: Sequence[str], diagnostics: Iterable[Diagnostic], counts: Counts, guards: Iterable[Choice] | None = None
) -> Object:
    """The output of `rx check --format json`, with `guards` on request."""
    chosen = {} if guards is None else {"guards": [guard_object(guard) for guard in guards]}
    return {
        "version": 1,
        "files": list(files),
        "diagnostics": [diagnostic_object(d) for d in diagnostics],
        "assertions": {name: getattr(counts, name) for name in ("total", "proved", "refuted", "residual", "entry")},
        **chosen,
    }


def guard_object(guard: Choice) -> Object:
    texts = {name: getattr(guard, name) for name in ("kind", "function", "condition", "chosen")}
    return {**texts, "file": guard.span.source.name, "span": span_object(guard.span)}


def diagnostic_object(diagnostic: Diagnostic) -> Object:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "file": diagnostic.span.source.name,
        "span": span_object(diagnostic.span),
        "caption": diagnostic.caption or None,
        "labels": [
            {"file": label.span.source.name, "span": span_object(label.span), "message": label.message}
            for label in diagnostic.labels
        ],
        "notes": list(diagnostic.notes),
        "function": diagnostic.function,
        "help": diagnostic.help,
        "witness": None if diagnostic.witness is None else dict(diagnostic.witness),
        "edits": [_edit_object(edit) for edit in diagnostic.edits],
        "helps": [{"text": h.text, "edits": [_edit_object(edit) for edit in h.edits]} for h in diagnostic.helps],
    }


def _edit_object(edit: Edit) -> Object:
    return {"file": edit.span.source.name, "span": span_object(edit.span), "text": edit.text}


def shapes_object(functions: Iterable[FunctionShapes]) -> Object:
    """The output of `rx shapes --format json`."""
    return {
        "functions": {
            function.name: {
                "params": [binding_object(b) for b in function.params],
                "bindings": [binding_object(b) for b in function.bindings],
                "result": None if function.result is None else binding_object(function.result),
            }
            for function in functions
        }
    }


def binding_object(binding: Binding) -> Object:
    """A binding; `bound` is the first known upper bound of a dimension, if any; `bounds` has one per dimension."""
    found: Object = {
        "name": binding.name,
        "sort": binding.sort,
        "span": None if binding.span.source is NOWHERE.source else span_object(binding.span),
        "shape": None if binding.shape is None else list(binding.shape),
        "exactness": list(binding.exactness),
        "dtype": binding.dtype or None,
        "asserted": binding.asserted,
    }
    known = [bound for bound in binding.bounds if bound is not None]
    if known:
        found["bound"] = known[0]
        found["bounds"] = list(binding.bounds)
    if binding.cases:
        found["cases"] = [case_object(case) for case in binding.cases]
    if binding.items:
        found["items"] = [binding_object(item) for item in binding.items]
    return found


def case_object(case: Case) -> Object:
    """One shape of a value whose rank sizes decide, with its condition."""
    return {"when": case.when, "shape": list(case.shape)}


# SARIF 2.1.0


def sarif_object(diagnostics: Iterable[Diagnostic], version: str) -> Object:
    """One run of the tool."""
    found = list(diagnostics)
    codes = sorted({d.code for d in found})
    driver: Object = {
        "name": "rx",
        "version": version,
        "rules": [
            {"id": code, "help": {"text": f"rx explain {code}"}, "shortDescription": {"text": code.heading}}
            for code in codes
        ],
    }
    run: Object = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(d, codes.index(d.code)) for d in found],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(diagnostic: Diagnostic, rule: int) -> Object:
    result: Object = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _SARIF_LEVELS[diagnostic.severity],
        "message": {"text": _whole_message(diagnostic)},
        "locations": [_sarif_place(diagnostic.span)],
    }
    if diagnostic.labels:
        result["relatedLocations"] = [
            {"id": i, **_sarif_place(label.span), "message": {"text": label.message}}
            for i, label in enumerate(diagnostic.labels)
        ]
    fixes = diagnostic.helps or (Help(diagnostic.help or "apply the change", diagnostic.edits),)
    if any(fix.edits for fix in fixes):
        result["fixes"] = [_sarif_fix(fix) for fix in fixes]
    properties = {"function": diagnostic.function, "witness": diagnostic.witness and dict(diagnostic.witness)}
    if any(properties.values()):
        result["properties"] = {key: value for key, value in properties.items() if value}
    return result


def _sarif_place(span: Span) -> Object:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(span.source.name)}, "region": _region(span)}}


def _region(span: Span) -> Object:
    at = span_object(span)
    return {
        "startLine": at["line"],
        "startColumn": at["column"],
        "endLine": at["end_line"],
        "endColumn": at["end_column"],
    }


def _sarif_fix(help_: Help) -> Object:
    files = sorted({edit.span.source.name for edit in help_.edits})
    changes = [
        {
            "artifactLocation": {"uri": _uri(name)},
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
                for edit in help_.edits
                if edit.span.source.name == name
            ],
        }
        for name in files
    ]
    return {"description": {"text": help_.text}, "artifactChanges": changes}


def _uri(name: str) -> str:
    path = quote(name.encode("utf-8", "surrogateescape"), safe="/")
    return f"file://{path}" if path.startswith("/") else path


def _whole_message(diagnostic: Diagnostic) -> str:
    """The message, the texts below it and the help, for readers that show one text."""
    help = f"help: {diagnostic.help}" if diagnostic.help else ""
    texts = (diagnostic.message, diagnostic.caption, *diagnostic.notes, help)
    return "\n".join(text for text in texts if text)


# GitHub's workflow commands


def github_lines(diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
    for d in diagnostics:
        at = span_object(d.span)
        fields = {
            "file": d.span.source.name,
            "line": at["line"],
            "col": at["column"],
            "endLine": at["end_line"],
            "endColumn": at["end_column"],
            "title": f"rx {d.code}",
        }
        written = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items())
        yield f"::{_GITHUB_COMMANDS[d.severity]} {written}::{_data(_whole_message(d))}"


def _data(text: str) -> str:
    """Encode line ends for GitHub and escape other control characters as for a terminal."""
    return "%0A".join(shown(line).replace("%", "%25") for line in text.split("\n"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
