"""Models of many kinds with random weights, by name: `export_models.py` exports them."""

from . import language, decoders, images, detectors, sound, recurrent, control  # noqa: F401, I001 (they name what they export, in this order)
from .export import EXPORTS, Export

__all__ = ["EXPORTS", "Export"]
