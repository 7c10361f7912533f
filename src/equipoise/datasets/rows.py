"""The rows of a table, each with its line: of a file (CSV, TSV, Excel, JSON lines, JSON, Parquet), or in memory."""

from __future__ import annotations

import codecs
import csv
import importlib
import io
import json
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..records import DatasetError
from .dataset import Fault

IN_MEMORY = "data"
"""What a table without a file is called."""

SHORT = 24
"""Characters of a cell that is likely in other rows, too: a pronoun or an occupation, not a sentence."""

Parsed = TypeVar("Parsed")


class Row(NamedTuple):
    """One row: its line in the file (its number, in a file without lines), its columns, which rows share, and cells."""

    line: int
    columns: tuple[str, ...]
    values: tuple[Any, ...]

    @classmethod
    def of(cls, line: int, cells: Mapping[str, Any]) -> Row:
        """Return the row of cells by column."""
        return cls(line, tuple(cells), tuple(cells.values()))

    @property
    def cells(self) -> dict[str, Any]:
        """The cells by column."""
        return dict(zip(self.columns, self.values, strict=True))


@dataclass(frozen=True, slots=True)
class Rows:
    """A table, read: its name for messages, its columns in order, its rows (at least one), and its path on disk.

    `blank` are the lines between the rows that hold nothing; they are left out.
    """

    file: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    path: Path | None = None
    blank: tuple[int, ...] = ()

    @property
    def blank_faults(self) -> list[Fault]:
        """A fault for each blank row."""
        return [Fault(f"{self.file}:{line}", "blank row", "has no cell with text", "left out") for line in self.blank]

    @property
    def source(self) -> str:
        """Where the rows came from."""
        return "in memory" if self.path is None else str(self.path)

    def need(self, *names: str) -> None:
        """Raise DatasetError where one of these columns is missing."""
        for name in names:
            if name not in self.columns:
                raise DatasetError(f"{self.file}: the column {name!r} is missing; it has {', '.join(self.columns)}")

    def parsed(self, parse: Callable[[str, int, Mapping[str, Any]], Parsed]) -> list[Parsed]:
        """Return what `parse` makes of each row, given its place, number and cells; its errors get the place."""
        return [located(f"{self.file}:{row.line}", parse, n, row.cells) for n, row in enumerate(self.rows, start=1)]


def located(where: str, parse: Callable[..., Parsed], *given: Any) -> Parsed:
    """Return what `parse` makes of the place and of what is given; its DatasetError gets the place."""
    try:
        return parse(where, *given)
    except DatasetError as error:
        raise DatasetError(f"{where}: {error}") from None


