"""Counterfactual sets to train on: from a dataset or the grammar, split so that no evaluation sees what was trained."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..datasets import open_dataset
from ..datasets.dataset import Dataset
from ..datasets.exposure import sentence_of
from ..datasets.occupations import OCCUPATIONS
from ..files import sha256
from ..records import DECIDED, DatasetError, Example, grouped, marked_slot
from .decided import decided_sets
from .grammar import grammar_dataset, marker_sets
from .objective import TrainingError

GRAMMAR = "grammar"
EVALUATED = ("builtin", "gendered", "winobias", "winogender", "winoidentity", "genderlex", "gender-ece-winobias")
"""Datasets that are for evaluation only; training on them is refused, also when they come as a file."""

SYNTHBIAS_EVALUATION = 1000
"""Sets of SynthBias that are never trained on: those that `audit --data synthbias --limit 1000` asks."""


OUTSIDE = "builtin"
"""Sentences from outside the training data, which show whether a model has learned more than a rule of that data."""


CONTROL = "gendered"
"""Sentences in which the group word decides, which show whether a model still understands it."""


@dataclass(frozen=True)
class TrainingSet:
    """Examples that differ only in a group word; `template` is their sentence without occupations and group words."""

    id: str
    members: tuple[Example, ...]
    template: str

    def __post_init__(self) -> None:
        if len(self.members) < 2:
            raise TrainingError(f"set {self.id} has one member; a counterfactual set needs at least two")
        if len({example.answerable for example in self.members}) > 1:
            raise TrainingError(f"set {self.id} mixes answerable and unanswerable sentences")
        if len({example.candidates for example in self.members}) > 1:
            raise TrainingError(f"set {self.id} has members with different candidates")

    @property
    def answerable(self) -> bool:
        """Whether the sentences have a right answer."""
        return self.members[0].answerable

    @property
    def decided(self) -> bool:
        """Whether the group word decides the answer, so that members must not be treated alike."""
        return self.members[0].groups.get("type") == DECIDED

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates, which are the same for all members."""
        return self.members[0].candidates


@dataclass(frozen=True)
class Splits:
    """Sets by use. `occupations` and `templates` are tests: with held-out occupations, and with held-out sentences."""

    train: tuple[TrainingSet, ...]
    validation: tuple[TrainingSet, ...]
    occupations: tuple[TrainingSet, ...]
    templates: tuple[TrainingSet, ...]
    held_out: tuple[str, ...]


def open_training_sets(data: str = GRAMMAR, *, seed: int = 0, markers: bool = True) -> list[TrainingSet]:
    """Return the sets of the grammar, of `synthbias` without its evaluation sets, or of a table or folder.

    `seed` draws the grammar's sentences. `markers` adds sets whose members also differ in an identity marker. Sets of
    our own in which the group word decides are added to all data. What an evaluation dataset holds is left out,
    whatever file it comes from; a dataset for evaluation is refused.
    """
    if data in EVALUATED:
        raise TrainingError(f"{data} is for evaluation, so it cannot be trained on; use grammar, synthbias or a file")
    dataset = grammar_dataset(seed=seed) if data == GRAMMAR else open_dataset(data)
    sets = sets_of(dataset)
    if markers:
        sets += [_training_set(members) for members in marker_sets(dataset, seed=seed)]
    evaluated = evaluated_sentences(synthbias=data == "synthbias")
    kept = without(sets, evaluated)
    if not kept:
        raise TrainingError(f"{data} has no set that is not part of an evaluation dataset")
    return kept + without([_training_set(members) for members in decided_sets(seed=seed)], evaluated)


def sets_of(dataset: Dataset) -> list[TrainingSet]:
    """Return the counterfactual sets of a dataset; sentence pairs and sentences without a counterpart are left out."""
    asked = (example for example in dataset.examples if example.pair is None and example.slots.get("pronoun"))
    members = grouped(asked, lambda example: example.set_id)
    sets = [_training_set(group) for group in members.values() if len(group) > 1]
    if not sets:
        raise TrainingError(f"{dataset.source or dataset.name}: has no two sentences that differ only in a group word")
    return sets


def _training_set(members: Sequence[Example]) -> TrainingSet:
    first = members[0]
    # The grammar's clusters are its templates, slots for other words included.
    template = first.cluster_id if first.cluster_id.startswith(f"{GRAMMAR}-") else template_of(first)
    return TrainingSet(first.set_id, tuple(members), template)


def template_of(example: Example) -> str:
    """Return the example's sentence with pronoun, candidates and markers blanked."""
    text = sentence_of(example)
    for index, candidate in enumerate(example.candidates):
        marked = example.slots.get(marked_slot(index), candidate)
        names = "|".join(re.escape(name.lower()) for name in (marked, candidate))
        text = re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", "#", text)
    return text


