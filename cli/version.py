"""Which version of rx this is."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version


def version() -> str:
    try:
        return installed_version("rxlang")
    except PackageNotFoundError:
        return "unknown"
