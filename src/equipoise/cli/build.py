"""`equipoise build`: a dataset of your own, from a word list and a language model to an audit."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..records import EquipoiseError
from .console import plain_table, print_out, progress_bar, tell
from .criteria import Coherent, Meant, NotMeant, PapersCriteria, criteria_of
from .parameters import Quiet
from .study import print_near_duplicates

if TYPE_CHECKING:
    from ..builder.steps import BuildFolder, Step
    from ..builder.wordlist import WordList
    from ..datasets.markers import Attribute
    from ..datasets.pronouns import PronounSet

app = typer.Typer(
    help="Build a dataset like SynthBias. The steps are generate, filter, survey and clean.",
    epilog="One folder holds a build: each step reads what the step before wrote. `simulate` estimates what a survey "
    "costs; audit the result with `equipoise audit --data FOLDER/dataset/NAME.csv`.",
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Argument(help="The build folder; created if it does not exist.")]
Words = Annotated[
    Path | None,
    typer.Option("--words", help="Table with columns word, side (male|female), share (of women, %); else the 40 jobs."),
]
Database = Annotated[
    str | None,
    typer.Option("--database", help="sqlite:///FILE or postgresql://USER@HOST/NAME; by default FOLDER/survey.sqlite."),
]
Pronouns = Annotated[
    str,
    typer.Option("--pronouns", help="Sets of pronouns, such as he,she,they,xe or ve/ver/vis/verself; default he,she."),
]
Markers = Annotated[
    Path | None, typer.Option("--markers", help="TOML file of identity markers; by default those of WinoIdentity.")
]


@app.command("generate")
def generate(
    folder: Folder,
    server: Annotated[str, typer.Option("--server", help="An OpenAI-compatible server, such as http://host:8000/v1.")],
    model: Annotated[str, typer.Option("--model", help="Name of the model at that server.")],
    words: Words = None,
    samples: Annotated[int, typer.Option("--samples", help="Sentences per pair, direction and type.")] = 10,
    per_request: Annotated[int, typer.Option("--per-request", help="Sentences per request.")] = 15,
    pairs: Annotated[int | None, typer.Option("--pairs", help="Use only N pairs of words, spread evenly.")] = None,
    min_gap: Annotated[float, typer.Option("--min-gap", help="Minimum difference of two shares, in points.")] = 10,
    prompts: Annotated[
        Path | None,
        typer.Option("--prompts", help="Folder with type1.txt and type2.txt, or the text of the UCerF paper."),
    ] = None,
    pronouns: Pronouns = "he,she",
    identity: Annotated[
        str, typer.Option("--identity", help="Mark the target with every identity marker of these attributes.")
    ] = "",
    markers: Markers = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all requests.")] = 0,
    temperature: Annotated[float, typer.Option("--temperature", help="Sampling temperature.")] = 1.0,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Requests at the same time.")] = 4,
    rate: Annotated[float, typer.Option("--rate", help="Maximum requests per minute; 0 for no limit.")] = 0,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds per request, in total.")] = 120,
    wait: Annotated[float, typer.Option("--wait", help="Maximum seconds to wait for a busy server, in total.")] = 3600,
    retry_refused: Annotated[bool, typer.Option("--retry-refused", help="Ask refused prompts again.")] = False,
    key: Annotated[
        str,
        typer.Option(
            "--key-variable",
            help="Environment variable with the key; by default EQUIPOISE_API_KEY, or else OPENAI_API_KEY.",
        ),
    ] = "",
    price_in: Annotated[float | None, typer.Option("--price-in", help="Price of a million tokens in.")] = None,
    price_out: Annotated[float | None, typer.Option("--price-out", help="Price of a million tokens out.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Estimate tokens, time and cost, and stop.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draft sentences with a language model, after an estimate of the cost.

    Every reply is kept with its prompt, seed and model. Rerunning asks only for what is missing. Prompts that the
    server refuses are recorded and passed over.
    """
    from ..builder.draft import generation as step
    from ..builder.draft.prompt_files import read_prompts
    from ..builder.draft.replies import ReplyLog
    from ..builder.steps import BuildFolder
    from ..runs.manifest import now
    from ..scoring.server.api import Api
    from ..scoring.server.http_client import Client, Limits

    limits = Limits(concurrency, timeout, wait_budget=wait, requests_per_minute=rate)
    client = Client(server, limits, key_variable=key)  # first of all: it may refuse the address

    marked = tuple(_attributes(identity, markers)) if identity else ("",)
    plan = step.Plan(
        words=_words(words),
        samples=samples,
        samples_a_request=per_request,
        min_gap=min_gap,
        limit=pairs,
        seed=seed,
        temperature=temperature,
        pronouns=_pronouns(pronouns),
        markers=marked,
    )
    build = BuildFolder(folder)
    requests = step.requests_of(plan, read_prompts(prompts), model)
    prices = (price_in, price_out) if price_in is not None and price_out is not None else None
    log = ReplyLog(build.generations)
    estimate = step.estimate(requests, log, concurrency=concurrency, prices=prices, retry_refused=retry_refused)
    if not quiet or dry_run:
        cost = "unknown (give --price-in and --price-out)" if estimate.cost is None else f"{estimate.cost:,.2f}"
        typer.echo(
            f"{estimate.requests:,} requests to send, {estimate.already:,} done; about {estimate.tokens_in:,} tokens "
            f"in and {estimate.tokens_out:,} out, {_duration(estimate.seconds)}; cost {cost}"
        )
    if dry_run:
        return
    if estimate.requests and not yes:
        if not sys.stdin.isatty():
            raise EquipoiseError("add --yes to start without being asked, or --dry-run for the estimate alone")
        if not typer.confirm("Start?"):
            return
    with progress_bar(quiet=quiet) as progress:
        outcome = step.generate(
            build,
            requests,
            Api(client, model),
            plan=plan,
            concurrency=concurrency,
            now=now,
            progress=progress,
            retry_refused=retry_refused,
        )
    for note in [*outcome.notes, *outcome.failures[:3]]:
        tell(f"note: {note}", err=True)
    if outcome.refused:
        typer.echo(f"note: {outcome.refused:,} prompts were refused; --retry-refused asks them again", err=True)
    _say(build, "generate", "requests", "drafts", quiet=quiet)
    if outcome.failures:
        raise EquipoiseError("some requests failed; run the same command again to send them")


