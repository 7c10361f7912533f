"""In: a name of the table below, or the path of files.
Out: a Dataset of Examples, and the faults found while reading it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..catalog import find, made, names, whose_is
from ..files import at_home
from ..garbage import uncollected
from ..options import DatasetOptions
from ..records import DatasetError, EquipoiseError
from .bbq import is_bbq, load_bbq
from .cards import CARDS, Card, card_of
from .conditions import select
from .dataset import Dataset, Fault
from .discrim_eval import is_discrim_eval, load_discrim_eval
from .downloads import fetch, file_faults, find_dataset_folder
from .identity import NAME as IDENTITY
from .identity import identity_dataset, recipe
from .neutral import neutralised
from .rows import OTHER_SHEETS, READERS, Rows, read_rows, rows_in_memory
from .sentence_pairs import is_pair_table, load_sentence_pairs
from .stereoset import is_stereoset, load_stereoset
from .synthbias import COLUMNS as SYNTHBIAS_COLUMNS
from .synthbias import CSV_NAME, load_synthbias
from .templates import is_template_file, load_decisions, load_templates
from .user_table import load_table
from .winobias import is_text_format, load_winobias
from .winogender import SENTENCES as WINOGENDER_SENTENCES
from .winogender import load_winogender

__all__ = [
    "CARDS",
    "CONTROL",
    "DATASETS",
    "Card",
    "Dataset",
    "Fault",
    "card_of",
    "fetch",
    "find_dataset_folder",
    "load_bbq",
    "load_sentence_pairs",
    "load_synthbias",
    "load_table",
    "load_winobias",
    "load_winogender",
    "open_dataset",
    "open_datasets",
]

HE_SHE = ("he", "she")

CONTROL = "gendered:control"
"""Some 40 sets in which the group word decides: asked beside the built-in sentences, so that alike is not blind."""


Loader = Callable[[DatasetOptions], Dataset]


def _builtin(options: DatasetOptions) -> Dataset:
    from .builtin import load_builtin

    return load_builtin(pronouns=options.pronouns)


def _winobias(options: DatasetOptions) -> Dataset:
    return _as_published("winobias", partial(load_winobias, as_published=options.as_published), options.pronouns)


def _synthbias(options: DatasetOptions) -> Dataset:
    return _as_published("synthbias", load_synthbias, options.pronouns)


def _winogender(options: DatasetOptions) -> Dataset:
    folder = find_dataset_folder("winogender")
    dataset = load_winogender(folder, pronouns=options.pronouns)
    return replace(dataset, faults=(*file_faults(card_of("winogender"), folder), *dataset.faults))


def _sentence_pairs(name: str) -> Loader:
    """Return the loader of a named CSV of sentence pairs."""

    def load(folder: Path) -> Dataset:
        card = card_of(name)
        (file,) = card.files
        return load_sentence_pairs(folder / file.path, name=name, licence=card.licence)

    return lambda options: _as_published(name, load, options.pronouns)


def _sentiment(options: DatasetOptions) -> Dataset:
    from .sentiment import load_sentiment

    return load_sentiment()


def _gendered(options: DatasetOptions, part: str = "") -> Dataset:
    from .gendered import load_gendered

    _only_he_and_she("gendered", options.pronouns)  # sentences with others would not be decided
    return load_gendered(part)


def _bbq(options: DatasetOptions, part: str = "") -> Dataset:
    load = partial(load_bbq, category=part, as_published=options.as_published)
    return _as_published("bbq", load, HE_SHE)


def _fresh(options: DatasetOptions) -> Dataset:
    from .fresh import load_fresh

    return load_fresh(count=options.limit, seed=options.seed, pronouns=options.pronouns)


def _decisions(options: DatasetOptions, part: str = "") -> Dataset:
    return load_decisions(part)


PAIR_DATASETS = ("genderlex", "genderlex-person", "genderlex-someone", "gender-ece-winobias", "gender-ece-winogender")
"""The CSVs of the Gender-ECE paper."""


def _winoidentity(options: DatasetOptions) -> Dataset:
    columns = {} if options.base in names(DATASETS, kind="dataset") else options.columns
    base = open_dataset(options.base, replace(options, columns=columns, limit=None, where=(), neutral=""))
    marking = recipe(
        augmentations=options.augment,
        attributes=options.attributes,
        markers=options.markers,
        crossed=options.crossed,
    )
    return identity_dataset(base, marking, limit=options.limit)


DATASETS: Mapping[str, Loader] = {
    "builtin": _builtin,
    "winobias": _winobias,
    "synthbias": _synthbias,
    "winogender": _winogender,
    **{name: _sentence_pairs(name) for name in PAIR_DATASETS},
    "winoidentity": _winoidentity,
    "bbq": _bbq,
    "sentiment": _sentiment,
    "gendered": _gendered,
    "decisions": _decisions,
    "fresh": _fresh,
}
"""Name -> loader. Other packages add theirs by the entry point `equipoise.datasets`."""


def open_datasets(data: Any, options: DatasetOptions | None = None) -> list[Dataset]:
    """Return the datasets that were given: one, or a list of them. A list of dicts is one table."""
    several = isinstance(data, (list, tuple)) and not (data and isinstance(data[0], Mapping))
    if several and not data:
        raise DatasetError("data has no rows and names no dataset")
    return _named_apart([open_dataset(entry, options) for entry in (data if several else [data])])


def _named_apart(datasets: Sequence[Dataset]) -> list[Dataset]:
    """Return the datasets; those of one name get another one, which tells their content apart."""
    counts = Counter(dataset.name for dataset in datasets)
    labels = Counter((dataset.name, dataset.sha256) for dataset in datasets if counts[dataset.name] > 1)
    for (name, _), count in labels.items():
        if count > 1:
            raise DatasetError(f"the data {name} is named {count} times, with the same sentences; name it once")
    return [replace(d, name=f"{d.name}-{d.sha256[:8]}") if counts[d.name] > 1 else d for d in datasets]


@uncollected()
def open_dataset(spec: Any, options: DatasetOptions | None = None) -> Dataset:
    """Return the dataset of that name or at that path, or in memory; a name wins over a path (write `./name` for that).

    A path is a folder in WinoBias's text format, SynthBias's CSV or folder, Winogender's folder, or a table of the
    user's, of sentences or of sentence pairs (see `load_table` and `load_sentence_pairs`), or a TOML file of templates
    (see `load_templates`). In memory: a Dataset, the content of such a TOML file as a dict, or a table as a DataFrame,
    a list of dicts or a `datasets.Dataset`.
    """
    options = options or DatasetOptions()
    limit = options.limit
    if options.where or options.without_faults:  # a limit counts what is selected
        options = replace(options, limit=None)
    if isinstance(spec, str | os.PathLike):
        dataset = replace(_open(os.fspath(spec), options), listed=_is_listed(os.fspath(spec), options))
    elif isinstance(spec, Mapping) and "scenario" in spec:
        dataset = load_templates(spec)
    else:
        dataset = spec if isinstance(spec, Dataset) else _open_rows(rows_in_memory(spec), options)
    if options.without_faults:
        dataset = dataset.without_faults
    chosen = select(dataset, options.where).limited(limit)
    return neutralised(chosen, options.neutral) if options.neutral else chosen


IN_PARTS = {"bbq": _bbq, "decisions": _decisions, "gendered": _gendered}
"""The datasets whose name may be followed by a colon and a part, such as `bbq:Age`, with their loaders."""


def _is_name(text: str) -> bool:
    """Return whether a text names a dataset of the table, or a part of one; else it is a path."""
    name, _, part = text.partition(":")
    return (part != "" and name in IN_PARTS) or text in DATASETS or text in names(DATASETS, kind="dataset")


def _is_listed(text: str, options: DatasetOptions) -> bool:
    """Return whether what is read is ours by its name: no file of the user's is part of it."""
    own_files = text == IDENTITY and (options.markers or not _is_name(options.base))
    return _is_name(text) and not own_files


