"""The description on a package index: the README, with links to files of the project made absolute."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent


def described(readme: str, source: str | None) -> str:
    """Links to files lead below `source`, where the project has such a URL; without one they are the text alone."""
    absolute = rf"\1[\2]({source}/\3)" if source else r"\2"
    return re.sub(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]*)\)", absolute, readme)


if __name__ == "__main__":
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    setup(
        script_name="setup.py",  # which is no module of the package, though it lies in its folder
        long_description=described((ROOT / "README.md").read_text(encoding="utf-8"), urls.get("Source")),
        long_description_content_type="text/markdown",
    )
