"""Cloze and whole sentence: what is asked, what comes out of a known bias, and the same through a real transformer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exactness import plain_scores

import equipoise
from equipoise.datasets.sentence_pairs import load_sentence_pairs
from equipoise.records import (
    ABSENT,
    DatasetError,
    EquipoiseError,
    Example,
    ModelError,
    Prompt,
    Score,
    SentencePair,
)
from equipoise.tasks import TaskOptions, open_task
from equipoise.tasks.pronoun_cloze import FORMS, PronounCloze, sentence_pairs

TABLE = (
    "sent_more,sent_less,y\n"
    "The nurse said that he was late.,The nurse said that she was late.,0\n"
    "The cook thanked him.,The cook thanked her.,1\n"
    "The pilot rang him.,The pilot rang her.,1\n"
    "The maid rang him.,The maid rang her.,0\n"
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text(TABLE)
    return path


def about_a_pronoun(text: str, pronoun: str, **slots: str) -> Example:
    groups = {"gender": "male", "stereotype": "pro", "occupation": "cook"}
    return Example("e", text, ("cook", "nurse"), 0, True, 0, groups, "p", slots={"pronoun": pronoun, **slots})


def test_a_cloze_asks_for_the_words_after_what_precedes_them(pairs: Path) -> None:
    first, *_ = load_sentence_pairs(pairs).examples
    (cloze,), (sentence,) = PronounCloze().prompts(first), PronounCloze(whole=True).prompts(first)
    assert (cloze.context, cloze.continuations) == ("The nurse said that", (" he", " she"))
    assert (sentence.context, sentence.continuations) == ("The nurse said that", (" he was late.", " she was late."))


def test_a_pronoun_may_begin_the_sentence() -> None:
    (cloze,) = PronounCloze().prompts(about_a_pronoun("He thanked the nurse.", "he"))
    assert (cloze.context, cloze.continuations) == ("", ("he", "she"))


def test_a_sentence_that_begins_with_the_difference_has_an_empty_context_and_no_space(tmp_path: Path) -> None:
    path = tmp_path / "first.csv"
    path.write_text("sent_x,sent_y\nTall people sing.,Short people sing.\n")
    (example,) = load_sentence_pairs(path).examples
    (prompt,) = PronounCloze(whole=True).prompts(example)
    assert (prompt.context, prompt.continuations) == ("", ("Tall people sing.", "Short people sing."))


def test_of_a_set_about_a_pronoun_the_male_sentence_is_asked_and_has_no_label() -> None:
    text = "The cook told the nurse that his shoe, not the other, was his."
    (example,) = sentence_pairs([about_a_pronoun(text, "his", neutral="yes")])
    assert (example.candidates, example.gold, example.stereotype) == (("his", "her", "their"), None, None)
    assert not example.answerable
    # Both genders are asked at once, so neither the gender nor the stereotype of the male sentence is the item's.
    assert example.groups == {"occupation": "cook"}
    rests = tuple(f"{word} shoe, not the other, was his." for word in ("his", "her", "their"))
    assert example.pair == SentencePair("The cook told the nurse that", rests, ("male", "female", "neutral"))
    # "They" may need another verb: whole sentences are compared for he and she only.
    (prompt,) = PronounCloze(whole=True).prompts(example)
    assert prompt.continuations == tuple(f" {rest}" for rest in rests[:2])
    outcomes = PronounCloze(whole=True).outcomes([example], [prompt], [Score(prompt.key("x"), ((-1.0,), (-2.0,)))])
    assert (outcomes.sides.tolist(), outcomes.probs.shape) == (["male|female"], (1, 2))
    assert sentence_pairs([about_a_pronoun("The cook told the nurse that her shoe fit.", "her")]) == []
    with pytest.raises(DatasetError, match="is not a sentence pair and has no pronoun"):
        sentence_pairs([about_a_pronoun("The cook left.", "")])


def test_the_outcomes_of_a_cloze_have_sides_and_no_group_of_the_male_sentence() -> None:
    examples = [
        about_a_pronoun("The cook saw that he was late.", "he"),
        replace(about_a_pronoun("The cook saw that she was late.", "she"), id="f"),
    ]

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        return [Score(prompt.key("x"), ((-1.0,), (-2.0,))) for prompt in prompts]

    for task in (PronounCloze(), PronounCloze(whole=True)):
        outcomes = task.run(examples, scorer=scorer, writer=lambda contexts, limit: {})
        assert outcomes.sides.tolist() == ["male|female"]
        assert (outcomes.gold.tolist(), outcomes.stereotype.tolist()) == ([ABSENT], [ABSENT])
        assert {name: column.tolist() for name, column in outcomes.groups.items()} == {"occupation": ["cook"]}


@pytest.mark.parametrize(("aggregate", "expected"), [("sum", -3.0), ("mean", -1.5), ("max", -1.0)])
def test_the_tokens_of_a_word_are_joined_as_asked(pairs: Path, aggregate: str, expected: float) -> None:
    examples = load_sentence_pairs(pairs).examples[:1]
    task = open_task("cloze", TaskOptions(token_aggregate=aggregate))
    scores = [Score("key", ((-1.0, -2.0), (-4.0,)))]
    outcomes = task.outcomes(examples, task.prompts(examples[0]), scores)
    assert outcomes.probs[0, 0] == pytest.approx(1 / (1 + math.exp(-4.0 - expected)))
    assert outcomes.logprobs.tolist() == [[-3.0, -4.0]]
    with pytest.raises(EquipoiseError, match="token_aggregate must be sum, mean, max in this task, not 'pmi'"):
        open_task("cloze", TaskOptions(token_aggregate="pmi"))


@pytest.mark.parametrize("task", ["cloze", "sentence"])
def test_a_planted_bias_is_recovered_to_its_closed_form(pairs: Path, tmp_path: Path, task: str) -> None:
    run = equipoise.audit("planted:bias=1.5,mass=0.4", data=str(pairs), task=task, out=tmp_path / "run", resamples=20)
    q = 1 / (1 + math.exp(-1.5))
    rows = run.measurements.set_index(["metric", "group"])["value"]
    # It says q to the side that people call biased, which is so every time: off by 1 - q throughout.
    expected = {
        "ece": 1 - q,
        "ece_top_label": 1 - q,
        "gender_ece": 1 - q,
        "gender_ece_gap": 0,
        "ice": 1 - q,
        "brier": (1 - q) ** 2,
        "brier_published": q**2,
        "brier_reliability": (1 - q) ** 2,
        "brier_resolution": 0.25,
        "log_loss": -math.log(q),
        "human_alignment": 1,
        "p_first": 0.5,
        "preference": 0.5,
        "candidate_mass": 0.4,
    }
    assert {name: rows[name, "all"] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert rows["ece", "predicted_gender=male"] == pytest.approx(1 - q)
    assert not any(name.startswith(("ucerf", "accuracy", "eo_", "fp")) for name, _ in rows.index)


@pytest.mark.slow
def test_a_dataset_of_sentences_can_be_asked_as_a_cloze_and_measured_anew(real_data, tmp_path: Path) -> None:
    real_data("winogender")
    options: dict[str, Any] = {"data": "winogender", "task": "cloze", "resamples": 5, "limit": 40}
    run = equipoise.audit("planted:noise=1", pronouns=("he", "she", "they"), out=tmp_path / "run", **options)
    values = run.measurements[run.measurements["group"] == "all"].set_index("metric")
    assert len(run.outcomes) == 40 == values["n"]["p_first"] and "ece" not in values.index
    assert np.stack(run.outcomes["probs"].to_list()).shape == (40, 3)
    again = equipoise.remeasure(run.path).measurements
    assert again[again["group"] == "all"].set_index("metric")["value"]["p_first"] == values["value"]["p_first"]


@pytest.fixture(scope="module")
def tiny() -> Any:
    """Return a function that opens a random transformer over the words of the table, with a BOS rule."""
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    from equipoise.options import EngineOptions
    from equipoise.scoring.huggingface.engine import HuggingFaceEngine

    words = sorted(set(TABLE.replace(",", " ").replace(".", " .").split()))
    known = {word: number for number, word in enumerate(["<s>", "<unk>", *words])}
    backend = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", unk_token="<unk>")
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(known), n_positions=64, n_embd=32, n_layer=2, n_head=2))

    def engine(bos: str) -> Any:
        return HuggingFaceEngine(
            model, tokenizer, name="tiny", weights={"sha256": "0" * 64}, options=EngineOptions(bos=bos)
        )

    return engine


@pytest.mark.parametrize("bos", ["never", "always"])
@pytest.mark.parametrize("task", ["cloze", "sentence"])
def test_packed_scores_are_those_of_one_sentence_at_a_time(tiny: Any, pairs: Path, bos: str, task: str) -> None:
    engine, asked = tiny(bos), open_task(task)
    prompts = [prompt for example in load_sentence_pairs(pairs).examples for prompt in asked.prompts(example)]
    ((*scores,),) = engine.score([prompts])
    for packed, plain in zip(scores, plain_scores(engine, prompts), strict=True):
        assert packed.logprobs == pytest.approx(plain.logprobs, abs=1e-4)


def test_bos_changes_the_answers_and_makes_an_empty_context_possible(tiny: Any, pairs: Path) -> None:
    (prompt,) = PronounCloze().prompts(load_sentence_pairs(pairs).examples[0])
    (without,), (with_it,) = (plain_scores(tiny(bos), [prompt]) for bos in ("never", "always"))
    assert without.logprobs != pytest.approx(with_it.logprobs, abs=1e-6)
    start = Prompt("e", "sentence", "", "", ("The cook rang him.", "The maid rang him."))
    (score,) = plain_scores(tiny("always"), [start])
    assert len(score.token_logprobs[0]) == 5
    with pytest.raises(ModelError, match="has no token before its answer; try bos always"):
        plain_scores(tiny("never"), [start])


def test_every_form_of_a_pronoun_is_asked_and_what_is_missing_is_said() -> None:
    for word, others in FORMS.items():
        (pair,) = sentence_pairs([about_a_pronoun(f"The cook saw, {word}: shim and the rest.", word)])
        assert pair.candidates == others[:2] and pair.pair is not None
        assert pair.pair.before == "The cook saw,"
        assert pair.pair.rests == tuple(f"{other}: shim and the rest." for other in others[:2])
    with pytest.raises(DatasetError, match=r"^the pronoun 'he' is not in the sentence 'The shed\.'$"):
        sentence_pairs([about_a_pronoun("The shed.", "he")])
    with pytest.raises(DatasetError, match=r"^the dataset has no sentence pair and no sentence with a male pronoun"):
        PronounCloze().outcomes([], [], [])


def test_words_that_begin_the_other_side_count_without_going_on(pairs: Path) -> None:
    (example, *_) = load_sentence_pairs(pairs).examples
    prompts = PronounCloze().prompts(example)
    plain = Score("", ((-1.0, -2.0), (-4.0,)))
    stopped = replace(plain, stops=(-0.5, 0.0))
    first, second = (PronounCloze().outcomes([example], prompts, [score]).probs[0, 0] for score in (plain, stopped))
    assert first == pytest.approx(1 / (1 + math.exp(-1.0))) and second == pytest.approx(1 / (1 + math.exp(-0.5)))
