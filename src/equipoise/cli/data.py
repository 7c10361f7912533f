"""`equipoise data`: which datasets there are, what is in them, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .audit import Quiet, _column_map
from .console import clear_errors, print_out, progress_bar

app = typer.Typer(help="List, show, check and fetch datasets.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_datasets() -> None:
    """List the datasets that have a name, and whether they are here."""
    with clear_errors():
        from rich.table import Table

        from ..datasets import CARDS
        from ..datasets.files import find_dataset_folder
        from ..records import DatasetError

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("name", "what", "licence", "where"):
            table.add_column(column)
        for card in CARDS.values():
            try:
                where = str(find_dataset_folder(card.name)) if card.files else "in the package"
            except DatasetError:
                where = f"equipoise data fetch {card.name}"
            table.add_row(card.name, card.title, card.licence, where)
        print_out(table)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A dataset's name or path.")],
    columns: Annotated[list[str] | None, typer.Option("--columns", help="Column map of a table.")] = None,
) -> None:
    """Show what a dataset holds: its source and licence, its counts, and a few sentences."""
    with clear_errors():
        from ..datasets import CARDS, open_dataset
        from ..datasets.dataset import count_by

        dataset = open_dataset(name, columns=_column_map(columns or []))
        card = CARDS.get(name)
        typer.echo(f"{dataset.name}: {card.title if card else dataset.source}")
        if card:
            typer.echo(f"  licence   {card.licence} ({card.licence_url})\n  home      {card.home}")
        typer.echo(f"  examples  {len(dataset.examples):,} in {dataset.pairs:,} pairs; sha256 {dataset.sha256[:16]}…")
        for group in ("type", "gender", "form", "stereotype", "position"):
            counts = {key: count for key, count in count_by(dataset.examples, group).items() if key}
            if counts:
                typer.echo(f"  {group:<9} {', '.join(f'{key} {count:,}' for key, count in counts.items())}")
        typer.echo(f"  faults    {len(dataset.faults):,} (equipoise data check {name})")
        step = max(1, len(dataset.examples) // 4)
        for example in dataset.examples[::step][:4]:
            gold = "either" if example.gold is None else example.candidates[example.gold]
            typer.echo(f"  e.g.      {example.text}  [{' | '.join(example.candidates)}: {gold}]")


@app.command("check")
def check(
    path: Annotated[str, typer.Argument(help="A dataset's name or path.")],
    columns: Annotated[list[str] | None, typer.Option("--columns", help="Column map of a table.")] = None,
    every: Annotated[bool, typer.Option("--all", help="List every fault, not the first five of a kind.")] = False,
) -> None:
    """Check a dataset, and say what is wrong with it, where, and what is done about it."""
    with clear_errors():
        from ..datasets import open_dataset

        dataset = open_dataset(path, columns=_column_map(columns or []))
        typer.echo(f"{dataset.name}: {len(dataset.examples):,} examples, {dataset.pairs:,} pairs can be compared")
        kinds: dict[str, list[str]] = {}
        for fault in dataset.faults:
            kinds.setdefault(fault.kind, []).append(f"{fault.where}: {fault.what}; {fault.handling}")
        for kind, lines in kinds.items():
            typer.echo(f"\n{kind} ({len(lines)})")
            for line in lines if every else lines[:5]:
                typer.echo(f"  {line}")
            if len(lines) > 5 and not every:
                typer.echo(f"  … and {len(lines) - 5} more (--all lists them)")
        if not kinds:
            typer.echo("no faults found")


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="A dataset's name.")],
    to: Annotated[Path | None, typer.Option("--to", help="Folder to put it in; by default the cache.")] = None,
    quiet: Quiet = False,
) -> None:
    """Fetch a dataset from its public home, at a pinned revision, and check it; its licence comes first."""
    with clear_errors():
        from ..datasets import card_of
        from ..datasets import fetch as fetch_files

        card = card_of(name)
        if not card.files:
            typer.echo(f"{name} is in the package; there is nothing to fetch")
            return
        typer.echo(f"{card.title}\n  licence: {card.licence} ({card.licence_url})\n  from:    {card.home}")
        with progress_bar(quiet=quiet) as progress:
            folder = fetch_files(card, to=to, report=progress)
        typer.echo(f"{name} is in {folder}")
