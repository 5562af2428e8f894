"""The build backend: setuptools, after writing the description for package indexes: the README with absolute links to the
project's files."""

import re
import tomllib
from pathlib import Path

from setuptools.build_meta import (  # noqa: F401  # the hooks of PEP 517 and PEP 660
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).parents[1]


def described(readme: str, source: str | None) -> str:
    """The README with links to files made absolute below `source`; without a source URL, only the text of the links
    remains."""
    absolute = rf"\1[\2]({source}/\3)" if source else r"\2"
    return re.sub(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]*)\)", absolute, readme)


def _write() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    text = described((ROOT / "README.md").read_text(encoding="utf-8"), urls.get("Source"))
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "description.md").write_text(text, encoding="utf-8")


_write()
