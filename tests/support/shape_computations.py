"""Random computations with the sizes of a tensor as elements, as exporters write them: text, and how it went for one choice of
sizes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from support import ops

DTYPES = ("int64", "int64", "int32", "uint8", "float32", "float64", "float16", "bool")
_NUMBERS = ("add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_LOGIC = ("logical_and", "logical_or", "logical_xor")
_UNARY = ("negative", "abs", "sign", "square", "relu", "floor", "ceil", "round", "trunc", "identity", "positive")
_FLOATS = ("sqrt", "reciprocal", "isnan", "isfinite")
_REDUCTIONS = ("sum", "prod", "max", "min")
_LITERALS = (0, 1, 2, -1, 3, 7, 0.5, 2.0, 1.5, 0.7, -0.25, 16, 32)


class Computation:
    """Lines that each name a tensor, over `x : Tensor([n, m, 3])` and `k : Tensor([2], int64)`."""

    def __init__(self, rng: random.Random, count: int) -> None:
        self.rng = rng
        n, m = rng.choice((1, 2, 3, 5, 7)), rng.choice((1, 2, 4, 6))
        self.names = ["s", "k"]
        self.values: dict[str, Any] = {"s": np.array([n, m, 3]), "k": np.array([rng.randint(-2, 6), rng.randint(0, 3)])}
        self.lines = ["let s = @shape(x)"]
        for _ in range(6 * count):
            if len(self.lines) < count:
                self._line()

    @property
    def text(self) -> str:
        body = "\n  ".join((*self.lines, f"({', '.join(self.names)})"))
        return f"@f = fn(x : Tensor([n, m, 3], float32), k : Tensor([2], int64)) {{\n  {body}\n}}\n"

    # Lines

    def _line(self) -> None:
        makers: Sequence[Callable[[], tuple[str, dict[str, Any]] | None]] = (
            self._binary, self._binary, self._binary, self._unary, self._cast, self._cast, self._cast, self._where,
            self._moved, self._moved, self._reduced, self._joined, self._chosen, self._made, self._ordered,
        )  # fmt: skip
        made = self.rng.choice(makers)()
        if made is None:
            return
        name, given = made
        try:
            value = ops.call(name, **{p: self._value(v) for p, v in given.items()})
        except AssertionError:
            raise
        except Exception:  # noqa: BLE001 - what does not fit is no line
            return
        if isinstance(value, tuple) and not value:
            return
        first = value[0] if isinstance(value, tuple) else value
        if first.size <= 40 and first.ndim <= 3 and first.dtype.name in DTYPES:
            self._bind(f"@{name}({', '.join(f'{p}={self._text(v)}' for p, v in given.items())})", value, first)

    def _bind(self, call: str, value: Any, first: Any) -> None:
        name = f"v{len(self.names)}"
        pattern = f"({name}, {', '.join('_' for _ in value[1:])})" if isinstance(value, tuple) else name
        if isinstance(value, tuple) and len(value) == 1:
            pattern = f"({name},)"
        self.lines.append(f"let {pattern} = {call}")
        self.names.append(name)
        self.values[name] = first

    def _value(self, given: Any) -> Any:
        if isinstance(given, str) and given in self.values:
            return self.values[given]
        if isinstance(given, list) and given and given[0] in self.values:
            return tuple(self.values[name] for name in given)
        return ops.DTYPES[given] if isinstance(given, str) and given in ops.DTYPES else given

    def _text(self, given: Any) -> str:
        if isinstance(given, bool):
            return str(given).lower()
        if isinstance(given, tuple | list):
            return f"[{', '.join(map(self._text, given))}]"
        return str(given)

    def _pick(self, *kinds: str, like: str | None = None) -> str | None:
        """A name, mostly a late one, of some kinds of dtypes or of the dtype of another one."""
        fits = [
            name for name in self.names
            if (not kinds or self.values[name].dtype.kind in "".join(kinds))
            and (like is None or self.values[name].dtype == self.values[like].dtype)
        ]  # fmt: skip
        return self.rng.choice(fits[-5:] if self.rng.random() < 0.7 else fits) if fits else None

    # Operations

    def _binary(self) -> Any:
        if self.rng.random() < 0.15:
            a = self._pick("b")
            return a and (self.rng.choice(_LOGIC), {"x": a, "y": self._pick("b")})
        a = self._pick("iuf")
        kind = self.values[a].dtype.kind if a else ""
        literals = [v for v in _LITERALS if kind == "f" or (isinstance(v, int) and (v >= 0 or kind == "i"))]
        b = self.rng.choice(literals) if self.rng.random() < 0.5 else self._pick(like=a)
        names = (
            _COMPARISONS if self.rng.random() < 0.2 else (*_NUMBERS, "divide", "divide") if kind == "f" else _NUMBERS
        )
        return a and (self.rng.choice(names), {"x": a, "y": b})

    def _unary(self) -> Any:
        a = self._pick("b") if self.rng.random() < 0.2 else None
        if a:
            return "logical_not", {"x": a}
        a = self._pick("iuf")
        is_float = bool(a) and self.values[a].dtype.kind == "f"
        return a and (self.rng.choice((*_UNARY, *_FLOATS) if is_float else _UNARY), {"x": a})

    def _cast(self) -> Any:
        return "cast", {"x": self._pick(), "dtype": self.rng.choice(DTYPES)}

    def _where(self) -> Any:
        a, condition = self._pick(), self._pick("b")
        return condition and ("where", {"condition": condition, "x": a, "y": self._pick(like=a)})

    def _axis(self, name: str, more: int = 0) -> int:
        rank = self.values[name].ndim + more
        return self.rng.randint(-rank, max(rank - 1, 0))

    def _moved(self) -> Any:
        a = self._pick() or "s"
        value, rng = self.values[a], self.rng
        axis = self._axis(a)
        name = rng.choice(
            ("reshape", "expand_dims", "squeeze", "permute_dims", "flip", "broadcast_to", "tile", "repeat", "slice", "roll",
             "flatten", "split", "unstack", "swapaxes")
        )  # fmt: skip
        shape = list(value.shape)
        rng.shuffle(shape)
        given = {
            "reshape": {"shape": rng.choice(((-1,), (value.size, 1), tuple(shape), (2, -1)))},
            "expand_dims": {"axis": (self._axis(a, 1),)},
            "squeeze": {"axis": (axis,)},
            "permute_dims": {"axes": tuple(rng.sample(range(value.ndim), value.ndim))},
            "flip": {"axis": (axis,)},
            "broadcast_to": {"shape": (rng.randint(0, 3), *value.shape)},
            "tile": {"repeats": tuple(rng.randint(0, 2) for _ in range(rng.randint(1, 3)))},
            "repeat": {"repeats": rng.randint(0, 3), "axis": axis},
            "slice": {"starts": (rng.randint(-4, 4),), "stops": (rng.randint(-4, 5),), "axes": (axis,),
                      "steps": (rng.choice((1, 1, 2, -1, -2)),)},
            "roll": {"shift": (rng.randint(-4, 4),), "axis": (axis,)},
            "flatten": {"start": 0, "end": -1},
            "split": {"indices": (rng.randint(0, 2), rng.randint(2, 4)), "axis": axis},
            "unstack": {"axis": axis},
            "swapaxes": {"axis1": axis, "axis2": self._axis(a)},
        }  # fmt: skip
        return name, {"x": a, **given[name]}

    def _reduced(self) -> Any:
        rng = self.rng
        a = self._pick("b") if rng.random() < 0.2 else None
        options = {"axis": (self._axis(a or "s"),), "keepdims": rng.random() < 0.5}
        if a:
            return rng.choice(("all", "any")), {"x": a, **options}
        a = self._pick("iuf") or "s"
        options = {"axis": (self._axis(a),), "keepdims": rng.random() < 0.5} if self.values[a].ndim else {}
        names = (*_REDUCTIONS, "mean") if self.values[a].dtype.kind == "f" else _REDUCTIONS
        if rng.random() < 0.3 and self.values[a].ndim:
            flags = {"exclusive": rng.random() < 0.5, "reverse": rng.random() < 0.5}
            return rng.choice(("cumulative_sum", "cumulative_prod")), {"x": a, "axis": self._axis(a), **flags}
        return rng.choice(names), {"x": a, **options}

    def _joined(self) -> Any:
        a = self._pick() or "s"
        parts = [a, *(self._pick(like=a) or a for _ in range(self.rng.randint(0, 2)))]
        name = self.rng.choice(("concat", "concat", "stack"))
        return name, {"xs": parts, "axis": self._axis(a, 1 if name == "stack" else 0)}

    def _chosen(self) -> Any:
        a = self._pick() or "s"
        index = self.rng.choice((-1, 0, 1, 2, self._pick("iu") or "s"))
        if self.rng.random() < 0.3:
            return self.rng.choice(("take_along_axis", "gather_elements")), {
                "x": a,
                "indices": index,
                "axis": self._axis(a),
            }
        if self.rng.random() < 0.2:
            return "gather_nd", {"x": a, "indices": index}
        return "take", {"x": a, "indices": index, "axis": self._axis(a)}

    def _made(self) -> Any:
        rng = self.rng
        dtype = rng.choice(DTYPES)
        shape = tuple(rng.randint(0, 3) for _ in range(rng.randint(0, 2)))
        scalars = [name for name in self.names if self.values[name].ndim == 0]
        return rng.choice(
            [
                ("full", {"shape": shape, "value": rng.choice((*scalars, 2, 0.5)), "dtype": dtype}),
                ("ones", {"shape": shape, "dtype": dtype}),
                ("eye", {"n": rng.randint(0, 3), "k": rng.randint(-1, 1), "dtype": dtype}),
                ("one_hot", {"indices": self._pick("iu") or "s", "depth": rng.randint(0, 4), "dtype": dtype}),
                ("arange", {"start": rng.randint(-2, 3), "stop": rng.randint(-2, 6), "step": rng.choice((1, 2, -1))}),
                ("full_like", {"x": self._pick() or "s", "value": 3}),
            ]
        )

    def _ordered(self) -> Any:
        a = self._pick("iufb") or "s"
        options = {"axis": self._axis(a)}
        if self.rng.random() < 0.3:
            return "nonzero", {"x": a}
        if self.rng.random() < 0.4:
            return "topk", {"x": a, "k": self.rng.randint(0, 2), **options, "largest": self.rng.random() < 0.5}
        return self.rng.choice(("sort", "argsort")), {"x": a, **options, "descending": self.rng.random() < 0.5}
