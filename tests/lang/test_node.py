"""Tree nodes are frozen: none of their classes lets a field be set, deleted or added."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import pytest
import rxlang.lang
from rxlang import pipeline
from rxlang.lang.node import Node, replace


def classes() -> list[type[Node]]:
    for module in walk_packages(rxlang.lang.__path__, "rxlang.lang."):
        import_module(module.name)
    found: list[type[Node]] = []
    pending = Node.__subclasses__()
    while pending:
        found.append(pending.pop())
        pending.extend(found[-1].__subclasses__())
    return found


@pytest.mark.parametrize("class_", classes(), ids=lambda c: c.__qualname__)
def test_a_node_does_not_change(class_: type[Node]) -> None:
    node = class_(*(f"{n}" for n in range(len(class_._fields))))
    before = hash(node)
    for field in (*class_._fields, "a_name_that_it_does_not_have", "_fields"):
        with pytest.raises(AttributeError, match="is frozen"):
            setattr(node, field, 2)
        with pytest.raises(AttributeError, match="is frozen"):
            delattr(node, field)
    assert hash(node) == before and [getattr(node, f) for f in class_._fields] == [
        str(n) for n in range(len(class_._fields))
    ]


def test_a_node_takes_its_fields_in_order_by_name_and_by_default() -> None:
    counts = pipeline.Counts(3, proved=2)
    assert (counts.total, counts.proved, counts.residual) == (3, 2, 0)
    assert replace(counts, entry=1) == pipeline.Counts(3, 2, entry=1) != counts
    with pytest.raises(TypeError):
        pipeline.Counts(1, 2, 3, 4, 5, 6, 7)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        pipeline.Counts(totl=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        pipeline.Counts(1, total=2)  # type: ignore[misc]
    with pytest.raises(TypeError):
        pipeline.core.Load()  # type: ignore[call-arg]
