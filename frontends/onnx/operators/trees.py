"""Operators of ai.onnx.ml that evaluate decision trees."""

from __future__ import annotations

from ..model import StoredInitializer
from .classic import DOMAIN, labels, list_of, named, post
from .registry import Reader, Untranslatable, operator, quoted

_LETTERS = {
    "BRANCH_LEQ": "<", "BRANCH_LT": "l", "BRANCH_GTE": "G", "BRANCH_GT": "g", "BRANCH_EQ": "=", "BRANCH_NEQ": "!", "LEAF": ".",
}  # fmt: skip


def _floats(node: Reader, name: str) -> str | None:
    """Numbers from a list, or from a tensor of a wider dtype."""
    given = node.attribute(f"{name}_as_tensor")
    return node.scope.literal(given) if isinstance(given, StoredInitializer) else node.listed(name, "float32")


def _needed(node: Reader, name: str) -> str:
    found = _floats(node, name)
    if found is None:
        raise Untranslatable(f"its attribute `{name}` is missing")
    return found


def _modes(node: Reader) -> str:
    """The comparison of each node, a letter each."""
    modes = node.attribute("nodes_modes")
    if not isinstance(modes, tuple) or not all(mode in _LETTERS for mode in modes):
        raise Untranslatable("has nodes of a mode that ONNX does not have")
    return "".join(_LETTERS[mode] for mode in modes)


def _nodes(node: Reader, kind: str) -> str:
    """The nodes and leaves of all trees, and the number of columns that they read; `kind` begins the names of the leaves'
    attributes: "target"."""
    columns = node.integers("nodes_featureids") or ()
    inner = [c for c, mode in zip(columns, _modes(node), strict=False) if mode != "."]
    names = ("treeids", "nodeids", "featureids", "", "truenodeids", "falsenodeids")
    nodes = [list_of(node, f"nodes_{n}", "int64") if n else _needed(node, "nodes_values") for n in names]
    leaves = [list_of(node, f"{kind}_{n}", "int64") for n in ("treeids", "nodeids", "ids")]
    operands = ", ".join((node.x(0), *nodes, *leaves, _needed(node, f"{kind}_weights")))
    base, missing = _floats(node, "base_values"), node.listed("nodes_missing_value_tracks_true", "int64")
    operands += "" if base is None else f", base={base}"
    operands += "" if missing is None else f", missing={missing}"
    return f"{operands}, modes={quoted(_modes(node))}, width={1 + max(inner, default=-1)}"


@operator("TreeEnsembleRegressor", 1, DOMAIN)
def tree_ensemble_regressor(node: Reader) -> str:
    how = node.string("aggregate_function", "SUM")
    return (
        f"@onnx.tree_scores({_nodes(node, 'target')}, count={node.integer('n_targets')}, how={quoted(how)}{post(node)})"
    )


@operator("TreeEnsembleClassifier", 1, DOMAIN)
def tree_ensemble_classifier(node: Reader) -> str:
    texts, count, is_text = labels(node, "int64s")
    targets = set(node.integers("class_ids") or ())
    if count < 3 and not is_text and (count == 1 or len(targets) > 1):
        # onnxruntime names two classes 0 and 1 unless all weights belong to one of them.
        texts = "tensor([0, 1], int64)"
    made = f"@onnx.tree_classes({_nodes(node, 'class')}, count={count}{post(node)})"
    chosen, told = node.parts(made, 2)
    return named(node, texts, chosen, told)


_HOW = ("AVERAGE", "SUM", "MIN", "MAX")
_POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@operator("TreeEnsemble", 5, DOMAIN)
def tree_ensemble(node: Reader) -> str:
    def tensor(name: str) -> str:
        found = node.attribute(name)
        if not isinstance(found, StoredInitializer):
            raise Untranslatable(f"its attribute `{name}` is missing")
        return node.scope.literal(found)

    def numbers(name: str) -> str:
        return list_of(node, name, "int64")

    operands = ", ".join((
        node.x(0), numbers("tree_roots"), numbers("nodes_featureids"), tensor("nodes_splits"), tensor("nodes_modes"),
        numbers("nodes_truenodeids"), numbers("nodes_trueleafs"), numbers("nodes_falsenodeids"),
        numbers("nodes_falseleafs"), numbers("leaf_targetids"), tensor("leaf_weights"),
    ))  # fmt: skip
    members = f", members={tensor('membership_values')}" if node.attribute("membership_values") is not None else ""
    missing = node.listed("nodes_missing_value_tracks_true", "int64")
    operands += members + ("" if missing is None else f", missing={missing}")
    width = 1 + max(node.integers("nodes_featureids") or (-1,))
    how, told = node.choice("aggregate_function", _HOW, 1), node.choice("post_transform", _POST, 0)
    more = "" if told == "NONE" else f", post={quoted(told)}"
    return f"@onnx.trees({operands}, width={width}, count={node.integer('n_targets')}, how={quoted(how)}{more})"
