"""Kernels of decision trees: rows go down all trees at once, one node per step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .onnx_ml import told, two
from .quiet import quiet
from .registry import Array, BadValue, kernel

# The comparisons of nodes, by their letter and by their number in TreeEnsemble; a leaf has none.
_LETTERS = "<lGg=!m."
_LEQ, _LT, _GTE, _GT, _EQ, _NEQ, _MEMBER, _LEAF = range(8)


class _Forest(NamedTuple):
    """The nodes of all trees: their features, splits and comparisons, the nodes that both answers lead to, and whether NaN
    counts as yes. `sets` are those of membership tests."""

    roots: Array
    features: Array
    splits: Array
    modes: Array
    yes: Array
    no: Array
    missing: Array
    sets: tuple[Array, ...]


def _leaves(forest: _Forest, x: Array) -> Array:
    """[rows, trees]: the node where each row ends in each tree."""
    at = np.broadcast_to(forest.roots, (len(x), len(forest.roots))).copy()
    row = np.arange(len(x))[:, None]
    if not x.shape[1]:
        return at
    for _ in range(len(forest.modes) + 1):
        inner = forest.modes[at] != _LEAF
        if not inner.any():
            return at
        value = x[row, np.where(inner, forest.features[at], 0)]
        goes = _compared(forest, at, value) | (np.isnan(value) & forest.missing[at])
        at = np.where(inner, np.where(goes, forest.yes[at], forest.no[at]), at)
    raise BadValue("the trees have a node that leads back to itself")


def _compared(forest: _Forest, at: Array, value: Array) -> Array:
    split, mode = forest.splits[at], forest.modes[at]
    made = np.zeros(at.shape, bool)
    compare = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
    for number in np.unique(mode):
        if number < _MEMBER:
            made = np.where(mode == number, compare[number](value, split), made)
        elif number == _MEMBER:
            for node in np.unique(at[mode == _MEMBER]):
                made = np.where(at == node, np.isin(value, forest.sets[int(forest.splits[node])]), made)
    return made


def _gathered(leaf: Array, owners: Array, targets: Array, weights: Array, count: int, how: str) -> tuple[Array, Array]:
    """Sums, or least or greatest weights, of each target, and whether there were any; `owners` are the nodes of the
    weights."""
    order = np.argsort(owners, kind="stable")
    owners, targets, weights = owners[order], targets[order], weights[order]
    begin, end = np.searchsorted(owners, leaf, "left"), np.searchsorted(owners, leaf, "right")
    start = {"MIN": np.inf, "MAX": -np.inf}.get(how, 0.0)
    made, there = np.full((len(leaf), count), start), np.zeros((len(leaf), count), bool)
    combine = {"MIN": np.minimum, "MAX": np.maximum}.get(how, np.add)
    rows = np.broadcast_to(np.arange(len(leaf))[:, None], leaf.shape)
    for k in range(int((end - begin).max(initial=0))):
        has = begin + k < end
        entry = (begin + k)[has]
        combine.at(made, (rows[has], targets[entry]), weights[entry])
        there[rows[has], targets[entry]] = True
    made[~there] = 0
    return made / max(leaf.shape[1], 1) if how == "AVERAGE" else made, there


# Nodes given by trees and numbers


def _placed(trees: Array, ids: Array) -> dict[tuple[int, int], int]:
    """The index of each node, by its tree and its number."""
    return {key: at for at, key in enumerate(zip(trees.tolist(), ids.tolist(), strict=True))}


def _sought(known: dict[tuple[int, int], int], trees: Array, ids: Array, needed: Array) -> Array:
    """The indices of nodes; 0 for those that are not needed."""
    keys = zip(trees.tolist(), ids.tolist(), needed.tolist(), strict=True)
    try:
        return np.array([known[tree, node] if asked else 0 for tree, node, asked in keys], np.int64)
    except KeyError as missing:
        raise BadValue(f"the trees have no node {missing.args[0][1]} in tree {missing.args[0][0]}") from None


def _forest(
    trees: Array, ids: Array, features: Array, splits: Array, yes: Array, no: Array, missing: Array | None, modes: str
) -> tuple[_Forest, dict[tuple[int, int], int]]:
    known = _placed(trees, ids)
    kinds = np.array([_LETTERS.index(letter) for letter in modes], np.int64)
    inner = kinds != _LEAF
    to_yes, to_no = _sought(known, trees, yes, inner), _sought(known, trees, no, inner)
    led = np.zeros(len(kinds), bool)
    led[to_yes[inner]] = led[to_no[inner]] = True
    _, first = np.unique(trees, return_index=True)
    roots = np.flatnonzero(~led) if len(np.flatnonzero(~led)) == len(first) else np.sort(first)
    tracks = np.zeros(len(kinds), bool) if missing is None else missing.astype(bool)
    return _Forest(roots, features, splits, kinds, to_yes, to_no, tracks, ()), known


def _rows(x: Array, dtype: np.dtype[Any]) -> Array:
    return np.atleast_2d(x).astype(np.float64 if x.dtype == np.float64 else dtype, copy=False)


def _summed(given: tuple[Any, ...], how: str) -> tuple[Array, Array]:
    """[rows, targets]: the combined weights of the leaves, and whether there are any."""
    x, trees, ids, features, splits, yes, no, leaf_trees, leaf_ids, targets, weights, _, missing, modes, _, count = (
        given
    )
    forest, known = _forest(trees, ids, features, splits, yes, no, missing, modes)
    owners = _sought(known, leaf_trees, leaf_ids, np.ones(len(leaf_ids), bool))
    leaf = _leaves(forest, _rows(x, splits.dtype))
    return _gathered(leaf, owners, targets, weights.astype(np.float64), count, how)


@kernel("onnx.tree_scores")
@quiet
def tree_scores(*given: Any) -> Array:
    *nodes, how, post = given
    made, there = _summed(tuple(nodes), how)
    base = given[11]
    if base is not None:
        # A target without weights in the leaves has no least or greatest one.
        made = np.where(there | (how in ("SUM", "AVERAGE")) | (made.shape[1] == 1), made + base, made)
    return told(made, post).astype(np.float32)


@kernel("onnx.tree_classes")
@quiet
def tree_classes(*given: Any) -> tuple[Array, Array]:
    *nodes, post = given
    made, there = _summed(tuple(nodes), "SUM")
    targets, weights, base, count = given[9], given[10], given[11], given[15]
    if count > 2:
        made = made if base is None else made + base
        return made.argmax(1), told(made, post).astype(np.float32)
    if count == 1:
        made = made if base is None else made + base[0]
        return (made[:, 0] > 0).astype(np.int64), told(made, post).astype(np.float32)
    made, there = _with_bases(made, there, base)
    positive = bool((weights >= 0).all())
    deciding = np.where(there[:, 1], made[:, 1], np.where(there[:, 0], made[:, 0], 0))
    is_single = len(np.unique(targets)) == 1
    chosen = (deciding > (0.5 if is_single and positive else 0)).astype(np.int64)
    both = told(np.where(there, made, 0), post)
    alone = ~there[:, 1:] & (base is None or len(base) == 1)
    return chosen, np.where(alone, two(made[:, :1], post, is_single and positive), both).astype(np.float32)


def _with_bases(made: Array, there: Array, base: Array | None) -> tuple[Array, Array]:
    """The scores of two classes and whether each exists, with the bases added as in onnxruntime."""
    if base is None:
        return made, there
    if len(base) == 1:
        return made + np.array([base[0], 0]), there
    other = base[1] + made[:, :1]
    made = np.where(there[:, 1:], np.concatenate((-other, other), 1), made + base)
    return made, there | np.array([True, False]) & ~there[:, 1:]


# TreeEnsemble


@kernel("onnx.trees")
@quiet
def trees(
    x: Array, roots: Array, features: Array, splits: Array, modes: Array, yes: Array, yes_leaf: Array, no: Array,
    no_leaf: Array, targets: Array, weights: Array, members: Array | None, missing: Array | None, width: int, count: int,
    how: str, post: str,
) -> Array:  # fmt: skip
    inner, leaves = len(features), len(targets)
    forest = _with_leaves(features, splits, modes, yes, yes_leaf, no, no_leaf, missing, members, leaves)
    # A tree of one leaf is a node whose answers both lead there.
    leaf = _leaves(forest._replace(roots=roots), _rows(x, splits.dtype))
    owners = np.arange(inner, inner + leaves)
    made, _ = _gathered(leaf, owners, targets, weights.astype(np.float64), count, how)
    return told(made, post).astype(x.dtype)


def _with_leaves(
    features: Array, splits: Array, modes: Array, yes: Array, yes_leaf: Array, no: Array, no_leaf: Array,
    missing: Array | None, members: Array | None, leaves: int,
) -> _Forest:  # fmt: skip
    """Make a forest with the leaves as nodes after the others."""
    inner = len(features)
    none = np.zeros(leaves, np.int64)
    to_yes, to_no = (np.concatenate((to + inner * (leaf != 0), none)) for to, leaf in ((yes, yes_leaf), (no, no_leaf)))
    kinds, bounds = np.concatenate((modes.astype(np.int64), none + _LEAF)), splits.copy()
    sets = _sets(members)
    bounds[kinds[:inner] == _MEMBER] = np.arange(int((kinds == _MEMBER).sum()))
    tracks = np.zeros(inner + leaves, bool)
    tracks[:inner] = False if missing is None else missing != 0
    columns, bounds = (np.concatenate((v, none.astype(v.dtype))) for v in (features, bounds))
    return _Forest(none, columns, bounds, kinds, to_yes, to_no, tracks, sets)


def _sets(members: Array | None) -> tuple[Array, ...]:
    """The sets of values in membership tests; each ends with NaN."""
    if members is None:
        return ()
    ends = np.flatnonzero(np.isnan(members))
    return tuple(part[~np.isnan(part)] for part in np.split(members, ends + 1))
