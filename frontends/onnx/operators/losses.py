"""Losses: the distance of predictions for each class from the true classes."""

from __future__ import annotations

from .registry import Reader, operator, quoted


def _options(node: Reader) -> str:
    reduction = node.word("reduction", "mean")
    more = "" if reduction == "mean" else f", reduction={quoted(reduction)}"
    ignored = node.attribute("ignore_index")
    return more if ignored is None else f"{more}, ignore_index={node.integer('ignore_index')}"


@operator("NegativeLogLikelihoodLoss", 12)
def nll_loss(node: Reader) -> str:
    return f"@nll_loss({node.x(0)}, {node.x(1)}{node.optional(2, 'weight')}{_options(node)})"


@operator("SoftmaxCrossEntropyLoss", 12)
def softmax_cross_entropy_loss(node: Reader) -> str:
    """Compute the loss; the second output is the logarithms of the shares."""
    weight = f"{node.optional(2, 'weight')}{_options(node)}"
    if not node.uses(1):
        return f"@cross_entropy_loss({node.x(0)}, {node.x(1)}{weight})"
    shares = node.let("logarithms", f"@log_softmax({node.x(0)}, axis=1)")
    return f"(@nll_loss({shares}, {node.x(1)}{weight}), {shares})"
