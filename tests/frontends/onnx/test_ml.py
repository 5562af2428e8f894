"""Operators of ai.onnx.ml give what onnxruntime gives, over random models; long lists of numbers are found in the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import fuzz

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
np = pytest.importorskip("numpy")

from tests.support.one_node import Compared  # noqa: E402

DOMAIN = "ai.onnx.ml"
POST = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


class Draw:
    """A source of random models."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def floats(self, *shape: int) -> Any:
        return self.rng.standard_normal(shape).astype(np.float32)

    def listed(self, count: int, scale: float = 0.3) -> list[float]:
        return [float(v) for v in self.floats(count) * np.float32(scale)]

    def one(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def rows(self, width: int) -> Any:
        """One row or several, with numbers that are missing and numbers that nodes ask for."""
        made = self.floats(self.one(1, 2, 5), width).round(1)
        made[self.rng.random(made.shape) < 0.1] = np.nan
        return made


class Forest:
    """Random trees, as the attributes of a node."""

    def __init__(self, draw: Draw, trees: int, depth: int, width: int, targets: list[int]) -> None:
        self.draw, self.width, self.targets = draw, width, targets
        names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
        self.nodes: dict[str, list[Any]] = {name: [] for name in (*names, "missing_value_tracks_true")}
        self.leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
        for tree in range(trees):
            self.ids = iter(range(10**6))
            self.grow(tree, depth)

    def grow(self, tree: int, depth: int) -> int:
        node, is_leaf = next(self.ids), depth == 0 or self.draw.rng.random() < 0.2
        at = len(self.nodes["treeids"])
        split = 0.0 if is_leaf else float(np.float32(round(float(self.draw.rng.standard_normal()), 1)))
        feature, mode = (0, "LEAF") if is_leaf else (int(self.draw.rng.integers(self.width)), self.draw.one(*MODES))
        for name, value in zip(self.nodes, (tree, node, feature, split, mode, 0, 0, self.draw.one(0, 1)), strict=True):
            self.nodes[name].append(value)
        if is_leaf:
            for target in {self.draw.one(*self.targets), self.draw.one(*self.targets)}:
                for name, value in zip(self.leaves, (tree, node, target, self.draw.listed(1)[0]), strict=True):
                    self.leaves[name].append(value)
        else:
            self.nodes["truenodeids"][at] = self.grow(tree, depth - 1)
            self.nodes["falsenodeids"][at] = self.grow(tree, depth - 1)
        return node

    def attributes(self, kind: str) -> dict[str, Any]:
        return {f"nodes_{k}": v for k, v in self.nodes.items()} | {f"{kind}_{k}": v for k, v in self.leaves.items()}


Case = tuple[str, list[Any], dict[str, Any]]


def regression_trees(draw: Draw) -> Case:
    targets = draw.one(1, 2, 3)
    forest = Forest(draw, draw.one(1, 3), draw.one(0, 3), 4, list(range(targets)))
    how = {"n_targets": targets, "aggregate_function": draw.one("SUM", "AVERAGE", "MIN", "MAX")}
    how |= {"post_transform": draw.one("NONE", "LOGISTIC", "SOFTMAX")}
    how |= {"base_values": draw.listed(targets)} if draw.one(True, False) else {}
    return "TreeEnsembleRegressor", [draw.rows(4)], how | forest.attributes("target")


def classifying_trees(draw: Draw) -> Case:
    classes, single = draw.one((1, True), (2, True), (2, False), (3, False))
    forest = Forest(draw, 3, 3, 4, [draw.one(0, classes - 1)] if single else list(range(classes)))
    if draw.one(True, False):
        forest.leaves["weights"] = [abs(w) for w in forest.leaves["weights"]]
    how: dict[str, Any] = {"post_transform": draw.one("NONE", "LOGISTIC"), "outputs": 2}
    how |= {"base_values": draw.listed(classes)} if draw.one(True, False) else {}
    return "TreeEnsembleClassifier", [draw.rows(4)], {
        "classlabels_int64s": list(range(7, 7 + classes)), **how, **forest.attributes("class")
    }  # fmt: skip


def linear_regression(draw: Draw) -> Case:
    targets = draw.one(1, 2, 3)
    return "LinearRegressor", [draw.floats(3, 4)], {
        "coefficients": draw.listed(4 * targets), "intercepts": draw.listed(targets), "targets": targets,
        "post_transform": draw.one(*POST),
    }  # fmt: skip


def linear_classes(draw: Draw) -> Case:
    scores, classes = draw.one((1, 2), (2, 2), (3, 3))
    return "LinearClassifier", [draw.floats(3, 4)], {
        "coefficients": draw.listed(4 * scores), "intercepts": draw.listed(scores), "outputs": 2,
        "classlabels_ints": list(range(5, 5 + classes)), "post_transform": draw.one(*POST),
    }  # fmt: skip


def support_vectors(draw: Draw) -> Case:
    kind = {"kernel_type": draw.one("LINEAR", "POLY", "RBF", "SIGMOID"), "kernel_params": [0.3, 0.2, 3.0]}
    if draw.one(True, False):
        return "SVMRegressor", [draw.floats(3, 4)], {
            "n_supports": 5, "support_vectors": draw.listed(20), "coefficients": draw.listed(5), "rho": [0.3],
            "one_class": draw.one(0, 1), **kind,
        }  # fmt: skip
    counts = draw.one([2, 1], [2, 1, 3], [1, 2, 1, 2])
    pairs = len(counts) * (len(counts) - 1) // 2
    how = {
        "vectors_per_class": counts, "support_vectors": draw.listed(4 * sum(counts)), "rho": draw.listed(pairs),
        "coefficients": draw.listed((len(counts) - 1) * sum(counts)), "classlabels_ints": list(range(len(counts))),
        "post_transform": draw.one("NONE", "LOGISTIC"), "outputs": 2, **kind,
    }  # fmt: skip
    if draw.one(True, False):
        how |= {"prob_a": [-abs(v) for v in draw.listed(pairs, 1.0)], "prob_b": draw.listed(pairs)}
    return "SVMClassifier", [draw.floats(3, 4)], how


def features(draw: Draw) -> Case:
    x = draw.rows(4)
    return draw.one(
        ("Scaler", [draw.floats(3, 4)], {"offset": draw.listed(4), "scale": draw.listed(draw.one(4))}),
        ("Scaler", [draw.floats(3, 4)], {"offset": [0.5], "scale": [2.0]}),
        ("Normalizer", [draw.floats(3, 4)], {"norm": draw.one("MAX", "L1", "L2")}),
        ("Imputer", [x], {"imputed_value_floats": draw.listed(draw.one(1, 4)), "replaced_value_float": float("nan")}),
        ("Imputer", [draw.rng.integers(0, 3, (3, 2))], {"imputed_value_int64s": [7], "replaced_value_int64": 1}),
        ("Binarizer", [draw.floats(3, 4)], {"threshold": 0.3}),
        ("FeatureVectorizer", [draw.floats(3, 4), draw.floats(3, 2)], {"inputdimensions": [4, draw.one(2, 3)]}),
        ("OneHotEncoder", [draw.rng.integers(0, 4, (3, 2))], {"cats_int64s": [0, 2, 1]}),
        ("ArrayFeatureExtractor", [draw.floats(3, 4), np.array([2, 0, 2])], {}),
    )


FAMILIES = (
    regression_trees, classifying_trees, linear_regression, linear_classes, support_vectors, features,
)  # fmt: skip


def _cases() -> Iterator[Any]:
    return fuzz.cases("classic models")


def test_classic_models_give_what_onnxruntime_gives(tmp_path: Path) -> None:
    for case in _cases():
        with case as seed:
            op, inputs, how = FAMILIES[seed % len(FAMILIES)](Draw(seed))
            Compared(tmp_path, op, inputs, domain=DOMAIN, version=3, **how).check(1e-3, 1e-4)


def test_lists_too_long_for_a_text_are_found_in_the_file(tmp_path: Path) -> None:
    draw = Draw(1)
    forest = Forest(draw, 30, 7, 4, [0])
    assert len(forest.nodes["treeids"]) > 1000
    compared = Compared(tmp_path, "TreeEnsembleRegressor", [draw.floats(7, 4)], domain=DOMAIN, version=3, n_targets=1,
                        **forest.attributes("target"))  # fmt: skip
    compared.check(1e-3, 1e-4)


def test_a_tree_that_looks_at_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    import rxlang

    from tests.support.one_node import OneNode, one_node

    draw = Draw(2)
    made = Forest(draw, 3, 3, 4, [0]).attributes("target")
    model = one_node("TreeEnsembleRegressor", [draw.floats(3, 2)], domain=DOMAIN, version=3, n_targets=1, **made)
    with pytest.raises(rxlang.ShapeError, match="column|at least"):
        OneNode(model, [draw.floats(3, 2)], ()).run(tmp_path)


@pytest.mark.parametrize("width, fits", [(2, True), (4, True), (5, False)])
def test_of_more_coefficients_than_features_need_the_first_ones_count(width: int, fits: bool, tmp_path: Path) -> None:
    import rxlang

    from tests.support.one_node import by_onnxruntime, one_node

    draw = Draw(3)
    inputs = [draw.floats(3, width)]
    how = {"coefficients": draw.listed(12), "intercepts": draw.listed(3), "classlabels_ints": [0, 1, 2]}
    model = one_node("LinearClassifier", inputs, 2, domain=DOMAIN, version=3, **how)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    if not fits:  # onnxruntime reads behind their end
        with pytest.raises(rxlang.CheckError):
            rxlang.load(tmp_path / "model.onnx")
        return
    found, right = rxlang.load(tmp_path / "model.onnx").main(*inputs), by_onnxruntime(model, inputs)
    assert (found[0] == right[0]).all() and np.allclose(found[1], right[1], 1e-5, 1e-5)


@pytest.mark.parametrize("missing", ["nodes_splits", "nodes_modes", "leaf_weights", None])
def test_a_tree_ensemble_gives_what_onnx_gives_or_names_the_attribute_that_it_lacks(
    missing: str | None, tmp_path: Path
) -> None:
    import rxlang

    from tests.support.one_node import OneNode, one_node

    def held(name: str, dtype: Any, *values: float) -> Any:
        return onnx.numpy_helper.from_array(np.array(values, dtype), name)

    how = {
        "n_targets": 2, "tree_roots": [0], "nodes_featureids": [0, 0, 0], "nodes_truenodeids": [1, 0, 1],
        "nodes_trueleafs": [0, 1, 1], "nodes_falsenodeids": [2, 2, 3], "nodes_falseleafs": [0, 1, 1],
        "leaf_targetids": [0, 1, 0, 1], "nodes_modes": held("nodes_modes", np.uint8, 0, 0, 0),
        "nodes_splits": held("nodes_splits", np.float32, 3.25, 1.25, 4.25),
        "leaf_weights": held("leaf_weights", np.float32, 5.25, 12.125, -12.25, 7.25),
    }  # fmt: skip
    x = np.array([[1.25, 3.5], [-0.125, 1.75], [4.125, 1.75]], np.float32)
    model = one_node("TreeEnsemble", [x], domain=DOMAIN, version=5, **{n: v for n, v in how.items() if n != missing})
    if missing is None:
        assert np.array_equal(OneNode(model, [x], ()).run(tmp_path)[0], [[5.25, 0], [5.25, 0], [0, 12.125]])
        return
    with pytest.raises(rxlang.CheckError, match=f"its attribute `{missing}` is missing"):
        OneNode(model, [x], ()).run(tmp_path)
