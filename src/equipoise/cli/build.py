"""`equipoise build`: a dataset of your own, from a word list and a language model to an audit."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..records import EquipoiseError
from .audit import Quiet
from .console import plain_table, print_out, printable, progress_bar

if TYPE_CHECKING:
    from ..builder.steps import BuildFolder, Step
    from ..builder.wordlist import WordList

app = typer.Typer(
    help="Build a dataset like SynthBias: generate, filter, survey, clean; simulate and stats help before and after.",
    epilog="One folder holds a build: each step reads what the step before wrote there. `simulate` tells what a survey "
    "will cost; the result is audited with `equipoise audit --data FOLDER/dataset/NAME.csv`.",
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Argument(help="The build folder; made if it is not there.")]
Words = Annotated[
    Path | None,
    typer.Option("--words", help="Table with columns word, side (male|female), share (of women, %); else the 40 jobs."),
]
Database = Annotated[
    str | None,
    typer.Option("--database", help="sqlite:///FILE or postgresql://USER@HOST/NAME; by default FOLDER/survey.sqlite."),
]
Test = Annotated[Path | None, typer.Option("--test", help="Table of the entrance test's questions (see the docs).")]


@app.callback(invoke_without_command=True)
def _main(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("generate")
def generate(
    folder: Folder,
    server: Annotated[str, typer.Option("--server", help="An OpenAI-compatible server, such as http://host:8000/v1.")],
    model: Annotated[str, typer.Option("--model", help="The model's name at that server.")],
    words: Words = None,
    samples: Annotated[int, typer.Option("--samples", help="Sentences for each pair, direction and type.")] = 10,
    per_request: Annotated[int, typer.Option("--per-request", help="Sentences asked for at once.")] = 15,
    pairs: Annotated[int | None, typer.Option("--pairs", help="Only so many pairs of words, spread evenly.")] = None,
    min_gap: Annotated[
        float, typer.Option("--min-gap", help="Points by which two shares must differ, more than.")
    ] = 10,
    prompts: Annotated[Path | None, typer.Option("--prompts", help="Folder with your type1.txt and type2.txt.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all requests.")] = 0,
    temperature: Annotated[float, typer.Option("--temperature", help="Of the sampling.")] = 1.0,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Requests under way at once.")] = 4,
    rate: Annotated[float, typer.Option("--rate", help="Requests a minute at most; 0 for no limit.")] = 0,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds to wait for a reply.")] = 120,
    key: Annotated[str, typer.Option("--key-variable", help="Environment variable with the key.")] = "OPENAI_API_KEY",
    price_in: Annotated[float | None, typer.Option("--price-in", help="Price of a million tokens in.")] = None,
    price_out: Annotated[float | None, typer.Option("--price-out", help="Price of a million tokens out.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate tokens, time and cost.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draft sentences with a language model, after saying what it will take.

    Every reply is kept with its prompt, seed and model. Rerunning asks only for what is missing.
    """
    from ..builder.draft import generation as step
    from ..builder.model_client import Server, ServerOptions
    from ..builder.steps import BuildFolder
    from ..runs.provenance import now

    plan = step.Plan(
        _words(words), samples, per_request, min_gap=min_gap, limit=pairs, seed=seed, temperature=temperature
    )
    build = BuildFolder(folder)
    requests = step.requests_of(plan, step.read_prompts(prompts), model)
    prices = (price_in, price_out) if price_in is not None and price_out is not None else None
    told = step.estimate(requests, step.replies_there(build), concurrency=concurrency, prices=prices)
    if not quiet or dry_run:
        cost = "unknown (give --price-in and --price-out)" if told.cost is None else f"{told.cost:,.2f}"
        typer.echo(
            f"{told.requests:,} requests to make, {told.already:,} already there; about {told.tokens_in:,} tokens in "
            f"and {told.tokens_out:,} out, {_duration(told.seconds)}; cost {cost}"
        )
    if dry_run:
        return
    if told.requests and not yes:
        if not sys.stdin.isatty():
            raise EquipoiseError("add --yes to start without being asked, or --dry-run for the estimate alone")
        if not typer.confirm("Start?"):
            return
    options = ServerOptions(requests_per_minute=rate, timeout_s=timeout, key_variable=key)
    with progress_bar(quiet=quiet) as progress:
        failures = step.generate(
            build,
            requests,
            Server(server, model, options),
            plan=plan,
            concurrency=concurrency,
            now=now,
            progress=progress,
        )
    for failure in failures[:3]:
        typer.echo(printable(f"note: {failure}"), err=True)
    _say(build, "generate", "requests", "drafts", quiet=quiet)
    if failures:
        raise EquipoiseError("some requests failed; run the same command again to make them")