def _open(text: str, options: DatasetOptions) -> Dataset:
    name, _, part = text.partition(":")
    in_part = part != "" and name in IN_PARTS
    if _is_name(text):
        # WinoIdentity hands the columns on to its base, which may be a table.
        if options.columns and text != IDENTITY:
            raise DatasetError(f"{name} is not a table: columns can be named for a CSV, TSV, JSON or Parquet file only")
        return IN_PARTS[name](options, part) if in_part else _listed(text, options)
    path = at_home(text)
    if path.exists():
        return _open_path(path, options)
    if text.count(" ") > 2:
        raise DatasetError(f"{text!r} is a sentence, not a dataset; to ask about it: equipoise ask {shlex.quote(text)}")
    if path.suffix or len(path.parts) > 1:
        raise DatasetError(f"{text}: no such file or folder")
    try:
        find(text, DATASETS, kind="dataset")
    except EquipoiseError as error:
        known = ", ".join(names(DATASETS, kind="dataset"))
        unknown = str(error).partition("; known: ")[0]
        raise DatasetError(f"{unknown} (known: {known}; or the path of a file or folder)") from None
    raise AssertionError("a name that `names` lacks is an error of `find`")


def _listed(name: str, options: DatasetOptions) -> Dataset:
    dataset = made(name, DATASETS, options, kind="dataset")
    if not isinstance(dataset, Dataset):
        whose = whose_is(name, kind="dataset")
        raise DatasetError(f"{whose} returns a {type(dataset).__name__}, not a Dataset")
    return dataset


