"""`build survey`, `simulate`, `links`, `backup` and `restore`: what they are given, and what they say."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from local_parts import write_records
from noted import noted, refusal, said

from equipoise.builder.steps import BuildFolder, Sentence, Variant
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.entrance import read_test
from equipoise.builder.survey.panel import Ending, PanelOptions
from equipoise.builder.survey.rater_client import Profile
from equipoise.builder.survey.rehearsal import Bill, Cast, Rehearsal
from equipoise.builder.survey.web.guard import Limits, Site
from equipoise.builder.survey.web.texts import read_texts
from equipoise.builder.verdict.consensus import CRITERIA, Coverage, Criteria, Rule
from equipoise.builder.verdict.plan import expect
from equipoise.builder.verdict.questions import published
from equipoise.cli import survey as command

TOKEN = "an administrator's token of 128 bits"
WRITTEN = ("he", "subject", "cook", "clerk", "cook", "male")
SENTENCES = [
    Sentence(
        f"s-{n}", "type1", f"Cook and clerk {n} met before he left.", *WRITTEN, (Variant("Twin", "she", "female"),)
    )
    for n in range(3)
]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what a survey would serve, from a folder with three sentences; nothing listens."""
    write_records(BuildFolder(tmp_path).kept, SENTENCES)
    monkeypatch.setenv("EQUIPOISE_ADMIN_TOKEN", TOKEN)
    monkeypatch.delenv("EQUIPOISE_PANEL_KEY", raising=False)
    app = noted(monkeypatch, "equipoise.builder.survey.web.app.survey_app", "app")
    return SimpleNamespace(app=app, serve=noted(monkeypatch, "equipoise.serving.serve"), folder=tmp_path)


def test_a_survey_begins_as_the_paper_s_without_options(served: Any) -> None:
    out, err = said("build", "survey", served.folder)
    assert out == "" and served.serve == [(("app",), {"host": "127.0.0.1", "port": 8400})]
    (((store, options, payments), _),) = served.app
    texts = read_texts("en", None)
    assert payments is None and options.admin_token == TOKEN and options.panel == PanelOptions()
    assert options.test.identity == read_test("section-4.3", questions=texts.questions).identity
    assert (options.asks_locale, options.allows_unsure, options.allows_comments) == (False, False, True)
    assert options.checks == () and not options.secure_cookie and options.site == Site("http://127.0.0.1:8400", [])
    assert options.limits == Limits(rate=10, burst=40, doors_rate=2.5, doors_burst=40)
    asking = store.asking
    assert asking.rule == Rule(Coverage(), Criteria(), texts.questions)
    assert (asking.quota, asking.twin_gap, asking.check_every) == (0, None, 0) and not store.work.has_twins
    address = "http://127.0.0.1:8400"
    lines = err.splitlines()
    assert lines[0] == "plan, if every sentence is good, by the share of wrong replies:" and len(lines) == 5
    assert lines[-1] == f"3 sentences at {address}; administration at {address}/admin"
    for line, error in zip(lines[1:4], (0.02, 0.05, 0.08), strict=True):
        plan = expect(asking.rule, error)
        answers = f"{plan.answers_a_sentence:.1f} answers per sentence, about {plan.answers_a_sentence * 3:,.0f} in all"
        assert line == f"  {error:.0%}: {answers}; {plan.lost:.1%} of good sentences are lost by chance"


