"""What a tuned model does: its answers on evaluation sets, set by set, and what else it can still do."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from equipoise.datasets import open_dataset
from equipoise.records import DECIDED, DatasetError, Example
from equipoise.training import Questions, candidate_logprobs
from equipoise.training.objective import ucerf_values

HERE = Path(__file__).parent
PARTS = ("winobias", "synthbias", "builtin", "gendered")
SYNTHBIAS = 1000
"""Sets of SynthBias that `tune --data synthbias` leaves for evaluation."""

PROMPTS = (
    "The best way to spend a rainy day is",
    "To make a good soup, first",
    "My neighbor told me that the nurse",
)


def evaluation_sets(names: Sequence[str], limit: int) -> dict[str, list[list[Example]]]:
    """Return the sets of each part that is on this machine, at most that many of each type (0: all)."""
    parts = {}
    for name in names:
        try:
            dataset = open_dataset(name).limited(SYNTHBIAS if name == "synthbias" else None)
        except DatasetError:  # not on this machine
            continue
        sets: dict[str, list[Example]] = defaultdict(list)
        for example in dataset.examples:
            sets[example.set_id].append(example)
        kinds: dict[str, list[list[Example]]] = defaultdict(list)
        for members in sets.values():
            if len(members) > 1:
                kinds[members[0].groups["type"]].append(members)
        parts[name] = [chosen for several in kinds.values() for chosen in _spread(several, limit)]
    return parts


def _spread(items: Sequence[Any], limit: int) -> list[Any]:
    if not limit or limit >= len(items):
        return list(items)
    return [items[i * len(items) // limit] for i in range(limit)]


def general_questions(limit: int = 0) -> list[list[Example]]:
    """Return our 200 general questions (CC0), each a set by itself; the right answer is first or second in turn."""
    with open(HERE / "general_questions.csv", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    made = []
    for number, row in enumerate(rows):
        gold = number % 2
        candidates = (row["wrong"], row["right"]) if gold else (row["right"], row["wrong"])
        name, slots = f"question-{number}", {"statement": row["beginning"]}
        text = "Complete the sentence correctly."
        made.append([Example(name, text, candidates, gold, True, None, {"type": "type2"}, name, slots=slots)])
    return _spread(made, limit)


@torch.no_grad()
def answered(model: Any, questions: Questions, sets: Sequence[Sequence[Example]]) -> dict[str, np.ndarray]:
    """Return, for each set: its type, accuracy, accuracy with he and with she, U, whether it flipped, and mass."""
    model.eval()
    values: dict[str, list[np.ndarray]] = defaultdict(list)
    for start in range(0, len(sets), 64):
        some = list(sets[start : start + 64])
        numbers = torch.tensor([number for number, members in enumerate(some) for _ in members])
        batch = questions.of_examples([example for members in some for example in members])
        logprobs = candidate_logprobs(model, batch).float().cpu()
        for name, column in _of_sets(logprobs, batch, numbers, some).items():
            values[name].append(column)
    return {name: np.concatenate(columns) for name, columns in values.items()}


def _of_sets(
    logprobs: torch.Tensor, batch: dict[str, torch.Tensor], numbers: torch.Tensor, sets: Sequence[Sequence[Example]]
) -> dict[str, np.ndarray]:
    chosen, gold = logprobs.argmax(dim=1), batch["gold"]
    right = (chosen == gold).double().numpy()
    kinds = np.array([members[0].groups["type"] for members in sets])
    answerable = np.array([members[0].answerable for members in sets])
    owners = numbers.numpy()
    genders = np.array([example.groups.get("gender", "") for members in sets for example in members])
    mass = logprobs.exp().sum(dim=1).numpy()
    flipped = np.array([len(set(chosen[owners == number].tolist())) > 1 for number in range(len(sets))], dtype=float)
    u = np.full(len(sets), np.nan)
    several = np.array([len(members) > 1 for members in sets])
    for asked in (True, False):
        rows = np.isin(owners, np.flatnonzero((answerable == asked) & several))
        if rows.any():
            part = torch.from_numpy(rows)
            # Of ambiguous sets the signed UCerF: it sees a change of the answer.
            unfair = ucerf_values(logprobs[part], gold[part], numbers[part], temperature=0.0, parity="signed")
            u[np.unique(owners[rows])] = 1 - unfair.numpy()
    decided = kinds == DECIDED
    return {
        "kind": kinds,
        "clue": np.array([members[0].groups.get("clue", "") for members in sets]),
        "accuracy": np.where(answerable, _mean_by(right, owners, len(sets)), np.nan),
        "male": _mean_by(np.where(genders == "male", right, np.nan), owners, len(sets)),
        "female": _mean_by(np.where(genders == "female", right, np.nan), owners, len(sets)),
        "u": np.where(decided, np.nan, u),
        "flipped": np.where(decided | ~several, np.nan, flipped),
        "mass": _mean_by(mass, owners, len(sets)),
    }


def _mean_by(values: np.ndarray, owners: np.ndarray, count: int) -> np.ndarray:
    """Return the mean over each owner's values that are not NaN."""
    known = ~np.isnan(values)
    totals = np.bincount(owners[known], values[known], count)
    counts = np.bincount(owners[known], minlength=count)
    return np.divide(totals, counts, out=np.full(count, np.nan), where=counts > 0)


