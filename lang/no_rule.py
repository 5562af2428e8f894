"""An operator of a model without a rule: the target of its extern, and the message if it would run."""

from __future__ import annotations

import re

_MODULE = "operators_without_a_rule"


def rule_name(domain: str, op_type: str) -> str:
    """The function in a prelude that is an operator's rule."""
    domain = re.sub(r"\W+", "_", domain)
    return f"{domain}_{op_type}" if domain else op_type


def target(domain: str, op_type: str) -> str:
    """No callable: what a model says is nothing that may be run."""
    return f"{_MODULE}:{domain}:{op_type}"


def said(target: str | None) -> str | None:
    """Which operator is missing, and how to give it a rule; None of what is the target of another extern."""
    module, _, operator = (target or "").partition(":")
    if module != _MODULE:
        return None
    domain, _, op_type = operator.rpartition(":")
    of = f" of the domain `{domain}`" if domain else ""
    rule = rule_name(domain, op_type)
    return f"the operator `{op_type}`{of} has no rule: give it one with rx.onnx.rule, or the function `@{rule}` in a --prelude"
