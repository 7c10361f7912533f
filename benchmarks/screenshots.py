"""Take the pictures of the docs.

    python benchmarks/screenshots.py --docs RUNS    # every picture of a page, and docs/reports/compare.html
    python benchmarks/screenshots.py PAGE OUT [--chromium /usr/bin/chromium] [--at "" "#cases"] [--views laptop phone]

With `--docs` the folder RUNS gets the runs that the pages are of: SmolLM2, and planted models. What is there already is
not asked again. Real datasets are found through `EQUIPOISE_DATA`, and their sentences are on no picture. PAGE is a page
of a run on the built-in sentences. `--smoke` takes one picture of a page of its own; without Chromium it takes none.
The radars and the pictures of training are of runs that take too long for this: `equipoise report --as figures` and
`benchmarks/training.py` draw them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shared.machine import chromium, opened
from shared.options import parsed

DOCS = Path(__file__).resolve().parent.parent / "docs"
PLANTED = {"alpha": (2, 0.1), "beta": (2, 0.8), "gamma": (1, 0.5), "delta": (2, 0.12)}
"""The models of the comparison and of the leaderboard: their strength and bias."""

AUDITS = {
    "report": "smollm2",
    "report-mcq": "smollm2 --data builtin --task mcq",
    "report-cloze": "smollm2 --data genderlex --task cloze",
    "report-identities": "smollm2 --data winoidentity --base builtin --limit 60 --augment R,NR --attributes FEW",
    "reliability": "smollm2 --data gender-ece-winobias --task cloze --bos always",
    **{name: f"planted:strength={s},bias={b},noise=1 --resamples 300" for name, (s, b) in PLANTED.items()},
}
FEW = "age,body type,socio-economic status"
"""Attributes enough for a picture: all of them take ten times as long."""

SUITE = """
title = "Pronouns"
models = [{models}]
data = ["builtin", "winobias"]
task = ["next-word"]
[settings]
limit = 300
resamples = 300
"""


class Picture(NamedTuple):
    """A picture of a place on a page, in one view or several; `height` is that of a higher screen."""

    name: str
    page: str
    place: str = ""
    views: tuple[str, ...] = ("laptop", "phone")
    height: int = 0


FIGURES = {
    "occupations-gptj-winobias": ("gptj", "workforce"),
    "reliability-smollm2-winobias": ("reliability", "reliability"),
}
"""Figures of the docs: the run, and what the figure is of."""

PICTURES = (
    Picture("report", "report"),
    Picture("report-scale", "report", "#scale", ("laptop",)),
    Picture("report-cases", "report", "#filter=type:type1", ("dark",)),
    Picture("report-mcq", "report-mcq"),
    Picture("report-cloze", "report-cloze"),
    Picture("report-calibration", "report-cloze", "#calibration", ("laptop",)),
    Picture("report-identities", "report-identities", "#identities", ("laptop", "phone"), 1150),
    Picture("compare", "compare"),
    Picture("compare-scatter", "compare", "#scatter", ("laptop",)),
    Picture("compare-spreads", "compare", "#spreads"),
    Picture("leaderboard", "leaderboard"),
)

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


def draw_figures(runs: Path) -> None:
    """Draw the figures of `FIGURES` into the docs; the answers of GPT-J are those that the paper's authors released."""
    released = Path(os.environ["EQUIPOISE_DATA"]) / "gender-ece/outputs/winobias/GPT-J-6B.results.csv"
    _equipoise("import", "--format", "gender-ece", released, "--out", runs / "gptj", "--no-html", "--replace")
    for name, (run, topic) in FIGURES.items():
        with tempfile.TemporaryDirectory() as folder:
            _equipoise("report", runs / run, "--as", "figures", "--format", "png", "--width", "page", "--out", folder)
            (drawn,) = Path(folder).glob(f"{topic}-*.png")
            shutil.copyfile(drawn, DOCS / "images" / f"{name}.png")


def made(runs: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name of each page of the docs, and where it is; the runs are made first, where they are not."""
    runs.mkdir(parents=True, exist_ok=True)
    for name, words in AUDITS.items():
        asked = (FEW if word == "FEW" else word for word in words.split())
        _equipoise("audit", *asked, "--out", runs / name, "--no-html")
        if name not in PLANTED and name != "reliability":
            page = runs / name / "report.html"
            _equipoise("report", runs / name, "--html", page, *(["--no-sentences"] if "cloze" in name else []))
            yield name, page
    compared = DOCS / "reports" / "compare.html"
    _equipoise("compare", *(runs / name for name in PLANTED), "--out", compared)
    yield "compare", compared
    models = [
        f'{{ model = "planted:strength={s},bias={b},noise=1", name = "{name}" }}' for name, (s, b) in PLANTED.items()
    ]
    suite = runs / "suite.toml"
    suite.write_text(f'out = "{(runs / "suite").resolve()}"' + SUITE.format(models=", ".join(models)))
    _equipoise("suite", suite)
    yield "leaderboard", runs / "suite" / "leaderboard" / "index.html"


def _equipoise(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "equipoise", *map(str, words), "--quiet"], check=True)


def take_all(chosen: argparse.Namespace) -> None:
    """Take every picture of the docs: of pages that are named alike, whatever their file is called."""
    pages = dict(made(chosen.docs))
    with tempfile.TemporaryDirectory() as folder:
        for picture in PICTURES:
            page = Path(folder) / f"{picture.page}.html"
            shutil.copyfile(pages[picture.page], page)
            about = {"page": page, "out": Path(folder), "at": [picture.place], "views": picture.views}
            how = argparse.Namespace(**{**vars(chosen), **about, "height": picture.height})
            for view, taken in zip(picture.views, take(how), strict=True):
                shutil.copyfile(taken, DOCS / "images" / f"{picture.name}-{view}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument(
        "--docs", type=Path, metavar="RUNS", help="take all pictures of the docs; a folder for their runs"
    )
    parser.add_argument("--chromium", default=chromium())
    parser.add_argument("--at", nargs="*", default=["", "#cases"], help="which sections; '' is the top")
    parser.add_argument("--views", nargs="*", default=list(VIEWS))
    parser.add_argument("--height", type=int, help="of the screen, for a section that is longer")
    parser.add_argument("--full", action="store_true", help="the whole page instead of a screen")
    parser.add_argument("--wait", type=int, default=1500, help="milliseconds until a picture is taken")
    chosen = parsed(parser, at=[""], views=["phone"], wait=50)
    if chosen.docs:
        take_all(chosen)
        draw_figures(chosen.docs)
    elif not chosen.smoke:
        take(chosen)
    elif chosen.chromium:
        with tempfile.TemporaryDirectory() as folder:
            chosen.page, chosen.out = Path(folder) / "page.html", Path(folder) / "out"
            chosen.page.write_text("<h1>A page</h1>")
            (picture,) = take(chosen)
            sys.exit(not picture.read_bytes().startswith(b"\x89PNG"))


if __name__ == "__main__":
    main()
