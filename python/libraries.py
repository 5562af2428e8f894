"""Read the shape and dtype of an array of any library: by its exact class, then by its class, then by the array API's
protocol.

All entry checks share one namespace, `SHARED`: the classes and dtypes of the libraries that are loaded. A library that is
loaded later is added when its first array arrives.
"""

from __future__ import annotations

import sys
from builtins import max as greatest, min as least
from collections.abc import Callable, Iterable
from operator import attrgetter, index
from typing import Any, NamedTuple

import numpy as np

from ..interp.arguments import given_dtype
from ..interp.dtypes import dtype_of, numpy_dtype
from ..lang.dtypes import DTYPES, DType
from ..lang.weak import number_fits
from ..sizes.integers import Undefined, helpers as size_helpers
from . import written

PREFIX = "_rx_"
"""The prefix of all names in an entry check that are not the user's."""


class AbsentLibrary:
    """Stands in for the class of a library that is not loaded: it has no instances."""


class Library(NamedTuple):
    """The arrays of a library: `exact` is their usual class, `bases` are the base classes of all others, the likely one
    first. They are looked up in the loaded module, never imported. `dtype` converts one of our dtypes to the library's."""

    module: str
    exact: str
    bases: tuple[str, ...]
    dtype: Callable[[DType], Any] | None = None


LIBRARIES = (
    Library("numpy", "ndarray", ("ndarray", "generic"), numpy_dtype),
    Library("torch", "Tensor", ("Tensor",), lambda d: getattr(sys.modules["torch"], d.name, None)),
    Library("jax", "_src.array.ArrayImpl", ("core.Tracer", "Array")),
)
_WITH_DTYPES = [library for library in LIBRARIES if library.dtype is not None]
_loaded: set[str] = set()


class Weak(NamedTuple):
    """The dtype of a Python number: any dtype of its kind, as for literals."""

    value: complex

    @property
    def own(self) -> np.dtype[Any]:
        """The dtype of the number if nothing else determines it."""
        return np.asarray(self.value).dtype

    def fits(self, dtype: DType) -> bool:
        if isinstance(self.value, bool | int | float):
            return number_fits(self.value, dtype)
        return dtype.kind == "complex"


class NoArray(Exception):
    """A value that is no array; the message says what it is."""


# Dtypes


def name_of(dtype: Any) -> str | None:
    """Our name of a dtype of NumPy, JAX or PyTorch; None if we have no such dtype."""
    if isinstance(dtype, np.dtype):
        return _numpy_name(dtype)
    text = str(dtype)
    return text[6:] if text.startswith("torch.") and text[6:] in DTYPES else None


def _numpy_name(dtype: np.dtype[Any]) -> str | None:
    try:
        return dtype_of(dtype).name if dtype.isnative else None
    except LookupError:
        return None


def differs(dtype: Any, other: Any) -> bool:
    """Whether two dtypes differ, even if they belong to different libraries; the second may be one of our names."""
    if isinstance(other, str):
        return not dtype.fits(DTYPES[other]) if isinstance(dtype, Weak) else name_of(dtype) != other
    if isinstance(dtype, Weak):
        return dtype.own != other.own if isinstance(other, Weak) else not _takes(other, dtype)
    if isinstance(other, Weak):
        return not _takes(dtype, other)
    name = name_of(dtype)
    return name is None or name != name_of(other)


def own(dtype: Any) -> Any:
    """A definite dtype: a number's default, any other unchanged."""
    return dtype.own if isinstance(dtype, Weak) else dtype


def outside(dtype: Any, names: Iterable[str], quick: frozenset[Any]) -> bool:
    """Whether a dtype is none of these; `quick` has their NumPy objects."""
    if isinstance(dtype, np.dtype) and dtype in quick:
        return False
    if isinstance(dtype, Weak):
        return not any(dtype.fits(DTYPES[name]) for name in names)
    name = name_of(dtype)
    return name is None or name not in names


def _takes(dtype: Any, weak: Weak) -> bool:
    name = name_of(dtype)
    return name is not None and weak.fits(DTYPES[name])


def as_dtype(value: Any) -> Any:
    """A dtype given as an argument; raises NoArray for anything else."""
    if name_of(value) is not None:
        return value
    try:
        return given_dtype(value)
    except (TypeError, LookupError, ValueError):
        raise NoArray(value) from None


# Sizes, shapes, bools


