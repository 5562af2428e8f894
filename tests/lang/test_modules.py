"""Imports: names across files, circles, aliases, and no file outside the program's folder and the roots."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang.desugar.desugar import desugar
from rxlang.lang import core
from rxlang.lang.core_printer import print_program
from rxlang.lang.diagnostics import Diagnostic, RxError
from rxlang.lang.files import Files
from rxlang.lang.modules import MAX_DEPTH, Modules, load_program
from rxlang.lang.source import Source
from rxlang.ops.registry import lookup

F = "@f = fn(x : Tensor([n], d)) : Tensor([n], d) { x }\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".rx")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def load(folder: Path, text: str, *roots: Path, name: str = "main.rx") -> tuple[Modules, tuple[Diagnostic, ...]]:
    return load_program(Source(name, text), Files(folder, roots))


def run(folder: Path, text: str, *roots: Path) -> tuple[core.Program, list[Diagnostic]]:
    modules, syntax = load(folder, text, *roots)
    program, diagnostics = desugar(modules, lookup)
    return program, [d for d in (*syntax, *diagnostics) if d.severity == "error"]


def names(program: core.Program) -> list[str]:
    return [f.name for f in program.functions]


def test_an_imported_function_is_called_by_its_alias(tmp_path: Path) -> None:
    write(tmp_path, lib__attention=F)
    text = 'import "lib/attention.rx" as attn\n@main = fn(x : Tensor([n], d)) : Tensor([n], d) { @attn.f(x) }'
    program, errors = run(tmp_path, text)
    assert errors == []
    assert names(program) == ["attn.f", "attn.f_impl", "main", "main_impl"]
    assert "@attn.f(x)" in print_program(program)


def test_without_as_the_alias_is_the_stem(tmp_path: Path) -> None:
    write(tmp_path, attention=F)
    modules, diagnostics = load(tmp_path, 'import "attention.rx"')
    assert diagnostics == ()
    assert [m.alias for m in modules.imports] == ["attention"]


@pytest.mark.parametrize("name", ["two-words.rx", "1st.rx"])
def test_a_stem_that_is_no_name_needs_as(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(F)
    assert [d.code for d in load(tmp_path, f'import "{name}"')[1]] == ["E244"]
    assert load(tmp_path, f'import "{name}" as fine')[1] == ()


def test_a_file_that_two_ways_lead_to_is_one_file(tmp_path: Path) -> None:
    write(tmp_path, a='import "b.rx"\n' + F, b=F, c='import "sub/../b.rx" as other\n' + F)
    modules, diagnostics = load(tmp_path, 'import "a.rx"\nimport "c.rx"\nimport "b.rx" as base')
    assert diagnostics == ()
    assert sorted(m.alias for m in modules.imports) == ["a", "base", "c"]
    assert {m.alias: m.links for m in modules.imports} == {"a": (("b", "base"),), "base": (), "c": (("other", "base"),)}


def test_a_file_behind_an_import_is_named_by_the_way_to_it(tmp_path: Path) -> None:
    write(tmp_path, a='import "b.rx"\n@g = fn(x : Tensor(s)) : Tensor(s) { @b.f(x) }', b=F)
    program, errors = run(tmp_path, 'import "a.rx"\nlet x = @a.g(tensor([1]))')
    assert errors == []
    assert names(program) == ["a.b.f", "a.b.f_impl", "a.g", "a.g_impl"]
    _, errors = run(tmp_path, 'import "a.rx"\nlet x = @b.f(tensor([1]))')
    assert [d.message for d in errors] == ["there is no import called `b`"]


def test_a_circle_is_shown_as_a_chain(tmp_path: Path) -> None:
    write(tmp_path, main='import "a.rx"', a='import "b.rx"', b='import "c.rx"', c='import "a.rx"')
    _, diagnostics = load(tmp_path, 'import "a.rx"')
    assert [(d.code, d.message) for d in diagnostics] == [
        ("E243", "files import each other: a.rx -> b.rx -> c.rx -> a.rx")
    ]
    assert diagnostics[0].span.source.name == "c.rx"
    assert [(label.span.source.name, label.message) for label in diagnostics[0].labels] == [
        ("a.rx", "imports b.rx"),
        ("b.rx", "imports c.rx"),
    ]


def test_a_file_that_imports_itself_or_the_entry_is_a_circle(tmp_path: Path) -> None:
    write(tmp_path, main='import "main.rx" as me', a='import "main.rx"')
    assert [d.code for d in load(tmp_path, 'import "main.rx" as me')[1]] == ["E243"]
    assert [d.code for d in load(tmp_path, 'import "a.rx"')[1]] == ["E243"]


def test_a_long_chain_of_imports_ends(tmp_path: Path) -> None:
    for i in range(MAX_DEPTH + 20):
        (tmp_path / f"m{i}.rx").write_text(f'import "m{i + 1}.rx" as next\n')
    _, diagnostics = load(tmp_path, 'import "m0.rx"')
    assert [d.message for d in diagnostics] == [f"imports are nested more than {MAX_DEPTH} deep"]


def test_consts_of_imports_are_seen_by_their_alias(tmp_path: Path) -> None:
    write(tmp_path, a="const width : Size = 64\nconst d : DType = float32\n" + F)
    text = 'import "a.rx"\nconst two : Size = a.width * 2\nlet x : Tensor([two, a_width]) = @zeros([two, a.width], a.d)'
    _, errors = run(tmp_path, text)
    assert [d.message for d in errors] == []
    program, errors = run(tmp_path, text.replace(", a_width]", "]"))
    assert [c.name for c in program.consts] == ["a_width", "a_d", "two"]
    assert errors == []


def test_a_const_of_an_import_avoids_the_names_of_the_program(tmp_path: Path) -> None:
    write(tmp_path, a="const width : Size = 64")
    text = 'import "a.rx"\n@f = fn(x : Tensor([a_width])) : Tensor([a_width]) { @zeros([a.width], int8) }'
    program, errors = run(tmp_path, text)
    assert errors == []
    assert [c.name for c in program.consts] == ["a_width'"]
    assert "@zeros([a_width'], int8)" in print_program(program)


def test_a_const_that_an_import_does_not_see_is_not_shadowed_by_it(tmp_path: Path) -> None:
    write(tmp_path, a="@g = fn(x : Tensor([n], d)) : Tensor([n], d) { @zeros([n], d) }")
    program, errors = run(tmp_path, 'import "a.rx"\nconst n : Size = 3\nlet x = @a.g(@zeros([n], int8))')
    assert errors == []
    text = print_program(program)
    assert "let n' : Size = x.dim(0)" in text
    again, errors = run(tmp_path, text)
    assert errors == []
    assert print_program(again) == text


def test_types_of_imports_keep_the_consts_of_their_file(tmp_path: Path) -> None:
    write(tmp_path, a="const width : Size = 64\ntype Layer = (Tensor([width, n]), Tensor([n]))")
    text = 'import "a.rx" as attn\n@f = fn(x : Tensor([n]), l : attn.Layer) : Tensor([n]) { x }'
    program, errors = run(tmp_path, text)
    assert errors == []
    shown = print_program(program)
    assert "assert l_0.dim(0) == attn_width" in shown
    assert "assert l_0.dim(1) == x.dim(0)" in shown


def test_importing_runs_no_script_and_shows_no_name_of_it(tmp_path: Path) -> None:
    write(tmp_path, a="let k : Size = 3\nlet x = @nope(k)\n")
    program, errors = run(tmp_path, 'import "a.rx"\nlet y = tensor([1])')
    assert errors == []
    assert program.script == ("y",)
    _, errors = run(tmp_path, 'import "a.rx"\nlet y : Size = a.k')
    assert [d.code for d in errors] == ["E201"]


def test_weights_of_an_import_are_beside_it(tmp_path: Path) -> None:
    write(tmp_path, lib__a='const w : Tensor([n]) = load("w.npy")')
    program, _ = run(tmp_path, 'import "lib/a.rx"\nconst v : Tensor([n]) = load("w.npy")')
    assert [c.value.path for c in program.consts if isinstance(c.value, core.Load)] == ["lib/w.npy", "w.npy"]


def test_mistakes_of_an_import_are_reported_where_they_are(tmp_path: Path) -> None:
    write(tmp_path, lib__a="@f = fn(x : Tensor) : Tensor { @nope(x) }\n@g = fn(x : Tensor { x }\n")
    _, errors = run(tmp_path, 'import "lib/a.rx"\nlet y = @a.g(@a.f(tensor([1])))')
    assert {d.span.source.name for d in errors} == {"lib/a.rx"}
    assert {d.code for d in errors} == {"E202", "E101"} or {d.code[:2] for d in errors} == {"E2", "E1"}


def test_a_missing_import_is_reported_once(tmp_path: Path) -> None:
    text = 'import "gone.rx"\n@f = fn(x : gone.T, n : Size) : Tensor { @zeros([gone.width], int8) + @gone.f(x) }'
    _, errors = run(tmp_path, text)
    assert [d.message for d in errors] == ['there is no file "gone.rx"']


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('import "a.rx" as x\nimport "b.rx" as x', "E203"),
        ('import "a.rx" as prelude', "E244"),
        ('import "" as x', "E240"),
        (f'import "{"long" * 2000}.rx" as x', "E240"),
        ('import "nul\\0.rx" as n', "E240"),
        ('import "sub" as s', "E240"),
    ],
)
def test_an_import_that_cannot_be(tmp_path: Path, text: str, code: str) -> None:
    write(tmp_path, a=F, b=F, sub__x=F)
    assert [d.code for d in load(tmp_path, text)[1]] == [code]


# Confinement


def outside(tmp_path: Path) -> tuple[Path, Path]:
    inside, out = tmp_path / "program", tmp_path / "elsewhere"
    inside.mkdir()
    write(out, secret=F)
    return inside, out


WAYS_OUT = ["../elsewhere/secret.rx", "sub/../../elsewhere/secret.rx", "{out}/secret.rx", "link.rx", "dir/secret.rx"]


@pytest.mark.parametrize("path", WAYS_OUT)
def test_no_way_leads_out_of_the_programs_folder(tmp_path: Path, path: str) -> None:
    inside, out = outside(tmp_path)
    (inside / "link.rx").symlink_to(out / "secret.rx")
    (inside / "dir").symlink_to(out)
    with pytest.raises(RxError) as caught:
        Files(inside).read(path.format(out=out))
    assert [d.code for d in caught.value.diagnostics] == ["E241"]


@pytest.mark.parametrize("path", ["../elsewhere/secret.rx", "{out}/secret.rx", "link.rx", "secret.rx"])
def test_a_root_opens_a_folder(tmp_path: Path, path: str) -> None:
    inside, out = outside(tmp_path)
    (inside / "link.rx").symlink_to(out / "secret.rx")
    assert Files(inside, [out]).read(path.format(out=out)) == F.encode()


def test_a_neighbour_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    inside = tmp_path / "program"
    inside.mkdir()
    write(tmp_path / "program2", secret=F)
    with pytest.raises(RxError):
        Files(inside).find("../program2/secret.rx")


def test_a_loop_of_links_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "a.rx").symlink_to(tmp_path / "b.rx")
    (tmp_path / "b.rx").symlink_to(tmp_path / "a.rx")
    with pytest.raises(RxError) as caught:
        Files(tmp_path).read("a.rx")
    assert caught.value.diagnostics[0].code in ("E240", "E241", "E242")


def test_what_is_not_text_or_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.rx").write_bytes(b"# caf\xe9\n")
    with pytest.raises(RxError) as caught:
        Files(tmp_path).read_text("latin.rx")
    assert caught.value.diagnostics[0].message == '"latin.rx" is not UTF-8 text: byte 5 cannot be read'
    assert caught.value.diagnostics[0].help == "save the file as UTF-8 text"
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08")
    with pytest.raises(RxError, match='"net.onnx" is a model, not a program') as caught:
        Files(tmp_path).read_text("net.onnx")
    assert "`rx import net.onnx --out .`" in str(caught.value.diagnostics[0].help)
    with pytest.raises(RxError) as caught:
        Files(tmp_path).read("latin.rx", limit=3)
    assert caught.value.diagnostics[0].message == '"latin.rx" has 7 bytes; the limit is 3'


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "bom.rx").write_bytes(b"\xef\xbb\xbf" + F.encode())
    assert Files(tmp_path).read_text("bom.rx")[1] == F


def test_a_script_from_standard_input_may_import(tmp_path: Path) -> None:
    write(tmp_path, a=F)
    modules, diagnostics = load(tmp_path, 'import "a.rx"', name="-")
    assert diagnostics == ()
    assert [m.module.source.name for m in modules.imports] == ["a.rx"]
