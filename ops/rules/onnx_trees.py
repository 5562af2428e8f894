"""Decision trees of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, axis_of, product
from ..model import Ctx, Dim, TensorInfo
from ..operands import choice
from ..registry import primitive
from ..requirements import Argument, AtLeast, Equal
from .onnx_ml import POST, of_rows

_HOW = ("SUM", "AVERAGE", "MIN", "MAX")


def _columns(ctx: Ctx, x: TensorInfo, least: int) -> Dim:
    """The number of rows; requires at least `least` columns."""
    n: Dim = of_rows(ctx, x)[0]
    ctx.require(AtLeast(axis_of("x", ctx.dims(x), len(ctx.dims(x)) - 1), least))
    return n


_NODES = (
    "x: tensor, trees: tensor, ids: tensor, features: tensor, splits: tensor, yes: tensor, no: tensor, leaf_trees: tensor, "
    "leaf_ids: tensor, targets: tensor, weights: tensor, base: tensor = none, missing: tensor = none, "
    'modes: str = "", width: int = 0, count: int = 1'
)
_NODE_TYPES = "T:real, int64, int64, int64, S:floating, int64, int64, int64, int64, int64, S, S, int64"


def _checked(ctx: Ctx, given: tuple[Any, ...]) -> None:
    """Require the operands of nodes to have one length, and those of leaves too."""
    of_nodes = ("trees", "ids", "features", "splits", "yes", "no")
    of_leaves = ("leaf_trees", "leaf_ids", "targets", "weights")
    operands = dict(zip((*of_nodes, *of_leaves), given, strict=True))
    for names in (of_nodes, of_leaves):
        first, *rest = (Argument(name, product(ctx.dims(operands[name]))) for name in names)
        for other in rest:
            ctx.require(Equal(other, first))


@primitive("onnx.tree_scores", f'{_NODES}, how: str = "SUM", post: str = "NONE"', f"{_NODE_TYPES} -> float32")
def tree_scores(ctx: Ctx, x: TensorInfo, *given: Any) -> Shape:
    """For each row, the combined weights per target of the leaves that the trees reach. TreeEnsembleRegressor of
    ai.onnx.ml."""
    width, count, how, post = given[-4:]
    choice(ctx, "how", how, _HOW)
    choice(ctx, "post", post, POST)
    _checked(ctx, given[:10])
    return _columns(ctx, x, width), count


@primitive(
    "onnx.tree_classes", f'{_NODES}, post: str = "NONE"', f"{_NODE_TYPES} -> int64, float32", results="tuple"
)  # fmt: skip
def tree_classes(ctx: Ctx, x: TensorInfo, *given: Any) -> list[Shape]:
    """The class of each row by the trees, and the scores of all classes. TreeEnsembleClassifier of ai.onnx.ml."""
    width, count, post = given[-3:]
    choice(ctx, "post", post, POST)
    _checked(ctx, given[:10])
    n = _columns(ctx, x, width)
    return [(n,), (n, count)]


@primitive(
    "onnx.trees",
    "x: tensor, roots: tensor, features: tensor, splits: tensor, modes: tensor, yes: tensor, yes_leaf: tensor, no: tensor, "
    "no_leaf: tensor, targets: tensor, weights: tensor, members: tensor = none, missing: tensor = none, width: int = 0, "
    'count: int = 1, how: str = "SUM", post: str = "NONE"',
    "T:floating, int64, int64, T, uint8, int64, int64, int64, int64, int64, T, T, int64 -> T",
)
def trees(
    ctx: Ctx, x: TensorInfo, roots: TensorInfo, features: TensorInfo, splits: TensorInfo, modes: TensorInfo,
    yes: TensorInfo, yes_leaf: TensorInfo, no: TensorInfo, no_leaf: TensorInfo, targets: TensorInfo, weights: TensorInfo,
    members: TensorInfo | None, missing: TensorInfo | None, width: int, count: int, how: str, post: str,
) -> Shape:  # fmt: skip
    """For each row, the combined weights per target of the leaves that the trees reach. TreeEnsemble of ai.onnx.ml."""
    choice(ctx, "how", how, _HOW)
    choice(ctx, "post", post, POST)
    first = Argument("features", product(ctx.dims(features)))
    of_nodes = {"splits": splits, "modes": modes, "yes": yes, "yes_leaf": yes_leaf, "no": no, "no_leaf": no_leaf}
    for name, given in of_nodes.items():
        ctx.require(Equal(Argument(name, product(ctx.dims(given))), first))
    ctx.require(Equal(Argument("targets", product(ctx.dims(targets))), Argument("weights", product(ctx.dims(weights)))))
    return _columns(ctx, x, width), count
