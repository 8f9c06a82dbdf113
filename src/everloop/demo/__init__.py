"""A year of a fictional person: conversations, memories and lessons to look around in."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.demo.load import load_demo

__all__ = ["load_demo"]

__getattr__ = lazy_exports(__name__, __file__)
