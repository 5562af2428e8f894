"""A program's functions take arrays of other libraries over the same memory, and give them back where that is asked for."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.dlpack import taken

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")

PROGRAM = """@twice = fn(x : Tensor([n, m], float32)) : Tensor([m, n], float32) { @matrix_transpose(x) * 2.0 }
@same = fn(x : Tensor) : Tensor { x }
@scaled = fn(x : Tensor([n], float32), s : float32) : Tensor([n], float32) { x * s }
@both = fn(x : Tensor([n], d)) : (Tensor([n], d), Size) { (@flip(x, 0), x.dim(0)) }
@half = fn(x : Tensor([n], bfloat16)) : Tensor([n], bfloat16) { x + x }
@small = fn(x : Tensor([n], float8_e4m3fn)) : Tensor([n], float32) { @cast(x, float32) }
"""
module = rx.loads(PROGRAM)


def message(function: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(rx.ShapeError) as refused:
        function(*args, **named)
    return " ".join(str(refused.value).split())


# A library of its own


class Foreign:
    """An array that speaks DLPack, on a device."""

    def __init__(self, array: np.ndarray, device: int = 1) -> None:
        self.array, self.device = array, device
        self.dtype = array.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, *, dl_device: Any = None, copy: bool | None = None, **how: Any) -> Any:
        if self.device != 1 and not (copy and dl_device == (1, 0)):
            raise BufferError("this memory is the device's")
        return self.array.copy().__dlpack__() if copy else self.array.__dlpack__()

    def __array_namespace__(self) -> Any:
        return Library


class Library:
    """Its library."""

    @staticmethod
    def from_dlpack(array: np.ndarray) -> Foreign:
        return Foreign(np.from_dlpack(array))


def test_an_array_that_speaks_dlpack_is_taken_over_the_same_memory() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.shares_memory(taken(Foreign(array)), array)
    assert module.twice(Foreign(array)).tolist() == (array.T * 2).tolist()
    assert module.twice(x=Foreign(array)).tolist() == (array.T * 2).tolist()


@needs_torch
def test_an_array_of_another_library_is_taken_beside_torch() -> None:
    import torch

    array = np.ones((2, 3), np.float32)
    assert np.shares_memory(taken(Foreign(array)), array) and not isinstance(Foreign(array), torch.Tensor)


def test_an_array_on_a_device_is_taken_where_it_may_be_copied() -> None:
    array = np.ones((2, 3), np.float32)
    assert "on another device: load with copy=True" in message(module.twice, Foreign(array, 2))
    assert module.twice(Foreign(array, 2), copy=True).tolist() == [[2, 2]] * 3
    copying = rx.loads(PROGRAM, copy=True)
    assert copying.twice(Foreign(array, 2)).tolist() == [[2, 2]] * 3


@pytest.mark.parametrize("wrong", [RuntimeError, TypeError, ValueError, NotImplementedError])
def test_what_says_that_it_is_an_array_and_is_none_is_refused(wrong: type[Exception]) -> None:
    class Key:
        """As JAX's keys, and PyTorch's nested tensors, whose shape cannot be asked for."""

        @property
        def shape(self) -> tuple[int, ...]:
            raise wrong("it has none")

        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise wrong("this is a key\nand more")

    said = message(module.same, Key())
    assert "an array that NumPy can read, but it is an array that cannot be read: this is a key" in said
    assert "and more" not in said


def test_pinned_memory_is_the_processor_s() -> None:
    array = Foreign(np.ones((2, 3), np.float32), 3)
    array.__class__ = type("Pinned", (Foreign,), {"__dlpack__": lambda self, **how: self.array.__dlpack__()})
    assert module.twice(array).shape == (3, 2)


@pytest.mark.parametrize("like", [Foreign(np.ones(2)), Library])
def test_results_are_of_the_library_that_is_asked_for(like: Any) -> None:
    like = like if isinstance(like, Foreign) else Foreign(np.ones(2))
    x = np.ones((2, 3), np.float32)
    assert type(module.twice(x, like=like)) is Foreign and type(module.twice(x)) is np.ndarray
    always = rx.loads(PROGRAM, like=like)
    assert type(always.twice(x)) is Foreign and type(always.twice(x)) is Foreign
    array, size = always.both(np.arange(3))
    assert array.array.tolist() == [2, 1, 0] and size == 3


def test_what_a_script_gives_is_of_the_library_too() -> None:
    text = """let a : Tensor([2], int8) = @ones([2], int8)
    let k : Size = a.dim(0)
    let b = (a, (a, k))
    """
    like = Foreign(np.ones(2))
    for given in (rx.loads(text, like=like).main(), rx.loads(text).main(like=like)):
        assert given["k"] == 2 and given["b"][1][1] == 2
        assert {type(a) for a in (given["a"], given["b"][0], given["b"][1][0])} == {Foreign}
    assert type(rx.loads(text).main()["a"]) is type(rx.loads(text, like=like).main(like=np)["a"]) is np.ndarray


def test_what_is_no_library_is_no_like() -> None:
    for like in (5, "torch", object()):
        with pytest.raises(TypeError, match="like is an array or a library"):
            module.twice(np.ones((2, 3), np.float32), like=like)
    assert type(module.twice(np.ones((2, 3), np.float32), like=np)) is np.ndarray


def test_a_parameter_may_be_called_like() -> None:
    own = rx.loads("@f = fn(like : Tensor([n], int8), copy : Size) : Tensor([n * copy], int8) { @tile(like, [copy]) }")
    assert own.f(like=np.ones(2, np.int8), copy=3).shape == (6,)


@pytest.mark.parametrize(
    ("value", "found"), [(2.5, [5]), (2, [4]), (np.float32(3), [6]), (np.ones((), np.float32), [2])]
)
def test_a_number_is_taken_for_a_scalar_of_its_kind(value: Any, found: list[float]) -> None:
    x = np.full(1, 2, np.float32)
    assert module.scaled(x, value).tolist() == module.scaled(x, s=value).tolist() == found


@pytest.mark.parametrize("value", [True, "2", 1j, [2.0], None])
def test_what_is_no_number_of_its_kind_is_refused(value: Any) -> None:
    assert "@scaled needs `s` to be" in message(module.scaled, np.ones(1, np.float32), value)


def test_a_number_is_no_tensor_of_another_rank_or_kind() -> None:
    message(module.same, 2.5)
    message(rx.loads("@f = fn(s : int8) : int8 { s }").f, 2.5)
    message(rx.loads("@f = fn(s : int8) : int8 { s }").f, 200)
    assert rx.loads("@f = fn(s : int8) : int8 { s }").f(100).dtype == np.int8


# PyTorch


@needs_torch
def test_tensors_of_torch_are_taken_without_a_copy() -> None:
    import torch

    for x in (torch.ones(2, 3), torch.ones(3, 2).T, torch.ones(1).expand(2, 3), torch.ones(0, 3)):
        assert x.numel() == 0 or taken(x).__array_interface__["data"][0] == x.data_ptr()
        assert module.twice(x).shape == (3, len(x))
    assert torch.equal(module.twice(torch.ones(2, 3), like=torch), torch.full((3, 2), 2.0))
    assert module.scaled(torch.ones(2), torch.tensor(3.0)).tolist() == [3, 3]


@needs_torch
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_that_dlpack_lacks_go_by_a_view(name: str) -> None:
    import torch

    x = torch.tensor([0.5, 2.0]).to(getattr(torch, name))
    assert taken(x).dtype.name == name and taken(x).__array_interface__["data"][0] == x.data_ptr()
    back = module.same(x, like=torch)
    assert back.dtype is x.dtype and back.float().tolist() == [0.5, 2.0]


@needs_torch
def test_nothing_is_detached_or_resolved_silently() -> None:
    import torch

    assert "requires its gradient, which would be lost: pass its `.detach()`" in message(
        module.twice, torch.ones(2, 3, requires_grad=True)
    )
    with torch.no_grad():
        message(module.twice, torch.nn.Parameter(torch.ones(2, 3)))
    assert ".resolve_neg()" in message(module.same, torch._neg_view(torch.ones(2)))
    assert ".resolve_conj()" in message(module.same, torch.ones(2, dtype=torch.complex64).conj())
    message(module.same, torch.ones(2, device="meta"))
    message(module.same, torch.ones(2).to_sparse())


@needs_torch
def test_a_tensor_without_its_memory_is_no_array() -> None:
    """DLPack would give what lies at the address that a fake tensor has, and what a transform carries besides would be lost."""
    import torch

    mode = torch._subclasses.fake_tensor.FakeTensorMode()
    with mode:
        assert "traced or wrapped (FakeTensor)" in message(module.same, torch.ones(3))
    assert "traced or wrapped (FakeTensor)" in message(module.same, mode.from_tensor(torch.ones(3)))
    for transform in (
        torch.func.functionalize,
        torch.vmap,
        lambda f: lambda x: torch.func.jvp(f, (x,), (x,)),
        lambda f: lambda x: torch.func.functionalize(torch.vmap(f))(x),
    ):
        seen = []
        transform(lambda x, seen=seen: (seen.append(message(module.same, x)), x)[1])(torch.ones(2, 3))
        assert "traced or wrapped (Tensor)" in seen[0]
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        assert "which would be lost: pass its primal" in message(
            module.same, forward.make_dual(torch.ones(3), torch.ones(3))
        )
        assert module.same(torch.ones(3)).shape == (3,)
    assert module.same(torch.ones(3).as_subclass(type("Own", (torch.Tensor,), {}))).shape == (3,)
    assert "cannot be read" in message(module.same, torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))


@needs_torch
def test_a_result_is_no_view_of_an_argument() -> None:
    import torch

    x = torch.ones(3)
    module.same(x, like=torch)[0] = 7
    assert x.tolist() == [1, 1, 1]
    array, _ = module.both(torch.arange(3), like=x)
    assert array.tolist() == [2, 1, 0]


@needs_torch
def test_what_torch_has_no_tensors_of_is_said() -> None:
    import torch

    with pytest.raises(TypeError, match="torch has no tensors of"):
        module.same(np.array(["a"]), like=torch)


# JAX


@needs_jax
def test_arrays_of_jax_are_taken_and_given() -> None:
    import jax
    import jax.numpy as jnp

    x = jnp.ones((2, 3))
    assert module.twice(x).tolist() == [[2, 2]] * 3
    for like in (jax, jnp, x):
        assert isinstance(module.twice(x, like=like), jax.Array)
    for dtype in (jnp.bfloat16, jnp.float8_e4m3fn, jnp.int4):
        given = module.same(jnp.ones(2, dtype), like=jax)
        assert given.dtype == dtype and given.tolist() == [1, 1]
    with pytest.raises(TypeError, match="jax_enable_x64"):
        module.same(np.ones(2), like=jax)
    message(jax.jit(module.same), x)


@needs_torch
@pytest.mark.parametrize("how", [{}, {"dynamic": True}, {"fullgraph": True}], ids=str)
def test_pytorchs_compiler_calls_a_program_between_two_graphs(how: dict[str, Any]) -> None:
    import torch

    def by_position(x: Any) -> Any:
        return module.twice(x + 1, like=torch) * 2

    def by_name(x: Any) -> Any:
        return torch.from_numpy(module.twice(x=x + 1)) * 2

    for function in (by_position, by_name):
        torch.compiler.reset()
        compiled = torch.compile(function, backend="eager", **how)
        if "fullgraph" in how:
            with pytest.raises(Exception, match="a program of Rx runs over NumPy"):
                compiled(torch.ones(2, 3))
            continue
        for shape in ((2, 3), (5, 3), (5, 7)):
            assert torch.equal(compiled(torch.ones(shape)), function(torch.ones(shape)))
        assert "`x` to have rank 2, but it has rank 1" in message(compiled, torch.ones(3))


@needs_jax
def test_jax_calls_a_program_from_what_it_traces_by_a_callback() -> None:
    import jax
    import jax.numpy as jnp

    def twice(x: Any) -> Any:
        return jax.pure_callback(module.twice, jax.ShapeDtypeStruct(x.shape[::-1], x.dtype), x)

    assert jax.jit(twice)(jnp.ones((2, 3))).shape == (3, 2)
    assert "array without memory that can be read" in message(jax.jit(module.twice), jnp.ones((2, 3)))
