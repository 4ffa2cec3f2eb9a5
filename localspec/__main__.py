"""`python -m localspec`: the same program as the `localspec` command."""

from __future__ import annotations

import sys

from localspec.cli import main

if __name__ == "__main__":
    sys.exit(main())