@app.command("filter")
def filter_(
    folder: Folder,
    source: Annotated[
        str | None, typer.Option("--from", help="Filter a dataset (a name or path) instead of the drafts.")
    ] = None,
    words: Words = None,
    shortest: Annotated[int, typer.Option("--shortest", help="Minimum number of words in a sentence.")] = 5,
    longest: Annotated[int, typer.Option("--longest", help="Maximum number of words in a sentence.")] = 40,
    near: Annotated[int, typer.Option("--near", min=0, max=2, help="Maximum number of words that differ.")] = 2,
    keep_near: Annotated[
        bool, typer.Option("--keep-near-duplicates", help="Keep near-duplicates, as the UCerF paper does.")
    ] = False,
    pronoun_rule: Annotated[
        Literal["after-both", "not-before-both"],
        typer.Option(
            "--pronoun-rule", help="after-both: pronoun after both people; not-before-both: the paper's rule."
        ),
    ] = "after-both",
    pronouns: Pronouns = "",
    markers: Markers = None,
    strict_brackets: Annotated[bool, typer.Option("--strict-brackets", help="Reject drafts without brackets.")] = False,
    quiet: Quiet = False,
) -> None:
    """Keep the drafts that pass the rules, and make the counterpart of each with the other pronouns.

    Rejected drafts keep all their reasons in rejected.jsonl. Drafts whose counterpart is not certain ("her" can be
    "him" or "his") are set aside in aside.jsonl.
    """
    from ..builder.rules import filters as step
    from ..builder.rules.variants import swapped
    from ..builder.steps import BuildFolder, Draft, Step, as_lines, read_records
    from ..datasets import open_dataset
    from ..runs.manifest import now

    build, dataset = BuildFolder(folder), open_dataset(source) if source else None
    drafts = step.drafts_of_dataset(dataset) if dataset else read_records(build.drafts, Draft, made_by="generate")
    generated = build.steps()["generate"].settings if "generate" in build.steps() and not dataset else {}
    options = step.FilterOptions(
        shortest=shortest,
        longest=longest,
        near_words=-1 if keep_near else near,
        brackets_required=strict_brackets,
        pronoun_rule=pronoun_rule,
        pronouns=_pronouns(pronouns or generated.get("pronouns", "he,she")),
        markers=_attributes("", markers) if any(draft.marker for draft in drafts) else {},
    )
    with progress_bar(quiet=quiet) as progress:
        result = step.filter_drafts(drafts, _words(words), options, progress)
    reasons = {rule: result.failed[rule] for rule in (*step.RULES, *step.AMONG, step.OPEN) if result.failed[rule]}
    settings: dict[str, Any] = {"words": f"{shortest} to {longest}", "near": "kept" if keep_near else near}
    settings |= {"pronoun": pronoun_rule} | ({"from": dataset.name} if dataset else {})
    files = {build.kept.name: as_lines(result.kept), build.rejected.name: as_lines(result.rejected)}
    log = Step("filter", len(drafts), len(result.kept), reasons, settings, now())
    build.commit(log, {**files, build.aside.name: as_lines(result.aside)})
    if quiet:
        return
    rows = [
        (rule, f"{len(drafts) - result.failed[rule]:,}", f"{result.failed[rule]:,}")
        for rule in (*step.RULES, *step.AMONG, step.OPEN)
    ]
    print_out(plain_table(("rule", "pass", "fail"), rows))
    if dataset:
        typer.echo("\nour counterparts against those of the dataset:")
        head = ("pronoun", "pairs", "equal", "other", "set aside", "equal of those made")
        cells = [
            (row.pronoun, *(f"{count:,}" for count in (row.pairs, row.equal, row.other, row.aside)), f"{row.share:.2%}")
            for row in swapped(dataset)
        ]
        print_out(plain_table(head, cells))
    typer.echo(f"\n{len(drafts):,} drafts in, {len(result.kept):,} sentences out")