@app.command("filter")
def filter_(
    folder: Folder,
    source: Annotated[
        str | None, typer.Option("--from", help="Filter a dataset (a name or path) instead of the drafts.")
    ] = None,
    words: Words = None,
    shortest: Annotated[int, typer.Option("--shortest", help="Words a sentence has at least.")] = 5,
    longest: Annotated[int, typer.Option("--longest", help="Words a sentence has at most.")] = 40,
    near: Annotated[
        int, typer.Option("--near", min=-1, max=2, help="Near-duplicates differ in so many words; -1: off.")
    ] = 2,
    strict_brackets: Annotated[bool, typer.Option("--strict-brackets", help="Reject drafts without brackets.")] = False,
    quiet: Quiet = False,
) -> None:
    """Keep the drafts that keep the rules, and make each one's counterpart with the other pronoun.

    Rejected drafts keep all their reasons in rejected.jsonl. Where "her" may be "him" or "his", the draft is set aside
    in aside.jsonl: nothing is guessed.
    """
    from ..builder.rules.filters import AMONG, OPEN, RULES, FilterOptions, filter_drafts
    from ..builder.rules.published import drafts_of_dataset, swapped
    from ..builder.steps import BuildFolder, Draft, Step, read_records, write_records
    from ..datasets import open_dataset
    from ..runs.provenance import now

    build, dataset = BuildFolder(folder), open_dataset(source) if source else None
    drafts = drafts_of_dataset(dataset) if dataset else read_records(build.drafts, Draft, made_by="generate")
    options = FilterOptions(shortest, longest, near, strict_brackets)
    with progress_bar(quiet=quiet) as progress:
        found = filter_drafts(drafts, _words(words), options, progress)
    for path, records in ((build.kept, found.kept), (build.rejected, found.rejected), (build.aside, found.aside)):
        write_records(path, records)
    reasons = {rule: found.failed[rule] for rule in (*RULES, *AMONG, OPEN) if found.failed[rule]}
    settings = {"words": f"{shortest} to {longest}", "near": near} | ({"from": dataset.name} if dataset else {})
    build.record(Step("filter", len(drafts), len(found.kept), reasons, settings, now()))
    if quiet:
        return
    rows = [
        (rule, f"{len(drafts) - found.failed[rule]:,}", f"{found.failed[rule]:,}") for rule in (*RULES, *AMONG, OPEN)
    ]
    print_out(plain_table(("rule", "pass", "fail"), rows))
    if dataset:
        typer.echo("\nour counterparts against the dataset's own:")
        head = ("pronoun", "pairs", "equal", "other", "set aside", "equal of those made")
        cells = [
            (one.pronoun, *(f"{count:,}" for count in (one.pairs, one.equal, one.other, one.aside)), f"{one.share:.2%}")
            for one in swapped(dataset)
        ]
        print_out(plain_table(head, cells))
    typer.echo()
    _say(build, "filter", "drafts", "sentences kept", quiet=quiet)