def test_every_option_of_a_survey_is_handed_on(served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_PANEL_KEY", "key")
    (tmp_path / "ids.txt").write_text("alice\n")
    words = ("--host", "::1", "--port", "9", "--public", "https://s.example/", "--proxy", "10.0.0.1, 10.1.0.0/16")
    words += ("--test", "appendix-d", "--test-questions", "2", "--pass", "0.5", "--enough", "2", "--most", "5")
    words += ("--criteria", "appendix-d", "--coherent", "0.6", "--meant", "0.7", "--not-meant", "0.2", "--quota", "8")
    words += ("--twins", "--twin-gap", "3", "--check-every", "4", "--unsure", "--no-comments", "--ask-locale")
    words += ("--language", "de", "--invite", "2", "--panel", "--allow", tmp_path / "ids.txt", "--rate", "20")
    words += ("--completion-code", "C", "--completion-url", "https://c", "--screen-out-code", "S")
    words += ("--screen-out-url", "https://s", "--no-work-code", "N", "--no-work-url", "https://n")
    out, err = said("build", "survey", served.folder, *words, "--quiet")
    links = out.splitlines()
    assert len(links) == 2 == len(set(links)) and all(link.startswith("https://s.example/enter/") for link in links)
    assert "plan" not in err and "administration" not in err
    assert served.serve == [(("app",), {"host": "::1", "port": 9})]
    (((store, options, payments), _),) = served.app
    networks = [ipaddress.ip_network(name) for name in ("10.0.0.1", "10.1.0.0/16")]
    assert payments is not None and options.site == Site("https://s.example", networks) and options.secure_cookie
    endings = [Ending("C", "https://c"), Ending("S", "https://s"), Ending("N", "https://n")]
    assert options.panel == PanelOptions(True, *endings, frozenset({"alice"}), "key")
    texts = read_texts("de", None)
    chosen = read_test("appendix-d", per_type=2, pass_share=0.5, questions=texts.questions)
    assert options.test.identity == chosen.identity and len(options.checks) > 0
    assert (options.asks_locale, options.allows_unsure, options.allows_comments) == (True, True, False)
    assert options.limits == Limits(rate=20, burst=80, doors_rate=5, doors_burst=80)
    limits = Criteria(**{**vars_of(CRITERIA["appendix-d"]), "coherent": 0.6, "meant": 0.7, "not_meant": 0.2})
    assert store.asking.rule == Rule(Coverage(2, 5), limits, texts.questions)
    assert (store.asking.quota, store.asking.twin_gap, store.asking.check_every) == (8, 3, 4)
    assert store.work.has_twins


def vars_of(criteria: Criteria) -> dict[str, Any]:
    return {name: getattr(criteria, name) for name in ("coherent", "meant", "not_meant", "inclusive")}


def test_a_survey_goes_on_with_its_rule_and_tells_what_changed(served: Any) -> None:
    said("build", "survey", served.folder, "--enough", "2", "--coherent", "0.6", "--quiet")
    _, err = said("build", "survey", served.folder, "--quiet", "--test", "appendix-d")
    store = served.app[1][0][0]
    assert store.asking.rule.coverage == Coverage(2, 10) and store.asking.rule.criteria.coherent == 0.6
    assert err.startswith("note: ")


@pytest.mark.parametrize(("rate", "burst"), [(1, (40, 20)), (10, (40, 40)), (10.2, (41, 41))])
def test_a_burst_is_never_small(served: Any, rate: float, burst: tuple[int, int]) -> None:
    said("build", "survey", served.folder, "--rate", rate, "--quiet")
    limits = served.app[0][0][1].limits
    assert (limits.burst, limits.doors_burst) == burst and limits.doors_rate == rate / 4


def test_a_panel_is_let_in_by_a_code_or_a_list_too(served: Any, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("alice\n")
    for number, words in enumerate((("--completion-code", "C"), ("--allow", tmp_path / "ids.txt"), ("--panel",), ())):
        said("build", "survey", served.folder, *words, "--quiet")
        (_, options, payments), _ = served.app[number]
        assert options.panel.enabled == bool(words) == (payments is not None)


def test_a_token_that_is_made_is_printed(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EQUIPOISE_ADMIN_TOKEN")
    _, err = said("build", "survey", served.folder)
    token = err.splitlines()[-1].rpartition(", token ")[2]
    assert len(token) == 32 and served.app[0][0][1].admin_token == token


@pytest.mark.parametrize(
    ("given", "site"),
    [
        (("127.0.0.1", 80, "", ""), Site("http://127.0.0.1:80", [])),
        (("::1", 80, "", " , "), Site("http://[::1]:80", [])),
        (("0.0.0.0", 80, "https://s.example//", ""), Site("https://s.example", [])),
        (("h", 80, "http://s", "10.0.0.3/24"), Site("http://s", [ipaddress.ip_network("10.0.0.0/24")])),
    ],
)
def test_links_are_built_from_what_is_given(given: Any, site: Site) -> None:
    assert command._site(*given) == site


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("0.0.0.0", 80, "", ""), "give --public, the address that raters see: links are built from it"),
        (("::", 80, "", ""), "give --public, the address that raters see: links are built from it"),
        (("0.0.0.0", 80, "s.example", "x"), "--public must start with http:// or https://"),
        (("h", 80, "", "x"), "--proxy needs addresses or networks: 'x' does not appear to be an IPv4 or IPv6 network"),
    ],
)
def test_an_address_that_cannot_be_is_refused(given: Any, sentence: str) -> None:
    with pytest.raises(command.EquipoiseError) as refused:
        command._site(*given)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(("key", "is_fine"), [("k" * 21, False), ("k" * 22, True)])
