"""Take the pictures of the docs: python benchmarks/screenshots.py PAGE OUT --chromium /usr/bin/chromium.

PAGE is a report.html or compare.html of a run on the built-in sentences: those of other datasets are not ours to show.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

VIEWS: dict[str, dict[str, Any]] = {
    "laptop": {"viewport": {"width": 1440, "height": 1050}},
    "dark": {"viewport": {"width": 1440, "height": 1050}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
}


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--at", nargs="*", default=["", "#cases"], help="which sections; '' is the top")
    parser.add_argument("--views", nargs="*", default=list(VIEWS))
    parser.add_argument("--height", type=int, help="of the screen, for a section that is longer")
    parser.add_argument("--full", action="store_true", help="the whole page instead of a screen")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chosen.chromium, args=["--no-sandbox", "--disable-gpu"])
        for view in chosen.views:
            how = dict(VIEWS[view])
            if chosen.height:
                how["viewport"] = {**how["viewport"], "height": chosen.height}
            tab = browser.new_context(**how, reduced_motion="reduce").new_page()
            for place in chosen.at:
                tab.goto(chosen.page.resolve().as_uri() + place)
                tab.wait_for_timeout(1500)
                name = "-".join(filter(None, [chosen.page.stem, place.lstrip("#"), view]))
                tab.screenshot(path=chosen.out / f"{name}.png", full_page=chosen.full)
        browser.close()


if __name__ == "__main__":
    main()
