"""`equipoise tune`: train an adapter for balance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .audit import Quiet
from .console import print_out, printable, progress_bar


def tune(
    model: Annotated[str, typer.Argument(help="smollm2, a folder with safetensors weights, or a hub's NAME.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the adapter and, in training/, its curves.")],
    data: Annotated[
        str,
        typer.Option(
            "--data", help="grammar (our own sets, CC0), synthbias, or the path of a table or of a built dataset."
        ),
    ] = "grammar",
    target: Annotated[
        Literal["base", "labels"],
        typer.Option("--target", help="base (the model's own answers, averaged within sets) or labels (of the data)."),
    ] = "base",
    weight: Annotated[float, typer.Option("--weight", help="Weight of the UCerF loss; 0 trains the task only.")] = 1.0,
    leash: Annotated[
        float, typer.Option("--leash", help="Weight of the divergence from the base on neutral text.")
    ] = 1.0,
    temperature: Annotated[float, typer.Option("--temperature", help="Softness of the sign in the UCerF loss.")] = 0.5,
    estimator: Annotated[
        str, typer.Option("--estimator", help="perplexity, entropy, renyi, fisher-rao, …")
    ] = "perplexity",
    parity: Annotated[
        Literal["certainty", "signed", "both"], typer.Option("--parity", help="What to balance in unanswerable sets.")
    ] = "both",
    steps: Annotated[int, typer.Option("--steps", help="Maximum number of steps.")] = 200,
    sets: Annotated[int, typer.Option("--sets", help="Answerable sets in a step; half as many are unanswerable.")] = 16,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", help="By default 5e-4 for LoRA and 1e-4 for all weights.")
    ] = None,
    rank: Annotated[int, typer.Option("--rank", help="Rank of the LoRA adapter.")] = 16,
    method: Annotated[
        Literal["lora", "full"], typer.Option("--method", help="lora (an adapter) or full (all weights).")
    ] = "lora",
    markers: Annotated[bool, typer.Option(help="Train on sets with identity markers, too.")] = True,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sentences, the split and the order.")] = 0,
    validate_every: Annotated[int, typer.Option("--validate-every", help="Steps between validations.")] = 25,
    validation_sets: Annotated[
        int, typer.Option("--validation-sets", help="Maximum number of sets to validate on, spread evenly.")
    ] = 256,
    outside_sets: Annotated[
        int, typer.Option("--outside-sets", help="Maximum number of built-in sets in each validation; 0 for all.")
    ] = 0,
    patience: Annotated[int, typer.Option("--patience", help="Stop after this many validations without a gain.")] = 4,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")] = "auto",
    quiet: Quiet = False,
) -> None:
    """Tune a model for balance. The loss is task loss + weight x UCerF loss + a leash to the base model.

    Rerunning the same command continues where it was interrupted. Evaluation datasets are never trained on.
    """
    from ..media.terminal import draw
    from ..report import write_training_page
    from ..topics.training import before_and_after
    from ..training.objective import TrainingError
    from ..training.plan import Plan
    from ..training.tuning import tune as run_tune

    plan = Plan(
        steps=steps,
        answerable=sets,
        unanswerable=sets // 2,
        target=target,
        weight=weight,
        temperature=temperature,
        estimator=estimator,
        parity=parity,
        leash=leash,
        learning_rate=learning_rate or 0.0,
        rank=rank,
        method=method,
        seed=seed,
        validate_every=validate_every,
        checkpoint_every=validate_every,
        validation_sets=validation_sets,
        outside_sets=outside_sets,
        patience=patience,
    )
    folder = out / "training"
    try:
        with progress_bar(quiet=quiet) as progress:
            tuned = run_tune(model, data=data, out=out, plan=plan, markers=markers, device=device, progress=progress)
    except TrainingError:
        if (folder / "report.json").is_file():
            typer.echo(printable(f"{write_training_page(folder)[0]} shows the learning curves"), err=True)
        raise
    page, curves = write_training_page(folder)
    if quiet:
        return
    for table in before_and_after(curves):
        print_out(draw(table))
    typer.echo(f"Kept step {tuned.step}.")
    for fault in tuned.faults:
        typer.echo(printable(f"note: at the last step {fault}"))
    option = "--adapter" if method == "lora" else ""
    where = f"audit {model} {option} {out}" if option else f"audit {out}"
    typer.echo(printable(f"{out}/ (learning curves: {page}; `equipoise {where}` audits the result)"))
