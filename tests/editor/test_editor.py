"""What an editor knows of a program: the same as `rx check`, found piece by piece; places in every encoding; names."""

from __future__ import annotations

import gc
import random
import re
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from types import FunctionType, ModuleType

import pytest
from rxlang.editor.analysis import Analyst, PieceVerdict, Settings, SliceFacts
from rxlang.editor.completion import completions, signature
from rxlang.editor.lookup import Lookup, NameMeaning
from rxlang.editor.pieces import EditorPiece, Pieces, split
from rxlang.editor.positions import UTF8, UTF16, UTF32, Position, TextLines, changed, path_of, uri_of
from rxlang.editor.rename import RenameRefused, edited, renamed
from rxlang.editor.symbols import folds, symbols, tokens
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.dtypes import DTYPES
from rxlang.lang.source import Source
from rxlang.pipeline import check_source
from support import fuzz, hard_programs, plain_scopes, random_programs, small_programs
from support.places import ROOT, TESTS

PROGRAMS = sorted([*ROOT.glob("examples/**/*.rx"), *ROOT.glob("tests/**/*.rx"), *ROOT.glob("benchmarks/**/*.rx")])
FUZZ = fuzz.FUZZ or 0.02  # the share of places that are asked about

Told = list[tuple[str, str, str, tuple[int, int] | None]]


def checked(path: Path, text: str) -> Told:
    """What `rx check` says of a file, without what it says of others."""
    report = check_source(Source(str(path), text), path.parent)
    own = [d for d in report.diagnostics if d.span.source.name == str(path)]
    return sorted((d.code, d.severity, d.message, (d.span.start, d.span.end)) for d in own)


def known(facts: SliceFacts) -> Told:
    return sorted((d.code, d.severity, d.message, facts.pieces.place(d.span)) for d in facts.diagnostics)


def sample(count: float, longest: int = 100_000) -> list[Path]:
    there = [p for p in PROGRAMS if p.stat().st_size <= longest]
    return random.Random(7).sample(there, max(3, min(len(there), int(count * FUZZ))))


@pytest.mark.parametrize("path", sample(1200), ids=lambda p: p.name)
def test_piece_by_piece_the_same_is_said_as_of_the_whole(path: Path) -> None:
    text, facts = path.read_text(), Analyst().facts(path)
    assert known(facts) == checked(path, text)
    assert is_wrong(facts.told) != check_source(Source(str(path), text), path.parent).ok


@pytest.mark.parametrize("path", sample(300, 4_000), ids=lambda p: p.name)
def test_what_is_said_does_not_depend_on_what_was_there_before(path: Path) -> None:
    """Pieces are taken out, doubled, moved and put back: each time the same is known as if the file were new."""
    text, analyst, chance = path.read_text(), Analyst(), random.Random(11)
    for _ in range(6):
        parts = [p.text for p in split(path, text).pieces]
        chance.shuffle(parts)
        now = "".join(p if p.endswith("\n") else f"{p}\n" for p in parts[: chance.randint(0, len(parts))])
        analyst.edit(path, now)
        assert known(analyst.facts(path)) == known(fresh(path, now))
    analyst.edit(path, text)
    assert known(analyst.facts(path)) == known(fresh(path, text))


def test_what_is_wrong_with_a_type_where_it_is_used_is_told() -> None:
    path = TESTS / "used.rx"
    text = "type A = Tensor([x, 2], int8)\n" + "".join(f"@{f} = fn(x : A) : Tensor {{ x }}\n" for f in "fg")
    assert [said[0] for said in known(fresh(path, text))] == ["E206"]
    assert known(fresh(path, text)) == checked(path, text)


def is_wrong(said: tuple[Diagnostic, ...]) -> bool:
    return any(d.severity == "error" for d in said)


