"""The options of a benchmark, with `--smoke`: the same with tiny sizes, in seconds, to show that it still runs."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def parsed(parser: argparse.ArgumentParser, **tiny: Any) -> argparse.Namespace:
    """Return the options given; with `--smoke`, those that are not given are the tiny ones."""
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, in seconds: does it still run?")
    unknown = set(tiny) - {action.dest for action in parser._actions}
    if unknown:
        raise TypeError(f"--smoke sets {', '.join(sorted(unknown))}, which are not options")
    if "--smoke" in sys.argv[1:]:
        parser.set_defaults(**tiny)
    return parser.parse_args()
