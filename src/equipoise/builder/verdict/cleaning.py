"""Sentences and answers in; the dataset with its datasheet out, in SynthBias's columns and WinoBias's text format."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import jinja2

from ... import __version__, packaged
from ...datasets.pronouns import find_pronoun
from ...datasets.synthbias import COLUMNS
from ...media.page.charts import svg
from ..steps import BuildError, Sentence, Step, Variant
from ..wordlist import WordList
from .charts import agreement_chart, locale_chart
from .consensus import CRITERIA, NOT_SETTLED, Coverage, Rule, Verdict, settled, share_of, shares, verdict
from .questions import Questionnaire
from .summary import Summary
from .votes import SIMULATED, Answer, Vote

Row = Mapping[str, str]
SIMULATED_LINE = "SIMULATED RATERS: these answers were not given by people."
"""The first line of everything made from simulated answers."""

_TWIN = re.compile(r"-twin\d*$")
_EXTENDED = ("id", "type", "text", "candidate_1", "candidate_2", "gold", "pronoun", "group", "form", "pair", "marker")
_BINARY = ("male", "female")


@dataclass(frozen=True)
class CleanOptions:
    """The rule of the survey (when a sentence is settled and kept), and whether unsettled sentences may be kept."""

    rule: Rule = field(default_factory=Rule)
    allow_unsettled: bool = False


@dataclass(frozen=True)
class Cleaned:
    """The verdict on each sentence, the kept sentences with the person each pronoun means, and counts."""

    verdicts: Mapping[str, Verdict]
    votes: Mapping[str, Sequence[Vote]]
    kept: tuple[tuple[Sentence, str], ...]
    reasons: Counter[str]
    flipped: int
    unsettled: tuple[str, ...]
    unsettled_kept: int
    simulated: int
    sentences: tuple[Sentence, ...] = ()

    @property
    def only_pairs(self) -> bool:
        """Whether every kept sentence is a he/she pair without markers."""
        groups = ({version.group for version in sentence.versions()} for sentence, _ in self.kept)
        return all(names == set(_BINARY) for names in groups) and not any(s.marker for s, _ in self.kept)


def clean(sentences: Sequence[Sentence], answers: Iterable[Answer], options: CleanOptions) -> Cleaned:
    """Return the sentences that the answers keep; answers to a variant count with its sentence.

    Only settled sentences are kept: every asked version of the sentence has enough answers, by the survey's rule.
    """
    by_text: dict[str, list[Vote]] = defaultdict(list)
    pooled: dict[str, list[Vote]] = defaultdict(list)
    simulated = 0
    for answer in answers:
        if not answer.withdrawn:
            simulated += answer.origin == SIMULATED
            by_text[answer.sentence].append(answer.vote)
            pooled[base_id(answer.sentence)].append(answer.vote)
    types = {sentence.id: sentence.type for sentence in sentences}
    open_sentences = {
        base_id(id)
        for id, votes in by_text.items()
        if base_id(id) in types and not settled(votes, types[base_id(id)], options.rule)
    }
    verdicts, kept, reasons = {}, [], Counter[str]()
    flipped, unsettled_kept = 0, 0
    for sentence in sentences:
        decision = verdict(sentence, pooled[sentence.id], options.rule)
        if sentence.id in open_sentences:
            drop = not options.allow_unsettled
            decision = Verdict(
                decision.kept and not drop,
                decision.referent,
                NOT_SETTLED if drop else decision.reason,
                settled=False,
                outcome="" if drop else decision.outcome,
            )
        verdicts[sentence.id] = decision
        if not decision.kept:
            reasons[decision.reason] += 1
            continue
        flipped += decision.referent not in ("", sentence.target)
        unsettled_kept += not decision.settled
        kept.append((sentence, decision.referent))
    unsettled = tuple(sentence.id for sentence in sentences if sentence.id in open_sentences)
    return Cleaned(
        verdicts, pooled, tuple(kept), reasons, flipped, unsettled, unsettled_kept, simulated, tuple(sentences)
    )


def base_id(id: str) -> str:
    """Return the id of the sentence that a variant belongs to."""
    return _TWIN.sub("", id)


def synthbias_rows(cleaned: Cleaned, words: WordList) -> list[Row]:
    """Return the he/she versions of the kept sentences in SynthBias's columns; in type 2 the referent comes first."""
    rows: list[Row] = []
    for sentence, referent in cleaned.kept:
        first = referent or sentence.target
        second = sentence.second if first == sentence.first else sentence.first
        for version in sentence.versions():
            stereotypical = str(words.side(first) == version.group) if referent else "ambiguous"
            values = (sentence.type, version.text, first, second, version.pronoun, stereotypical)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def extended_rows(cleaned: Cleaned, questions: Questionnaire | None = None) -> list[Row]:
    """Return all versions of the kept sentences in Equipoise's own columns: any pronouns, and identity markers.

    Questions of one's own (`questions`) add a column each: the reply that raters agreed on.
    """
    rows: list[Row] = []
    for sentence, referent in cleaned.kept:
        agreed = _replies(cleaned.votes[sentence.id], questions) if questions else {}
        for number, version in enumerate(sentence.versions()):
            values = (
                *(f"{sentence.id}-{number}", sentence.type, version.text, sentence.first, sentence.second),
                *(referent, version.pronoun, version.group, sentence.form),
                *(f"{sentence.id}-{version.marker or 'unmarked'}" if sentence.marker else sentence.id, version.marker),
            )
            rows.append(dict(zip(_EXTENDED, values, strict=True)) | agreed)
    return rows


