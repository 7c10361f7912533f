"""Take the pictures of the docs.

    python benchmarks/screenshots.py PAGE OUT [--chromium /usr/bin/chromium] [--at "" "#cases"] [--views laptop phone]

PAGE is a report.html or compare.html of a run on the built-in sentences: those of other datasets are not ours to show.
`--smoke` takes one picture of a page of its own; without Chromium it takes none.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from shared.machine import chromium, opened
from shared.options import parsed

VIEWS: dict[str, dict[str, Any]] = {
    "laptop": {"viewport": {"width": 1440, "height": 1050}},
    "dark": {"viewport": {"width": 1440, "height": 1050}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
}


def take(chosen: argparse.Namespace) -> list[Path]:
    """Return the pictures of each section in each view."""
    chosen.out.mkdir(parents=True, exist_ok=True)
    pictures = []
    with opened(chosen.chromium) as browser:
        for view in chosen.views:
            how = dict(VIEWS[view])
            if chosen.height:
                how["viewport"] = {**how["viewport"], "height": chosen.height}
            tab = browser.new_context(**how, reduced_motion="reduce").new_page()
            for place in chosen.at:
                tab.goto(chosen.page.resolve().as_uri() + place)
                tab.wait_for_timeout(chosen.wait)
                name = "-".join(filter(None, [chosen.page.stem, place.lstrip("#"), view]))
                pictures.append(chosen.out / f"{name}.png")
                tab.screenshot(path=pictures[-1], full_page=chosen.full)
    return pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--chromium", default=chromium())
    parser.add_argument("--at", nargs="*", default=["", "#cases"], help="which sections; '' is the top")
    parser.add_argument("--views", nargs="*", default=list(VIEWS))
    parser.add_argument("--height", type=int, help="of the screen, for a section that is longer")
    parser.add_argument("--full", action="store_true", help="the whole page instead of a screen")
    parser.add_argument("--wait", type=int, default=1500, help="milliseconds until a picture is taken")
    chosen = parsed(parser, at=[""], views=["phone"], wait=50)
    if not chosen.smoke:
        take(chosen)
    elif chosen.chromium:
        with tempfile.TemporaryDirectory() as folder:
            chosen.page, chosen.out = Path(folder) / "page.html", Path(folder) / "out"
            chosen.page.write_text("<h1>A page</h1>")
            (picture,) = take(chosen)
            sys.exit(not picture.read_bytes().startswith(b"\x89PNG"))


if __name__ == "__main__":
    main()
