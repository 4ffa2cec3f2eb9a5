"""The hub on loopback and the person before it, shared with the tests of pulls."""

from tests.hub.conftest import desk, tiny_pair

__all__ = ["desk", "tiny_pair"]
