"""Operators of a model without a rule: the target of the extern, and the message if it would run."""

from __future__ import annotations

import re

_MODULE = "operators_without_a_rule"


def rule_name(domain: str, op_type: str) -> str:
    """The name of an operator's rule function in a prelude."""
    domain = re.sub(r"\W+", "_", domain)
    return f"{domain}_{op_type}" if domain else op_type


def target(domain: str, op_type: str) -> str:
    """The extern's target, which is no callable: a model must not name code to run."""
    return f"{_MODULE}:{domain}:{op_type}"


def said(target: str | None) -> str | None:
    """The message about a missing operator and how to give it a rule; None if the target belongs to another extern."""
    module, _, operator = (target or "").partition(":")
    if module != _MODULE:
        return None
    domain, _, op_type = operator.rpartition(":")
    of = f" of the domain `{domain}`" if domain else ""
    rule = rule_name(domain, op_type)
    return f"the operator `{op_type}`{of} has no rule: give it one with rx.onnx.rule, or the function `@{rule}` in a --prelude"