@torch.no_grad()
def text_losses(model: Any, questions: Questions) -> np.ndarray:
    """Return the mean negative log-probability of a token in each neutral paragraph; none of them is trained on."""
    paragraphs = (HERE / "neutral_text.txt").read_text(encoding="utf-8").strip().split("\n\n")
    device = next(model.parameters()).device
    losses = []
    for ids in questions.encoder.contexts([" ".join(paragraph.split()) for paragraph in paragraphs]):
        row = torch.tensor([ids], device=device)
        logits = model(input_ids=row, use_cache=False).logits[0, :-1].float()
        losses.append(float(torch.nn.functional.cross_entropy(logits, row[0, 1:])))
    return np.array(losses)


@torch.no_grad()
def samples(model: Any, tokenizer: Any, questions: Questions) -> list[str]:
    """Return what the model writes after a few beginnings, the most probable token each time."""
    device = next(model.parameters()).device
    texts = []
    for ids in questions.encoder.contexts(list(PROMPTS)):
        row = torch.tensor([ids], device=device)
        for _ in range(24):
            logits = model(input_ids=row, use_cache=False).logits[0, -1]
            row = torch.cat([row, logits.argmax().view(1, 1)], dim=1)
        texts.append(str(tokenizer.decode(row[0], skip_special_tokens=True)))
    return texts


def described(
    model: Any, tokenizer: Any, names: Sequence[str], limit: int
) -> tuple[dict[str, dict[str, np.ndarray]], list[str]]:
    """Return the values of each part by set, and writing samples."""
    questions = Questions(tokenizer)
    asked = evaluation_sets(names, limit)
    asked["questions"] = general_questions(limit)
    parts = {name: answered(model, questions, sets) for name, sets in asked.items()}
    if getattr(tokenizer, "chat_template", None):
        chat = Questions(tokenizer, chat=True)
        for name in ("gendered", "questions"):
            parts[f"{name}, in a chat"] = answered(model, chat, asked[name])
    parts["text"] = {"loss": text_losses(model, questions)}
    return parts, samples(model, tokenizer, questions)


def saved(path: Path, parts: dict[str, dict[str, np.ndarray]]) -> None:
    """Write the values of all parts into one file."""
    flat = {f"{part}|{name}": values for part, columns in parts.items() for name, values in columns.items()}
    np.savez_compressed(path, **flat)


def loaded(paths: Iterable[Path]) -> dict[str, dict[str, np.ndarray]]:
    """Return the values of runs that differ in their seed alone, as (seeds, sets)."""
    files = [np.load(path) for path in paths]
    parts: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for key in files[0].files:
        part, name = key.split("|")
        parts[part][name] = np.stack([file[key] for file in files])
    return parts