def size_of(value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        raise NoArray("a bool")
    try:
        return index(value)
    except TypeError:
        raise NoArray(value) from None


def bool_of(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise NoArray(value)
    return bool(value)


def integers(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape as integers; raises NoArray for a size that is not one, such as a symbolic size of JAX
    (`jax.export.symbolic_shape`)."""
    try:
        if not any(hasattr(size, "dimension_as_value") for size in shape):
            return tuple(map(int, shape))
    except (TypeError, ValueError):
        pass
    raise NoArray


def shape_of(value: Any) -> tuple[int, ...]:
    if not isinstance(value, tuple | list):
        raise NoArray(value)
    return tuple(map(size_of, value))


# Arrays


def read(value: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and dtype of a value of no known class: a number, an array of a library loaded since, or an array of the
    array API's protocol. Raises NoArray."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and torch.compiler.is_compiling():
        return value.shape, value.dtype  # its compiler must not see a global that changes
    take_up()
    if isinstance(value, SHARED[PREFIX + "ARRAYS"]):
        return value.shape, value.dtype
    if isinstance(value, bool | int | float | complex):
        return (), Weak(value)
    if hasattr(value, "__array_namespace__"):
        return _of_protocol(value)
    raise NoArray(value)


def _of_protocol(value: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and dtype of an array known only by the array API's protocol: its dtypes are attributes of its namespace."""
    shape = tuple(value.shape)
    if any(size is None for size in shape):
        raise NoArray(value)
    if isinstance(value.dtype, np.dtype):
        return shape, value.dtype
    space = value.__array_namespace__()
    found = (d for d in DTYPES.values() if hasattr(space, d.name) and getattr(space, d.name) == value.dtype)
    known = next(found, None)
    return shape, value.dtype if known is None else numpy_dtype(known)


# The shared namespace

SHARED: dict[str, Any] = vars(written)
_HELPERS = {
    "type": type, "callable": callable, "len": len, "isinstance": isinstance, "tuple": tuple, "list": list,
    "int": int, "bool": bool, "locals": locals, "BaseException": BaseException,
    "min": least, "max": greatest, **size_helpers(),
    "read": read, "differs": differs, "own": own, "outside": outside, "as_dtype": as_dtype, "NoArray": NoArray,
    "Undefined": Undefined, "ValueError": ValueError, "size_of": size_of, "bool_of": bool_of, "shape_of": shape_of,
}  # fmt: skip
SHARED.update({PREFIX + name: helper for name, helper in _HELPERS.items()})
# The dtypes, and the sets of dtypes, that texts of entry checks mention.
_dtypes: list[str] = []
_sets: list[tuple[str, ...]] = []


def take_up() -> None:
    """Add the classes and dtypes of libraries that were loaded since."""
    new = [lib for lib in LIBRARIES if lib.module in sys.modules and lib.module not in _loaded]
    for library in new:
        _loaded.add(library.module)
        SHARED[f"{PREFIX}exact_{library.module}"] = _class(library, library.exact)
    if new:
        known = [lib for lib in LIBRARIES if lib.module in _loaded]
        # isinstance is slowest for a PyTorch tensor that is not of the class, so PyTorch comes before NumPy.
        likely = [_class(lib, lib.bases[0]) for lib in reversed(known)]
        SHARED[PREFIX + "ARRAYS"] = (*likely, *(_class(lib, base) for lib in known for base in lib.bases[1:]))
        for name in _dtypes:
            _put_dtype(DTYPES[name])
        _put_sets()


def _class(library: Library, path: str) -> type:
    try:
        found = attrgetter(path)(sys.modules[library.module])
    except AttributeError:  # another version of the library; its arrays are known by their base or protocol
        return AbsentLibrary
    return found if isinstance(found, type) else AbsentLibrary


for _library in LIBRARIES:
    SHARED[f"{PREFIX}exact_{_library.module}"] = AbsentLibrary


# Names of constants in the shared namespace


def dtype_names(name: str) -> list[str]:
    """The names of a dtype's objects, one for each library that has dtypes of its own."""
    if name not in _dtypes:
        _put_dtype(DTYPES[name])
        _dtypes.append(name)
    return [f"{PREFIX}{lib.module}_{name}" for lib in _WITH_DTYPES]


def _put_dtype(dtype: DType) -> None:
    for library in _WITH_DTYPES:
        found = library.dtype(dtype) if library.dtype is not None and library.module in _loaded else None
        SHARED[f"{PREFIX}{library.module}_{dtype.name}"] = AbsentLibrary if found is None else found


def set_names(names: tuple[str, ...]) -> list[str]:
    """The names of the sets of several dtypes' objects, one for each library that has dtypes of its own; NumPy's is last,
    since PyTorch's compiler cannot query it."""
    if names not in _sets:
        _sets.append(names)
        _put_sets()
    return [f"{PREFIX}{lib.module}_set_{_sets.index(names)}" for lib in reversed(_WITH_DTYPES)]


def _put_sets() -> None:
    for library in _WITH_DTYPES:
        for at, names in enumerate(_sets):
            found = [SHARED[text] for n in names for text in dtype_names(n) if text.startswith(PREFIX + library.module)]
            SHARED[f"{PREFIX}{library.module}_set_{at}"] = frozenset(found) - {AbsentLibrary}


take_up()
