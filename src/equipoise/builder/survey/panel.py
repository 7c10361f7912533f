"""Panels that pay people: their parameters, allow-lists, signed links, codes, and the map from rater to panel id.

The map is a file of its own, apart from the answers: it can be deleted once everybody is paid.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from ..steps import BuildError

PANELS: Mapping[str, tuple[str, str, str]] = {
    "prolific": ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
    "mturk": ("workerId", "hitId", "assignmentId"),
    "cloudresearch": ("participantId", "projectId", "assignmentId"),
    "other": ("id", "study", "session"),
}
"""Panel -> its parameters for the person, the study and the submission, in the order they are looked for."""

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What MTurk sends while a worker only looks at a task."""

_ID = re.compile(r"[\w.@:+-]{1,100}")


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody who comes from a panel; `key` is the id normalised, which is what makes two visits one person."""

    panel: str
    id: str
    key: str
    study: str
    submission: str
    preview: bool
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """What a rater gets at the end: a code to enter, or an address to return to ("{code}" and "{id}" are filled in)."""

    code: str = ""
    url: str = ""

    def link(self, panel_id: str) -> str:
        """Return the address for this person, "" if there is none."""
        return self.url.replace("{code}", quote(self.code)).replace("{id}", quote(panel_id))


@dataclass(frozen=True)
class PanelOptions:
    """Who may come in from a panel, and the three endings: completed, screened out, and no work left."""

    enabled: bool = False
    completed: Ending = field(default_factory=Ending)
    screened_out: Ending = field(default_factory=Ending)
    no_work: Ending = field(default_factory=Ending)
    allowed: frozenset[str] | None = None
    key: str = ""


def normalised(id: str) -> str:
    """Return the id without blanks and differences of case or width; "" if it is not an id."""
    key = "".join(unicodedata.normalize("NFKC", id).split()).casefold()
    return key if _ID.fullmatch(key) else ""


def visit_of(parameters: Mapping[str, str]) -> Visit | None:
    """Return who the parameters of an address name, None if nobody."""
    for panel, (person, study, submission) in PANELS.items():
        id = parameters.get(person, "")
        if id.strip() or (panel == "mturk" and parameters.get(submission) == PREVIEW):
            preview = parameters.get(submission) == PREVIEW
            values = (parameters.get(study, "")[:100], parameters.get(submission, "")[:100])
            return Visit(panel, id.strip(), normalised(id), *values, preview, parameters.get("sig", ""))
    return None


def signature_of(key: str, id: str) -> str:
    """Return the signature of an id: nobody without the key can make it."""
    return hmac.new(key.encode(), normalised(id).encode(), "sha256").hexdigest()[:32]


def is_signed(options: PanelOptions, visit: Visit) -> bool:
    """Return whether the link has a valid signature for this id."""
    right = signature_of(options.key, visit.id)
    return bool(options.key) and hmac.compare_digest(right.encode(), visit.signature.encode())


def read_ids(path: Path) -> frozenset[str]:
    """Return the normalised ids of a file with one id per line."""
    ids = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            key = normalised(line)
            if not key:
                raise BuildError(f"{path}:{number}: {line.strip()!r} is not a participant id")
            ids.add(key)
    return frozenset(ids)


def signed_links(public: str, ids: Iterable[str], key: str) -> list[str]:
    """Return a personal link for each id, which opens the survey in any browser."""
    return [f"{public.rstrip('/')}/panel?id={quote(id)}&sig={signature_of(key, id)}" for id in ids]


class PaymentMap:
    """The map from rater to panel id, in an SQLite file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Made before SQLite opens it, so that nobody else can ever read it.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30)
        self._lock = threading.Lock()
        with self._lock:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS people (key TEXT PRIMARY KEY, rater TEXT NOT NULL, panel TEXT NOT NULL, "
                "id TEXT NOT NULL, study TEXT NOT NULL, submission TEXT NOT NULL, entered REAL NOT NULL)"
            )

    def rater_of(self, visit: Visit) -> str:
        """Return the rater of this person, a new one on the first visit."""
        row = (visit.key, secrets.token_hex(6), visit.panel, visit.id, visit.study, visit.submission, time.time())
        with self._lock:
            self._connection.execute("INSERT OR IGNORE INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            query = "SELECT rater FROM people WHERE key = ?"
            return str(self._connection.execute(query, (visit.key,)).fetchone()[0])

    def panel_id(self, rater: str) -> str:
        """Return the panel id of a rater, "" if they did not come from a panel."""
        with self._lock:
            row = self._connection.execute("SELECT id FROM people WHERE rater = ?", (rater,)).fetchone()
        return str(row[0]) if row else ""

    def people(self) -> list[tuple[object, ...]]:
        """Return rater, panel, panel id, study, submission and time of each person, in the order in which they came."""
        query = "SELECT rater, panel, id, study, submission, round(entered, 3) FROM people ORDER BY entered"
        with self._lock:
            return self._connection.execute(query).fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
