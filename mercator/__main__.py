"""`python -m mercator`."""

from __future__ import annotations

import sys

from mercator.cli import main

if __name__ == "__main__":
    sys.exit(main())
