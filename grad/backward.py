"""The backward part of a gradient: lines of Rx that compute the gradient of each operand from that of its result."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable
from itertools import accumulate

from ..lang import core
from ..lang.core_printer import print_expr, print_sort, print_stmt
from ..lang.node import Node, replace
from ..lang.printer import tupled
from ..lang.source import Placed
from ..lang.walk import rewrite
from ..ops.registry import lookup
from .complex_numbers import HOLOMORPHIC, WRITTEN, mark
from .flat import OPEN, Flat, Names, UnreadableCall, Unsupported, leaves, spelt, tensors
from .loops import Handed, KeptLoop, changed_by_turns, kept
from .rules import composition, filled, is_still, locals_apart, rule_of, takes_floats, texts_of, words_of

Translate = Callable[[str], core.Program | None]


class Backward:
    """The lines of Rx that follow the statements of `flat`, each with the call that it belongs to."""

    def __init__(self, flat: Flat, translate: Translate, params: frozenset[str]) -> None:
        self.flat, self.translate, self.params = flat, translate, params
        self.lines: list[tuple[str, Placed]] = []
        self.kept: dict[str, KeptLoop] = {}
        # The names of values already computed in the current block, by their texts.
        self.made: dict[str, str] = {}

    def write(
        self, gradient: core.Gradient, out: list[core.Var], seeds: list[core.Var], wanted: list[str]
    ) -> tuple[str, ...]:
        """Return the names of the gradients of `wanted`; `seeds` are the cotangents that a caller gives."""
        active = set(wanted)
        mark(self.flat.stmts, self.flat.complex)
        self.flat.stmts[:], steps = self.steps(self.flat.stmts, active, keep=True)
        handed: Handed = {}
        for made, seed in zip(out, seeds, strict=bool(seeds)):
            self.say(f"assert {seed.name}.shape == {made.name}.shape", gradient)
            self.say(f"assert {seed.name}.dtype == {made.name}.dtype", gradient)
            handed.setdefault(made.name, []).append(seed.name)
        if not seeds:
            if out[0].name in self.flat.complex:
                raise Unsupported("a complex result", gradient)
            handed[out[0].name] = [self.let(f"@ones_like({out[0].name})", gradient)]
        self._back(steps, handed, active)
        return tuple(self.whole(handed, name, gradient) for name in wanted)

    # Which statements the gradient goes through

    def steps(
        self, stmts: Iterable[core.Stmt], active: set[str], keep: bool = False
    ) -> tuple[list[core.Stmt], list[core.Let]]:
        """Return the statements, and those that depend on `active` names; add the names that these bind to `active`. With
        `keep`, loops also return the values with which their turns begin."""
        found, every = [], []
        for stmt in stmts:
            made = stmt
            if isinstance(stmt, core.Let) and isinstance(stmt.value, core.Var) and stmt.is_tuple:
                active |= set(stmt.names) if stmt.value.name in active else set()
            elif (
                isinstance(stmt, core.Let) and tensors(stmt.value) & active and (changed := self.changed(stmt, active))
            ):
                if keep and isinstance(stmt.value, core.Loop):
                    made, plan = kept(self, stmt, stmt.value, active)
                    self.kept[made.names[0]] = plan
                assert isinstance(made, core.Let)
                found.append(made)
                active |= changed
            every.append(made)
        return every, found

    def changed(self, let: core.Let, active: set[str]) -> set[str]:
        """Return the names of a statement that depend on active names."""
        value = let.value
        if isinstance(value, core.Call):
            if value.callee.name in self.flat.rules:
                return set(let.names)
            return set() if is_still(_primitive(value)) or not _reaches(value) else set(let.names)
        if isinstance(value, core.If):
            arms = [self._ends(arm, active) for arm in (value.then, value.orelse)]
            return {n for n, *ends in zip(let.names, *arms, strict=True) if any(ends)}
        if isinstance(value, core.Loop):
            inner, ends = changed_by_turns(self, value, active)
            starts = [c.name in inner for c in value.carries] + [False] * len(value.stacked)
            return {n for n, first, end in zip(let.names, starts, ends, strict=True) if first or end}
        return set(let.names) if let.sort is None else set()

    def _ends(self, block: core.Block, active: set[str]) -> list[bool]:
        """Return for each result of a block whether it depends on active names."""
        inner = set(active)
        self.steps(block.stmts, inner)
        return [isinstance(v, core.Var) and v.name in inner for v in leaves(block.result)]

    def reached(self, stmts: Iterable[core.Stmt], ends: Iterable[core.Value], active: set[str]) -> set[str]:
        """Return the active names that the given values depend on."""
        inner = set(active)
        _, steps = self.steps(stmts, inner)
        live = {v.name for v in ends if isinstance(v, core.Var)} & inner
        for let in reversed(steps):
            if live & set(let.names):
                live |= tensors(let.value) & inner
        return live

    # Cotangents

    def _back(self, steps: list[core.Let], handed: Handed, active: set[str]) -> None:
        for let in reversed(steps):
            if not any(n in handed for n in self._leaves(*let.names)):
                continue
            if isinstance(let.value, core.Call) and (rule := self.flat.rules.get(let.value.callee.name)) is not None:
                (self._own if rule.name is not None else self._again)(let, let.value, rule, handed, active)
            elif isinstance(let.value, core.Call):
                self._call(let, let.value, handed, active)
            elif isinstance(let.value, core.If):
                self._choice(let, let.value, handed, active)
            elif isinstance(let.value, core.Loop):
                self.kept[let.names[0]].back(self, let, handed, active)
            elif isinstance(let.value, core.Var):
                handed.setdefault(let.value.name, []).append(self.whole(handed, let.names[0], let))
            else:
                raise Unsupported("this", let)

    def _call(self, let: core.Let, call: core.Call, handed: Handed, active: set[str]) -> None:
        name = _primitive(call)
        row = lookup(name)
        if row is None:
            if name in self.flat.lists:
                raise Unsupported(f"`@{name}`", call)
            raise UnreadableCall(f"`@{name}`", call)
        texts, given = texts_of(row, call)
        texts |= {"out": let.names[0], **{f"out{i}": n for i, n in enumerate(let.names)}}
        if row.results == "tuple" and not let.is_tuple:
            raise Unsupported(f"`@{name}`{OPEN}", call)
        made = composition(name, texts, self.local)
        if made is not None:
            self._composed(let, call, made, handed, active)
            return
        for operand, value in given.items():
            items = value.items if isinstance(value, core.ListValue) else (value,)
            for i, item in enumerate(items):
                if not isinstance(item, core.Var) or item.name not in active or not takes_floats(row, operand):
                    continue
                given_complex, gives_complex = item.name in self.flat.complex, bool(set(let.names) & self.flat.complex)
                texts |= {"complex": str(given_complex).lower(), "complex out": str(gives_complex).lower()}
                is_between = (given_complex or gives_complex) and name not in WRITTEN
                rule = rule_of(name, operand, texts, items, i)
                if rule is None:
                    raise Unsupported(f"`@{name}`", call)
                if is_between and name not in HOLOMORPHIC:
                    raise Unsupported(f"`@{name}` of complex numbers", call)
                got = self._ruled(rule, let, call, texts, handed, is_between)
                got = self.let(f"@conj({got})", call) if is_between else got
                got = self.let(f"@real({got})", call) if gives_complex and not given_complex else got
                handed.setdefault(item.name, []).append(got)

    def _ruled(
        self, rule: str, let: core.Let, call: core.Call, texts: dict[str, str], handed: Handed, is_between: bool
    ) -> str:
        """Apply a rule and return the gradient's name; between complex numbers the rule takes conjugates of cotangents."""
        words = dict(texts)
        for i, name in enumerate(let.names):
            used = {"g", "g'"} if not let.is_tuple else {f"g{i}"}
            if used & words_of(rule):
                g = self.whole(handed, name, call)
                words[min(used)] = self.let(f"@conj({g})", call) if is_between else g
        words |= {f"{n}'": filled(texts[f"{n}'"], words) for n in ("g", "out") if f"{n}'" in texts}
        *stmts, last = locals_apart(rule, words, self.local, self.made)
        for text in stmts:
            self.say(text, call)
        return last if last.isidentifier() else self.let(last, call)

    # Rules that the program defines

    def _leaves(self, *names: str) -> list[str]:
        """Return the names of the tensors in the tuples of these names."""
        values = (self.flat.parts.get(n) for n in names)
        return [m for n, v in zip(names, values, strict=True) for m in ([n] if v is None else _names(v))]

    def _own(self, let: core.Let, call: core.Call, rule: core.Rule, handed: Handed, active: set[str]) -> None:
        """Call the function that the program defines as the gradient of a call."""
        assert rule.name is not None
        row = lookup(_primitive(call))
        places = (
            [p.name for p in row.params]
            if row is not None and call.callee.name not in self.flat.functions
            else rule.params
        )
        given = {a.name or places[i]: a.value for i, a in enumerate(call.args)}
        if given.keys() != set(rule.params):
            raise Unsupported(
                f"a call of `@{_primitive(call)}` with other arguments than `vjp @{_primitive(call)}` takes", call
            )
        seeds = [self._whole_of(handed, core.Var(call.span, n), call) for n in let.names]
        args = ", ".join([*(print_expr(given[p]) for p in rule.params), tupled(seeds) if let.is_tuple else seeds[0]])
        asked = {n: given[n] for n in rule.wrt}
        names = self._taken_apart(f"@{_plain(rule.name)}({args})", list(asked.values()), call)
        for leaf, name in names:
            if isinstance(leaf, core.Var) and leaf.name in active:
                handed.setdefault(leaf.name, []).append(name)

    def _taken_apart(self, text: str, like: list[core.Value], at: Placed) -> list[tuple[core.Value, str]]:
        """Unpack a text that gives a tensor or a tuple for each value of `like`; return the values' tensors and the new
        names."""
        names = [self.flat.bind("g''") for _ in like]
        self.say(f"let {names[0] if len(like) == 1 else tupled(names)} = {text}", at)
        found: list[tuple[core.Value, str]] = []
        for value, name in zip(like, names, strict=True):
            form = self.flat.parts.get(value.name, value) if isinstance(value, core.Var) else value
            found += (
                self._taken_apart(name, list(form.items), at) if isinstance(form, core.TupleValue) else [(form, name)]
            )
        return found

    def _whole_of(self, handed: Handed, value: core.Value, at: Placed) -> str:
        """Return the cotangent of a value, in the value's form."""
        form = self.flat.parts.get(value.name, value) if isinstance(value, core.Var) else value
        if isinstance(form, core.TupleValue):
            return tupled([self._whole_of(handed, v, at) for v in form.items])
        assert isinstance(form, core.Var)
        return self.whole(handed, form.name, at)

    def _again(self, let: core.Let, call: core.Call, rule: core.Rule, handed: Handed, active: set[str]) -> None:
        """Compute a function again with its statements written out, then differentiate these."""
        inner = self.flat.inside()
        result = inner.call(self.flat.functions[rule.of], tuple(a.value for a in call.args), call)
        self._through(inner, self._leaves(*let.names), result, call, handed, active)

    def _composed(self, let: core.Let, call: core.Call, text: str, handed: Handed, active: set[str]) -> None:
        """Write out a call whose primitive is composed of others."""
        words = words_of(text)
        params = {n: s for n, s in self.flat.sorts.items() if n in words}
        function = self._translated(self._head(params), text, call)
        inner = self.flat.inside()
        args = tuple(core.variable(call.span, n, s) for n, s in params.items())
        result = inner.call(rewrite(function, lambda node: _placed(node, call)), args, call)
        self._through(inner, let.names, result, call, handed, active)

    def _through(
        self, inner: Flat, names: Iterable[str], result: core.Value, call: core.Call, handed: Handed, active: set[str]
    ) -> None:
        """Repeat the statements that make some names, and collect the cotangents of these statements' operands."""
        given: Handed = {}
        for name, leaf in zip(names, leaves(result), strict=True):
            if name in handed and isinstance(leaf, core.Var):
                given.setdefault(leaf.name, []).append(self.whole(handed, name, call))
        inside = set(active)
        got = self.region(inner.stmts, given, inside)
        for name in active & set(got):
            handed.setdefault(name, []).extend(got[name])

    def region(self, stmts: Iterable[core.Stmt], handed: Handed, active: set[str]) -> Handed:
        """Repeat statements and return the cotangents of their operands, given those of their results."""
        stmts = tuple(stmts)
        mark(stmts, self.flat.complex)
        again, steps = self.steps(stmts, active, keep=True)
        for stmt in again:
            self.say(print_stmt(rewrite(stmt, _spelt_plain)), stmt)
        self._back(steps, handed, active)
        return handed

    def _choice(self, let: core.Let, choice: core.If, handed: Handed, active: set[str]) -> None:
        """Run the arm that was taken again, and differentiate its statements."""
        arms = choice.then, choice.orelse
        asked = [i for i, n in enumerate(let.names) if n in handed]
        given = {i: self.whole(handed, let.names[i], choice) for i in asked}
        ends = [tuple(leaves(arm.result)) for arm in arms]
        reached = [self.reached(arm.stmts, [e[i] for i in asked], active) for arm, e in zip(arms, ends, strict=True)]
        wanted = [n for n in self.flat.sorts if n in active and any(n in r for r in reached)]
        names = [self.flat.bind("g''") for _ in wanted]
        if not names:
            return
        head = names[0] if len(names) == 1 else f"({', '.join(names)})"
        self.say(f"let {head} = if ({print_expr(choice.cond)}) {{", choice)
        around = self.made
        for arm, end in zip(arms, ends, strict=True):
            self.made = dict(around)
            inner: Handed = {}
            for i in asked:
                if isinstance(leaf := end[i], core.Var):
                    inner.setdefault(leaf.name, []).append(given[i])
            got = self.region(arm.stmts, inner, set(active))
            results = [self.whole(got, n, choice) for n in wanted]
            self.say(results[0] if len(names) == 1 else f"({', '.join(results)})", choice)
            self.say("} else {" if arm is choice.then else "}", choice)
        self.made = around
        for name, made in zip(wanted, names, strict=True):
            handed.setdefault(name, []).append(made)

    def whole(self, handed: Handed, name: str, at: Placed) -> str:
        """Return the sum of the cotangents of a name."""
        parts = handed.get(name, [])
        if not parts:
            return self.let(f"@zeros({name}.shape, {name}.dtype)", at)
        total = parts[0]
        for part in parts[1:]:
            total = self.let(f"{total} + {part}", at)
        handed[name] = [total]
        return total

    # Lines

    def let(self, text: str, at: Placed) -> str:
        """Return the name of a text's value, which is computed once."""
        key = f" = {text}"
        if key not in self.made:
            self.made[key] = self.flat.bind("g''")
            self.say(f"let {self.made[key]}{key}", at)
        return self.made[key]

    def local(self, name: str) -> str:
        """Return a fresh name for one that a rule binds."""
        return self.flat.fresh(f"{name}{core.UNSAID}")

    def say(self, text: str, at: Placed) -> None:
        self.lines.append((text, at))

    def statements(self, gradient: core.Gradient, is_read: bool) -> tuple[tuple[core.Stmt, ...], Names]:
        """Return the lines as statements, each at the place of the call that it belongs to, and the values of their names.
        With `is_read`, rules of the program are written out, so that they can be differentiated."""
        text = "\n".join(t for t, _ in self.lines)
        words = words_of(text)
        bound = {n for s in self.flat.stmts for n in core.bound_names(s)}
        outer = {n: s for n, s in self.flat.sorts.items() if n in words and (n in bound or n in self.params)}
        start = self._head(outer, text)
        function = self._translated(start, f"{text}\n0.0", gradient)
        ends = list(accumulate((len(t) + 1 for t, _ in self.lines), initial=len(start)))
        places = [gradient, *(at for _, at in self.lines), gradient]

        def placed(node: Node) -> Node:
            return _placed(node, places[bisect(ends, node.span.start)]) if isinstance(node, Placed) else node

        stmts = rewrite((*function.checks, *function.body.stmts), placed)
        inner = Flat(self.flat.functions, self.flat.taken - spelt(*stmts) | set(outer))
        inner.rules = self.flat.rules if is_read else {n: core.Rule(gradient.span, n) for n in self._called()}
        inner.sorts, inner.parts, inner.known = self.flat.sorts, self.flat.parts, set(self.flat.known)
        inner.complex, inner.ranks = self.flat.complex, self.flat.ranks
        names: Names = {}
        for stmt in stmts:
            inner.stmt(stmt, names)
        self.flat.taken |= inner.taken
        return tuple(inner.stmts), names

    def _called(self) -> set[str]:
        """The functions of the program that lines may call."""
        rules = self.flat.rules.values()
        return {n for r in rules for n in (r.of, r.name) if n is not None and n in self.flat.functions}

    def _head(self, params: dict[str, core.Sort], text: str = "") -> str:
        """Return the head of a function of some parameters, after the declarations of the functions that it calls."""
        declared = ""
        for name in sorted(n for n in self._called() if f"@{_plain(n)}(" in text):
            function = self.flat.functions[name]
            assert function.result is not None
            taken = ", ".join(f"{p.name} : {print_sort(p.sort)}" for p in function.params)
            declared += f'extern @{_plain(name)} = fn({taken}) : {print_sort(function.result)} = "a:b"\n'
        return f"{declared}@back = fn({', '.join(f'{n} : {_sort(s)}' for n, s in params.items())}) {{\n"

    def _translated(self, head: str, text: str, at: Placed) -> core.Function:
        """Return the function that a text defines, with callees named as in the program."""
        made = self.translate(f"{head}{text}\n}}")
        if made is None:
            raise Unsupported("what stands here", at)
        own = {_plain(n): n for n in self._called()}
        [function] = (f for f in made.functions if f.name == "back")

        def called(node: Node) -> Node:
            if not isinstance(node, core.FnRef):
                return node
            hidden = f"prelude.{node.name}" if node.name in self.flat.functions else node.name
            return replace(node, name=own.get(node.name, hidden))

        return rewrite(function, called)


def _plain(name: str) -> str:
    """Return an imported function's name for a text without imports."""
    return name.replace(".", "__")


def _spelt_plain(node: Node) -> Node:
    is_primitive = isinstance(node, core.FnRef) and lookup(_bare(node.name)) is not None
    return replace(node, name=_plain(node.name)) if isinstance(node, core.FnRef) and not is_primitive else node


def _names(value: core.Value) -> list[str]:
    return [v.name for v in leaves(value) if isinstance(v, core.Var)]


def _placed(node: Node, at: Placed) -> Node:
    return replace(node, span=at.span) if isinstance(node, Placed) else node


def _sort(sort: core.Sort) -> str:
    assert isinstance(sort, core.BaseSort)
    return sort.name


def _primitive(call: core.Call) -> str:
    return _bare(call.callee.name)


def _bare(name: str) -> str:
    return name.removeprefix("prelude.")


def _reaches(call: core.Call) -> bool:
    """Whether the result consists of floats, as far as the call itself says."""
    dtype = next((a.value for a in call.args if isinstance(a.value, core.DTypeLit)), None)
    return dtype is None or dtype.dtype.kind in ("float", "complex")
