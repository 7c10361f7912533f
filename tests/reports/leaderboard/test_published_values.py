"""Published values on the pages of a leaderboard."""

from __future__ import annotations

from pathlib import Path

import equipoise
from equipoise.reports.leaderboard.site import SiteOptions, write_site
from equipoise.topics.published import PublishedValue

QUICK = {"resamples": 30, "limit": 20, "progress": False, "metrics": ["ucerf", "accuracy", "perplexity"]}


def value(metric: str, printed: str) -> PublishedValue:
    return PublishedValue("some-paper", "Big-70B", "builtin", "next-word", "type=type2", metric, printed, "")


def test_a_leaderboard_shows_them_on_the_pages_of_their_metric_and_dataset(tmp_path: Path) -> None:
    run = equipoise.audit("planted:strength=1,bias=1", task="next-word", out=tmp_path / "run", **QUICK)
    published = [value("ucerf", "0.123"), value("perplexity", "1.456")]
    write_site([run.path], tmp_path / "site", SiteOptions(published=published))
    index, dataset = (tmp_path / "site" / name for name in ("index.html", "datasets/builtin.html"))
    assert "0.123" in index.read_text(encoding="utf-8") and "1.456" not in index.read_text(encoding="utf-8")
    assert "0.123" in dataset.read_text(encoding="utf-8") and "1.456" in dataset.read_text(encoding="utf-8")
