"""A primitive's row to its page: its call, and its documentation paragraph by paragraph."""

from __future__ import annotations

from .model import Primitive, PrimitiveParam


def call_text(primitive: Primitive) -> str:
    """`@sum(x, axis=none, keepdims=false)`"""
    return f"@{primitive.name}({', '.join(map(parameter_text, primitive.params))})"


def parameter_text(param: PrimitiveParam) -> str:
    return param.name if param.required else f"{param.name}={default_text(param.default)}"


def default_text(default: object) -> str:
    """A default as programs write it; `none` cannot be written."""
    match default:
        case None:
            return "none"
        case bool():
            return str(default).lower()
        case str():
            return f'"{default}"'
    return str(default)


def paragraphs(primitive: Primitive) -> tuple[str, ...]:
    """The paragraphs of the documentation, each on one line."""
    return tuple(" ".join(p.split()) for p in primitive.doc.strip().split("\n\n"))


def page(primitive: Primitive) -> str:
    """A primitive's page in Markdown."""
    dtypes = f"dtypes: `{primitive.dtypes}`" if primitive.dtypes else ""
    return "\n\n".join(filter(None, (f"```rx\n{call_text(primitive)}\n```", *paragraphs(primitive), dtypes)))