def _open_rows(table: Rows, options: DatasetOptions) -> Dataset:
    if is_pair_table(table.columns, options.columns):
        _only_he_and_she("data", options.pronouns)
        return load_sentence_pairs(table, options.columns)
    return load_table(table, options.columns, pronouns=options.pronouns)


def _open_path(path: Path, options: DatasetOptions) -> Dataset:
    columns, pronouns = options.columns, options.pronouns
    if is_template_file(path) and not columns:
        return load_templates(path)
    if is_bbq(path) and not columns:
        return load_bbq(path, as_published=options.as_published)
    if is_stereoset(path) and not columns:
        _only_he_and_she(str(path), pronouns)
        return load_stereoset(path)
    if (path / WINOGENDER_SENTENCES).is_file() and not columns:
        return load_winogender(path, pronouns=pronouns)
    # Read once: a table may have a million rows.
    table = read_rows(path) if path.is_file() and path.suffix.lower() in (*READERS, *OTHER_SHEETS) else None
    if table is not None and is_discrim_eval(table.columns) and not columns:
        return load_discrim_eval(table, name=path.stem)
    if table is not None and is_pair_table(table.columns, columns):
        _only_he_and_she(str(path), pronouns)
        return load_sentence_pairs(table, columns)
    if table is not None and (columns or not _is_synthbias_csv(path, table)):
        return load_table(table, columns, pronouns=pronouns)
    if columns:
        raise DatasetError(f"{path}: is not a table, so it has no columns to name")
    _only_he_and_she(str(path), pronouns)
    if table is not None:
        return load_synthbias(path)
    named_as_synthbias = re.compile(r"type[12]-(pro|anti)\.txt")
    if path.is_dir():
        inside = [file.name for file in path.iterdir()]
        if CSV_NAME in inside or "winobias_format" in inside or any(map(named_as_synthbias.fullmatch, inside)):
            return load_synthbias(path)
    elif named_as_synthbias.fullmatch(path.name):
        return load_synthbias(path)
    if is_text_format(path):
        folder = path if path.is_dir() else path.parent
        name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "folder"
        return load_winobias(path, name=name, as_published=options.as_published)
    raise DatasetError(
        f"{path}: is neither a table ({', '.join(READERS)}) nor in WinoBias's format "
        "(files such as pro_stereotyped_type1.txt.dev)"
    )


def _is_synthbias_csv(path: Path, table: Rows) -> bool:
    return path.suffix.lower() == ".csv" and set(SYNTHBIAS_COLUMNS) <= set(table.columns)


def _as_published(name: str, load: Callable[[Path], Dataset], pronouns: Sequence[str]) -> Dataset:
    """Return a dataset by its name, with a fault for each file that is not of the pinned revision."""
    _only_he_and_she(name, pronouns)
    folder = find_dataset_folder(name)
    dataset = load(folder)
    return replace(dataset, faults=(*file_faults(card_of(name), folder), *dataset.faults))


def _only_he_and_she(name: str, pronouns: Sequence[str]) -> None:
    other = sorted(set(pronouns) - set(HE_SHE))
    if other:
        raise DatasetError(f"{name} has sentences with he and she only, none with {', '.join(other)}")
