"""One entry check takes arrays of any library: NumPy's, PyTorch's, JAX's, and what speaks the array API's protocol."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rxlang as rx

SIGNATURE = "fn(x : Tensor([n, m * 4], float32), y : Tensor([*b, n], d)) : Tensor([n], float32) where d in floating"
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")


def plain(x, y):
    return x.sum(1) * 2


def dense(x, y):
    return x.sum(1) * 2 + y.sum()


checked, checked_dense = rx.checked(SIGNATURE)(plain), rx.checked(SIGNATURE)(dense)

# The protocol alone


class Namespace(SimpleNamespace):
    """A library whose dtypes are nobody else's."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


SPACE = Namespace(float32="f4", float64="f8", int8="i1", bool="b1")


class Foreign:
    """An array that says what it is by the protocol, and nothing else."""

    def __init__(self, shape: tuple[Any, ...], dtype: Any = "f4") -> None:
        self.shape, self.dtype = shape, dtype

    def __array_namespace__(self, api_version: str | None = None) -> Namespace:
        return SPACE

    def sum(self, axis: int) -> Any:
        return self

    def __mul__(self, other: object) -> Foreign:
        return Foreign(self.shape[:1])


def message(function: Any, *args: Any) -> str:
    with pytest.raises(rx.ShapeError) as refused:
        function(*args)
    return " ".join(str(refused.value).split())


def test_an_array_is_known_by_the_protocol_alone() -> None:
    assert checked(Foreign((3, 8)), Foreign((2, 3), "f8")).shape == (3,)
    assert checked(Foreign((3, 8)), np.zeros(3, np.float32)).shape == (3,)


def test_the_protocol_s_arrays_are_refused_in_the_same_words() -> None:
    assert message(checked, Foreign((3, 7)), Foreign((3,))) == message(checked, *map(_numpy, ((3, 7), (3,))))
    assert "to have dtype float32, but it has float64" in message(checked, Foreign((3, 8), "f8"), Foreign((3,)))
    assert "`y` has dtype int8" in message(checked, Foreign((3, 8)), Foreign((3,), "i1"))


def _numpy(shape: tuple[int, ...]) -> Any:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(("array", "why"), [
    (Foreign((3, None)), "one of shape [3, None]"), (Foreign((3, float("nan"))), "one of shape [3, nan]"),
    (Foreign((3, 8), "q4"), "one of q4"),
])  # fmt: skip
def test_what_the_protocol_leaves_open_is_refused(array: Foreign, why: str) -> None:
    said = message(checked, array, _numpy((3,)))
    assert "@plain needs `x` to be an array" in said and why in said


def test_shape_and_dtype_alone_are_no_array() -> None:
    assert "to be an array" in message(checked, SimpleNamespace(shape=(3, 8), dtype=np.dtype("f4")), _numpy((3,)))