def test_what_is_wrong_with_an_import_is_told_where_it_is_imported(tmp_path: Path) -> None:
    """Be it wrong by itself, or where it is used, in a file behind it, while it is edited, or no more."""
    paths = [tmp_path / name for name in ("top.rx", "middle.rx", "base.rx")]
    types = {
        "type A = Tensor([n, 2], int8)\n": (),
        "type A = Tensor([n * k], int8)\n": ("E208",),
        "\n\ntype B = Tensor([n], int9)\ntype A = Tensor([n + ], int8)\n": ("E225", "E101"),
        "type A = Tensor([n, 2], int8)\n@f = fn(x : A) : Tensor([n], int8) { x }\n": ("E302",),
    }
    paths[0].write_text('import "middle.rx" as m\n@f = fn(x : Tensor([3, 2], int8)) : Tensor { @m.f(x) }\n')
    paths[1].write_text('\nimport "base.rx"\n@f = fn(x : base.A) : Tensor { x }\n')
    analyst = Analyst()
    for text, codes in [*types.items(), *reversed(types.items())]:
        analyst.edit(paths[2], text)
        for path in paths[:2]:
            told = [d for d in analyst.facts(path).told if d.severity == "error"]
            assert [str(d.code) for d in told[:1]] == list(codes[:1]), (path.name, text)
            if codes:
                assert told[0].span.text.endswith('.rx"') and "base.rx has " in told[0].message
                assert [label.span.text != "" for label in told[0].labels] == [True] * len(codes)
    paths[2].write_text("type A = Tensor([n, 2], int8)\n")
    analyst.close(paths[2])
    assert not is_wrong(analyst.facts(paths[0]).told)


def fresh(path: Path, text: str) -> SliceFacts:
    analyst = Analyst()
    analyst.edit(path, text)
    return analyst.facts(path)


@pytest.mark.parametrize(
    "path", [ROOT / "examples/ff.rx", ROOT / "examples/minilm/attention.rx", *sample(60, 4_000)], ids=lambda p: p.name
)
def test_every_prefix_of_a_program_is_told_of_without_a_traceback(path: Path) -> None:
    text, analyst = path.read_text(), Analyst()
    step = max(1, int(len(text) / (2500 * FUZZ)))
    for end in range(0, len(text), step):
        analyst.edit(path, text[:end])
        facts = analyst.facts(path)
        for said in facts.diagnostics:
            start, stop = facts.pieces.place(said.span) or (-1, -1)
            assert 0 <= start <= stop <= end
        completions(facts, end), signature(facts, end), tokens(facts), folds(facts.pieces), symbols(facts.pieces)
        Lookup(facts.program).at(end)


SIZES = """const k : Size = 2
type Pair = (Tensor([k, 3], int8), Tensor([k], int8))
@wide = fn(x : Tensor([n, k], int8)) : Tensor([n, k], int8) {
  x + @zeros([1, k], int8)
}
"""
USES = """import "sizes.rx" as sizes

const c = @sizes.wide(@zeros([5, 2], int8))
const p : sizes.Pair = (@zeros([2, 3], int8), @zeros([2], int8))

@of_p = fn(p : sizes.Pair) : Tensor([sizes.k], int8) {
  let (w, b) = p
  @sum(w, axis=1) + b
}

@of_c = fn(x : Tensor([5, n], int8), sizes_k : Size = 2) : Tensor([5, n], int8) where n <= 2 {
  let y = x + c
  y + @of_p(p)
}

@open = fn(x : Tensor([n, 2], int8)) {
  @sizes.wide(x) + c + @of_p(p)
}

let z = @open(@zeros([5, 2], int8))
"""
CHANGES = [
    ("2", "3"),
    ("3", "2"),
    ("5", "1"),
    ("wide", "open"),
    ("k]", "n]"),
    ("sizes_k", "k"),
    ("p", "c"),
    ("n", "sizes.k"),
]


@pytest.mark.parametrize("seed", range(max(2, int(100 * FUZZ))))
def test_a_change_matters_to_whatever_rests_on_it(seed: int) -> None:
    """Consts, types and signatures of two files, changed one after the other and back: each time all is as if it were new."""
    chance, analyst = random.Random(seed), Analyst()
    texts = {TESTS / "sizes.rx": SIZES, TESTS / "uses.rx": USES}
    before = [texts]
    for _ in range(12):
        path, (old, new) = chance.choice(list(texts)), chance.choice(CHANGES)
        places = [i for i in range(len(texts[path])) if texts[path].startswith(old, i)]
        if places and chance.random() < 0.7:
            at = chance.choice(places)
            texts = {**texts, path: texts[path][:at] + new + texts[path][at + len(old) :]}
        else:
            texts = chance.choice(before)
        before.append(texts)
        other = Analyst()
        for one in (analyst, other):
            one.edited.update(texts)
        assert [known(analyst.facts(p)) for p in texts] == [known(other.facts(p)) for p in texts]


