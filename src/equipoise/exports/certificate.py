"""A certificate of a settled run: a small JSON and one paragraph on what was asked, drawn and settled, with hashes."""

from __future__ import annotations

import json
from typing import Any

from ..files import sha256
from ..metrics.requirement import UNDECIDED
from ..records import RunError
from ..runs import Run
from ..verdict.settled import decisions_of
from ..verdict.summary import part_summary

NAME = "certificate.json"
HASHED = ("examples.parquet", "outcomes.parquet", "measurements.csv", "scores.jsonl", "reasoning.jsonl")
"""Files of the run that a certificate names by their SHA-256."""


def certificate(run: Run) -> bytes:
    """Return the certificate of a run as JSON; RunError where it is not usable, or something is not settled."""
    content = _content(run)
    sealed = {**content, "sha256": sha256(json.dumps(content, sort_keys=True))}
    return (json.dumps(sealed, indent=2, ensure_ascii=False) + "\n").encode()


def paragraph(run: Run) -> str:
    """Return what a certificate says, in a paragraph."""
    return str(_content(run)["statement"])


def _content(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    populations = [_population(run, place) for place in range(len(run.parts))]
    settled = [entry for population in populations for entry in population["settled"]]
    if not settled:
        raise RunError(
            f"{run.path} was not asked until something was settled (--until), so there is nothing to certify"
        )
    is_open = [entry["requirement"] for entry in settled if entry["outcome"] == UNDECIDED]
    if is_open:
        raise RunError(f"{run.path} has no certificate: {is_open[0]} is undecided")
    content: dict[str, Any] = {
        "model": manifest.model,
        "engine": {name: manifest.engine[name] for name in manifest.engine.get("identity", [])},
        "populations": populations,
        "seed": manifest.settings["seed"],
        "error": round(1 - run.level, 12),
        "equipoise": manifest.versions["equipoise"],
        "finished": manifest.finished,
        "files": {name: manifest.files[name] for name in HASHED if name in manifest.files},
    }
    return {"statement": _statement(content), **content}


def _population(run: Run, place: int) -> dict[str, Any]:
    """Return what was drawn from one dataset for one task, and what was settled of it."""
    part = run.parts[place]
    verdict = part_summary(part).verdict
    if not verdict.usable:
        raise RunError(f"{run.path} has no certificate: {verdict.sentence}")
    facts = run.manifest.datasets[part.dataset]
    return {
        "dataset": part.dataset,
        "sha256": facts["sha256"],
        "source": facts["source"],
        "task": part.task,
        "sets": facts["sets"],
        "asked": int(part.items["set_id"].nunique()),
        "settled": [decision.as_json() for decision in decisions_of(part)],
    }


def _statement(content: dict[str, Any]) -> str:
    sentences = []
    for population in content["populations"]:
        sentences.append(
            f"{content['model']} was asked {population['asked']:,} of the {population['sets']:,} sets of"
            f" {population['dataset']} (SHA-256 {population['sha256'][:12]}…) as {population['task']}, drawn at random"
            f" with seed {content['seed']}."
        )
        for entry in population["settled"]:
            word = entry["word"] or entry["outcome"]
            ends = f"{entry['value']:.3f} [{entry['low']:.3f}, {entry['high']:.3f}]"
            sentences.append(f"{entry['requirement']}: {word}, {ends} after {entry['sets']:,} of {entry['of']:,} sets.")
    scope = (
        f"At most {100 * content['error']:.3g}% of such audits settle one of these wrongly, all together. This is about"
        " these metrics on sentences like these, and about nothing else; it does not show that the model treats people"
        f" equally. Made by Equipoise {content['equipoise']}."
    )
    return " ".join([*sentences, scope])