# A library that is loaded after the entry check was written


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_library_may_be_loaded_after_the_entry_check_was_written(library: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    program = f"""
import sys
import rxlang as rx
f = rx.checked({SIGNATURE!r})(lambda x, y: x.sum(1))
assert {library!r} not in sys.modules
import {library if library == "torch" else "jax.numpy"} as lib
assert f(lib.ones((3, 8)), lib.ones((2, 3))).shape == (3,)
for args in ((lib.ones((3, 7)), lib.ones(3)), (lib.ones((3, 8)), lib.ones(3, dtype=lib.int32))):
    try:
        f(*args)
    except rx.ShapeError:
        continue
    raise SystemExit("it was taken")
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=120).returncode == 0


# PyTorch


class Block:
    """Calls with sizes that change, of one dtype."""

    sizes = ((3, 2, ()), (4, 2, ()), (5, 3, ()), (6, 3, ()), (7, 5, (2,)), (8, 5, (3,)))

    def __init__(self, dtype: str = "float32") -> None:
        import torch

        self.calls = [(torch.ones(n, 4 * m), torch.ones(*b, n, dtype=getattr(torch, dtype))) for n, m, b in self.sizes]


def graphs(function: Any, calls: Any, **how: Any) -> int:
    import torch
    from torch._dynamo.testing import CompileCounter

    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter, **how)
    for args in calls:
        compiled(*args)
    return counter.frame_count


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("how", [{}, {"dynamic": True}, {"dynamic": False}, {"dynamic": True, "fullgraph": True}])
def test_compiled_it_is_as_many_graphs_as_the_bare_function(how: dict[str, Any], dtype: str) -> None:
    calls = Block(dtype).calls
    assert graphs(checked_dense, calls, **how) == graphs(dense, calls, **how)


@needs_torch
def test_compiled_it_keeps_sizes_that_are_marked_dynamic() -> None:
    import torch

    def marked() -> Any:
        for x, y in Block().calls[:4]:
            for tensor, axes in ((x, (0, 1)), (y, (0,))):
                for axis in axes:
                    torch._dynamo.mark_dynamic(tensor, axis)
            yield x, y

    assert graphs(checked_dense, marked(), fullgraph=True) == graphs(dense, marked(), fullgraph=True) == 1


@needs_torch
def test_compiled_it_fails_as_it_does_by_itself_and_under_fullgraph_as_torch_does() -> None:
    import torch

    wrong, right = (torch.ones(3, 7), torch.ones(3)), (torch.ones(3, 8), torch.ones(3))
    for first in (wrong, right):
        torch._dynamo.reset()
        compiled = torch.compile(checked, backend="eager")
        if first is right:
            compiled(*right)
        assert "to be a multiple of 4, but it is 7" in message(compiled, *wrong)
        assert compiled(*right).shape == (3,)
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.TorchDynamoException):
        torch.compile(checked, backend="eager", fullgraph=True)(*wrong)


@needs_torch
@pytest.mark.parametrize("strict", [False, True])
def test_a_module_with_checked_methods_is_exported(strict: bool) -> None:
    import torch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(8, 8))

        @rx.checked("fn(x : Tensor([b, 8], float32)) : Tensor([b, 8], float32)")
        def forward(self, x):
            return self.inner(x @ self.w, self.w)

        @rx.checked("fn(x : Tensor([b, k], float32), w : Tensor([k, k], float32)) : Tensor([b, k], float32)")
        def inner(self, x, w):
            return x + w.sum()

    dynamic = {"x": {0: torch.export.Dim("b")}}
    exported = torch.export.export(Model(), (torch.ones(3, 8),), strict=strict, dynamic_shapes=dynamic)
    assert exported.module()(torch.ones(5, 8)).shape == (5, 8)
    with pytest.raises(Exception, match="axis 1 of `x` to be 8" if not strict else "disable"):
        torch.export.export(Model(), (torch.ones(3, 7),), strict=strict)


@needs_torch
def test_it_takes_parameters_and_batched_tensors_and_keeps_gradients() -> None:
    import torch

    weight = torch.nn.Parameter(torch.ones(3, 8))
    checked(weight, torch.ones(3)).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [[2.0] * 8] * 3
    assert torch.vmap(checked)(torch.ones(2, 3, 8), torch.ones(2, 3)).shape == (2, 3)
    assert "to be a multiple of 4, but it is 7" in message(checked, torch.ones(3, 7), torch.ones(3))
    assert "dtype float32, but it has float16" in message(checked, torch.ones(3, 8).half(), torch.ones(3))


@needs_torch
def test_a_row_is_compiled_into_one_graph() -> None:
    import torch

    then = rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")(lambda x: x + 1)
    row = rx.compose(checked_dense, then)
    torch._dynamo.reset()
    calls = Block().calls[:3]
    assert graphs(row, calls, fullgraph=True) == graphs(lambda x, y: dense(x, y) + 1, calls, fullgraph=True)


# JAX


@needs_jax
def test_it_works_under_jit_vmap_and_grad() -> None:
    import jax
    import jax.numpy as jnp

    x, y = jnp.ones((3, 8)), jnp.ones((2, 3), jnp.bfloat16)
    assert checked(x, y).tolist() == jax.jit(checked)(x, y).tolist() == [16.0] * 3
    assert jax.vmap(checked)(jnp.ones((5, 3, 8)), jnp.ones((5, 3))).shape == (5, 3)
    assert jax.grad(lambda x: checked(x, y).sum())(x).shape == x.shape
    for function in (checked, jax.jit(checked)):
        assert "to be a multiple of 4, but it is 7" in message(function, jnp.ones((3, 7)), y)
    assert "to be a multiple of 4" in message(jax.vmap(checked), jnp.ones((5, 3, 7)), jnp.ones((5, 3)))


@needs_jax
def test_it_compiles_once_for_a_shape() -> None:
    import jax
    import jax.numpy as jnp

    traced: list[int] = []

    @jax.jit
    @rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")
    def counted(x):
        traced.append(1)
        return x + 1

    for n in (2, 2, 3, 2, 3):
        counted(jnp.ones(n))
    assert len(traced) == 2


@needs_jax
def test_sizes_that_are_all_at_once_are_proved_or_refused() -> None:
    """An export for symbolic sizes: what JAX cannot decide of them for all is refused, with the sizes."""
    import jax
    import jax.numpy as jnp
    from jax import export

    def exported(sizes: str) -> Any:
        shape = export.symbolic_shape(sizes)
        function = jax.jit(rx.checked("fn(x : Tensor([n, m * 2], float32)) : Tensor([n], float32)")(lambda x: x.sum(1)))
        return export.export(function)(jax.ShapeDtypeStruct(shape, jnp.float32))

    assert str(exported("b, 2*k").out_avals[0].shape) == "(b,)"
    assert "to be an array of known sizes, but it is one of shape [b, k]" in message(exported, "b, k")
