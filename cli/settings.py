"""Read the settings of `rx check` from `[tool.rx]` in the nearest pyproject.toml; the command line overrides them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from .files import Unusable, reason

_FILE = "pyproject.toml"
_KINDS = {"strict": bool, "allow-empty": bool, "roots": list, "given": list}


class WithSettings(click.Command):
    """A command whose defaults are the settings of the current project."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        own = {} if extra.get("resilient_parsing") else settings(Path.cwd())  # completion does not report a broken file
        return super().make_context(info_name, args, parent, default_map=own, **extra)


def from_command_line(context: click.Context | None, name: str) -> bool:
    """Whether an option was given on the command line; for a repeated round, that of the parent context counts."""
    while context is not None and context.get_parameter_source(name) is None:
        context = context.parent
    return context is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def settings(folder: Path) -> dict[str, Any]:
    """The options of `rx check` by parameter name, from the nearest file above a folder that has the table; raises Unusable
    if that file cannot be read."""
    for place in (folder, *folder.parents):
        file = place / _FILE
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _options(file, table)
    return {}


def _table(file: Path) -> object:
    import tomllib  # few projects have such a table

    try:
        text = file.read_text(encoding="utf-8")
        tool = tomllib.loads(text).get("tool") if "rx" in text else None
    except (OSError, ValueError) as wrong:  # a file that is not valid TOML raises ValueError
        raise Unusable(f"cannot read {str(file)!r}: {reason(wrong)}") from wrong
    return tool.get("rx") if isinstance(tool, dict) else None


def _options(file: Path, table: object) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise Unusable(f"{str(file)!r}: tool.rx is no table")
    for name, value in table.items():
        kind = _KINDS.get(name)
        if kind is None:
            raise Unusable(f"{str(file)!r}: [tool.rx] has no {name!r}; it has {', '.join(_KINDS)}")
        if not isinstance(value, kind) or isinstance(value, list) and not all(isinstance(v, str) for v in value):
            raise Unusable(f"{str(file)!r}: {name} is {'true or false' if kind is bool else 'a list of texts'}")
    found = {name.replace("-", "_"): tuple(v) if isinstance(v, list) else v for name, v in table.items()}
    if "roots" in found:
        found["roots"] = tuple(str(file.parent / root) for root in found["roots"])
        for root in found["roots"]:
            if not Path(root).is_dir():
                raise Unusable(f"{str(file)!r}: roots names {root!r}, which is not a folder")
    return found
