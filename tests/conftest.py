"""Fixtures that several test files share."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
import typer.testing
from hypothesis import settings

from equipoise.datasets.dataset import Dataset
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.datasets.sentence_pairs import load_sentence_pairs
from equipoise.interruption import SIGNALS
from equipoise.records import ABSENT, Example, Outcomes
from equipoise.run import audit
from equipoise.scoring.planted import PlantedEngine
from equipoise.uncertainty import ESTIMATORS, entropy

# Other examples in every run; one that fails is kept in .hypothesis/examples, and is tried first in the next one.
# `--hypothesis-profile thorough` (make everything) tries ten times as many, the same ones on every machine.
settings.register_profile("equipoise", deadline=None, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=200, derandomize=True)
settings.load_profile("equipoise")

# Typer makes all commands and their options anew for each call of a test: three quarters of the time of a short one.
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)

TESTS = Path(__file__).resolve().parent
OF_NUMBERS = ("comparing", "measuring", "metrics", "stats", "verdict")
"""Folders of tests of what computes."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what opens a browser as slow, and shuffle files and their tests where EQUIPOISE_ORDER is a seed.

    Where numbers are made, a division by 0 that nobody expects is an error.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
        if item.path.relative_to(TESTS).parts[0] in OF_NUMBERS:
            item.add_marker(pytest.mark.filterwarnings("error::RuntimeWarning"))
    seed = os.environ.get("EQUIPOISE_ORDER")
    if seed:
        drawn = random.Random(seed)
        places = {path: drawn.random() for path in sorted({item.path for item in items})}
        items.sort(key=lambda item: (places[item.path], drawn.random()))


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """Give each test the signals as they were: a command that ends ignores them, and programs inherit that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Return a function that gives the folder of a real dataset, or skips; in CI a missing one is a failure."""

    def folder(name: str) -> Path:
        root = os.environ.get("EQUIPOISE_DATA")
        found = Path(root).expanduser() / name if root else None
        if found is not None and found.is_dir():
            return found.resolve()
        reason = f"needs the real {name}: set EQUIPOISE_DATA to the folder that holds a folder {name!r}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    return folder


@pytest.fixture(scope="session")
def make_outcomes() -> Callable[[Sequence[Mapping[str, Any]]], Outcomes]:
    """Return a function that makes Outcomes of rows: `pair` and `probs`, and what else of the item matters.

    `gold`, `answerable` (default: whether there is a gold answer), `variant`, `mass`, `expects` (the candidate that the
    stereotype points to); every other key is a group.
    """
    fields = ("pair", "probs", "gold", "answerable", "variant", "mass", "expects")

    def strings(values: Sequence[str]) -> Any:
        return np.array(list(values), dtype=object)

    def outcomes(rows: Sequence[Mapping[str, Any]]) -> Outcomes:
        probs = np.array([row["probs"] for row in rows], dtype=np.float64)
        names = list(dict.fromkeys(name for row in rows for name in row if name not in fields))
        masses = np.array([[row.get("mass", 1.0)] for row in rows])
        with np.errstate(divide="ignore"):
            logprobs = np.log(probs * masses)
        return Outcomes(
            example_id=strings([f"item-{number}" for number in range(len(rows))]),
            variant=strings([row.get("variant", "") for row in rows]),
            set_id=strings([row["pair"] for row in rows]),
            probs=probs,
            logprobs=logprobs,
            gold=np.array([row.get("gold", ABSENT) for row in rows], dtype=np.int64),
            stereotype=np.array([row.get("expects", ABSENT) for row in rows], dtype=np.int64),
            answerable=np.array([row.get("answerable", "gold" in row) for row in rows], dtype=bool),
            groups={name: strings([row.get(name, "") for row in rows]) for name in names},
            flags=strings([""] * len(rows)),
            # As of a model whose whole vocabulary is the candidates.
            reductions={
                "vocab_bits": entropy(probs),
                "vocab_mass": masses[:, 0].astype(np.float64),
                **{one.reduction: one.certainty(probs) for one in ESTIMATORS.values() if one.reduction},
            },
        )

    return outcomes


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that makes a folder with a Llama of random weights and a tokenizer of its own.

    `seed` draws the weights, `spoil` puts NaN into them.
    """

    def make(*, seed: int = 0, spoil: bool = False) -> Path:
        import torch
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
        from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

        from equipoise.datasets.builtin import sentences

        folder = tmp_path_factory.mktemp("model") / f"tiny-llama-{seed}"
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=1000,
            special_tokens=["<s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator([sentence.text for sentence in sentences()], trainer)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>").save_pretrained(folder)
        torch.manual_seed(seed)
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=1000,
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=2,
                max_position_embeddings=512,
            )
        )
        if spoil:
            torch.nn.init.constant_(model.lm_head.weight, float("nan"))
        model.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def default_model_folder() -> Path:
    """Return the folder of the real default model, fetched on first use; where that cannot be, skip (in CI: fail)."""
    from equipoise.records import ModelError
    from equipoise.scoring.default_model import model_folder

    try:
        return model_folder()
    except ModelError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs the default model: {error}")


@pytest.fixture(scope="session")
def default_engine(default_model_folder: Path) -> Any:
    """Return the engine of the real default model."""
    from equipoise.options import EngineOptions
    from equipoise.scoring.default_model import open_default_model

    return open_default_model(EngineOptions(device="cpu", dtype="float32"))


@pytest.fixture(autouse=True)
def no_width_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget a terminal's width that a library or another test has set: tables are then as wide as they need."""
    monkeypatch.delenv("COLUMNS", raising=False)


HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">{{7*7}} & \\input{x} | $'
"""What a name or a sentence could try to be instead of text."""


@pytest.fixture(scope="session")
def hostile() -> str:
    """Return what a name could try to be instead of text."""
    return HOSTILE


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that audits a planted engine on some built-in pairs, and gives the run folder.

    `by=[]` leaves out the groups (pronoun, occupation, …), which take most of the time.
    """

    def run(name: str, *, limit: int = 80, seed: int = 0, by: list[str] | None = None, **engine: float) -> Path:
        folder = tmp_path_factory.mktemp("runs") / name
        measured = {} if by is None else {"by": by}
        audit(PlantedEngine(**{"noise": 0.7, **engine}), limit=limit, out=folder, resamples=60, seed=seed, **measured)
        return folder

    return run


@pytest.fixture(scope="session")
def planted_run(make_run: Callable[..., Path]) -> Path:
    """Return the folder of a run with a strong bias."""
    return make_run("strong", strength=1.0, bias=1.2)


@pytest.fixture(scope="session")
def mild_run(make_run: Callable[..., Path]) -> Path:
    """Return the folder of a run with a weak bias, on the same sentences."""
    return make_run("mild", strength=1.6, bias=0.3)


@pytest.fixture(scope="session")
def twin_run(mild_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with the same answers as the weak one: a copy under another name."""
    return Path(shutil.copytree(mild_run, tmp_path_factory.mktemp("runs") / "twin"))


@pytest.fixture(scope="session")
def cloze_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of two runs on the same labelled sentence pairs: far from calibrated, and close to it."""
    folder = tmp_path_factory.mktemp("cloze")
    jobs = [name for name in OCCUPATIONS if " " not in name][:10]
    starts = [f"On day {number} the {job} came and" for job in jobs for number in range(6)]
    rows = [f"{start} he slept.,{start} she slept.,{number * 7 % 10 < 6:d}" for number, start in enumerate(starts)]
    (folder / "pairs.csv").write_text("\n".join(["sent_more,sent_less,y", *rows]), encoding="utf-8")
    pairs = load_sentence_pairs(folder / "pairs.csv", {})
    for name, engine in (("far", PlantedEngine(bias=0, noise=3)), ("close", PlantedEngine(bias=3, noise=0.5))):
        audit(engine, pairs, task="cloze", out=folder / name, resamples=40)
    return folder / "far", folder / "close"


WORDINGS = """
[[wording]]
name = "one"
beginning = '{text} Here "{pronoun}" is the'
choice = '{text} Here "{pronoun}" is'
[[wording]]
name = "two"
beginning = '{text} Who is "{pronoun}"? It is the'
choice = '{text} Who is "{pronoun}"?'
[[wording]]
name = "three"
beginning = '{text} The pronoun "{pronoun}" means the'
choice = '{text} The pronoun "{pronoun}" means'
"""


@pytest.fixture(scope="session")
def worded_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the folders of two runs on the same sentences in three wordings, measured by three estimators."""
    folder = tmp_path_factory.mktemp("worded")
    (folder / "three.toml").write_text(WORDINGS, encoding="utf-8")
    choices = {"wordings": str(folder / "three.toml"), "by": [], "limit": 80, "resamples": 40}
    choices |= {"metrics": ["ucerf", "ucerf_signed", "flip_rate", "accuracy"]}
    for name, engine in (
        ("even", PlantedEngine(strength=2, bias=0.2, noise=0.5, wording=1.0)),
        ("biased", PlantedEngine(strength=1, bias=2.0, noise=0.5, wording=1.0)),
    ):
        audit(engine, out=folder / name, estimators=["perplexity", "margin", "prompt-ensemble"], **choices)
    return [folder / "even", folder / "biased"]


