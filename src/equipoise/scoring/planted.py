"""An engine with a bias of known size: for tests, for the docs, and for planning how much data an audit needs."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from ..records import BASELINE, Example, ModelError, Prompt, Score, marked_names
from ..uncertainty import P_TRUE
from .engine import EngineDefaults, identity_key

LEAD = "lead"
MARKED_REFERENT = ("R", "C")
"""The augmentations in which the referent has the marker."""
WHOLE = 0.99
"""A lead is cut at this share of what the two candidates have together."""
_TWO_NUMBERS = struct.Struct(">QQ")


class Truth(NamedTuple):
    """What the engine has to know of an example, which most of a million share: an audit need not keep them for it.

    `logits` are those of its candidates in any text, `marked` the candidates by how they are named with their marker.
    """

    logits: tuple[float, ...]
    gold: int | None
    answerable: bool
    male: bool
    lead: float
    marked: Mapping[str, int]
    cluster_id: str


@dataclass(frozen=True)
class PlantedEngine(EngineDefaults):
    """Prefers the right candidate by `strength` logits, and the stereotypical one by `bias` more.

    With two candidates P(right) is sigmoid(strength + bias) for pro- and sigmoid(strength - bias) for
    anti-stereotypical items; without a right answer P(stereotypical) is sigmoid(bias). `other` is the logit of every
    further candidate, `noise` the standard deviation of a normal disturbance (fixed for each text), and `mass`
    the raw probability of all candidates together. `male` multiplies the logits of sentences about a man: above 1 the
    model is more certain of them. `wording` is the standard deviation of a normal number that each wording of the
    question adds to `strength`, `sentence` of one that each base sentence adds to the referent's logit. `favour` is
    added to the logit of the answer that is good for the person, where a decision is about the group that its set names
    first. `seed` draws other normal numbers.

    `leads` shift P(referent) - P(other) by given amounts, after all else: `{"": 0.4, "old": -0.1, "female": -0.03,
    "old*female": -0.05}` leads by 0.4, by 0.1 less where the referent is called old, and so on. A name is a marker of
    the referent, its privilege, a gender, pro or anti; `*` asks for both. Of what a candidate with a marker gets, the
    share `echo` goes to naming it with the marker. Two engines are equal when their numbers are, whatever they were
    prepared with.
    """

    strength: float = 2.0
    bias: float = 0.5
    other: float = -4.0
    noise: float = 0.0
    mass: float = 0.9
    male: float = 1.0
    wording: float = 0.0
    sentence: float = 0.0
    echo: float = 0.0
    favour: float = 0.0
    seed: float = 0.0
    leads: Mapping[str, float] = field(default_factory=dict, hash=False)
    name = "planted"
    truth: dict[str, Truth] = field(default_factory=dict, init=False, repr=False, compare=False)
    first: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.mass <= 1 or min(self.noise, self.male, self.wording, self.sentence) < 0:
            raise ModelError(
                "planted: mass must be in (0, 1], and noise, male, wording and sentence must not be negative"
            )
        if not 0 <= self.echo < 1:
            raise ModelError("planted: echo must be in [0, 1)")

    @property
    def identity(self) -> Mapping[str, Any]:
        leads = {f"{LEAD}:{name}" if name else LEAD: value for name, value in self.leads.items()}
        return {"engine": self.name, **{number: getattr(self, number) for number in _numbers()}, **leads}

    def prepare(self, examples: Sequence[Example]) -> None:
        """Learn the right and the stereotypical answers of these examples."""
        examples = list(examples)
        shared: dict[Hashable, Truth] = {}
        for example in examples:
            favoured = self.favour != 0 and self.first.setdefault(example.set_id, example.id) == example.id
            facts = self._facts(example, favoured)
            if facts not in shared:
                shared[facts] = self._truth(example, favoured)
            self.truth[example.id] = shared[facts]
        there_are = set().union(*map(_traits, examples)) if self.leads else set()
        missing = {name for key in self.leads for name in _names(key)} - there_are
        if missing:
            listed = ", ".join(sorted(there_are))
            raise ModelError(f"planted: no sentence of the dataset has {min(missing)!r}; the names are: {listed}")

    def _facts(self, example: Example, favoured: bool) -> Hashable:
        """Return what is equal of examples that share a truth."""
        people = (example.gold, example.answerable, example.stereotype, example.good, len(example.candidates))
        cluster = example.cluster_id if self.sentence else ""
        marked = tuple(marked_names(example).items())
        return (*people, favoured, example.groups.get("gender"), self.lead(example), marked, cluster)

    def _truth(self, example: Example, favoured: bool) -> Truth:
        logits = [0.0, 0.0] + [self.other] * (len(example.candidates) - 2)
        if example.gold is not None and example.answerable:
            logits[example.gold] += self.strength
        if example.stereotype is not None:
            for index in range(len(logits)):
                logits[index] += self.bias / 2 if index == example.stereotype else -self.bias / 2
        if example.good is not None and favoured:
            logits[example.good] += self.favour
        return Truth(
            tuple(logits),
            example.gold,
            example.answerable,
            example.groups.get("gender") == "male",
            self.lead(example),
            {name.strip(): index for index, name in marked_names(example).items()},
            example.cluster_id if self.sentence else "",
        )

    def lead(self, example: Example) -> float:
        """Return by how much the planted leads shift P(referent) - P(other) of an example."""
        if not self.leads or example.gold is None or len(example.candidates) != 2:
            return 0.0
        traits = _traits(example)
        return math.fsum(value for key, value in self.leads.items() if _names(key) <= traits)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            if any(prompt.variant == BASELINE for prompt in batch):
                raise ModelError("a planted engine has no probabilities for words without their sentence, so not pmi")
            yield [Score(prompt.key(identity), self._logprobs(prompt)) for prompt in batch]

    def _logprobs(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        """Return the log-probability of each continuation, as one token."""
        name, _, proposed = prompt.variant.partition("=")
        if name == P_TRUE:  # it calls an answer true as often as it would give it among two
            true, false = (min(int(proposed), 1), 1 - min(int(proposed), 1))
            values = self._of_candidates(prompt)
            return values[true], values[false]
        return self._of_candidates(prompt)

    def _of_candidates(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        truth = self.truth.get(prompt.example_id)
        if truth is None:
            raise ModelError(f"the planted engine was not prepared with example {prompt.example_id}")
        names = truth.marked
        marked = [names[form] for form in map(str.strip, prompt.continuations) if form in names] if names else []
        logits = self._logits(prompt, truth, len(prompt.continuations) - len(marked))
        top = max(logits)  # taken off first: exp of a large strength overflows
        total = top + math.log(math.fsum([math.exp(logit - top) for logit in logits])) - math.log(self.mass)
        values = [logit - total for logit in logits]
        if truth.lead:
            _shift(values, truth.gold or 0, truth.lead)
        for index in marked:
            # 1e-12: a candidate that is never named with its marker still has a log-probability.
            values.append(values[index] + math.log(max(self.echo, 1e-12)))
            values[index] += math.log1p(-self.echo)
        return tuple([(min(value, 0.0),) for value in values])

    def _logits(self, prompt: Prompt, truth: Truth, size: int) -> list[float]:
        """Return the logit of each candidate named without its marker, and of each further continuation."""
        logits = [*truth.logits, *[self.other] * (size - len(truth.logits))]
        if self.wording and truth.gold is not None and truth.answerable:
            logits[truth.gold] += self.wording * self._normal(_wording(prompt.variant))
        if self.noise:
            asked = prompt.context, prompt.continuations
            logits[0] += self.noise * normal(repr((*asked, self.seed) if self.seed else asked))
        if self.sentence and truth.gold is not None:
            logits[truth.gold] += self.sentence * self._normal(truth.cluster_id)
        if self.male != 1.0 and truth.male:
            logits = [self.male * logit for logit in logits]
        return logits

    def _normal(self, text: str) -> float:
        """Return the standard normal number of a text and the seed; 0 without a text."""
        return normal(f"{text} {self.seed:g}" if self.seed else text) if text else 0.0


def _names(key: str) -> set[str]:
    """Return the names that a lead asks for."""
    return {name for name in key.split("*") if name}


def _traits(example: Example) -> set[str]:
    """Return the names that leads know an example by."""
    groups = example.groups
    names = ["gender", "stereotype"]
    if groups.get("augmentation") in MARKED_REFERENT:
        names += ["marker", "privilege"]
    return {groups[name] for name in names if groups.get(name)} - {"neutral"}


def _shift(values: list[float], referent: int, shift: float) -> None:
    """Change two log-probabilities so that the referent leads by `shift` more, and their sum stays."""
    first, second = math.exp(values[referent]), math.exp(values[1 - referent])
    mass = first + second
    lead = min(max(first - second + shift, -WHOLE * mass), WHOLE * mass)
    values[referent], values[1 - referent] = math.log((mass + lead) / 2), math.log((mass - lead) / 2)


def normal(text: str) -> float:
    """Return a standard normal number that depends on the text alone (Box-Muller on its hash)."""
    digest = hashlib.sha256(text.encode()).digest()
    first, second = _TWO_NUMBERS.unpack_from(digest)
    u, v = first / 2**64, second / 2**64
    return math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)


def _wording(variant: str) -> str:
    """Return the wording that a variant names; "" where there is one wording only."""
    return next((part for part in variant.split(",") if part.startswith("wording=")), "")


def _numbers() -> list[str]:
    """Return the names of the numbers of a planted engine."""
    return [field.name for field in fields(PlantedEngine) if field.name not in ("truth", "first", "leads")]


def open_planted(settings: str) -> PlantedEngine:
    """Return the planted engine of `strength=2,bias=0.5,…`; an unknown or unreadable setting is an error.

    `lead=0.4` leads by 0.4, without strength and bias unless these are given; `lead:old=-0.1` adds to the lead.
    """
    known = _numbers()
    values: dict[str, Any] = {}
    leads: dict[str, float] = {}
    for part in filter(None, settings.split(",")):
        name, _, value = (text.strip() for text in part.partition("="))
        kind, _, key = name.partition(":")
        if kind == LEAD:
            leads[key] = _number(name, value)
            continue
        if name not in known:
            listed = ", ".join([*known, LEAD, f"{LEAD}:NAME"])
            raise ModelError(f"planted: unknown setting {name!r}; the settings are: {listed}")
        values[name] = _number(name, value)
    if "" in leads:
        values = {"strength": 0.0, "bias": 0.0, **values}
    return PlantedEngine(**values, leads=leads)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ModelError(f"planted: {name} must be a number, not {text!r}") from None
    if not math.isfinite(value):
        raise ModelError(f"planted: {name} must be finite, not {text!r}")
    return value
