"""Run folders as a leaderboard takes them: finished runs, their models named apart, each dataset and task an entry."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...measuring.sampling import dataset_samples
from ...progress import Progress
from ...records import EquipoiseError, RunError, RunManifest
from ...runs.manifest import NAME as MANIFEST
from ...runs.measurements import Measurements
from ...runs.run import Part, Run
from ..summary import part_summary
from ..validity import INVALID, Check

IDENTIFYING = ("engine", "weights", "dtype", "quantize", "adapter", "merged", "bos", "tokenizer", "reductions")
"""What makes two runs of one name runs of different models; the device does not."""

SHORT_HASH = 8


@dataclass(frozen=True)
class Submission:
    """A finished run: `model` is its name on the site, `slug` names its page, `verified` says if it was checked."""

    folder: Path
    manifest: RunManifest
    model: str
    slug: str = ""
    verified: bool = False

    @property
    def finished(self) -> str:
        """When the run ended, in UTC: `2026-11-15 20:04`."""
        return (self.manifest.finished or "")[:16].replace("T", " ")

    @property
    def page(self) -> str:
        """The address of the run's own page, from the site's root."""
        return f"runs/{self.slug}.html"


@dataclass(frozen=True)
class Entry:
    """A submission on one dataset as one task. `asked` is the hash of the sentences and of how they were asked."""

    submission: Submission
    dataset: str
    task: str
    asked: str
    sentences: int
    measured: Measurements
    kinds: Sequence[str]
    headline: str
    checks: Sequence[Check]

    @property
    def model(self) -> str:
        """The model's name on the site."""
        return self.submission.model

    @property
    def invalid(self) -> str:
        """Why the entry is not ranked; empty where it is."""
        return next((check.text for check in self.checks if check.state == INVALID), "")


@dataclass(frozen=True)
class Submissions:
    """Everything that a site is made of, and why folders were left out."""

    entries: Sequence[Entry]
    left_out: Sequence[str]

    @property
    def runs(self) -> list[Submission]:
        """The runs, each once."""
        return list({entry.submission.slug: entry.submission for entry in self.entries}.values())


def run_folders(paths: Iterable[str | Path]) -> list[Path]:
    """Return the run folders at these paths and below them, sorted; a path without any is an error."""
    folders: dict[Path, None] = {}
    for path in map(Path, paths):
        inside = sorted(file.parent for file in path.rglob(MANIFEST)) if path.is_dir() else []
        if not inside:
            raise EquipoiseError(f"{path} holds no run folder")
        folders.update(dict.fromkeys(inside))
    return list(folders)


def read_submissions(
    folders: Sequence[Path], *, verified: Iterable[Path] = (), progress: Progress | None = None
) -> Submissions:
    """Return the finished runs of these folders; one that is unfinished or damaged is left out, and a note says why."""
    entries: list[Entry] = []
    left_out: list[str] = []
    checked = set(verified)
    for number, folder in enumerate(folders):
        try:
            run = Run(folder)
            submission = Submission(folder, run.manifest, run.name, verified=folder in checked)
            entries += [_entry(submission, part) for part in run.parts]
        except RunError as error:
            left_out.append(str(error))
        if progress:
            progress("reading runs", number + 1, len(folders))
    if not entries:
        reason = f": {left_out[0]}" if left_out else ""
        raise EquipoiseError(f"none of the {len(folders)} folders holds a finished run{reason}")
    return Submissions(_named(entries), left_out)


def _entry(submission: Submission, part: Part) -> Entry:
    """Return what a leaderboard needs of a part; the run's tables are not kept in memory."""
    manifest = submission.manifest
    about = part_summary(part)
    facts = manifest.datasets.get(part.dataset, {})
    settings = dict(manifest.tasks.get(part.task, {}))
    if dataset_samples(manifest, part.task):
        del settings["samples"]
    asked = json.dumps([facts.get("sha256"), settings], sort_keys=True, default=str)
    return Entry(
        submission=submission,
        dataset=part.dataset,
        task=part.task,
        asked=hashlib.sha256(asked.encode()).hexdigest(),
        sentences=int(facts.get("examples", 0) or 0),
        measured=part.measured,
        kinds=part.kinds,
        headline=about.headline,
        checks=about.checks,
    )


def _named(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with models of one name told apart by what differs, and a slug for every run."""
    submissions = {entry.submission.folder: entry.submission for entry in entries}
    identities: dict[str, list[dict[str, str]]] = {}
    for submission in submissions.values():
        known = identities.setdefault(submission.model, [])
        identity = _identity(submission.manifest.engine)
        if identity not in known:
            known.append(identity)
    named: dict[Path, Submission] = {}
    slugs = Slugs()
    for folder, submission in submissions.items():
        model = _name(submission, identities[submission.model])
        slug = slugs(f"{model} {' '.join(submission.manifest.datasets)} {submission.finished[:10]}")
        named[folder] = replace(submission, model=model, slug=slug)
    return [replace(entry, submission=named[entry.submission.folder]) for entry in entries]


def _identity(engine: Mapping[str, Any]) -> dict[str, str]:
    planted = str(engine.get("engine", "")).startswith("planted")
    keys = list(engine) if planted else [key for key in IDENTIFYING if key in engine]
    return {key: _value(engine[key]) for key in keys}


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text[:SHORT_HASH] if re.fullmatch(r"[0-9a-f]{32,}", text) else text


def _name(submission: Submission, identities: Sequence[Mapping[str, str]]) -> str:
    """Return the model's name, with what tells it from others of that name."""
    if len(identities) == 1:
        return submission.model
    keys = dict.fromkeys(key for identity in identities for key in identity)
    differing = [key for key in keys if len({identity.get(key) for identity in identities}) > 1]
    mine = _identity(submission.manifest.engine)
    return f"{submission.model} ({', '.join(f'{key} {mine[key]}' for key in differing if key in mine)})"


class Slugs:
    """File names made of texts: each different text gets a name of its own, the same text the same name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, text: str) -> str:
        """Return a new name that says what the text says, in letters that any web server takes."""
        plain = re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:80] or "page"
        name, number = plain, 1
        while name in self._taken:
            number += 1
            name = f"{plain}-{number}"
        self._taken.add(name)
        return name
