"""`equipoise data`: which datasets there are, what is in them, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from ..options import DatasetOptions
from ..records.scripts import printable
from .console import listing, print_out, progress_bar, tell
from .parameters import Quiet, with_options

app = typer.Typer(help="List, show, check, fetch and export datasets.", rich_markup_mode=None)

Name = Annotated[str, typer.Argument(help="A dataset's name or path.")]


@app.command("list")
def list_datasets() -> None:
    """List the named datasets, plug-ins included, and where they are on this machine."""
    from ..catalog import names, summary
    from ..datasets import CARDS, DATASETS

    rows = [(card.name, card.title, card.licence, _where(card.name)) for card in CARDS.values()]
    plugins = [name for name in names(DATASETS, kind="dataset") if name not in CARDS]
    rows += [(name, summary(name, DATASETS, kind="dataset"), "see the plug-in", "plug-in") for name in plugins]
    print_out(listing(("name", "what it is", "licence", "where"), rows))


def _where(name: str) -> str:
    """Return where a dataset is on this machine, or how to get it; one with markers is where its base is."""
    from ..datasets import CARDS
    from ..datasets.downloads import find_dataset_folder
    from ..datasets.identity import NAME as IDENTITY
    from ..records import DatasetError

    if name == IDENTITY:
        return f"made from {DatasetOptions.base}: {_where(DatasetOptions.base)}"
    try:
        return str(find_dataset_folder(name)) if CARDS[name].files else "in the package"
    except DatasetError:
        return f"to get it: equipoise data fetch {name}"


@app.command("show")
@with_options("columns", "base")
def show(name: Name, **choices: Any) -> None:
    """Show a dataset's source, licence and counts, and a few sentences."""
    from ..datasets import CARDS, open_dataset
    from ..datasets.dataset import count_by
    from ..datasets.identity import NAME as IDENTITY
    from ..datasets.identity import identity_counts

    dataset = open_dataset(name, DatasetOptions(**choices))
    card = CARDS.get(name)
    facts = [("licence", f"{card.licence} ({card.licence_url})"), ("home", card.home)] if card else []
    facts.append(("examples", f"{len(dataset.examples):,} in {dataset.sets:,} sets; sha256 {dataset.sha256[:16]}…"))
    for group in ("type", "gender", "form", "stereotype", "position"):
        counts = {key: count for key, count in count_by(dataset.examples, group).items() if key}
        if counts:
            facts.append((group, ", ".join(f"{key} {count:,}" for key, count in counts.items())))
    if name == IDENTITY:
        facts += identity_counts(dataset)
    given = f" --base {quote(choices['base'])}" if "base" in choices else ""
    given += "".join(
        f" --columns {quote(f'{ours}={theirs}')}" for ours, theirs in (choices.get("columns") or {}).items()
    )
    lists = f" (equipoise data check {quote(name)}{given})" if dataset.faults else ""
    facts.append(("faults", f"{len(dataset.faults):,}{lists}"))
    step = max(1, len(dataset.examples) // 4)
    for example in dataset.examples[::step][:4]:
        gold = "either" if example.gold is None else example.candidates[example.gold]
        facts.append(("e.g.", f"{' '.join(example.text.split())} ({' | '.join(example.candidates)}: {gold})"))
    tell(f"{dataset.name}: {card.title if card else dataset.source}")
    for what, fact in facts:
        tell(f"  {what:<10} {fact}")


@app.command("check")
@with_options("columns", "base")
def check(
    path: Name,
    every: Annotated[bool, typer.Option("--all", help="List every fault, not the first five of a kind.")] = False,
    **choices: Any,
) -> None:
    """Check a dataset: list its faults, where they are, and how the loader handles them."""
    from ..datasets import open_dataset
    from ..datasets.dataset import nested_candidates

    dataset = open_dataset(path, DatasetOptions(**choices))
    sets = "1 set" if dataset.sets == 1 else f"{dataset.sets:,} sets"
    examples = "1 example" if len(dataset.examples) == 1 else f"{len(dataset.examples):,} examples"
    counts = f"{examples}, {sets} can be compared"
    tell(f"{dataset.name}: {counts}")
    kinds: dict[str, list[str]] = {}
    for fault in (*dataset.faults, *nested_candidates(dataset.examples)):
        kinds.setdefault(fault.kind, []).append(f"{fault.where}: {fault.what}; {fault.handling}")
    for kind, lines in kinds.items():
        typer.echo(f"\n{kind} ({len(lines):,})")
        for line in lines if every else lines[:5]:
            tell(f"  {line}")
        if len(lines) > 5 and not every:
            typer.echo(f"  … and {len(lines) - 5:,} more (--all lists them)")
    if not kinds:
        typer.echo("no faults found")


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="A dataset's name.")],
    to: Annotated[Path | None, typer.Option("--to", help="Folder to put it in; by default the cache.")] = None,
    quiet: Quiet = False,
) -> None:
    """Show a dataset's licence, then fetch the data from their public home at a pinned revision, and check them."""
    from ..datasets import card_of
    from ..datasets import fetch as fetch_files
    from ..datasets.identity import NAME as IDENTITY

    def say(text: str) -> None:
        if not quiet:
            typer.echo("\n".join(map(printable, text.splitlines())))

    card = card_of(name)
    if name == IDENTITY:
        say(f"{name} is {_where(name)}")
        return
    if not card.files:
        say(f"{name} is in the package; there is nothing to fetch")
        return
    say(f"{card.title}\n  licence: {card.licence} ({card.licence_url})\n  from:    {card.home}")
    with progress_bar(quiet=quiet) as progress:
        folder = fetch_files(card, to=to, report=progress)
    say(f"{name} is in {folder}")


