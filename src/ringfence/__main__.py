"""`python -m ringfence` is the `ringfence` command."""

import sys

from ringfence.cli import main

if __name__ == "__main__":
    sys.exit(main())
