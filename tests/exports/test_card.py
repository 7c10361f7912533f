"""The card of a run, read by the hub's own library."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import ModelCard
from kept_texts import assert_kept

import equipoise
from equipoise.exports.card import _dataset, _label, _table, model_card, run_card
from equipoise.media.markdown import escaped, one_line
from equipoise.metrics import METRICS
from equipoise.records import Estimate, Measurement
from equipoise.runs import Run
from equipoise.runs.manifest import read_manifest, write_manifest
from equipoise.runs.measurements import KINDS, Measurements


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out: Path = tmp_path_factory.mktemp("card") / "run"
    return equipoise.audit("planted:strength=2,bias=0.5", limit=30, resamples=50, out=out)


def test_the_hub_reads_its_metadata(run: Run) -> None:
    card = ModelCard(model_card(run))
    results = card.data.eval_results
    assert results and card.data.model_name == run.name
    measured = run.parts[0].measured
    for kind, name in (("type2", "resolvable (type 2)"), ("type1", "ambiguous (type 1)")):
        (result,) = [item for item in results if item.metric_type == "ucerf" and name in item.metric_name]
        estimate = measured.get("ucerf", type=kind).estimate  # type: ignore[union-attr]
        assert result.metric_value == pytest.approx(estimate.value, abs=1e-6)
        assert result.metric_args == {
            "low": pytest.approx(estimate.low, abs=1e-6),
            "high": pytest.approx(estimate.high, abs=1e-6),
            "level": 0.95,
            "n": estimate.n,
        }
        assert (result.dataset_name, result.task_type) == ("builtin", "text-generation")


def test_the_leading_metrics_are_in_it_and_no_others(run: Run) -> None:
    card, measured = ModelCard(model_card(run)), run.parts[0].measured
    leading = [(name, kind) for name, metric in METRICS.items() if metric.leading for kind in ("type2", "type1")]
    wanted = [name for name, kind in leading if measured.get(name, type=kind)]
    assert sorted(result.metric_type for result in card.data.eval_results) == sorted(wanted)
    assert 0 < len(set(wanted)) < len(measured.metrics)
    table = [line for line in model_card(run).splitlines() if line.startswith("|")][2:]
    assert sorted(line.split(" | ")[0] for line in table) == sorted(f"| {METRICS[name].label}" for name in wanted)


def test_every_value_has_its_interval_and_n(run: Run) -> None:
    text = model_card(run)
    estimate = run.parts[0].measured.get("ucerf", type="type2").estimate  # type: ignore[union-attr]
    assert f"| {estimate.value:.3f} | [{estimate.low:.3f}, {estimate.high:.3f}] | {estimate.n:,} | higher |" in text
    assert run.manifest.command in text and "licence CC0-1.0" in text
    assert "fair" not in text.lower()


def test_cards_are_as_they_were_kept(planted_run: Path, cloze_runs: tuple[Path, Path]) -> None:
    for name, folder in (("strong", planted_run), ("cloze", cloze_runs[1])):
        run = Run(folder)
        hidden = [run.manifest.versions["equipoise"], run.manifest.command, str(folder)]
        assert_kept(f"written/card-{name}", model_card(run), run_card(run), hide=[*hidden, "…"])


def test_a_name_from_elsewhere_is_text_and_nothing_else(planted_run: Path, tmp_path: Path) -> None:
    evil = "<b>x</b>\x1b[31m [l](y)"
    folder = Path(shutil.copytree(planted_run, tmp_path / "run"))
    manifest = read_manifest(folder)
    facts = {**next(iter(manifest.datasets.values())), "licence": evil, "sha256": evil}
    manifest = replace(manifest, model=evil, command=f"a\n```\n{evil}", datasets={evil: facts})
    write_manifest(folder, manifest)
    part: Any = SimpleNamespace(
        measured=Measurements(
            [Measurement("ucerf", "m", "d", "t", f"type={evil}", Estimate(0.5, 0.2, 0.7, 0.95, 9, ""), "higher")]
        )
    )
    text = "\n".join([run_card(Run(folder)), *_table(part, 0.95)])
    assert f"\n```\n{one_line(manifest.command)}\n```\n" in text, "the command is one line"
    shown = text.replace(one_line(manifest.command), "")
    assert "\x1b" not in text and "<b>" not in shown and shown.count(escaped(evil)) == 5


def test_facts_that_are_missing_are_said() -> None:
    facts = {"examples": 1234, "sha256": "ab"}
    assert _dataset(facts) == "1,234 sentences, licence not stated, sha256 ab"
    assert _dataset({**facts, "licence": ""}) == "1,234 sentences, licence not stated, sha256 ab"
    assert _dataset({**facts, "licence": "MIT"}) == "1,234 sentences, licence MIT, sha256 ab"
    assert _label("mine") == "mine" and _label("ucerf") == METRICS["ucerf"].label


def test_a_type_is_named_as_it_is_and_all_sentences_are_all() -> None:
    rows = [
        Measurement("ucerf", "m", "d", "t", group, Estimate(0.5, 0.25, 0.75, 0.95, 1200, ""), "higher")
        for group in ("type=own", "type=type2")
    ]
    part: Any = SimpleNamespace(measured=Measurements(rows))
    told = [line.split(" | ")[1] for line in _table(part, 0.95)[2:]]
    assert sorted(told) == sorted(["own", KINDS["type2"]])
    whole: Any = SimpleNamespace(measured=Measurements([replace(rows[0], group="all")]))
    assert _table(whole, 0.9) == [
        "| | sentences | value | 90% interval | n | better |",
        "|---|---|---:|---|---:|---|",
        "| UCerF | all | 0.500 | [0.250, 0.750] | 1,200 | higher |",
    ]