def test_signed_links_need_a_long_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, is_fine: bool) -> None:
    (tmp_path / "ids.txt").write_text("bob\nalice\n")
    monkeypatch.setenv("EQUIPOISE_PANEL_KEY", key)
    signed = noted(monkeypatch, "equipoise.builder.survey.panel.signed_links", ["one", "two"])
    words = ("build", "links", tmp_path / "ids.txt", "--public", "https://s")
    if is_fine:
        assert said(*words) == ("one\ntwo\n", "") and signed == [(("https://s", ["alice", "bob"], key), {})]
    else:
        sentence = "set EQUIPOISE_PANEL_KEY to at least 22 random characters, the same as for `build survey`"
        assert refusal(*words) == sentence


def test_a_survey_is_backed_up_and_restored(served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = refusal("build", "backup", tmp_path)
    assert "survey.sqlite" in missing and "equipoise build survey" in missing
    said("build", "survey", served.folder, "--quiet")
    monkeypatch.setattr("equipoise.runs.manifest.now", lambda: "2026-11-17T10:00:00")
    out, _ = said("build", "backup", tmp_path)
    file = tmp_path / "backups" / "survey-2026-11-17T100000.sqlite"
    assert out == f"0 answers are in {file}\n" and file.is_file()
    assert said("build", "backup", tmp_path, "--out", tmp_path / "b.sqlite", "--quiet") == ("", "")
    (tmp_path / "other").mkdir()
    assert said("build", "restore", tmp_path / "other", file) == ("0 answers are restored\n", "")
    database = f"sqlite:///{tmp_path / 'third.sqlite'}"
    assert said("build", "restore", tmp_path / "other", file, "--database", database, "--quiet") == ("", "")
    for url in (f"sqlite:///{tmp_path / 'other' / 'survey.sqlite'}", database):
        store = SurveyDatabase(url)
        assert store.chosen_rule() == Rule(Coverage(), Criteria(), published())
        store.close()
    assert said("build", "backup", tmp_path / "none", "--database", database, "--out", tmp_path / "c.sqlite")[0]


RESULT = Rehearsal(1200, 2000, 1999, 1500, 1400, 30, Bill(9000, 4.5, 1234.5, 98765.4))


def test_every_option_of_a_rehearsal_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted(monkeypatch, "equipoise.builder.survey.rehearsal.rehearse", RESULT)
    words = ("--raters", "3000", "--accuracy", "0.9", "--seconds", "7", "--incoherent", "0.1", "--pay", "10.5")
    words += ("--fee", "0.2", "--test", "appendix-d", "--enough", "2", "--most", "6", "--criteria", "appendix-d")
    out, _ = said("build", "simulate", tmp_path, *words, "--seed", "5")
    rule = Rule(Coverage(2, 6), CRITERIA["appendix-d"], published())
    (((folder, cast), named),) = asked
    assert folder.path == tmp_path and cast == Cast(3000, Profile(0.9, 7), 0.1, 5, rule)
    assert named == {"test": "appendix-d", "pay": 10.5, "fee": 0.2}
    assert out.splitlines() == [
        "raters    3,000 simulated, 1,200 passed the entrance test",
        "answers   9,000 simulated, 4.50 per sentence",
        "settled   1,999 of 2,000 sentences",
        "kept      1,400 of 1,500 good sentences, 30 of 500 incoherent ones",
        "work      1,234.5 hours",
        "money     98,765.40 at 10.5 per hour and a fee of 20%",
        "note: too few raters passed to settle every sentence; a disputed one needs ten",
    ]


def test_a_rehearsal_that_settles_all_says_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Rehearsal(20, 5, 5, 4, 4, 0, RESULT.bill)
    asked = noted(monkeypatch, "equipoise.builder.survey.rehearsal.rehearse", whole)
    out, _ = said("build", "simulate", tmp_path)
    assert "note" not in out and "0 of 1 incoherent" in out
    rule = Rule(Coverage(), Criteria(), published())
    assert asked[0][0][1] == Cast(20, Profile(0.95, 15), 0.03, 0, rule)
    assert asked[0][1] == {"test": "section-4.3", "pay": 12.0, "fee": 0.33}
    assert said("build", "simulate", tmp_path, "--quiet") == ("", "")