def evaluated_sentences(*, synthbias: bool = False) -> set[str]:
    """Return the sentences of the evaluation datasets that are on this machine, with pronouns blanked."""
    examples: list[Example] = []
    for name in ("builtin", "gendered", "winobias", "winogender"):
        try:
            examples += open_dataset(name).examples
        except DatasetError:  # not downloaded, so nobody evaluates on it here
            continue
    if synthbias:
        examples += open_dataset("synthbias").limited(SYNTHBIAS_EVALUATION).examples
    return {text for example in examples for text in (sentence_of(example), template_of(example))}


def without(sets: Iterable[TrainingSet], sentences: Collection[str]) -> list[TrainingSet]:
    """Return the sets of which neither the sentence nor the template is among the sentences."""
    return [
        item
        for item in sets
        if item.template not in sentences and not any(sentence_of(member) in sentences for member in item.members)
    ]


def split_sets(
    sets: Sequence[TrainingSet], *, seed: int = 0, held_out: int = 4, validation: float = 0.1, test: float = 0.1
) -> Splits:
    """Return the sets split by occupation and by template.

    `held_out` occupations of each side (drawn by the seed) appear in no training or validation sentence. Of the
    templates, the shares `validation` and `test` are kept apart. All sets of a template are on the same side.
    """
    chosen = held_out_occupations(seed=seed, per_side=held_out)
    uses = _uses(sets, seed, validation, test)
    parts: dict[str, list[TrainingSet]] = defaultdict(list)
    for item in sets:
        unseen = set(chosen) & {name.lower() for name in item.candidates}
        parts["occupations" if unseen else uses[item.template]].append(item)
    splits = Splits(
        train=tuple(parts["train"]),
        validation=tuple(parts["validation"]),
        occupations=tuple(parts["occupations"]),
        templates=tuple(parts["templates"]),
        held_out=chosen,
    )
    for name in ("train", "validation"):
        if not getattr(splits, name):
            raise TrainingError(f"the split leaves no sets for {name}; give more sets, or hold out fewer occupations")
    return splits


def _uses(sets: Iterable[TrainingSet], seed: int, validation: float, test: float) -> dict[str, str]:
    """Return what each template is used for; the shares hold for answerable and unanswerable templates alike.

    Sets in which the group word decides share templates with unanswerable ones, and so their use.
    """
    uses: dict[str, str] = {}
    for answerable, decided in ((True, False), (False, False), (True, True)):
        names = {s.template for s in sets if (s.answerable, s.decided) == (answerable, decided)} - set(uses)
        for rank, name in enumerate(sorted(names, key=lambda name: _shuffled(f"{seed} {name}"))):
            place = rank / len(names)
            uses[name] = "validation" if place < validation else "templates" if place < validation + test else "train"
    return uses


def held_out_occupations(*, seed: int = 0, per_side: int = 4) -> tuple[str, ...]:
    """Return the names of occupations to hold out, `per_side` of either stereotype, in lower case."""
    names = []
    for side in ("male", "female"):
        known = [name.lower() for name, occupation in OCCUPATIONS.items() if occupation.side == side]
        names += sorted(known, key=lambda name: _shuffled(f"{seed} {name}"))[:per_side]
    return tuple(names)


def _shuffled(text: str) -> str:
    """Return what a text is sorted by, so that the order is random and depends on the texts alone."""
    return sha256(text)


def outside_sets(count: int = 0) -> list[TrainingSet]:
    """Return at most that many answerable built-in sets, half of them about each person; 0 for all.

    They are never trained on, and the right person is mentioned first as often as second: a model that learns "always
    name the first person" gains on one half and loses on the other.
    """
    sets = [item for item in sets_of(open_dataset(OUTSIDE)) if item.answerable]
    halves = [[item for item in sets if item.members[0].gold == position] for position in (0, 1)]
    return [item for half in halves for item in spread(half, max(1, count // 2) if count else 0)]


def control_sets(count: int = 0) -> list[TrainingSet]:
    """Return at most that many sets of `gendered`, in which the group word decides; 0 for all.

    Neither their constructions nor their words are trained on.
    """
    members = grouped(open_dataset(CONTROL).examples, lambda example: example.set_id)
    return spread([_training_set(group) for group in members.values()], count)


def spread(sets: Sequence[TrainingSet], count: int) -> list[TrainingSet]:
    """Return at most that many sets, spread evenly over all."""
    if not count or count >= len(sets):
        return list(sets)
    return [sets[i * len(sets) // count] for i in range(count)]
