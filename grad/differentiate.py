"""The bodies of gradients: the function that is differentiated, written out, then what each call hands back, last first."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..lang import codes, core
from ..lang.diagnostics import Diagnostic, Label, error
from ..lang.node import Node, replace
from ..lang.source import Placed
from ..lang.walk import rewrite
from ..ops.model import TENSORS, Primitive
from ..ops.registry import lookup
from .flat import Broken, Flat, Unsupported, spelt, tensors
from .rules import Texts, expression, is_still, printed

Translate = Callable[[str], core.Program]
_WORD = re.compile(r"(?<![@.\w'])[A-Za-z_][\w']*(?!\s*=[^=])")


def differentiate(program: core.Program, translate: Translate) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    """The program with the body of each gradient, and what cannot be derived. `translate` makes a text a core program."""
    functions = {f.name: f for f in program.functions}
    problems: list[Diagnostic] = []
    for gradient in program.gradients:
        wrapper = functions[gradient.name]
        assert wrapper.impl is not None
        try:
            functions[wrapper.impl] = _derivative(functions, program, gradient, functions[wrapper.impl], translate)
        except Broken:
            continue
        except Unsupported as problem:
            label = Label(gradient.span, "its gradient is asked for here")
            message = f"{problem.what} has no rule for its gradient yet"
            problems.append(error(codes.E232, message, problem.at.span, labels=(label,)))
    return replace(program, functions=tuple(functions[f.name] for f in program.functions)), tuple(problems)


def _derivative(
    functions: dict[str, core.Function],
    program: core.Program,
    gradient: core.Gradient,
    body: core.Function,
    translate: Translate,
) -> core.Function:
    taken = spelt(*program.functions, *program.consts)
    flat = Flat(functions, taken)
    params = {p.name: p for p in body.params}
    for param in body.params:
        if isinstance(param.sort, core.BaseSort):
            flat.sorts[param.name] = param.sort.name
    args = tuple(core.variable(gradient.span, p.name, p.sort) for p in functions[gradient.of].params)
    out = flat.name(flat.call(functions[gradient.of], args, gradient), gradient, "out")
    back = Backward(flat, gradient, out)
    given = [n for n in params if n not in {a.name for a in args}]
    results = back.write(given[0] if given else None)
    names = ((out.name,) if gradient.kind == "value_and_grad" else ()) + results
    stmts = (*flat.stmts, *back.core(translate))
    values = tuple(core.Var(gradient.span, n) for n in names)
    result: core.Value = values[0] if len(values) == 1 else core.TupleValue(gradient.span, values)
    return replace(body, body=core.Block(gradient.span, stmts, result))


class Backward:
    """What comes after the function: lines of Rx, each with the call that it belongs to."""

    def __init__(self, flat: Flat, gradient: core.Gradient, out: core.Var) -> None:
        self.flat = flat
        self.gradient = gradient
        self.out = out
        self.lines: list[tuple[str, str, Placed]] = []
        self.claims: list[str] = []
        self.handed: dict[str, list[str]] = {}
        self.active: set[str] = set()

    def write(self, given: str | None) -> tuple[str, ...]:
        """The names of the gradients that are asked for; `given` is the cotangent that a caller gives."""
        steps = self._steps()
        if given is not None:
            self.claims += [f"{given}.shape == {self.out.name}.shape", f"{given}.dtype == {self.out.name}.dtype"]
        seed = given if given is not None else self._let(f"@ones_like({self.out.name})", self.gradient)
        self.handed[self.out.name] = [seed]
        for let in reversed(steps):
            if isinstance(let.value, core.Call):
                self._back(let, let.value)
            else:
                self.handed.setdefault(tensors(let.value).pop(), []).append(self._whole(let.names[0], let))
        return tuple(self._whole(name, self.gradient) for name in self.gradient.wrt)

    def _steps(self) -> list[core.Let]:
        """The statements that what is asked for goes through, in order."""
        self.active = set(self.gradient.wrt)
        found = []
        for stmt in self.flat.stmts:
            if not isinstance(stmt, core.Let) or stmt.sort is not None:
                continue
            if not tensors(stmt.value) & self.active:
                continue
            if isinstance(stmt.value, core.If | core.Loop | core.Lambda):
                raise Unsupported("a loop" if isinstance(stmt.value, core.Loop) else "a choice of `if`", stmt.value)
            if isinstance(stmt.value, core.Call):
                if not isinstance(stmt.value.callee, core.FnRef):
                    raise Unsupported("a call of a function value", stmt.value)
                if is_still(_primitive(stmt.value)):
                    continue
                if not self._reaches(stmt.value):
                    continue
            found.append(stmt)
            self.active |= set(stmt.names)
        return found

    def _reaches(self, call: core.Call) -> bool:
        """Whether the result is one of floats as far as the call itself says."""
        dtype = next((a.value for a in call.args if isinstance(a.value, core.DTypeLit)), None)
        return dtype is None or dtype.dtype.kind == "float"

    def _back(self, let: core.Let, call: core.Call) -> None:
        if not any(n in self.handed for n in let.names):
            return
        if let.is_tuple:
            raise Unsupported(f"`@{_primitive(call)}`", call)
        name = _primitive(call)
        row = lookup(name)
        if row is None:
            raise Unsupported(f"`@{name}`", call) if name in self.flat.functions else Broken
        given = _arguments(row, call)
        lists = {n: v for n, v in given.items() if isinstance(v, core.ListValue)}
        texts = _texts(row, given)
        g = self._whole(let.names[0], call)
        for operand, value in given.items():
            if isinstance(value, core.Var) and value.name in self.active:
                made = expression(name, operand, texts, call)
                if made is None:
                    raise Unsupported(f"`@{name}`", call)
                text = _filled(made, {**texts, "g": g, "out": let.names[0]})
                self.handed.setdefault(value.name, []).append(text if text.isidentifier() else self._let(text, call))
        if any(tensors(v) & self.active for v in lists.values()):
            self._list(name, lists, texts, g, call)

    def _list(self, name: str, lists: dict[str, core.ListValue], texts: Texts, g: str, call: core.Call) -> None:
        """What is handed back to each of the tensors of a list that were laid end to end, or one upon the other."""
        axis, items = texts.get("axis", "0"), next(iter(lists.values())).items
        names = [i.name for i in items if isinstance(i, core.Var)]
        if name not in ("concat", "stack") or len(names) < len(items):
            raise Unsupported(f"`@{name}`", call)
        at = ["0"]
        for item in names:
            at.append(f"{at[-1]} + {item}.dim({axis})" if name == "concat" else str(len(at)))
        for i, item in enumerate(names):
            if item not in self.active:
                continue
            if name == "stack":
                text = f"@take({g}, {i}, axis={axis})"
            else:
                sizes = ", ".join(f"{n}.dim({axis})" for n in names)
                text = f"@split({g}, sizes=[{sizes}], axis={axis})[{i}]"
            self.handed.setdefault(item, []).append(self._let(text, call))

    def _whole(self, name: str, at: Placed) -> str:
        """The sum of all that was handed to a name."""
        parts = self.handed.get(name, [])
        if not parts:
            return self._let(f"@zeros_like({name})", at)
        total = parts[0]
        for part in parts[1:]:
            total = self._let(f"{total} + {part}", at)
        self.handed[name] = [total]
        return total

    def _let(self, text: str, at: Placed) -> str:
        name = self.flat.bind("g", "Tensor")
        self.lines.append((name, text, at))
        return name

    def core(self, translate: Translate) -> tuple[core.Stmt, ...]:
        """The lines as statements, each at the place of the call that it belongs to."""
        made = {name for name, _, _ in self.lines}
        words = {w for _, text, _ in self.lines for w in _WORD.findall(text)}
        words |= {w for text in self.claims for w in _WORD.findall(text)}
        params = [f"{n} : {s}" for n, s in self.flat.sorts.items() if n in words and n not in made]
        body = [*(f"assert {c}" for c in self.claims), *(f"let {n} = {t}" for n, t, _ in self.lines)]
        last = self.lines[-1][0] if self.lines else self.out.name
        text = f"@back = fn({', '.join(params)}) {{\n" + "\n".join([*body, last]) + "\n}"
        [function] = (f for f in translate(text).functions if f.name == "back")
        places = [self.gradient, *(self.gradient for _ in self.claims), *(at for _, _, at in self.lines), self.gradient]
        starts = [0, *(m.end() for m in re.finditer("\n", text))]

        def placed(node: Node) -> Node:
            if not isinstance(node, Placed):
                return node
            line = sum(1 for s in starts if s <= node.span.start) - 1
            return replace(node, span=places[min(line, len(places) - 1)].span)

        inner = Flat({}, self.flat.taken - made)
        names: dict[str, core.Value] = {}
        for stmt in rewrite((*function.checks, *function.body.stmts), placed):
            inner.stmt(stmt, names)
        return tuple(inner.stmts)


def _primitive(call: core.Call) -> str:
    return call.callee.name.removeprefix("prelude.")


def _arguments(row: Primitive, call: core.Call) -> dict[str, core.Value]:
    """The arguments by the names of their parameters."""
    names = [p.name for p in row.params]
    return {a.name or names[i]: a.value for i, a in enumerate(call.args)}


def _texts(row: Primitive, given: dict[str, core.Value]) -> Texts:
    texts = {}
    for param in row.params:
        if param.name in given:
            value = given[param.name]
            texts[param.name] = printed(value)
            if param.kind == "index":
                kind = "number" if isinstance(value, core.SizeLit | core.Number) else "size"
                texts[f"{param.name} kind"] = "tensor" if isinstance(value, core.Var) else kind
        elif param.default is not None and param.kind not in TENSORS:
            default = param.default
            texts[param.name] = str(default).lower() if isinstance(default, bool) else f'"{default}"'
            if isinstance(default, int | float) and not isinstance(default, bool):
                texts[param.name] = str(default)
    return texts


def _filled(text: str, words: Texts) -> str:
    """The expression with operands and attributes in the place of their names; `axis=` names a parameter."""
    return _WORD.sub(lambda found: words.get(found.group(), found.group()), text)