def _replies(votes: Sequence[Vote], questions: Questionnaire) -> dict[str, str]:
    """Return the most frequent choice of each question, "" where nobody was asked."""
    return {
        question.name: max(question.choices, key=lambda choice: share_of(votes, place, choice))
        if any(vote[place] for vote in votes)
        else ""
        for place, question in enumerate(questions.questions)
    }


def as_csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return the rows as CSV."""
    out = io.StringIO()
    table = csv.DictWriter(out, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


def winobias_files(cleaned: Cleaned, words: WordList) -> dict[str, str]:
    """Return file names and contents in WinoBias's format; line N of a pro file and of its anti file are a pair.

    In type 1 nobody is the referent; as in SynthBias's own files the person in brackets is arbitrary.
    """
    lines: dict[str, list[str]] = defaultdict(list)
    for sentence, referent in cleaned.kept:
        person = referent or sentence.target
        for version in sentence.versions():
            label = "pro" if words.side(person) == version.group else "anti"
            name = f"{label}_stereotyped_{sentence.type}.txt"
            lines[name].append(f"{len(lines[name]) + 1} {_bracketed(version, person)}")
    return {name: "\n".join(written) + "\n" for name, written in sorted(lines.items())}


def _bracketed(version: Variant, person: str) -> str:
    text = version.text
    pronoun = find_pronoun(text, version.pronoun)[-1]
    referent = re.search(rf"(?:\b[Tt]he |\b[Aa]n? )?(?<![\w-]){re.escape(person)}(?![\w-])", text, re.IGNORECASE)
    if referent is None:
        raise BuildError(f"the {person} is not in {text!r}")
    for start, end in sorted(((pronoun.start, pronoun.end), referent.span()), reverse=True):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


@dataclass(frozen=True)
class Sheet:
    """What the datasheet says beyond the rows: name, licence, word list, steps, rules, and agreement of raters."""

    name: str
    licence: str
    words: WordList
    steps: Sequence[Step]
    summary: Summary
    options: CleanOptions = field(default_factory=CleanOptions)


def dataset_files(cleaned: Cleaned, sheet: Sheet) -> dict[str, str]:
    """Return the dataset, its text files, the verdicts and the datasheet by file name, the dataset first.

    Every name says so if answers are simulated.
    """
    mark = "-simulated" if cleaned.simulated else ""
    questions, name = sheet.options.rule.questions, sheet.name + mark
    if not questions.is_published:
        files = {f"{name}.csv": as_csv(extended_rows(cleaned, questions), (*_EXTENDED, *questions.names))}
    elif cleaned.only_pairs:
        files = {f"{name}.csv": as_csv(synthbias_rows(cleaned, sheet.words), COLUMNS)}
        files |= {f"winobias_format{mark}/{file}": text for file, text in winobias_files(cleaned, sheet.words).items()}
    else:
        files = {f"{name}.csv": as_csv(extended_rows(cleaned), _EXTENDED)}
    note = json.dumps({"note": SIMULATED_LINE}) + "\n" if cleaned.simulated else ""
    lines = (_verdict_line(cleaned, id, questions) for id in cleaned.verdicts)
    files[f"verdicts{mark}.jsonl"] = note + "".join(lines)
    files[f"DATASHEET{mark}.md"] = _datasheet(name, cleaned, sheet)
    who = "simulated raters" if cleaned.simulated else "raters"
    if questions.is_published:
        chart = agreement_chart(cleaned.sentences, cleaned.votes, who)
        files[f"agreement{mark}.svg"] = svg(chart, width=52.0, alone=True)
    if set(sheet.summary.locales) - {"not given"}:
        files[f"locales{mark}.svg"] = svg(locale_chart(sheet.summary.locales, who), alone=True)
    return files


def _verdict_line(cleaned: Cleaned, id: str, questions: Questionnaire) -> str:
    row = {"sentence": id, **asdict(cleaned.verdicts[id]), "shares": shares(cleaned.votes[id], questions)}
    if cleaned.simulated:
        row["simulated"] = True
    return json.dumps(row, ensure_ascii=False) + "\n"


def _datasheet(name: str, cleaned: Cleaned, sheet: Sheet) -> str:
    text = packaged.text(__package__, "datasheet.md")
    template = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True).from_string(text)
    locales = sheet.summary.locales
    versions = Counter(version.group for sentence, _ in cleaned.kept for version in sentence.versions())
    kinds = Counter({"type1": 0, "type2": 0})
    for sentence, _ in cleaned.kept:
        kinds[sentence.type] += len(sentence.versions())
    return template.render(
        name=name,
        first_line=SIMULATED_LINE if cleaned.simulated else "",
        licence=sheet.licence,
        version=__version__,
        total=versions.total(),
        sets=len(cleaned.kept),
        groups=versions,
        counts=kinds,
        steps=sheet.steps,
        summary=sheet.summary,
        locales={} if set(locales) <= {"not given"} else locales,
        cleaned=cleaned,
        rule=sheet.options.rule,
        as_published=_as_published(sheet.options.rule) and not cleaned.unsettled_kept and not cleaned.simulated,
        who="simulated raters" if cleaned.simulated else "raters",
        passed_by=_people(cleaned, sheet.summary),
        mark="-simulated" if cleaned.simulated else "",
        with_chart=sheet.options.rule.questions.is_published,
        words=sheet.words.name,
    )


def _people(cleaned: Cleaned, summary: Summary) -> str:
    """Return who took the entrance test: people, simulated raters, or both."""
    if not cleaned.simulated:
        return "people"
    return "simulated raters" if summary.simulated == summary.answers else "people and simulated raters"


def _as_published(rule: Rule) -> bool:
    """Return whether questions, criteria and numbers of raters are those of the UCerF paper."""
    return rule.questions.is_published and rule.coverage == Coverage() and rule.criteria in CRITERIA.values()
