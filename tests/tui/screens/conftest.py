"""The hub on loopback and the person before it, for the screen of the pairs."""

from tests.hub.conftest import desk, tiny_pair

__all__ = ["desk", "tiny_pair"]
