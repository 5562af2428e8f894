"""Whole models with symbolic sizes, each written as people write them: everything about their shapes is proved."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang.pipeline import Report, check_text
from support.places import TESTS

MODELS = sorted((TESTS / "corpora" / "models").glob("*.rx"))


def check(path: Path, before: str = "", after: str = "") -> Report:
    text = path.read_text(encoding="utf-8")
    assert before in text
    return check_text(text.replace(before, after, 1) if before else text, path.name, path.parent)


def model(name: str) -> Path:
    return next(path for path in MODELS if path.stem == name)


def test_the_models_are_there() -> None:
    assert len(MODELS) >= 11


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_everything_about_a_model_is_proved(path: Path) -> None:
    report = check(path)
    assert report.diagnostics == ()
    assert report.counts.residual == report.counts.refuted == 0
    assert report.counts.proved > 50


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_hardly_a_question_about_a_model_is_left_for_the_solver(path: Path) -> None:
    checked = check(path).checked
    assert checked is not None
    left = checked.questions.get("z3", 0) + checked.questions.get("unknown", 0)
    assert left < 0.05 * sum(checked.questions.values())


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("gpt2", "[keys, @heads(k_new, h)], axis=2", "[keys, @heads(k_new, h)], axis=1"),
        ("gpt2", "@ones([t, past + t], bool)", "@ones([t, past], bool)"),
        ("vit", "@flatten(grid, start=2)", "@flatten(grid, start=1)"),
        ("vit", "(W // 16), c * 256])\n", "(W // 16), c * 255])\n"),
        ("resnet50", "pads=[(3, 3), (3, 3)]", "pads=[(3, 3), (3, 3), (3, 3)]"),
        ("resnet50", "@conv(x, side, strides=[2, 2])", "@conv(x, side)"),
        ("mobilenet", 'auto_pad="same_upper"', 'auto_pad="valid"'),
        ("seq2seq", "Tensor([2, 4 * h, h], float32)", "Tensor([2, 3 * h, h], float32)"),
        ("unet_transposed", "[d0, u0]", "[d1, u0]"),
        ("unet_volumes", "@concat([d1, u1], axis=1)", "@concat([d1, u1], axis=2)"),
        ("mixture_of_experts", "@expand_dims(weights, axis=-1), axis=1", "@expand_dims(weights, axis=-1), axis=2"),
        ("swin", "[b, H // s, s, W // s, s, c]", "[b, H // s, W // s, s, s, c + 1]"),
        ("conformer", "pads=[(15, 15)]", "pads=[(15, 14)]"),
        ("bert", "@swapaxes(k, -1, -2)", "k"),
    ],
)
def test_a_mistake_in_a_model_does_not_pass_unseen(name: str, right: str, wrong: str) -> None:
    assert {d.severity for d in check(model(name), right, wrong).diagnostics} & {"error", "warning"}
