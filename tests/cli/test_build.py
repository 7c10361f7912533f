"""`equipoise build`: what every step is given, writes into its log, and says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from shlex import quote
from types import SimpleNamespace
from typing import Any

import pytest
from local_parts import write_records
from noted import noted, refusal, said
from survey_raters import survey_of

from equipoise.builder.compare.statistics import Statistics, StatsOptions
from equipoise.builder.draft.generation import Estimate, Outcome, Plan
from equipoise.builder.draft.prompt_files import read_prompts
from equipoise.builder.rules import filters
from equipoise.builder.rules.filters import Filtered, FilterOptions
from equipoise.builder.rules.variants import Swapped
from equipoise.builder.steps import BuildFolder, Draft, Sentence, Step, Variant
from equipoise.builder.verdict.cleaning import SIMULATED_LINE, Cleaned, CleanOptions
from equipoise.builder.verdict.consensus import CRITERIA, Rule
from equipoise.builder.verdict.votes import Answer
from equipoise.builder.wordlist import occupations
from equipoise.cli import build as command
from equipoise.datasets.markers import read_markers
from equipoise.datasets.pronouns import pronoun_sets
from equipoise.scoring.server.http_client import Limits

STEP = "equipoise.builder.draft.generation"
SERVER = ("--server", "http://127.0.0.1:9/v1", "--model", "m")


def drafted(*markers: str) -> list[Draft]:
    return [Draft(f"d-{n}", "type1", "cook", "clerk", "text", "raw", "key", marker) for n, marker in enumerate(markers)]


USUAL, OTHERS = occupations(), replace(occupations(), name="others")


@pytest.fixture(autouse=True)
def lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every command the same word lists, which can be compared."""
    monkeypatch.setattr("equipoise.builder.wordlist.occupations", lambda: USUAL)
    monkeypatch.setattr("equipoise.builder.wordlist.read_wordlist", {Path("words.csv"): OTHERS}.get)


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the notes of a generation that asks no server."""
    cost = Estimate(1200, 3, 45000, 67000, 120.0, None)
    notes = SimpleNamespace(client=[], log=Step("generate", 1200, 800, {"empty": 1300, "none": 0}))

    def client(url: str, limits: Limits, *, key_variable: str) -> str:
        notes.client.append((url, limits, key_variable))
        return "client"

    monkeypatch.setattr("equipoise.scoring.server.http_client.Client", client)
    monkeypatch.setattr("equipoise.scoring.server.api.Api", lambda *given: ("api", *given))
    monkeypatch.setattr("equipoise.builder.draft.replies.ReplyLog", lambda path: f"log {path.name}")
    notes.requests = noted(monkeypatch, f"{STEP}.requests_of", ["request"])
    notes.estimate = noted(monkeypatch, f"{STEP}.estimate", cost)
    notes.generate = noted(monkeypatch, f"{STEP}.generate", Outcome(), hide=("progress", "now"))
    monkeypatch.setattr(BuildFolder, "steps", lambda self: {"generate": notes.log})
    return notes


TOLD = "1,200 requests to send, 3 done; about 45,000 tokens in and 67,000 out, 2 minutes; cost unknown (give --price-in"


def test_a_group_without_a_command_shows_its_help() -> None:
    assert said("build")[0].startswith("Usage: ")


def test_every_option_of_a_generation_is_handed_on(step: Any, tmp_path: Path) -> None:
    given = ("--words", "words.csv", "--samples", "3", "--per-request", "7", "--pairs", "2", "--min-gap", "5")
    given += ("--prompts", tmp_path / "prompts", "--pronouns", "they,xe", "--identity", "age", "--seed", "4")
    given += ("--temperature", "0.5", "--concurrency", "2", "--rate", "30", "--timeout", "9", "--wait", "8")
    given += ("--retry-refused", "--key-variable", "KEY", "--price-in", "1", "--price-out", "2", "--yes")
    (tmp_path / "prompts").mkdir()
    for name, text in read_prompts(None).items():
        (tmp_path / "prompts" / f"{name}.txt").write_text(text)
    out, err = said("build", "generate", tmp_path / "mine", *SERVER, *given)
    limits = Limits(2, 9, wait_budget=8, requests_per_minute=30)
    assert step.client == [("http://127.0.0.1:9/v1", limits, "KEY")]
    ages = {marker.word: age for age in [read_markers()["age"]] for marker in age.markers}
    chosen = {"min_gap": 5, "limit": 2, "seed": 4, "temperature": 0.5, "markers": tuple(ages)}
    plan = Plan(OTHERS, 3, 7, pronouns=pronoun_sets(["they", "xe"]), **chosen)
    assert step.requests == [((plan, read_prompts(tmp_path / "prompts"), "m"), {})]
    asked = {"concurrency": 2, "prices": (1.0, 2.0), "retry_refused": True}
    assert step.estimate == [((["request"], "log generations.jsonl"), asked)]
    build = BuildFolder(tmp_path / "mine")
    sent = {"plan": plan, "concurrency": 2, "retry_refused": True}
    assert step.generate == [((build, ["request"], ("api", "client", "m")), sent)]
    first, second = out.splitlines()
    assert first == f"{TOLD} and --price-out)" and err == ""
    assert second == "1,200 requests in, 800 drafts out (empty 1,300)"


def test_a_generation_without_options_is_the_usual_one_and_quiet_says_nothing(step: Any, tmp_path: Path) -> None:
    assert said("build", "generate", tmp_path, *SERVER, "--yes", "--quiet") == ("", "")
    assert step.requests == [((Plan(USUAL), read_prompts(None), "m"), {})]
    assert step.client[0][1:] == (Limits(4, 120, wait_budget=3600, requests_per_minute=0), "")
    assert step.estimate[0][1] == {"concurrency": 4, "prices": None, "retry_refused": False}
    for one in (("--price-in", "1"), ("--price-out", "1")):
        said("build", "generate", tmp_path, *SERVER, "--yes", "--quiet", *one)
    assert [named["prices"] for _, named in step.estimate] == [None] * 3


def test_a_dry_run_tells_the_cost_and_sends_nothing(step: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted(monkeypatch, f"{STEP}.estimate", Estimate(2, 1, 3, 4, 89.0, 1234.5))
    out, _ = said("build", "generate", tmp_path, *SERVER, "--dry-run", "--quiet")
    assert out == "2 requests to send, 1 done; about 3 tokens in and 4 out, 89 seconds; cost 1,234.50\n"
    assert step.generate == []


def test_nothing_is_sent_without_a_yes(step: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "add --yes to start without being asked, or --dry-run for the estimate alone"
    assert refusal("build", "generate", tmp_path, *SERVER) == sentence and step.generate == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
        out, _ = said("build", "generate", tmp_path, *SERVER, input="n\n")
        assert "Start? [y/N]: n" in out and step.generate == []
        said("build", "generate", tmp_path, *SERVER, input="y\n")
        assert len(step.generate) == 1
    noted(monkeypatch, f"{STEP}.estimate", Estimate(0, 1, 3, 4, 5.0, 6.0))
    said("build", "generate", tmp_path, *SERVER)
    assert len(step.generate) == 2, "what is all there needs no question"


def test_what_went_wrong_is_told_and_ends_the_command(
    step: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from equipoise.cli import app

    noted(monkeypatch, f"{STEP}.generate", Outcome(["f1", "f2", "f3", "f4"], 1300, ["n1"]))
    result = CliRunner().invoke(app, ["build", "generate", str(tmp_path), *SERVER, "--yes", "--quiet"])
    refused = "note: 1,300 prompts were refused; --retry-refused asks them again"
    assert result.stderr.splitlines() == [*(f"note: {what}" for what in ("n1", "f1", "f2", "f3")), refused]
    assert str(result.exception) == "some requests failed; run the same command again to send them"


@pytest.fixture
def filtered(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the notes of the filter."""
    failed = Counter({filters.RULES[0]: 1100, filters.NEAR: 2, filters.OPEN: 3})
    return noted(monkeypatch, "equipoise.builder.rules.filters.filter_drafts", Filtered((), (), (), failed))