BROKEN = """@first = fn(x : Tensor([5, 3], float32)) : Tensor([3, 5], float32) {
  @matmul(x, x)
}

@second = fn(x : Tensor([n], int8)) {
  let y = @reshape(x, [n
"""


def test_an_open_bracket_loses_its_own_function_alone() -> None:
    facts = fresh(TESTS / "new.rx", BROKEN)
    codes = [d.code for d in facts.diagnostics]
    assert "E305" in codes and any(c.startswith("E1") for c in codes)


def test_brackets_that_close_in_column_one_belong_together() -> None:
    text = "@f = fn(\nx : Tensor([n, 2], int8)\n) : Tensor([n, 2], int8) {\nlet y = x\ny\n}\nlet z = @f(@zeros([3, 2], int8))\n"
    path = TESTS / "new.rx"
    assert known(fresh(path, text)) == checked(path, text)
    assert len(split(path, text).pieces) == 2


def test_only_what_changed_and_who_sees_it_is_checked_again() -> None:
    path, analyst = TESTS / "new.rx", Analyst()
    text = (
        "@a = fn(x : Tensor([n], int8)) : Tensor([n], int8) {\n  x\n}\n"
        "@b = fn(x : Tensor([n], int8)) : Tensor([n], int8) {\n  @a(x)\n}\n"
        "@c = fn(x : Tensor([n], int8)) : Tensor([n], int8) {\n  @b(x)\n}\n"
        "@d = fn(x : Tensor([n], int8)) {\n  @a(x)\n}\n"
        "let e = @d(@zeros([3], int8))\n"
    )
    analyst.edit(path, text)
    before = {p.key: v for p, v in analyst.facts(path).verdicts.items()}

    def new(now: str) -> set[str]:
        analyst.edit(path, now)
        found = {p.key: v for p, v in analyst.facts(path).verdicts.items()}
        again = {key for key, verdict in found.items() if before.get(key) is not verdict}
        before.clear(), before.update(found)
        return again

    assert new("\n# moved\n" + text) == set()
    assert new(text.replace("{\n  x\n}", "{\n  @identity(x)\n}")) == {"a#1"}
    assert new(text) == {"a#1"}
    wider = text.replace("@a = fn(x : Tensor([n], int8))", "@a = fn(x : Tensor([n], int8), y : Size = 2)")
    assert new(wider) == {"a#1", "b#1", "d#1", "let#1"}, "@d says nothing of its result"


def test_however_much_is_typed_as_much_is_held() -> None:
    """Calls are typed and taken back, one keystroke after the other: nothing of what stood there meanwhile stays."""
    path, analyst, chance = TESTS / "new.rx", Analyst(), random.Random(5)
    head = "fn(x : Tensor([n], int8)) : Tensor([n], int8)"
    text = "".join(f"@f{i} = {head} {{\n  let y = @f{max(i - 1, 1)}(x)\n  y\n}}\n" for i in range(2, 12))
    text = f"@f1 = {head} {{ x }}\n{text}"
    places = [i for i in range(len(text)) if text.startswith("  let y", i)]
    held = set()
    for _ in range(6):
        analyst.edit(path, text)
        analyst.facts(path)
        held.add(tuple(reached(analyst, kind) for kind in (EditorPiece, Pieces, PieceVerdict)))
        for _ in range(8):
            at = chance.choice(places)
            for typed in ("@", "@re", "@relu(x)"):
                analyst.edit(path, text[:at] + typed + text[at:])
                next(analyst.steps(path, Settings()))
            analyst.edit(path, text)
            next(analyst.steps(path, Settings()))
    assert held == {(11, 1, 11)}


