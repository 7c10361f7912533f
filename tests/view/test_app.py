"""Which address of the viewer shows what."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from equipoise.datasets.markers import read_markers
from equipoise.records import EquipoiseError
from equipoise.runs.folder import RunFolder
from equipoise.runs.manifest import read_manifest, write_manifest
from equipoise.runs.run import Run
from equipoise.view import app as viewing
from equipoise.view import pages
from equipoise.view.app import Viewer
from equipoise.view.guard import POLICY, report_policy
from equipoise.view.index import Index, slug_of
from equipoise.view.making import Made, Maker
from equipoise.view.run_pages import stored_page

Visit = Callable[..., Any]

Served = Callable[..., str]


def test_a_run_is_shown_as_it_is_stored_and_made_anew_where_it_is_not(served: Served, some_runs: Path) -> None:
    address = served()
    for name in ("alpha", "delta"):
        folder = some_runs / "suite" / name
        page = stored_page(folder)
        shown = httpx.get(f"{address}run-{slug_of(folder, some_runs)}.html", timeout=30)
        while 'http-equiv="refresh"' in shown.text:
            time.sleep(0.2)
            shown = httpx.get(shown.url, timeout=30)
        assert shown.status_code == 200 and page.partition(b"<main")[2] == shown.content.partition(b"<main")[2]
    assert "report.html" not in Run(some_runs / "suite" / "delta").manifest.files


def test_what_cannot_be_shown_says_why(served: Served, some_runs: Path) -> None:
    address = served()
    one = slug_of(some_runs / "suite" / "alpha", some_runs)
    assert httpx.get(f"{address}compare.html?run={one}").status_code == 422
    assert httpx.get(f"{address}compare.html?run={one}&run={one}").status_code == 422
    assert httpx.get(f"{address}compare.html?run={one}&run=nobody-0123456789").status_code == 404
    assert httpx.get(f"{address}run-nobody-0123456789.html").status_code == 404
    assert "does not exist" in httpx.get(f"{address}nothing.html").text


def test_news_come_with_the_rows_that_changed_and_no_others(served: Served, some_runs: Path) -> None:
    address = served()
    first = httpx.get(f"{address}rows.json?seen=0").json()
    assert len(first["rows"]) == 4
    again = httpx.get(f"{address}rows.json?seen={first['seen']}").json()
    assert again == {"seen": first["seen"], "rows": [], "gone": []}
    assert len(httpx.get(f"{address}rows.json?seen=999999").json()["rows"]) == 4, "of a viewer before this one"


def test_a_page_with_a_stranger_s_script_is_not_served(served: Served, some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "hostile"
    shutil.copytree(some_runs / "suite" / "alpha", folder)
    RunFolder(folder).add({"report.html": b"<html><body><script>alert(document.domain)</script></body></html>"})
    address = served(tmp_path / "runs")
    slug = slug_of(folder, tmp_path / "runs")
    for _ in range(100):
        shown = httpx.get(f"{address}run-{slug}.html", timeout=30)
        if 'http-equiv="refresh"' not in shown.text:
            break
        time.sleep(0.2)
    assert "alert(document.domain)" not in shown.text and "planted" in shown.text


class Instant(Maker):
    """Makes no page: notes what was asked for, and gives what a test says."""

    def __init__(self, made: Made | None) -> None:
        super().__init__()
        self.made, self.asked = made, []

    def page(self, key: Any, make: Callable[[], bytes], patience: float = 0.0) -> Made | None:
        self.asked.append((key, make))
        return self.made


def slugs_of(folder: Path) -> list[str]:
    return [slug_of(folder / "suite" / name, folder) for name in ("alpha", "beta", "gamma", "delta")]


def bar(shown: httpx.Response) -> dict[str, str]:
    """Return the links that the viewer put above a page, by their words."""
    links = re.findall(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', shown.text.partition("</nav>")[0])
    return {words: link.replace("&amp;", "&") for link, words in links}


def policy_of(shown: httpx.Response) -> str:
    return shown.headers["content-security-policy"]


def test_a_page_of_a_run_has_its_links_and_may_run_our_scripts(served: Served, some_runs: Path) -> None:
    maker = Instant(Made(b"<body>It</body>"))
    alpha, *_ = slugs_of(some_runs)
    shown = httpx.get(f"{served(maker=maker)}run-{alpha}.html")
    assert (
        shown.status_code == 200
        and shown.text.endswith("It</body>")
        and policy_of(shown) == report_policy(pages.TRUSTED)
    )
    assert bar(shown) == {
        "All runs": "index.html",
        "History of this model": "history.html?model=planted",
        "Compare with another run": f"index.html?run={alpha}",
        "Ask about a case": f"ask.html?from_run={alpha}",
    }
    ((key, make),) = maker.asked
    assert key[:2] == ("run", alpha) and make() == stored_page(some_runs / "suite" / "alpha")


def test_a_comparison_has_its_runs_in_the_order_of_the_address(
    served: Served, some_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewing, "compared_page", lambda folders: [folder.name for folder in folders])
    maker = Instant(Made(b"<body>It</body>"))
    alpha, _, gamma, _ = slugs_of(some_runs)
    shown = httpx.get(f"{served(maker=maker)}compare.html?run={gamma}&run={alpha}&run={gamma}")
    assert shown.status_code == 200 and policy_of(shown) == report_policy(pages.MADE_SCRIPTS)
    chosen = f"run={gamma}&run={alpha}"
    assert bar(shown) == {
        "All runs": "index.html",
        "Change the choice": f"index.html?{chosen}",
        "These runs over time": f"history.html?{chosen}",
    }
    ((key, make),) = maker.asked
    assert key[0] == "compare" and [slug for slug, _ in key[1:]] == [gamma, alpha] and make() == ["gamma", "alpha"]


def test_a_history_is_of_a_model_or_of_chosen_runs(
    served: Served, some_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(title: str, entries: list[Any], limits: object) -> str:
        return f"{title}: {[entry.place for entry in entries]} {limits}"

    monkeypatch.setattr(viewing, "history_page", page)
    maker = Instant(Made(b"<body>It</body>"))
    alpha, beta, gamma, delta = slugs_of(some_runs)
    address = served(maker=maker, limits=["limit"])
    shown = httpx.get(f"{address}history.html?model=planted")
    assert shown.status_code == 200 and policy_of(shown) == report_policy(pages.MADE_SCRIPTS)
    assert bar(shown) == {
        "All runs": "index.html",
        "All histories": "histories.html",
        "Compare the last two": f"compare.html?run={gamma}&run={delta}",
    }
    shown = httpx.get(f"{address}history.html?run={delta}&run={alpha}")
    assert bar(shown)["Compare the last two"] == f"compare.html?run={alpha}&run={delta}"
    (first, made), (second, made_too) = maker.asked
    assert first[0] == second[0] == "history" and [slug for slug, _ in first[1:]] == [alpha, beta, gamma, delta]
    places = [f"suite/{name}" for name in ("alpha", "beta", "gamma", "delta")]
    assert made() == f"planted: {places} ['limit']".encode()
    assert made_too() == b"planted: ['suite/delta', 'suite/alpha'] ['limit']"


def test_a_page_that_takes_a_while_or_cannot_be_made_says_so(served: Served, some_runs: Path) -> None:
    alpha, beta, *_ = slugs_of(some_runs)
    waiting, failing = served(maker=Instant(None)), served(maker=Instant(Made(fault="They share no sentence.")))
    for page, text in {
        f"run-{alpha}.html": "The page of planted is being made.",
        f"compare.html?run={alpha}&run={beta}": "2 runs are being compared.",
        "history.html?model=planted": "The runs are being put in order, and the last two compared.",
    }.items():
        shown = httpx.get(f"{waiting}{page}")
        assert shown.status_code == 200 and shown.text == pages.message_page("One moment", text, refresh=1)
        shown = httpx.get(f"{failing}{page}")
        refusal = pages.message_page("This cannot be shown", "They share no sentence.")
        assert (shown.status_code, shown.text) == (409, refusal)


def test_pages_that_need_other_runs_say_which(served: Served, some_runs: Path) -> None:
    address, (one, *others) = served(maker=Instant(None)), slugs_of(some_runs)
    for page, status, title, text in (
        ("compare.html", 422, "Compare", "Choose between two and 12 finished runs in the list, then compare them."),
        ("history.html?model=nobody", 422, "History", HISTORY),
        (f"history.html?run={one}", 422, "History", HISTORY),
        ("run-nobody.html", 404, "Not found", "This run is not here, or is not finished."),
        ("nothing.html", 404, "Not found", "This page does not exist."),
    ):
        shown = httpx.get(f"{address}{page}")
        assert (shown.status_code, shown.text) == (status, pages.message_page(title, text)), page
    assert httpx.get(f"{address}history.html?run={one}&run={others[0]}").status_code == 200
    assert httpx.post(f"{address}ask.json", json={}).json() == {"text": "No model is loaded."}


HISTORY = "A history needs between two and 60 finished runs of a model: choose them in the list."


@pytest.mark.parametrize("most", [3, 4])
def test_as_many_runs_as_are_allowed_are_compared(
    served: Served, some_runs: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(viewing, "MOST_COMPARED", most)
    monkeypatch.setattr(viewing, "MOST_MOMENTS", most)
    address, chosen = served(maker=Instant(None)), "&".join(f"run={slug}" for slug in slugs_of(some_runs))
    for page in ("compare", "history"):
        assert httpx.get(f"{address}{page}.html?{chosen}").status_code == (200 if most == 4 else 422)


def test_the_list_its_files_and_its_news_are_those_of_the_index(served: Served, some_runs: Path) -> None:
    address, index = served(), Index(some_runs)
    entries = index.entries()
    page = pages.list_page(entries, here="index", kicker=some_runs.name, seen=index.version)
    assert httpx.get(address).text == page == httpx.get(f"{address}index.html").text
    style, script = httpx.get(f"{address}view.css"), httpx.get(f"{address}view.js")
    assert (style.text, style.headers["content-type"]) == (pages.style_file(), "text/css; charset=utf-8")
    assert (script.text, script.headers["content-type"]) == (pages.script_file(), "text/javascript; charset=utf-8")
    assert policy_of(style) == POLICY
    news = {
        "seen": str(index.version),
        "rows": [{"slug": entry.slug, "html": pages.rows_of(entry)} for entry in entries],
        "gone": [],
    }
    assert httpx.get(f"{address}rows.json").json() == news == httpx.get(f"{address}rows.json?seen=99").json()
    models = {"planted": ("history.html?model=planted", entries[::-1])}
    shown = httpx.get(f"{address}histories.html").text
    assert shown == pages.drawn_page("histories.html", "History", here="history", models=models)


def test_a_run_that_is_not_finished_has_a_page_of_its_own_and_is_not_compared(
    served: Served, some_runs: Path, tmp_path: Path
) -> None:
    for name in ("going", "done"):
        shutil.copytree(some_runs / "suite" / "alpha", tmp_path / name)
    write_manifest(tmp_path / "going", replace(read_manifest(tmp_path / "going"), finished=None))
    address, index = served(tmp_path, maker=Instant(None)), Index(tmp_path)
    going, done = (slug_of(tmp_path / name, tmp_path) for name in ("going", "done"))
    entry = index.get(going)
    assert entry is not None and entry.state == "stopped" and httpx.get(address).status_code == 200
    assert httpx.get(f"{address}run-{going}.html").text == pages.going_page(entry, index.version)
    assert httpx.get(f"{address}compare.html?run={going}&run={done}").status_code == 404
    assert httpx.get(f"{address}ask.html?from_run={going}").status_code == 404


def test_a_question_begins_from_the_address_or_from_a_case(served: Served, some_runs: Path) -> None:
    address, (alpha, *_) = served(), slugs_of(some_runs)

    def sentence(page: str) -> str:
        return re.findall("<textarea[^>]*>([^<]*)</textarea>", httpx.get(f"{address}ask.html{page}").text)[0]

    plain = httpx.get(f"{address}ask.html").text
    assert sentence("") == "The nurse told the farmer that she was late." and plain.count("ask.html?from_run=") == 4
    given = "?sentence=Kim+left.&pronouns=he,+she&candidates=Kim,Sam&groups=old"
    page = httpx.get(f"{address}ask.html{given}").text
    assert sentence(given) == "Kim left."
    assert [f'name="{name}" value="{value}"' in page for name, value in FIELDS.items()] == [True] * 3
    options = re.findall(r'<option value="([^"]*)">([^<]*)</option>', page)
    demographic = {name: one for name, one in read_markers().items() if one.demographic}
    assert [name for _, name in options[1:]] == list(demographic)
    assert [words for words, _ in options[1:]] == [
        ", ".join(marker.word for marker in one.markers) for one in demographic.values()
    ]
    cases = httpx.get(f"{address}ask.html?from_run={alpha}&find=nurse").text
    (link, text), *_ = re.findall(r'<li><a href="ask.html([^"]*)">([^<]*)</a></li>', cases)
    assert 'name="find" value="nurse"' in cases and "nurse" in text
    assert sentence(link.replace("&amp;", "&")) == text
    assert sentence(f"?from_run={alpha}&case=nothing&sentence=Kim+left.") == "Kim left."


FIELDS = {"pronouns": "he, she", "candidates": "Kim, Sam", "groups": "old"}


def test_kept_sentences_come_back_as_a_table_or_a_reason(served: Served) -> None:
    address = served()
    table = httpx.post(f"{address}table.csv", json=[{"sentence": "The nurse told the farmer that she was late."}])
    assert table.headers["content-type"] == "text/csv; charset=utf-8" and table.text.count("\n") > 1
    refused = httpx.post(f"{address}table.csv", content=b"[]")
    reason = {"text": "keep between one and 500 sentences, then save them"}
    assert (refused.status_code, refused.json()) == (422, reason)


def test_what_fails_while_a_page_is_drawn_is_told(
    served: Served, some_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise EquipoiseError("the run is damaged")

    monkeypatch.setattr(viewing, "worst_cases", fail)
    shown = httpx.get(f"{served()}ask.html?from_run={slugs_of(some_runs)[0]}")
    assert shown.status_code == 409
    assert shown.text == pages.message_page("This cannot be shown", "the run is damaged")


def test_verdicts_are_looked_for_until_the_viewer_ends() -> None:
    class Few:
        left, asked = 3, 0

        def judge_next(self) -> bool:
            self.left, self.asked = self.left - 1, self.asked + 1
            return self.left >= 0

    class Ended:
        def __init__(self) -> None:
            self.waits: list[float] = []

        def is_set(self) -> bool:
            return len(self.waits) > 1

        def wait(self, seconds: float) -> None:
            self.waits.append(seconds)

    index: Any = Few()
    ended: Any = Ended()
    Viewer(index, ended=ended).judge()
    assert index.asked == 5 and ended.waits == [1.0, 1.0]


def test_a_sentence_that_cannot_be_asked_is_told_as_a_sentence(served: Served) -> None:
    class Ready:
        state = ""

        def answer(self, question: Any) -> dict[str, Any]:
            raise EquipoiseError(f"cannot ask {question.sentence}")

    box: Any = Ready()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewing.AskBox, "answer", Ready.answer)
        address = served(box=box)
        refused = httpx.post(f"{address}ask.json", json={"sentence": "Kim left."})
        assert (refused.status_code, refused.json()) == (422, {"text": "Cannot ask Kim left."})
        refused = httpx.post(f"{address}ask.json", content=b"{")
        assert refused.status_code == 422 and refused.json()["text"].startswith("Expecting property name")
        box.state = "The model is being loaded."
        refused = httpx.post(f"{address}tokens.json", json={"sentence": "Kim left."})
        assert (refused.status_code, refused.json()) == (503, {"text": "The model is being loaded."})
