"""`equipoise build survey`, `simulate`, `links` and `backup`: surveys with people, and rehearsals of them."""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..records import EquipoiseError
from .build import Database, Folder
from .console import progress_bar, tell
from .criteria import Coherent, Meant, NotMeant, PapersCriteria, criteria_of
from .parameters import Quiet

if TYPE_CHECKING:
    from ..builder.survey.panel import Ending, PanelOptions
    from ..builder.survey.web.guard import Site
    from ..builder.verdict.consensus import Criteria, Rule
    from ..builder.verdict.questions import Questionnaire

Test = Annotated[
    str,
    typer.Option("--test", help="Entrance test: section-4.3 (10 + 10 questions), appendix-d (15 + 15), or a table."),
]
Enough = Annotated[int | None, typer.Option("--enough", min=1, help="Minimum number of raters per sentence; 4.")]
Most = Annotated[int | None, typer.Option("--most", min=1, help="Maximum number of raters per sentence; 10.")]
ERRORS = (0.02, 0.05, 0.08)
"""Shares of wrong replies for which a plan says what to expect."""


def survey(
    folder: Folder,
    host: Annotated[str, typer.Option("--host", help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen at.")] = 8400,
    public: Annotated[str, typer.Option("--public", help="Address that raters see, as https://survey.example.")] = "",
    proxy: Annotated[
        str,
        typer.Option("--proxy", help="Addresses of your reverse proxies (comma-separated); others are not trusted."),
    ] = "",
    database: Database = None,
    test: Test = "section-4.3",
    test_questions: Annotated[
        int | None, typer.Option("--test-questions", min=1, help="Questions of each type to draw from the test.")
    ] = None,
    pass_share: Annotated[float, typer.Option("--pass", min=0, max=1, help="Share of the test to pass.")] = 0.8,
    enough: Enough = None,
    most: Most = None,
    criteria: PapersCriteria = None,
    coherent: Coherent = None,
    meant: Meant = None,
    not_meant: NotMeant = None,
    quota: Annotated[int, typer.Option("--quota", min=0, help="Maximum number of sentences per rater; 0 for all.")] = 0,
    twins: Annotated[bool, typer.Option("--twins", help="Ask about the swapped sentences, too.")] = False,
    twin_gap: Annotated[
        int | None, typer.Option("--twin-gap", min=0, help="Sentences between twins for one rater; else never both.")
    ] = None,
    check_every: Annotated[
        int, typer.Option("--check-every", min=0, help="Mix in an attention check among every N sentences; 0 for none.")
    ] = 0,
    checks: Annotated[Path | None, typer.Option("--checks", help="Table of attention checks, as for --test.")] = None,
    unsure: Annotated[bool, typer.Option("--unsure", help="Let raters answer 'unsure' (the paper does not).")] = False,
    comments: Annotated[bool, typer.Option(help="Let raters leave a comment.")] = True,
    ask_locale: Annotated[
        bool, typer.Option("--ask-locale", help="Ask which country's English a rater speaks.")
    ] = False,
    language: Annotated[Literal["en", "de"], typer.Option("--language", help="Language of the pages.")] = "en",
    texts: Annotated[
        Path | None, typer.Option("--texts", help="TOML file that replaces texts: questions, guidelines, examples.")
    ] = None,
    invite: Annotated[int, typer.Option("--invite", min=0, help="Print N personal links.")] = 0,
    panel: Annotated[
        bool, typer.Option("--panel", help="Let a panel in at /panel (Prolific, MTurk, CloudResearch, id=).")
    ] = False,
    allow: Annotated[Path | None, typer.Option("--allow", help="File of panel ids that may come in.")] = None,
    completion_code: Annotated[str, typer.Option("--completion-code", help="Code for raters who are done.")] = "",
    completion_url: Annotated[str, typer.Option("--completion-url", help="Address to return to; {code}, {id}.")] = "",
    screen_out_code: Annotated[str, typer.Option("--screen-out-code", help="Code after a failed test.")] = "",
    screen_out_url: Annotated[str, typer.Option("--screen-out-url", help="Address after a failed test.")] = "",
    no_work_code: Annotated[str, typer.Option("--no-work-code", help="Code if nothing is left to answer.")] = "",
    no_work_url: Annotated[str, typer.Option("--no-work-url", help="Address if nothing is left to answer.")] = "",
    rate: Annotated[float, typer.Option("--rate", help="Requests per second and rater.")] = 10,
    quiet: Quiet = False,
) -> None:
    """Serve the survey to raters until interrupted; rerunning continues it.

    The administrator's token is read from EQUIPOISE_ADMIN_TOKEN, or made and printed. EQUIPOISE_PANEL_KEY makes
    links for a panel signed (see `build links`). Changed options are applied, and a note says so. A sentence is asked
    until the criteria keep it or cannot keep it any more; `clean` uses the same criteria.
    """
    from ..builder.steps import BuildFolder, Sentence, read_records
    from ..builder.survey.database.survey import SurveyDatabase
    from ..builder.survey.database.work import Asking
    from ..builder.survey.entrance import read_checks, read_test
    from ..builder.survey.panel import Ending, PaymentMap
    from ..builder.survey.web.app import survey_app
    from ..builder.survey.web.guard import Limits
    from ..builder.survey.web.pages import SurveyOptions
    from ..builder.survey.web.texts import read_texts
    from ..serving import serve

    build = BuildFolder(folder)
    sentences = read_records(build.kept, Sentence, made_by="filter")
    site = _site(host, port, public, proxy)
    token = os.environ.get("EQUIPOISE_ADMIN_TOKEN") or secrets.token_urlsafe(24)
    endings = ((completion_code, completion_url), (screen_out_code, screen_out_url), (no_work_code, no_work_url))
    shown = read_texts(language, texts)
    options = SurveyOptions(
        test=read_test(test, per_type=test_questions, pass_share=pass_share, questions=shown.questions),
        admin_token=token,
        panel=_panel(panel or bool(completion_code or allow), allow, [Ending(*ending) for ending in endings]),
        texts=shown,
        checks=read_checks(checks, shown.questions) if check_every else (),
        asks_locale=ask_locale,
        allows_unsure=unsure,
        allows_comments=comments,
        secure_cookie=site.public.startswith("https://"),
        limits=Limits(
            rate=rate, burst=max(40, round(4 * rate)), doors_rate=rate / 4, doors_burst=max(20, round(4 * rate))
        ),
        site=site,
    )
    before = SurveyDatabase(database or build.database)
    limits = criteria_of(before.chosen_rule(), criteria, coherent, meant, not_meant)
    rule = _rule(before.chosen_rule(), shown.questions, limits, enough, most)
    before.close()
    asking = Asking(rule, quota=quota, twin_gap=twin_gap, check_every=check_every)
    store = SurveyDatabase(database or build.database, asking)
    store.load(sentences, twins=twins)
    for note in store.apply_options(options.test.identity):
        typer.echo(f"note: {note}", err=True)
    for invitation in store.raters.invite(invite):
        typer.echo(f"{site.public}/enter/{invitation}")
    if not quiet:
        _say_plan(rule, len(sentences))
        secret = "" if os.environ.get("EQUIPOISE_ADMIN_TOKEN") else f", token {token}"
        typer.echo(
            f"{len(sentences):,} sentences at {site.public}; administration at {site.public}/admin{secret}", err=True
        )
    payments = PaymentMap(folder / "panel.sqlite") if options.panel.enabled else None
    serve(survey_app(store, options, payments), host=host, port=port)


def _rule(
    before: Rule | None, questions: Questionnaire, limits: Criteria, enough: int | None, most: int | None
) -> Rule:
    """Return the rule of this survey: as it began, unless an option says otherwise."""
    from ..builder.verdict.consensus import Coverage, Rule

    old = before.coverage if before else Coverage()
    coverage = Coverage(old.enough if enough is None else enough, old.most if most is None else most)
    return Rule(coverage, limits, questions)


def _say_plan(rule: Rule, sentences: int) -> None:
    """Print how many answers to expect, and how many good sentences are lost by chance."""
    from ..builder.verdict.plan import expect

    typer.echo("plan, if every sentence is good, by the share of wrong replies:", err=True)
    for error in ERRORS:
        plan = expect(rule, error)
        typer.echo(
            f"  {error:.0%}: {plan.answers_a_sentence:.1f} answers per sentence, about "
            f"{plan.answers_a_sentence * sentences:,.0f} in all; {plan.lost:.1%} of good sentences are lost by chance",
            err=True,
        )


def _site(host: str, port: int, public: str, proxy: str) -> Site:
    """Return where the survey is; links are built from it, never from what a browser sends."""
    from ..builder.survey.web.guard import Site

    if not public and host in ("0.0.0.0", "::"):
        raise EquipoiseError("give --public, the address that raters see: links are built from it")
    if public and not public.startswith(("http://", "https://")):
        raise EquipoiseError("--public must start with http:// or https://")
    try:
        proxies = [ipaddress.ip_network(name.strip(), strict=False) for name in proxy.split(",") if name.strip()]
    except ValueError as error:
        raise EquipoiseError(f"--proxy needs addresses or networks: {error}") from None
    shown = f"[{host}]" if ":" in host else host
    return Site(public.rstrip("/") or f"http://{shown}:{port}", proxies)


def _panel(enabled: bool, allow: Path | None, endings: Sequence[Ending]) -> PanelOptions:
    from ..builder.survey.panel import PanelOptions, read_ids

    completed, screened_out, no_work = endings
    allowed = read_ids(allow) if allow else None
    key = os.environ.get("EQUIPOISE_PANEL_KEY", "")
    return PanelOptions(enabled, completed, screened_out, no_work, allowed, key)


def links(
    ids: Annotated[Path, typer.Argument(help="File with one participant id per line.")],
    public: Annotated[str, typer.Option("--public", help="Address that raters see.")],
) -> None:
    """Print a signed link for each participant id; the key is read from EQUIPOISE_PANEL_KEY."""
    from ..builder.survey.panel import read_ids, signed_links

    key = os.environ.get("EQUIPOISE_PANEL_KEY", "")
    if len(key) < 22:
        raise EquipoiseError("set EQUIPOISE_PANEL_KEY to at least 22 random characters, the same as for `build survey`")
    for link in signed_links(public, sorted(read_ids(ids)), key):
        typer.echo(link)


def backup(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write; by default FOLDER/backups/TIME.sqlite.")
    ] = None,
    database: Database = None,
    quiet: Quiet = False,
) -> None:
    """Write a consistent copy of the survey, also while it runs; `build clean --database sqlite:///FILE` reads it."""
    from ..builder.steps import BuildFolder
    from ..builder.survey.database.survey import SurveyDatabase
    from ..runs.manifest import now

    store = SurveyDatabase(BuildFolder(folder).made_database(database))
    path = out or folder / "backups" / f"survey-{now().replace(':', '')}.sqlite"
    answers = store.results.backup(path)
    store.close()
    if not quiet:
        tell(f"{answers:,} answers are in {path}")


def restore(
    folder: Folder,
    backup: Annotated[Path, typer.Argument(help="File that `build backup` wrote.")],
    database: Database = None,
    quiet: Quiet = False,
) -> None:
    """Fill an empty database from a backup; the survey then goes on where it was."""
    from ..builder.steps import BuildFolder
    from ..builder.survey.database.survey import SurveyDatabase

    store = SurveyDatabase(database or BuildFolder(folder).database)
    answers = store.results.restore(backup)
    store.close()
    if not quiet:
        typer.echo(f"{answers:,} answers are restored")


def simulate(
    folder: Folder,
    raters: Annotated[int, typer.Option("--raters", min=1, help="Raters at the same time.")] = 20,
    accuracy: Annotated[float, typer.Option("--accuracy", help="Share of questions a rater gets right.")] = 0.95,
    seconds: Annotated[float, typer.Option("--seconds", help="Median seconds per sentence.")] = 15,
    incoherent: Annotated[float, typer.Option("--incoherent", help="Share of incoherent sentences.")] = 0.03,
    pay: Annotated[float, typer.Option("--pay", help="Pay per hour.")] = 12.0,
    fee: Annotated[float, typer.Option("--fee", help="Fee of the panel, as a share.")] = 0.33,
    test: Test = "section-4.3",
    enough: Enough = None,
    most: Most = None,
    criteria: PapersCriteria = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all raters.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Let simulated raters answer the survey over HTTP, and estimate the answers and the money it takes.

    They answer a copy, FOLDER/simulation.sqlite. `build clean --database` reads it, and marks the result as simulated.
    """
    from ..builder.steps import BuildFolder
    from ..builder.survey.rater_client import Profile
    from ..builder.survey.rehearsal import Cast, rehearse
    from ..builder.verdict.questions import published

    rule = _rule(None, published(), criteria_of(None, criteria), enough, most)
    cast = Cast(raters, Profile(accuracy, seconds), incoherent, seed, rule)
    with progress_bar(quiet=quiet) as progress:
        result = rehearse(BuildFolder(folder), cast, test=test, pay=pay, fee=fee, progress=progress)
    if quiet:
        return
    bad = result.sentences - result.good
    facts = [
        ("raters", f"{raters:,} simulated, {result.passed:,} passed the entrance test"),
        ("answers", f"{result.bill.answers:,} simulated, {result.bill.answers_a_sentence:.2f} per sentence"),
        ("settled", f"{result.settled:,} of {result.sentences:,} sentences"),
        (
            "kept",
            f"{result.good_kept:,} of {result.good:,} good sentences, {result.bad_kept:,} of {bad:,} incoherent ones",
        ),
        ("work", f"{result.bill.hours:,.1f} hours"),
        ("money", f"{result.bill.cost:,.2f} at {pay:g} per hour and a fee of {fee:.0%}"),
    ]
    for what, fact in facts:
        typer.echo(f"{what:<9} {fact}")
    if result.settled < result.sentences:
        typer.echo("note: too few raters passed to settle every sentence; a disputed one needs ten")