def reached(one: object, kind: type) -> int:
    """How many objects of a kind something holds."""
    seen, todo, count = {id(one)}, [one], 0
    while todo:
        now = todo.pop()
        count += type(now) is kind
        if not isinstance(now, type | ModuleType | FunctionType):
            new = [o for o in gc.get_referents(now) if id(o) not in seen]
            seen.update(map(id, new))
            todo.extend(new)
    return count


# Places


def test_columns_are_those_that_were_agreed_on() -> None:
    text = "é😀x\r\ny\rz\u2028w"
    for encoding, columns in ((UTF32, [0, 1, 2, 3]), (UTF16, [0, 1, 3, 4]), (UTF8, [0, 2, 6, 7])):
        lines = TextLines(text, encoding)
        assert [lines.position(i) for i in range(4)] == [Position(0, c) for c in columns]
        assert [lines.offset(0, c) for c in columns] == [0, 1, 2, 3]
        assert lines.offset(0, columns[2] - 1) == 1, "inside of a character is its start"
        assert (
            lines.offset(0, 99) == 3
            and lines.offset(9, 0) == len(text)
            and lines.position(99) == lines.position(len(text))
        )
        assert lines.position(text.index("w")).line == 2, "only line ends of the protocol end a line"


def test_a_place_there_and_back_is_the_same_place() -> None:
    chance = random.Random(5)
    for _ in range(200):
        text = "".join(chance.choice("ab é😀\n\r\u2028\t") for _ in range(chance.randint(0, 30)))
        for encoding in (UTF8, UTF16, UTF32):
            lines = TextLines(text, encoding)
            for offset in range(len(text) + 1):
                if text[offset - 1 : offset + 1] != "\r\n":
                    assert lines.offset(*lines.position(offset)) == offset
            a, b = sorted(chance.randint(0, len(text)) for _ in range(2))
            if "\r\n" not in (text[a - 1 : a + 1], text[b - 1 : b + 1]):
                made = changed(text, lines.position(a), lines.position(b), "é", encoding)
                assert made == f"{text[:a]}é{text[b:]}"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/a%20b/x.rx", "/home/a b/x.rx"),
        ("file:///c%3A/work/x.rx", "C:/work/x.rx"),
        ("file:///C:/work/x.rx", "C:/work/x.rx"),
        ("file://localhost/x.rx", "/x.rx"),
        ("file://host/share/x.rx", "//host/share/x.rx"),
        ("file:///%F0%9F%98%80.rx", "/😀.rx"),
    ],
)
def test_a_uri_names_a_file_on_every_system(uri: str, path: str) -> None:
    assert path_of(uri) == Path(path)


def test_a_file_of_windows_has_one_uri() -> None:
    assert uri_of(PureWindowsPath(r"C:\work dir\x.rx")) == "file:///c%3A/work%20dir/x.rx"
    assert uri_of(Path("/a b/é.rx")) == "file:///a%20b/%C3%A9.rx"
    assert path_of("untitled:Untitled-1") is None


# Names


def test_a_new_name_changes_no_meaning_or_is_refused() -> None:
    """Whatever is renamed to whatever, and whatever comes of it: the program means the same."""
    chance, refusals, changes = random.Random(3), 0, 0
    for path in [ROOT / "examples/minilm/attention.rx", *sample(200, 4_000)]:
        analyst, settings = Analyst(), Settings()
        facts, lookup = analyst.facts(path), None
        lookup = Lookup(facts.program)
        there = [(o, s) for o in lookup.occurrences() for s in (lookup.symbol(o),) if s is not None and s.path == path]
        for occurrence, symbol in chance.sample(there, min(len(there), max(2, int(100 * FUZZ)))):
            name = chance.choice([o.name for o, _ in there] + ["fresh", "int8", "let", "x'"])
            try:
                places = renamed(analyst, [path], symbol, name, settings)
            except RenameRefused as reason:
                refusals += 1
                assert str(reason)
                continue
            changes += 1
            now = fresh(path, edited(facts.pieces.text, places, name))
            assert [d.code for d in now.diagnostics] == [d.code for d in facts.diagnostics], (path, occurrence, name)
    assert refusals and changes