def read_rows(path: Path) -> Rows:
    """Return the rows of the file; its name's ending says what it is. Raises DatasetError and nothing else."""
    reader = READERS.get(path.suffix.lower())
    if path.suffix.lower() in OTHER_SHEETS:
        raise DatasetError(f"{path.name}: {path.suffix} files are not read; save it as .xlsx or .csv")
    if reader is None:
        raise DatasetError(f"{path.name}: is not a table that can be read; known file endings: {', '.join(READERS)}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not content.strip():
        raise DatasetError(f"{path.name}: is empty")
    columns, everything = reader(path.name, content)
    rows = tuple([row for row in everything if not all(map(_is_blank, row.values))])
    if not rows:
        raise DatasetError(f"{path.name}: holds no row")
    blank: tuple[int, ...] = ()
    if len(rows) < len(everything):
        kept = {row.line for row in rows}
        blank = tuple(row.line for row in everything if row.line not in kept and row.line < rows[-1].line)
    return Rows(path.name, columns, rows, path, blank)


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def rows_in_memory(data: Any) -> Rows:
    """Return the rows of a table in memory; DatasetError where `data` is not one."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        records = data.to_dict("records")
    elif hasattr(data, "to_list") and hasattr(data, "column_names"):  # datasets
        records = data.to_list()
    else:
        records = data
    if not isinstance(records, list | tuple) or not all(isinstance(record, Mapping) for record in records):
        kinds = "a name, a path, a Dataset, a DataFrame, a list of dicts or a datasets.Dataset"
        raise DatasetError(f"data must be {kinds}, not {type(data).__name__}")
    if not records:
        raise DatasetError("data has no rows")
    columns = tuple(dict.fromkeys(str(name) for record in records for name in record))
    rows = [
        Row.of(number, {str(name): _plain(cell) for name, cell in record.items()})
        for number, record in enumerate(records, start=1)
    ]
    return Rows(IN_MEMORY, columns, tuple(rows))


def _plain(cell: Any) -> Any:
    """Return a cell as Python's own type: numpy's numbers have `item`, its arrays `tolist`; NaT and NA are None."""
    if hasattr(cell, "tolist"):
        return cell.tolist()
    return None if type(cell).__name__ in ("NAType", "NaTType") else cell


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 or UTF-16 file; DatasetError names the line that is neither."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror or error}") from None
    return _decode(path.name, content)


def parse_toml(file: str, text: str) -> dict[str, Any]:
    """Return what a TOML text holds; DatasetError names the file of one that is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DatasetError(f"{file}: is not TOML ({error})") from None


def _decode(file: str, content: bytes) -> str:
    try:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # what spreadsheets call "Unicode text"
            return content.decode("utf-16")
        if min(content[:200:2].count(0), content[1:200:2].count(0)) < 5 < content[:200].count(0):
            raise DatasetError(f"{file}: looks like UTF-16 without a byte-order mark; save it as UTF-8")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # In `error.object`, not in `content`: a byte-order mark is cut off before the offset is counted.
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DatasetError(f"{file}:{line}: byte 0x{error.object[error.start]:02x} is not UTF-8 text") from None


def _columns(file: str, names: list[str]) -> tuple[str, ...]:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DatasetError(f"{file}: duplicate column {repeated[0]!r}; its first row names the columns")
    return tuple(names)


def _delimited(delimiter: str, file: str, content: bytes) -> tuple[tuple[str, ...], list[Row]]:
    lines = _numbered_records(file, _decode(file, content), delimiter)
    _, header = next(lines, (1, []))
    # Spreadsheets of half the world write ";" into a file called .csv, and some write tabs.
    for other in (";", "\t"):
        if delimiter == "," and len(header) == 1 and other in header[0]:
            return _delimited(other, file, content)
    columns = _columns(file, [name.strip() for name in header])
    rows, known = [], dict[str, str]()
    for line, cells in lines:
        if len(cells) != len(columns) and any(map(str.strip, cells)):
            raise DatasetError(f"{file}:{line}: has {len(cells)} cells, but the header has {len(columns)}")
        # Equal short cells are one object: a million rows have a few hundred of them.
        values = [known.setdefault(cell, cell) if len(cell) < SHORT else cell for cell in cells]
        rows.append(Row(line, columns, tuple(values)))
    return columns, rows


def _numbered_records(file: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with its first line, as a quoted cell may run over several; none blank before the header."""
    # strict: without it a quote that is never closed swallows the rest of the file silently.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line, begun = 1, False
    try:
        for cells in reader:
            begun = begun or any(map(str.strip, cells))
            if begun:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        if "field limit" in str(error):
            raise DatasetError(
                f"{file}:{line}: has a cell of more than {csv.field_size_limit():,} characters; is a quote missing?"
            ) from None
        raise DatasetError(f"{file}:{line}: is not well-formed ({error})") from None


def _json(file: str, content: bytes) -> tuple[tuple[str, ...], list[Row]]:
    """Read one object from each line, or a single list of objects, whose items then count as lines."""
    text = _decode(file, content)
    if text.lstrip().startswith("["):
        whole = _parse(file, 1, text)
        items = list(enumerate(whole if isinstance(whole, list) else [whole], start=1))
    else:
        # Not splitlines(): a JSON string may hold U+2028 and its like unescaped.
        numbered = enumerate(text.split("\n"), start=1)
        items = [(line, _parse(file, line, part)) for line, part in numbered if part.strip()]
    rows = []
    for line, item in items:
        if not isinstance(item, dict):
            raise DatasetError(f"{file}:{line}: is not a JSON object with the columns as keys")
        rows.append(Row.of(line, item))
    return tuple(dict.fromkeys(name for row in rows for name in row.columns)), rows


def _parse(file: str, line: int, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = line + error.lineno - 1
        raise DatasetError(f"{file}:{at}: is not JSON ({error.msg} at column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{file}:{line}: is not JSON that can be read ({error})") from None


def _parquet(file: str, content: bytes) -> tuple[tuple[str, ...], list[Row]]:
    # Here, because it takes a third of a second; by name, because it has no type stubs.
    pa: Any = importlib.import_module("pyarrow")
    pq: Any = importlib.import_module("pyarrow.parquet")
    try:
        table = pq.read_table(pa.BufferReader(content))
        columns = _columns(file, [str(name) for name in table.column_names])
        return columns, [Row.of(number, cells) for number, cells in enumerate(table.to_pylist(), start=1)]
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        first = str(error).strip().splitlines()[:1] or ["no reason given"]
        raise DatasetError(f"{file}: cannot be read as Parquet ({first[0]})") from None


def _excel(file: str, content: bytes) -> tuple[tuple[str, ...], list[Row]]:
    """Read the first sheet that holds something; its first row names the columns."""
    sheets = _sheets(file, content, values_only=True)
    used = [place for place, rows in enumerate(sheets) if any(not _is_blank(cell) for row in rows for cell in row)]
    first = used[0] if used else 0
    if sheets and _has_formulas(content):
        computed, formulas = (_sheets(file, content, data_only=kind)[first] for kind in (True, False))
        for line, both in enumerate(zip(computed, formulas, strict=True), start=1):
            _check_computed(f"{file}:{line}", *both)
    numbered = list(enumerate(sheets[first] if used else [], start=1))
    while numbered and all(_is_blank(cell) for cell in numbered[0][1]):
        numbered.pop(0)
    if not numbered:
        raise DatasetError(f"{file}: is empty")
    header = [str(cell).strip() if not _is_blank(cell) else "" for cell in numbered[0][1]]
    named = [place for place, name in enumerate(header) if name]
    columns = _columns(file, [header[place] for place in named])
    cells_of = [(line, [row[place] if place < len(row) else None for place in named]) for line, row in numbered[1:]]
    return columns, [Row(line, columns, tuple(cells)) for line, cells in cells_of]


def _sheets(file: str, content: bytes, *, data_only: bool = True, values_only: bool = False) -> list[list[Any]]:
    """Return the rows of each sheet: what was computed when the file was saved, or the formulas."""
    openpyxl: Any = importlib.import_module("openpyxl")
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=data_only)
        return [list(sheet.iter_rows(values_only=values_only)) for sheet in book.worksheets]
    except Exception as error:  # a zip with anything in it: openpyxl raises whatever it trips over
        raise DatasetError(f"{file}: cannot be read as an Excel file ({type(error).__name__})") from None


def _has_formulas(content: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        sheets = [name for name in parts.namelist() if "sheet" in name and name.endswith(".xml")]
        return any(b"<f>" in part or b"<f " in part for part in map(parts.read, sheets))


def _check_computed(where: str, computed: Iterable[Any], formulas: Iterable[Any]) -> None:
    """Raise DatasetError where a cell of a row has a formula, and no value or an error in place of one."""
    for cell, formula in zip(computed, formulas, strict=True):
        if formula.data_type == "f" and cell.data_type == "e":
            raise DatasetError(f"{where}: the formula in cell {cell.coordinate} gives {cell.value}")
        # A text that was computed to be empty is a text.
        if formula.data_type == "f" and cell.value is None and cell.data_type != "str":
            advice = "save the file in a spreadsheet program, which computes it"
            raise DatasetError(f"{where}: the formula in cell {cell.coordinate} has no value; {advice}")


OTHER_SHEETS = (".xls", ".xlsb", ".ods", ".numbers")
"""Endings of spreadsheets that are not read."""

READERS: Mapping[str, Callable[[str, bytes], tuple[tuple[str, ...], list[Row]]]] = {
    ".csv": partial(_delimited, ","),
    ".tsv": partial(_delimited, "\t"),
    ".xlsx": _excel,
    ".jsonl": _json,
    ".ndjson": _json,
    ".json": _json,
    ".parquet": _parquet,
}