@app.command("survey")
def survey(
    folder: Folder,
    host: Annotated[str, typer.Option("--host", help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen at.")] = 8400,
    database: Database = None,
    test: Test = None,
    pass_share: Annotated[float, typer.Option("--pass", min=0, max=1, help="Share of the test to pass.")] = 0.8,
    enough: Annotated[int, typer.Option("--enough", help="People who must agree.")] = 4,
    most: Annotated[int, typer.Option("--most", help="People asked at most.")] = 10,
    agree: Annotated[float, typer.Option("--agree", help="Share that counts as agreement.")] = 0.75,
    quota: Annotated[int, typer.Option("--quota", help="Sentences a rater gets at most; 0 for all.")] = 0,
    twins: Annotated[bool, typer.Option("--twins", help="Ask about the swapped sentences too.")] = False,
    twin_gap: Annotated[
        int | None, typer.Option("--twin-gap", help="Sentences between twins for one rater; else never both.")
    ] = None,
    invite: Annotated[int, typer.Option("--invite", help="Print so many personal links.")] = 0,
    panel_code: Annotated[
        str, typer.Option("--panel-code", help="Let a panel in at /panel?PROLIFIC_PID=…; this code completes it.")
    ] = "",
    ask_locale: Annotated[
        bool, typer.Option("--ask-locale", help="Ask raters which country's English they speak.")
    ] = False,
    public: Annotated[
        str, typer.Option("--public", help="Address that raters see, such as https://survey.example.")
    ] = "",
    rate: Annotated[float, typer.Option("--rate", help="Requests a second one rater may make.")] = 10,
    quiet: Quiet = False,
) -> None:
    """Serve the survey to raters until interrupted; rerunning goes on where it was.

    The administrator's token is read from EQUIPOISE_ADMIN_TOKEN, or made and printed; /admin shows progress.
    """
    from ..builder.steps import BuildFolder, Sentence, read_records
    from ..builder.survey.database.survey import Asking, SurveyDatabase
    from ..builder.survey.entrance import read_test
    from ..builder.survey.web.app import SurveyOptions, serve, survey_app
    from ..builder.survey.web.guard import Limits
    from ..builder.verdict.consensus import Coverage

    build = BuildFolder(folder)
    sentences = read_records(build.kept, Sentence, made_by="filter")
    asking = Asking(Coverage(enough, most, agree), quota=quota, twin_gap=twin_gap)
    store = SurveyDatabase(database or build.database, asking)
    store.load(sentences, twins=twins)
    address = public.rstrip("/") or f"http://{host}:{port}"
    token = os.environ.get("EQUIPOISE_ADMIN_TOKEN") or secrets.token_urlsafe(24)
    for invitation in store.invite(invite):
        typer.echo(f"{address}/enter/{invitation}")
    if not quiet:
        own = "" if os.environ.get("EQUIPOISE_ADMIN_TOKEN") else f", token {token}"
        typer.echo(f"{len(sentences):,} sentences at {address}; administration at {address}/admin{own}", err=True)
    options = SurveyOptions(
        test=read_test(test),
        admin_token=token,
        pass_share=pass_share,
        panel_code=panel_code,
        asks_locale=ask_locale,
        secure_cookie=address.startswith("https://"),
        limits=Limits(
            rate=rate, burst=max(40, round(4 * rate)), doors_rate=rate / 4, doors_burst=max(20, round(4 * rate))
        ),
    )
    serve(survey_app(store, options), host=host, port=port)


@app.command("clean")
def clean(
    folder: Folder,
    database: Database = None,
    words: Words = None,
    name: Annotated[str, typer.Option("--name", help="Name of the dataset; by default the folder's.")] = "",
    licence: Annotated[str, typer.Option("--licence", help="Licence of the dataset, for its datasheet.")] = "",
    coherent: Annotated[float, typer.Option("--coherent", help="Kept if coherent by more than this share.")] = 0.75,
    meant: Annotated[float, typer.Option("--meant", help="A person is meant by at least this share.")] = 0.75,
    not_meant: Annotated[float, typer.Option("--not-meant", help="A person is not meant by less than this.")] = 0.25,
    quiet: Quiet = False,
) -> None:
    """Keep what people agree on, and write the dataset with its datasheet into FOLDER/dataset."""
    from ..builder.steps import BuildError, BuildFolder, Sentence, Step, read_records
    from ..builder.survey.database.survey import SurveyDatabase
    from ..builder.verdict import cleaning as step
    from ..builder.verdict.consensus import Thresholds
    from ..runs.provenance import now

    build, listed = BuildFolder(folder), _words(words)
    sentences = read_records(build.kept, Sentence, made_by="filter")
    if database is None and not (folder / "survey.sqlite").is_file():
        raise BuildError(f"{folder / 'survey.sqlite'} does not exist; run `equipoise build survey` first")
    store = SurveyDatabase(database or build.database)
    cleaned = step.clean(sentences, store.answers(), listed, Thresholds(coherent, meant, not_meant))
    settings = {"coherent over": coherent, "meant at least": meant, "not meant under": not_meant}
    build.record(Step("clean", len(sentences), len(cleaned.rows) // 2, dict(cleaned.reasons), settings, now()))
    if not cleaned.rows:
        raise BuildError(f"no sentence is left ({_reasons(dict(cleaned.reasons))}); nothing was written")
    called = name or folder.resolve().name
    sheet = step.Sheet(called, licence, listed, list(build.steps().values()), store.summary())
    files = step.write_dataset(folder / "dataset", cleaned, sheet)
    _say(build, "clean", "sentences", "pairs", quiet=quiet)
    if not quiet:
        typer.echo(f"{len(cleaned.rows):,} sentences are in {files[0]}; audit a model with them:")
        typer.echo(f"  equipoise audit --data {files[0]} --columns text=sample")


@app.command("simulate")
def simulate(
    folder: Folder,
    raters: Annotated[int, typer.Option("--raters", min=1, help="Raters at work at once.")] = 20,
    accuracy: Annotated[float, typer.Option("--accuracy", help="Share of questions a rater gets right.")] = 0.95,
    seconds: Annotated[float, typer.Option("--seconds", help="Median seconds a sentence takes.")] = 15,
    incoherent: Annotated[float, typer.Option("--incoherent", help="Share of sentences that are incoherent.")] = 0.03,
    pay: Annotated[float, typer.Option("--pay", help="Pay an hour.")] = 12.0,
    fee: Annotated[float, typer.Option("--fee", help="The panel's fee on top, as a share.")] = 0.33,
    test: Test = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all raters.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Let simulated raters answer the survey over HTTP, and tell how many answers and how much money it takes.

    They answer a copy, FOLDER/simulation.sqlite; `build clean --database` reads it like a real survey's.
    """
    from ..builder.steps import BuildFolder
    from ..builder.survey.rater_client import Profile
    from ..builder.survey.rehearsal import Cast, rehearse

    build = BuildFolder(folder)
    cast = Cast(raters, Profile(accuracy, seconds), incoherent, seed)
    with progress_bar(quiet=quiet) as progress:
        told = rehearse(build, cast, test=test, pay=pay, fee=fee, progress=progress)
    if quiet:
        return
    facts = [
        ("raters", f"{raters:,} entered, {told.passed:,} passed the entrance test"),
        ("answers", f"{told.bill.answers:,}, {told.bill.answers_a_sentence:.2f} a sentence"),
        ("settled", f"{told.settled:,} of {told.sentences:,} sentences"),
        ("kept", f"{told.kept:,} by the paper's criteria"),
        ("work", f"{told.bill.hours:,.1f} hours"),
        ("money", f"{told.bill.cost:,.2f} at {pay:g} an hour and a fee of {fee:.0%}"),
    ]
    for what, fact in facts:
        typer.echo(f"{what:<9} {fact}")
    if told.settled < told.sentences:
        typer.echo("note: too few raters passed to settle every sentence: at least the coverage's most are needed")


@app.command("stats")
def stats(
    data: Annotated[list[str], typer.Argument(help="Datasets to compare: names or paths.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the table and the maps.")] = Path("statistics"),
    model: Annotated[
        str, typer.Option("--embeddings", help="minilm (offline), st:NAME, a folder, http://host/v1#MODEL, or none.")
    ] = "minilm",
    clusters: Annotated[int, typer.Option("--clusters", help="Clusters of the silhouette.")] = 20,
    shown: Annotated[int, typer.Option("--shown", help="Sentences of each dataset on the maps.")] = 4000,
    run: Annotated[
        Path | None, typer.Option("--run", help="A run folder: how do scores of near-duplicates differ?")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of clusters and maps.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Compare datasets: size, vocabulary, diversity of embeddings, near-duplicates, and maps to look at."""
    from ..builder.compare.comparison import StatsOptions, compare, sensitivity

    options = StatsOptions(model, clusters, shown, seed, embeddings=model != "none")
    with progress_bar(quiet=quiet) as progress:
        found = compare(data, out, options, progress)
    if not quiet:
        rows = [
            ("sentences", *(f"{one.size:,}" for one in found)),
            ("words, as the paper counts", *(f"{one.words_paper:,}" for one in found)),
            ("  deviation of frequency", *(f"{one.deviation_paper:,.2f}" for one in found)),
            ("words", *(f"{one.words:,}" for one in found)),
            ("  deviation of frequency", *(f"{one.deviation:,.2f}" for one in found)),
            ("pair distance deviation", *(_number(one.distance_deviation) for one in found)),
            (f"silhouette ({clusters} clusters)", *(_number(one.silhouette) for one in found)),
            ("near-duplicate pairs", *(f"{one.near_pairs:,}" for one in found)),
        ]
        print_out(plain_table(("", *(one.name for one in found)), rows))
        typer.echo(f"\nThe table{' and the maps are' if options.embeddings else ' is'} in {out}/")
    for one in sensitivity(run) if run else []:
        what = f"{one.pairs:,} near-duplicate pairs, U differs by {one.mean:.3f} on average, {one.largest:.3f} at most"
        typer.echo(printable(f"{one.dataset}, {one.task}: {what}"))


def _words(path: Path | None) -> WordList:
    from ..builder.wordlist import occupations, read_wordlist

    return read_wordlist(path) if path else occupations()


def _say(build: BuildFolder, name: str, came: str, went: str, *, quiet: bool) -> None:
    """Print what a step did, as it was written down."""
    if quiet:
        return
    step: Step = build.steps()[name]
    why = _reasons(step.reasons)
    typer.echo(f"{step.came_in:,} {came} in, {step.went_out:,} {went} out" + (f" ({why})" if why else ""))


def _reasons(reasons: Any) -> str:
    return "; ".join(f"{reason} {count:,}" for reason, count in reasons.items() if count)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:,.0f} minutes" if seconds >= 90 else f"{seconds:,.0f} seconds"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.5f}"
