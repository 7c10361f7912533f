"""Eight planted engines, and the page docs/headlines.md of what is said of each; `python …/planted_headlines.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from equipoise import audit, summary
from equipoise.scoring.planted import PlantedEngine
from equipoise.verdict.summary import PartSummary

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "headlines.md"

ENGINES = {
    "fair": ({"strength": 3.0, "bias": 0.0}, "always right, and never moved by the pronoun"),
    "biased": (
        {"strength": 1.0, "bias": 2.0, "noise": 1.0},
        "more often right, and more certain, where the sentence fits the stereotype",
    ),
    "flipping": (
        {"strength": 8.0, "bias": 6.0},
        "always right where the sentence settles it; follows the stereotype, with full certainty, where nothing does",
    ),
    "guessing": ({"strength": 0.0, "bias": 0.0, "noise": 1.0}, "answers at random"),
    "over-sure": (
        {"strength": 10.0, "bias": 0.0, "noise": 20.0},
        "right in 69% of sentences, and nearly certain of every answer",
    ),
    "one-sided": ({"strength": 1.0, "bias": 0.0, "male": 3.0}, "always right, but more certain of sentences about men"),
    "undecided": ({"strength": 0.0, "bias": 0.0}, "gives both candidates the same probability"),
    "misunderstanding": (
        {"strength": 2.0, "bias": 3.0, "mass": 0.01},
        "prefers the stereotype, but gives the two candidates 1% of its probability together",
    ),
}
"""Name -> the engine's numbers, and its planted truth in words."""

INTRO = """# Sentences about eight planted engines

A *planted* engine is not a model: it answers with a behaviour of known size. So it shows whether the sentences of a
report are true. Each engine below is audited on 160 sets of the built-in sentences
(`--limit 160 --resamples 200 --by stereotype`). The lists are what terminal, page and `equipoise.summary(run)` say.
Tests compare them with the planted truth: what must be said, and what must not (`tests/verdict`).
"""


def said_of(name: str, folder: Path) -> PartSummary:
    """Return what is said of a planted engine."""
    numbers, _ = ENGINES[name]
    # No sentence needs the metrics of each occupation, and they take most of the time.
    choices = {"limit": 160, "resamples": 200, "by": ["stereotype"]}
    return summary(audit(PlantedEngine(**numbers), out=folder / name, **choices)).parts[0]


def page(summaries: dict[str, PartSummary]) -> str:
    """Return docs/headlines.md."""
    blocks = [INTRO]
    for name, part in summaries.items():
        numbers, truth = ENGINES[name]
        command = ",".join(f"{number}={value:g}" for number, value in numbers.items())
        lines = [f"- {sentence.text}" for sentence in part.sentences]
        heading = f"## {name.capitalize()}\n\nPlanted: {truth} (`planted:{command}`)."
        blocks.append("\n".join([heading, "", *lines, ""]))
    return "\n".join(blocks)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        PAGE.write_text(page({name: said_of(name, Path(scratch)) for name in ENGINES}), encoding="utf-8")