def test_every_option_of_a_filter_is_handed_on(filtered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = BuildFolder(tmp_path)
    write_records(build.drafts, drafted(*[""] * 1199, "old"))
    given = ("--words", "words.csv", "--shortest", "3", "--longest", "9", "--near", "1", "--pronouns", "they,xe")
    monkeypatch.setattr("equipoise.runs.manifest.now", lambda: "now")
    out, _ = said("build", "filter", tmp_path, *given, "--pronoun-rule", "not-before-both", "--strict-brackets")
    (((drafts, listed, options, _), _),) = filtered
    every = {marker.word: one for one in read_markers().values() for marker in one.markers}
    expected = FilterOptions(3, 9, 1, True, "not-before-both", pronoun_sets(["they", "xe"]), every)
    assert len(drafts) == 1200 and listed == OTHERS and options == expected
    reasons = {filters.RULES[0]: 1100, filters.NEAR: 2, filters.OPEN: 3}
    settings = {"words": "3 to 9", "near": 1, "pronoun": "not-before-both"}
    log = build.steps()["filter"]
    assert (log.came_in, log.went_out, log.reasons, log.settings, log.finished) == (1200, 0, reasons, settings, "now")
    assert set(log.files) == {"kept.jsonl", "rejected.jsonl", "aside.jsonl"}
    head, *rows, gap, last = out.splitlines()
    assert head.split() == ["rule", "pass", "fail"] and gap == "" and last == "1,200 drafts in, 0 sentences out"
    assert [tuple(line.rsplit(maxsplit=2)) for line in rows] == [
        (rule, f"{1200 - failed:,}", f"{failed:,}")
        for rule in (*filters.RULES, *filters.AMONG, filters.OPEN)
        for failed in [reasons.get(rule, 0)]
    ]


def test_a_filter_without_options_takes_the_pronouns_of_the_drafts(filtered: Any, tmp_path: Path) -> None:
    build = BuildFolder(tmp_path)
    write_records(build.drafts, drafted(""))
    assert said("build", "filter", tmp_path, "--quiet") == ("", "")
    build.record(Step("generate", 1, 1, {}, {"pronouns": "they,xe"}))
    said("build", "filter", tmp_path, "--quiet", "--keep-near-duplicates")
    usual, generated = (given[2] for given, _ in filtered)
    assert usual == FilterOptions(pronouns=pronoun_sets(["he", "she"]))
    assert generated == FilterOptions(near_words=-1, pronouns=pronoun_sets(["they", "xe"]))
    assert build.steps()["filter"].settings["near"] == "kept"
    assert filtered[0][0][1] == USUAL


def test_a_dataset_is_filtered_and_its_counterparts_compared(
    filtered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(monkeypatch, "equipoise.builder.rules.variants.swapped", [Swapped("he", 2000, 1500, 300, 200)])
    BuildFolder(tmp_path).record(Step("generate", 1, 1, {}, {"pronouns": "they,xe"}))
    out, _ = said("build", "filter", tmp_path, "--from", "builtin")
    assert "our counterparts against those of the dataset:" in out
    row = [line.split() for line in out.splitlines() if line.startswith("he ")]
    assert row == [["he", "2,000", "1,500", "300", "200", f"{Swapped('he', 2000, 1500, 300, 200).share:.2%}"]]
    drafts, _, options, _ = filtered[0][0]
    assert len(drafts) == 1020 and options.pronouns == pronoun_sets(["he", "she"])
    assert BuildFolder(tmp_path).steps()["filter"].settings["from"] == "builtin"
    assert refusal("build", "filter", tmp_path / "none").startswith(str(tmp_path / "none"))


COLUMN = Statistics("builtin", 1020, 2000, 1234.5, 1900, 1.25, 3000, 0.123456, None)


def test_every_option_of_statistics_is_handed_on(
    tmp_path: Path, planted_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = noted(monkeypatch, "equipoise.builder.compare.statistics.compare", [COLUMN, COLUMN])
    near = noted(monkeypatch, "equipoise.builder.compare.sensitivity.near_duplicates", [])
    printed = noted(monkeypatch, "equipoise.cli.build.print_near_duplicates")
    given = ("--embeddings", "st:x", "--clusters", "7", "--shown", "9", "--seed", "3", "--run", planted_run)
    out, _ = said("build", "stats", "builtin", "fresh", "--out", tmp_path, *given)
    assert asked[0][0][:3] == (["builtin", "fresh"], tmp_path, StatsOptions("st:x", 7, 9, 3, True))
    assert near[0][0][0].path == planted_run and printed == [(([],), {})]
    lines = out.splitlines()
    assert lines[0].split() == ["builtin", "builtin"] and lines[-1] == f"The table and the maps are in {tmp_path}/"
    rows = [
        *(("sentences", "1,020"), ("words, as the paper counts", "2,000"), ("  deviation of frequency", "1,234.50")),
        *(("words", "1,900"), ("  deviation of frequency", "1.25"), ("pair distance deviation", "0.12346")),
        *(("silhouette (7 clusters)", "–"), ("near-duplicate pairs", "3,000")),
    ]
    width = max(len(name) for name, _ in rows)
    assert [line.split()[-2:] for line in lines[1:9]] == [[value] * 2 for _, value in rows]
    assert [line[:width].rstrip() for line in lines[1:9]] == [name for name, _ in rows]
    assert said("build", "stats", "builtin", "--quiet", "--embeddings", "none") == ("", "")
    assert asked[1][0][:3] == (["builtin"], Path("statistics"), StatsOptions("none", embeddings=False))
    assert (
        said("build", "stats", "builtin", "--embeddings", "none")[0].splitlines()[-1] == "The table is in statistics/"
    )
    assert len(near) == 1


@pytest.mark.parametrize(("seconds", "text"), [(89.4, "89 seconds"), (90, "2 minutes"), (90000, "1,500 minutes")])
def test_a_time_is_told_in_seconds_or_minutes(seconds: float, text: str) -> None:
    assert command._duration(seconds) == text


def test_reasons_without_a_count_are_left_out() -> None:
    assert command._reasons({"a": 1200, "b": 0, "c": 1}) == "a 1,200; c 1" and command._reasons({}) == ""
    assert command._number(0.5) == "0.50000" and command._number(0.0) == "0.00000"
    assert list(command._attributes("age", None)) == [marker.word for marker in read_markers()["age"].markers]


def test_the_log_of_a_step_is_told_with_its_reasons(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    build = BuildFolder(tmp_path)
    build.record(Step("clean", 1200, 7, {"no": 0}))
    command._say(build, "clean", "sentences", "pairs", quiet=False)
    command._say(build, "clean", "sentences", "pairs", quiet=True)
    assert capsys.readouterr().out == "1,200 sentences in, 7 pairs out\n"


def person(at: int, *, marker: str = "", he: str = "he") -> Sentence:
    """Return a sentence about a cook and a clerk, in two versions."""
    text = f"The cook met the clerk {at} times because {he} ran."
    group = "male" if he == "he" else "neutral"
    others = (Variant(text.replace(f" {he} ", " she "), "she", "female", marker),)
    return Sentence(f"s{at}", "type2", text, he, "subject", "cook", "clerk", "cook", group, others, marker)


@pytest.fixture
def cleaned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return the notes of a step that keeps two of seven sentences, one of them simulated."""
    notes = SimpleNamespace(sentences=[person(at) for at in range(7)], kept=Counter({"incoherent": 3, "none": 0}))
    write_records(BuildFolder(tmp_path).kept, notes.sentences)
    answers = [Answer(f"s{at}", f"r{at}", 0, ("yes", "yes", "no"), 5.0, False, "person") for at in range(2)]
    answers += [replace(answers[1], origin="simulated", rater="r9")]
    survey_of(tmp_path / "survey.sqlite", notes.sentences, answers)
    notes.result = Cleaned(
        {}, {}, ((notes.sentences[0], "cook"), (notes.sentences[1], "cook")), notes.kept, 0, (), 0, 0
    )
    notes.clean = lambda **facts: noted(
        monkeypatch, "equipoise.builder.verdict.cleaning.clean", replace(notes.result, **facts)
    )
    notes.files = noted(monkeypatch, "equipoise.builder.verdict.cleaning.dataset_files", {"mine.csv": "x", "b.md": "y"})
    notes.summary = noted(monkeypatch, "equipoise.builder.verdict.summary.summarise", "summary")
    monkeypatch.setattr("equipoise.runs.manifest.now", lambda: "now")
    return notes


def test_a_dataset_is_cleaned_by_the_criteria_of_the_survey(cleaned: Any, tmp_path: Path) -> None:
    calls = cleaned.clean()
    out, errors = said("build", "clean", tmp_path)
    (((sentences, answers, options), _),) = calls
    assert sentences == cleaned.sentences and options == CleanOptions(Rule())
    people = [("r0", "person"), ("r1", "person"), ("r9", "simulated")]
    assert [(answer.rater, answer.origin) for answer in answers] == people
    assert out.splitlines() == [
        "7 sentences in, 2 pairs out (incoherent 3)",
        f"4 sentences are in {tmp_path / 'dataset' / 'mine.csv'}; audit a model with them:",
        f"  equipoise audit --data {quote(str(tmp_path / 'dataset' / 'mine.csv'))} --columns text=sample",
    ]
    assert errors == ""
    log = BuildFolder(tmp_path).steps()["clean"]
    rule = Rule()
    assert (log.came_in, log.went_out, log.reasons, log.finished) == (7, 2, {"incoherent": 3, "none": 0}, "now")
    assert log.settings == {
        "raters per sentence": f"{rule.coverage.enough} to {rule.coverage.most}",
        "coherent": f"{'at least' if rule.criteria.inclusive else 'over'} {rule.criteria.coherent:g}",
        "meant": f"at least {rule.criteria.meant:g}",
        "not meant": f"{'at most' if rule.criteria.inclusive else 'under'} {rule.criteria.not_meant:g}",
    }
    (((_, sheet), _),) = cleaned.files
    assert (sheet.name, sheet.licence, sheet.words, sheet.summary) == (tmp_path.name, "", USUAL, "summary")
    assert [one.name for one in sheet.steps] == ["clean"] and sheet.options == options
    assert (tmp_path / "dataset" / "b.md").read_text() == "y"


def test_every_option_of_cleaning_is_handed_on(cleaned: Any, tmp_path: Path) -> None:
    calls = cleaned.clean(unsettled=tuple("abcdef"), simulated=True)
    shares = ("--criteria", "appendix-d", "--coherent", "0.7", "--meant", "0.8", "--not-meant", "0.1")
    names = ("--name", "own", "--licence", "CC0", "--words", "words.csv")
    out, errors = said("build", "clean", tmp_path, *names, *shares, "--allow-unsettled", "--people-only")
    (((_, answers, options), _),) = calls
    criteria = replace(CRITERIA["appendix-d"], coherent=0.7, meant=0.8, not_meant=0.1)
    assert options == CleanOptions(Rule(criteria=criteria), allow_unsettled=True)
    assert [answer.rater for answer in answers] == ["r0", "r1"]
    (((_, sheet), _),) = cleaned.files
    assert (sheet.name, sheet.licence, sheet.words) == ("own", "CC0", OTHERS)
    assert errors.splitlines() == [
        "note: these are not the criteria by which the survey asked; some sentences may not be settled",
        "note: 6 sentences are not settled (kept if their votes allow): a, b, c, d, e, …",
    ]
    assert out.splitlines()[0] == SIMULATED_LINE
    settings = BuildFolder(tmp_path).steps()["clean"].settings
    words = ("at least", "at most") if criteria.inclusive else ("over", "under")
    assert settings["coherent"] == f"{words[0]} 0.7" and settings["not meant"] == f"{words[1]} 0.1"
    assert settings["meant"] == "at least 0.8"


def test_cleaning_quietly_says_nothing_but_that_answers_are_simulated(cleaned: Any, tmp_path: Path) -> None:
    cleaned.clean(unsettled=("a",))
    assert said("build", "clean", tmp_path, "--quiet", "--meant", "0.8") == ("", "")
    cleaned.clean(simulated=True)
    assert said("build", "clean", tmp_path, "--quiet") == (f"{SIMULATED_LINE}\n", "")


@pytest.mark.parametrize(("marker", "columns"), [("old", " --columns group:marker=marker"), ("", "")])
def test_sets_of_any_pronouns_are_audited_by_the_marker_where_they_have_one(
    cleaned: Any, tmp_path: Path, marker: str, columns: str
) -> None:
    cleaned.clean(
        kept=((person(1, he="they"), "cook"), (person(2, he="they", marker=marker), "cook")), unsettled=("a",)
    )
    out, errors = said("build", "clean", tmp_path)
    assert out.splitlines()[0] == "7 sentences in, 2 sets out (incoherent 3)"
    assert out.splitlines()[2] == f"  equipoise audit --data {quote(str(tmp_path / 'dataset' / 'mine.csv'))}{columns}"
    assert errors == "note: 1 sentences are not settled (left out): a\n"


def test_cleaning_that_leaves_nothing_or_has_no_survey_is_refused(cleaned: Any, tmp_path: Path) -> None:
    cleaned.clean(kept=())
    assert refusal("build", "clean", tmp_path) == "no sentence is left (incoherent 3); nothing was written"
    assert BuildFolder(tmp_path).steps()["clean"].went_out == 0 and not (tmp_path / "dataset").exists()
    database = tmp_path / "survey.sqlite"
    moved = database.rename(tmp_path / "moved.sqlite")
    assert refusal("build", "clean", tmp_path).startswith(str(database))
    cleaned.clean()
    assert said("build", "clean", tmp_path, "--database", f"sqlite:///{moved}")[0].startswith("7 sentences in")
