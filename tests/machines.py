"""The tests on another kind of machine: `make machines`.

    python tests/machines.py [--seed 1] [--zone Pacific/Kiritimati] [--language tr_TR] [--python PYTHON] [PYTEST …]

What git tracks is copied into a folder whose name has spaces and letters beyond ASCII. The tests run there in the
random order of the seed, in another time zone and language (in Turkish, a capital i is not I), without real datasets,
with an empty home, and as the user nobody where this is root: root may read and write what others may not. Without
arguments for pytest these are the quick tests. The interpreter must be one that nobody may start.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "a checkout of Ünal's, č 100%"
OTHER = "nobody"
HIDDEN = ("EQUIPOISE_DATA", "EQUIPOISE_CACHE", "XDG_CACHE_HOME", "CI", "VIRTUAL_ENV", "LC_ALL", "HYPOTHESIS_PROFILE")


def copied(folder: Path) -> Path:
    """Return a copy of the tracked files, with changes that are not committed."""
    tree = folder / FOLDER
    named = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, named.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    return tree


def spoken(language: str, folder: Path) -> dict[str, str]:
    """Return the variables of a language, which is made where the system can; else none, with a word about it."""
    made = folder / "locales"
    made.mkdir()
    command = ["localedef", "-i", language, "-f", "UTF-8", made / f"{language}.UTF-8"]
    if shutil.which("localedef") and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        return {"LOCPATH": str(made), "LC_ALL": f"{language}.UTF-8", "LANG": f"{language}.UTF-8"}
    print(f"The language {language} cannot be made here (apt-get install locales): the tests run without it.")
    return {}


def main() -> int:
    """Run the tests there, and return what pytest returned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1", help="of the random order")
    parser.add_argument("--zone", default="Pacific/Kiritimati", help="the time zone: this one is 14 hours ahead")
    parser.add_argument("--language", default="tr_TR")
    parser.add_argument("--python", default=sys.executable)
    chosen, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="machine ") as name:
        folder = Path(name)
        tree, home = copied(folder), folder / "home"
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if name not in HIDDEN}
        there = {"HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(tree / "src"), "TZ": chosen.zone}
        there |= {"EQUIPOISE_ORDER": chosen.seed, "OMP_NUM_THREADS": "1", **spoken(chosen.language, folder)}
        there["PATH"] = f"{Path(chosen.python).parent}{os.pathsep}{kept.get('PATH', '')}"
        user = {}
        if os.geteuid() == 0:
            user = {"user": OTHER, "extra_groups": []}
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, OTHER)
        command = [chosen.python, "-m", "pytest", *(arguments or ["-m", "not slow", "-q"])]
        return subprocess.run(command, cwd=tree, env=kept | there, check=False, **user).returncode


if __name__ == "__main__":
    sys.exit(main())