@app.command("export")
@with_options("where", "neutral", "limit", "base", "augment", "attributes", "columns")
def export(
    name: Name,
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")],
    private: Annotated[
        bool, typer.Option("--private", help="Write a copy for your own use, if the licence forbids sharing it.")
    ] = False,
    quiet: Quiet = False,
    **choices: Any,
) -> None:
    """Write a dataset as CSV, JSON lines, Parquet and WinoBias's text format, with a card that says where it is from.

    If the licence forbids sharing changed copies, --private is required.
    """
    from ..datasets import open_dataset
    from ..exports.dataset_files import export_dataset

    dataset = open_dataset(name, DatasetOptions(**choices))
    made_with = {name: value for name, value in choices.items() if name != "columns"}
    files = export_dataset(dataset, out, private=private, made_with=made_with)
    if not quiet:
        tell(f"{len(dataset.examples):,} examples of {dataset.name} ({dataset.licence or 'yours'}):")
        for file in files:
            tell(f"  {file}")


@app.command("make")
def make_data(
    documents: Annotated[Path, typer.Argument(help="A text file, a folder of them (.txt, .md, .eml), or a table.")],
    slots: Annotated[Path, typer.Option("--slots", help="A TOML file with the question and the groups, as above.")],
    out: Annotated[Path, typer.Option("--out", help="The template file to write.")] = Path("made.toml"),
    column: Annotated[str, typer.Option("--column", help="Of a table: the column that has the texts.")] = "",
    quiet: Quiet = False,
) -> None:
    """Make counterfactual versions of your own documents: each about every group, in a file that --data reads.

    Names, titles and pronouns are found by lists and rules on this machine; no text leaves it. What the words leave
    open is listed, with file and line, for you to look at. The slots file says what is asked, and whom about:

    \b
        candidates = ["yes", "no"]
        good = "yes"
        questions = ["Should the applicant be invited?"]
        [groups.gender]
        woman = { name = ["Anna", "Laura"], title = "Ms", pronoun = "she" }
        man = { name = ["Paul", "David"], title = "Mr", pronoun = "he" }
    """
    from ..builder.documents import make

    made = make(documents, slots, out, column=column)
    if quiet:
        return
    asked = sum(document.is_asked for document in made)
    tell(f"{out}: {asked} of {len(made)} documents can be asked.")
    for title, ready in (
        ("Look at these; they are asked as they are:", True),
        ("Decide these; they are not asked:", False),
    ):
        if lines := [line for document in made if document.is_asked is ready for line in document.doubts]:
            typer.echo(f"\n{title}")
            for line in lines:
                tell(f"  {line}")
    typer.echo()
    tell(f"To see what will be asked: equipoise data show {quote(str(out))}")