def typed(chance: random.Random) -> str:
    """A program whose types bind names where they are used, beside those that stand there."""
    names = "knm"

    def dims(own: str, others: tuple[str, ...] = ()) -> str:
        sizes = [chance.choice((own, own, f"{own} + 1", "2")) for _ in range(chance.randint(1, 3))]
        choices = [f"Tensor([{', '.join(sizes)}], int8)", *(f"{o}" for o in others)]
        return chance.choice(choices)

    types = [f"type A = {dims(chance.choice(names))}", f"type B({chance.choice(names)}) = Tensor([n, k, m], int8)"]
    params = [dims(chance.choice(names), ("A", f"B({chance.choice(names)})", "(A, A)")) for _ in range(3)]
    head = ", ".join(f"{p} : {t}" for p, t in zip("xyz", params, strict=True))
    loop = "for i in range(2) with (x = x) { x }"
    return "\n".join([*types, f"@f = fn({head}) : Tensor {{", f"  let w = {loop}", "  w", "}\n"])


def random_program(seed: int) -> str:
    made: tuple[Callable[[], str], ...] = (
        lambda: typed(random.Random(seed)),
        lambda: hard_programs.program(seed, 2),
        lambda: plain_scopes.program(seed)[0],
        lambda: random_programs.Maker(seed).source,
        lambda: small_programs.Maker(seed).program() + small_programs.LIBRARY,
    )
    return made[seed % len(made)]()


def using(text: str) -> str:
    """A file with a function for each that another has with parameters which it can spell."""
    own = set(re.findall(r"^(?:type|const) (\w+)", text, re.MULTILINE))
    heads = re.findall(r"^@(\w+) = fn\((\w+ : Tensor\(\[[\w, ]*\], \w+\))\)", text, re.MULTILINE)
    there = [(f, param) for f, param in heads if own.isdisjoint(re.findall(r"\w+", param))]
    calls = (f"@{f} = fn({param}) {{ @lib.{f}({param.split(' ')[0]}) }}\n" for f, param in there)
    return 'import "lib.rx" as lib\n' + "".join(calls)


def test_a_rename_in_random_files_leaves_what_is_asked_and_known(tmp_path: Path) -> None:
    """A new name is refused only where it stands already, where the old one does."""
    lib, use, settings, changes, refusals = tmp_path / "lib.rx", tmp_path / "use.rx", Settings((tmp_path,)), 0, 0
    for case in fuzz.cases("renames"):
        with case as seed:
            chance = random.Random(seed)
            text = random_program(seed)
            texts = {lib: text, use: using(text)}
            before, analyst = written(texts), Analyst()
            lookup = Lookup(analyst.facts(lib, settings).program)
            there = [(o.name, s) for o in lookup.occurrences() for s in (lookup.symbol(o),) if s is not None and s.path]
            for _, symbol in chance.sample(there, min(len(there), 3)):
                name = chance.choice([*(n for n, _ in there), *WORDS])
                try:
                    places = renamed(analyst, [lib, use], symbol, name, settings)
                except RenameRefused:
                    refusals += 1
                    assert may_clash(lookup, symbol, name), (symbol, name, text)
                    continue
                now = {p: edited(t, [q for q in places if q.path == p], name) for p, t in texts.items()}
                assert written(now) == before, (symbol, name, text)
                written(texts)
                changes += 1
    assert changes and refusals


WORDS = ("fresh", "_", "_x", "out", "main", "min", "load", "floating", "Tensor", "int8", "relu", "lib")


def written(texts: dict[Path, str]) -> list[object]:
    """What files mean that are on disk from here on."""
    for path, text in texts.items():
        path.write_text(text)
    return [meant(path, text) for path, text in texts.items()]


def may_clash(lookup: Lookup, symbol: NameMeaning, name: str) -> bool:
    """Whether a name stands where a symbol is known, in the same sort of names, or is one that the language has there."""
    unit = lookup.program.units[""]
    if symbol.kind in ("function", "import"):
        return "main" in (symbol.name, name) or f"@{name}" in unit.text
    # What types speak of is seen wherever they are used.
    types = [p for p in unit.pieces if re.match("type|const", p.text)]
    around = [p for p in unit.pieces if symbol.key.startswith(p.key) or symbol.kind in ("type", "const")]
    in_types, there = (re.findall(r"(?<![\w@])[\w']+", "".join(p.text for p in ps)) for ps in (types, around))
    return symbol.name in in_types or name in {*in_types, *there, *DTYPES, "_"}


