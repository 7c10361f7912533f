"""`equipoise tune`: train an adapter for balance."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ..options import TuningOptions, options_of
from .console import print_out, progress_bar, tell
from .parameters import Quiet, with_options

TUNING = options_of(TuningOptions)


@with_options(*TUNING, table=TUNING, unset=False)
def tune(
    model: Annotated[str, typer.Argument(help="smollm2, a folder with safetensors weights, or a hub's NAME.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the adapter and, in training/, its curves.")],
    data: Annotated[
        str,
        typer.Option(
            "--data", help="grammar (our own sets, CC0), synthbias, or the path of a table or of a built dataset."
        ),
    ] = "grammar",
    sets: Annotated[int, typer.Option("--sets", help="Answerable sets in a step; half as many are unanswerable.")] = 16,
    markers: Annotated[bool, typer.Option(help="Train on sets with identity markers, too.")] = True,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")] = "auto",
    quiet: Quiet = False,
    **choices: Any,
) -> None:
    """Tune a model for balance. The loss is task loss + weight x UCerF loss + a leash to the base model.

    Rerunning the same command continues where it was interrupted. Evaluation datasets are never trained on.
    """
    from ..media.terminal import draw
    from ..report import write_training_page
    from ..topics.training import before_and_after
    from ..training.objective import TrainingError
    from ..training.tune_plan import Plan
    from ..training.tuning import tune as run_tune

    balance = {"answerable": sets, "unanswerable": sets // 2, "checkpoint_every": choices["validate_every"]}
    plan = Plan(**{**choices, **balance})
    folder = out / "training"
    try:
        with progress_bar(quiet=quiet) as progress:
            tuned = run_tune(model, data=data, out=out, plan=plan, markers=markers, device=device, progress=progress)
    except TrainingError:
        if (folder / "report.json").is_file():
            tell(f"{write_training_page(folder)[0]} shows the learning curves", err=True)
        raise
    page, curves = write_training_page(folder)
    if quiet:
        return
    for table in before_and_after(curves):
        print_out(draw(table))
    typer.echo(f"Kept step {tuned.step}.")
    for fault in tuned.faults:
        tell(f"note: at the last step {fault}")
    words = [model, "--adapter", str(out)] if plan.method == "lora" else [str(out)]
    tell(f"{out}/ (learning curves: {page}; `equipoise audit {shlex.join(words)}` audits the result)")
