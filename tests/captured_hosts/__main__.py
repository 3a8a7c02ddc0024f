"""`python -m tests.captured_hosts KIND FOLDER` makes the tree of a host."""

import sys
from pathlib import Path

from tests.captured_hosts import KINDS, build

build(Path(sys.argv[2]), KINDS[sys.argv[1]])
