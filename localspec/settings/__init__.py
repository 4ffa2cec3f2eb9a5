"""What a person can set, and where it comes from."""

from localspec.settings.keys import KEYS, Key, Settings
from localspec.settings.sources import Sources, from_environment, from_file, from_flags, merge

__all__ = ["KEYS", "Key", "Settings", "Sources", "from_environment", "from_file", "from_flags", "merge"]