@dataclass(frozen=True)
class HostileEngine(PlantedEngine):
    """A planted engine whose name is an attack."""

    @property
    def name(self) -> str:
        return f"model {HOSTILE}"


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run whose model, dataset, sentences, candidates and groups are all attacks."""
    examples = [
        Example(
            id=f"{HOSTILE}-{number}-{gender}",
            text=f"The nurse {number} {HOSTILE} said that {pronoun} came.",
            candidates=(f"nurse {HOSTILE}", "carpenter"),
            gold=number % 2,
            answerable=True,
            stereotype=int(gender == "male"),
            groups={
                "type": "type2",
                "gender": gender,
                "occupation": f"nurse {HOSTILE}" if number % 2 == 0 else "carpenter",
                "stereotype": "pro" if (number % 2 == 1) == (gender == "male") else "anti",
                "note": HOSTILE if number % 3 else "plain",
            },
            set_id=f"{HOSTILE}-{number}",
            slots={"pronoun": pronoun},
        )
        for number in range(12)
        for gender, pronoun in (("male", "he"), ("female", "she"))
    ]
    folder = tmp_path_factory.mktemp("runs") / "hostile"
    audit(HostileEngine(noise=1.0), data=Dataset(f"data {HOSTILE}", tuple(examples)), out=folder, resamples=30)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Give a real Chromium, or skip; in CI a missing one is a failure."""
    named = os.environ.get("EQUIPOISE_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        reason = "needs Chromium: apt-get install chromium, or name one in EQUIPOISE_CHROMIUM"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=[*quiet, "--disable-sync", "--no-first-run"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a page; at the end no script failed and nothing but the page was asked for."""
    contexts, troubles, asked = [], [], []

    def visit(path: Path, address: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on(
            "console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None
        )
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("dialog", lambda dialog: (troubles.append("a dialog"), dialog.dismiss()))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.resolve().as_uri() + address)
        tab.wait_for_selector("html[data-cases=ready]", timeout=20_000)
        return tab

    yield visit
    for context in contexts:
        context.close()
    assert troubles == []
    assert all(url.startswith(("file://", "data:")) for url in asked)
    assert sum(url.startswith("file://") for url in asked) == len(contexts)


@pytest.fixture(scope="session")
def board_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of runs for a leaderboard: three planted models, one of them twice, one asked fewer sentences."""
    folder = tmp_path_factory.mktemp("board")
    few: dict[str, Any] = {"metrics": ["ucerf", "flip_rate", "flip_bias", "accuracy"], "by": [], "resamples": 40}
    usual = {"limit": 60, **few}
    audit(PlantedEngine(3, 0, noise=0.7), out=folder / "clear", estimators=["perplexity", "renyi"], **usual)
    audit(PlantedEngine(1, 2.5, noise=0.7), out=folder / "deep" / "biased", **usual)
    audit(PlantedEngine(1, 2.5, noise=0.7), out=folder / "deep" / "biased again", **usual)
    audit(PlantedEngine(3, 0, noise=0.7), out=folder / "fewer", limit=20, **few)
    audit(PlantedEngine(1, 2.5, noise=0.7, mass=0.01), out=folder / "lost", **usual)
    return folder