@app.command("clean")
def clean(
    folder: Folder,
    database: Database = None,
    words: Words = None,
    name: Annotated[str, typer.Option("--name", help="Name of the dataset; by default the folder's.")] = "",
    licence: Annotated[str, typer.Option("--licence", help="Licence of the dataset, for its datasheet.")] = "",
    criteria: PapersCriteria = None,
    coherent: Coherent = None,
    meant: Meant = None,
    not_meant: NotMeant = None,
    allow_unsettled: Annotated[
        bool, typer.Option("--allow-unsettled", help="Judge sentences that too few people have read, too.")
    ] = False,
    people_only: Annotated[bool, typer.Option("--people-only", help="Leave simulated answers out.")] = False,
    quiet: Quiet = False,
) -> None:
    """Keep the settled sentences that raters agree on, and write the dataset and its datasheet to FOLDER/dataset.

    The criteria are those with which the survey began; others can be given, but the survey did not ask by them.
    """
    from dataclasses import replace

    from ..builder.steps import DATASET, BuildError, BuildFolder, Sentence, Step, read_records
    from ..builder.survey.database.survey import SurveyDatabase
    from ..builder.verdict import cleaning as step
    from ..builder.verdict.summary import rows_of, summarise
    from ..builder.verdict.votes import PERSON
    from ..runs.manifest import now

    build, listed = BuildFolder(folder), _words(words)
    sentences = read_records(build.kept, Sentence, made_by="filter")
    store = SurveyDatabase(build.made_database(database))
    chosen = store.asking.rule
    rules = step.CleanOptions(
        replace(chosen, criteria=criteria_of(chosen, criteria, coherent, meant, not_meant)), allow_unsettled
    )
    if rules.rule != chosen and not quiet:
        typer.echo(
            "note: these are not the criteria by which the survey asked; some sentences may not be settled", err=True
        )
    answers = [answer for answer in store.results.answers() if not people_only or answer.origin == PERSON]
    raters = [rater for rater in store.raters.all() if not people_only or rater.origin == PERSON]
    cleaned = step.clean(sentences, answers, rules)
    limits, coverage = rules.rule.criteria, rules.rule.coverage
    settings: dict[str, Any] = {"raters per sentence": f"{coverage.enough} to {coverage.most}"}
    settings |= {"coherent": f"{'at least' if limits.inclusive else 'over'} {limits.coherent:g}"}
    settings |= {"meant": f"at least {limits.meant:g}"}
    settings |= {"not meant": f"{'at most' if limits.inclusive else 'under'} {limits.not_meant:g}"}
    log = Step("clean", len(sentences), len(cleaned.kept), dict(cleaned.reasons), settings, now())
    if cleaned.unsettled and not quiet:
        ids = ", ".join(cleaned.unsettled[:5]) + (", …" if len(cleaned.unsettled) > 5 else "")
        fate = "kept if their votes allow" if allow_unsettled else "left out"
        typer.echo(f"note: {len(cleaned.unsettled):,} sentences are not settled ({fate}): {ids}", err=True)
    if not cleaned.kept:
        build.record(log)
        raise BuildError(f"no sentence is left ({_reasons(dict(cleaned.reasons))}); nothing was written")
    rows, simulated = rows_of(answers)
    summary = summarise(rows, raters, store.results.counts(), simulated, rules.rule.questions)
    steps = {**build.steps(), log.name: log}
    sheet = step.Sheet(name or folder.resolve().name, licence, listed, list(steps.values()), summary, rules)
    files = {f"{DATASET}{file}": text for file, text in step.dataset_files(cleaned, sheet).items()}
    build.commit(log, files)
    table = folder / next(iter(files))
    if cleaned.simulated:
        typer.echo(step.SIMULATED_LINE)
    _say(build, "clean", "sentences", "pairs" if cleaned.only_pairs else "sets", quiet=quiet)
    if not quiet:
        total = sum(len(sentence.versions()) for sentence, _ in cleaned.kept)
        columns = " --columns text=sample" if cleaned.only_pairs else " --columns group:marker=marker"
        columns = "" if not cleaned.only_pairs and not any(s.marker for s, _ in cleaned.kept) else columns
        tell(f"{total:,} sentences are in {table}; audit a model with them:")
        tell(f"  equipoise audit --data {quote(str(table))}{columns}")


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
        Path | None, typer.Option("--run", help="Run folder: show how scores differ between near-duplicates.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of clusters and maps.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Compare datasets: size, vocabulary, diversity of embeddings, near-duplicates, and maps to look at."""
    from ..builder.compare.sensitivity import near_duplicates
    from ..builder.compare.statistics import StatsOptions, compare
    from ..runs.run import Run

    options = StatsOptions(model, clusters, shown, seed, embeddings=model != "none")
    with progress_bar(quiet=quiet) as progress:
        rows = compare(data, out, options, progress)
    if not quiet:
        lines = [
            ("sentences", *(f"{row.size:,}" for row in rows)),
            ("words, as the paper counts", *(f"{row.words_paper:,}" for row in rows)),
            ("  deviation of frequency", *(f"{row.deviation_paper:,.2f}" for row in rows)),
            ("words", *(f"{row.words:,}" for row in rows)),
            ("  deviation of frequency", *(f"{row.deviation:,.2f}" for row in rows)),
            ("pair distance deviation", *(_number(row.distance_deviation) for row in rows)),
            (f"silhouette ({clusters} clusters)", *(_number(row.silhouette) for row in rows)),
            ("near-duplicate pairs", *(f"{row.near_pairs:,}" for row in rows)),
        ]
        print_out(plain_table(("", *(row.name for row in rows)), lines))
        typer.echo()
        tell(f"The table{' and the maps are' if options.embeddings else ' is'} in {out}/")
    if run:
        print_near_duplicates(near_duplicates(Run(run)))


def _words(path: Path | None) -> WordList:
    from ..builder.wordlist import occupations, read_wordlist

    return read_wordlist(path) if path else occupations()


def _pronouns(names: str) -> tuple[PronounSet, ...]:
    from ..datasets.pronouns import pronoun_sets

    return pronoun_sets(names.split(","))


def _attributes(names: str, path: Path | None) -> dict[str, Attribute]:
    """Return the attribute of each marker of the chosen attributes (all, without names)."""
    from ..datasets.markers import choose, read_markers

    attributes = read_markers(path)
    chosen = choose(attributes, names.split(",") if names else list(attributes), crossed=False)
    return {marker.word: attribute for attribute in chosen for marker in attribute.markers}


def _say(build: BuildFolder, name: str, came: str, went: str, *, quiet: bool) -> None:
    """Print the log of a step."""
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