def meant(path: Path, text: str) -> object:
    """How much is asked of a program, what became of that, what is wrong with it. A note of unused names reads the names."""
    report = check_source(Source(str(path), text), path.parent)
    return report.counts, sorted(d.code for d in report.diagnostics if not d.code.is_quiet)


def test_a_loop_that_carries_what_it_is_called_after_can_be_renamed() -> None:
    path, analyst = TESTS / "carry.rx", Analyst()
    text = "@f = fn(x : Tensor([n], int8)) : Tensor {\n  for i in range(2) with (x = x) { x + x }\n}\n"
    analyst.edit(path, text)
    lookup = Lookup(analyst.facts(path).program)
    found = lookup.at(text.index("x = x"))
    symbol = lookup.symbol(found) if found is not None else None
    assert symbol is not None
    assert edited(text, renamed(analyst, [path], symbol, "acc", Settings()), "acc") == text.replace(
        "(x = x) { x + x }", "(acc = x) { acc + acc }"
    )


def test_what_a_run_calls_is_not_renamed() -> None:
    path, analyst = TESTS / "main.rx", Analyst()
    for old, new in (("main", "f"), ("f", "main")):
        analyst.edit(path, f"@{old} = fn(x : Tensor([n], int8)) {{ x }}\n")
        lookup = Lookup(analyst.facts(path).program)
        symbol = next(s for o in lookup.occurrences() for s in (lookup.symbol(o),) if o.name == old)
        assert symbol is not None
        with pytest.raises(RenameRefused, match="what a run of a file calls"):
            renamed(analyst, [path], symbol, new, Settings())


def test_users_of_a_function_that_is_being_typed_see_its_signature() -> None:
    path, analyst = TESTS / "new.rx", Analyst()
    text = (
        "@a = fn(x : Tensor([n, 2], int8)) : Tensor([n, 2], int8) {\n  let y = x\n  y\n}\n"
        "@b = fn(y : Tensor([n, 3], int8)) : Tensor([n, 2], int8) {\n  @a(y)\n}\n"
    )
    analyst.edit(path, text)
    before = {p.key: v for p, v in analyst.facts(path).verdicts.items()}
    for typed in ("@", "@y(", "[", "(x", "{", "= ", '"'):
        analyst.edit(path, text.replace("let y = x", f"let {typed}y = x"))
        facts = analyst.facts(path)
        codes = [str(d.code) for d in facts.diagnostics]
        assert "E301" in codes and any(c.startswith("E1") for c in codes), (typed, codes)
        assert next(v for p, v in facts.verdicts.items() if p.key == "b#1") is before["b#1"], typed


def test_a_size_may_be_called_like_a_function_a_type_or_an_import(tmp_path: Path) -> None:
    """They are names of other sorts: wherever the size stands it is the size that is found."""
    path = tmp_path / "k.rx"
    (tmp_path / "lib.rx").write_text("@g = fn(x : Tensor([n], int8)) : Tensor([n], int8) { x }\n")
    size = "fn(x : Tensor([k, min(k, 3)], int8)) : Tensor([k, ?], int8) { x }\n"
    for others in ("@k = ", "type k = Tensor([k], int8)\n@f = ", 'import "lib.rx" as k\n@f = ', "@f = "):
        text = others + size
        analyst = Analyst()
        analyst.edit(path, text)
        found = Lookup(analyst.facts(path).program)
        at = text.index("[k, min") + 1
        occurrence = found.at(at)
        symbol = found.symbol(occurrence) if occurrence is not None else None
        assert symbol is not None and symbol.kind == "size"
        for name in ("rows", "min", "Tensor", "floating", "f", "g"):
            try:
                changed = edited(text, renamed(analyst, [path], symbol, name, Settings()), name)
            except RenameRefused:
                assert name == "min" and "min(k" in text
                continue
            assert changed == others + re.sub(r"\bk\b", name, size)
            assert meant(path, changed) == meant(path, text)
