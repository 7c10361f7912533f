"""Every choice that a user has about an audit, declared once: one class for each part of the program that takes some.

To add an option, add a field to the class of whoever takes it. The command line, its help, configuration files, the
signature of `audit`, the manifest and the reference pages follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .option import (
    ASK,
    CLUSTER,
    IDENTITIES,
    MEASURING,
    MODEL,
    OUTPUT,
    PROMPT,
    SERVER,
    OptionError,
    Options,
    option,
)
from .stopping import StoppingOptions


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """What is audited, and where the run is kept."""

    model: str = option(
        "smollm2",
        "smollm2 (fetched from the package index), a hub's NAME or hf:NAME[@revision], a folder, FILE.gguf, "
        "planted:strength=2,bias=0.5 (a bias of known size), or ensemble:A+B (several as one; A[adapter=FOLDER]).",
        ASK,
        positional=True,
    )
    data: Sequence[str] = option(
        ("builtin", "gendered:control"),
        "builtin, gendered (the pronoun decides; gendered:control has 40 sets), decisions, fresh (new sentences), "
        "winobias, synthbias, winoidentity (identities by markers), winogender, genderlex, bbq or bbq:Age (see "
        "`equipoise data list`), or the path of a table, a folder or a file of templates.",
        ASK,
    )
    task: Sequence[str] = option(
        ("next-word",),
        "next-word, mcq (multiple choice), open (answered freely), next-word-cot or mcq-cot (after a reasoning turn), "
        "cloze (the pronoun at its place) or sentence (the whole sentence).",
        ASK,
    )
    out: str | None = option(
        None,
        "The run folder. Default: a folder under runs/, the same for the same command.",
        OUTPUT,
        path=True,
    )
    replace: bool = option(
        False, "If the run folder holds another run (other model, data, task or settings), delete that run.", OUTPUT
    )


@dataclass(frozen=True, kw_only=True)
class SeedOption(Options):
    """The seed, which several parts take."""

    seed: int = option(0, "First seed for option orders, resamples and fresh sentences.", PROMPT, least=0, asked=4)


@dataclass(frozen=True, kw_only=True)
class DatasetOptions(SeedOption):
    """How a dataset is read."""

    limit: int | None = option(None, "Use at most N base sentences (whole sets), spread evenly.", ASK, least=1, asked=1)
    where: Sequence[str] = option(
        (),
        "Only the sentences with these groups: occupation=nurse,other=physician. Alternatives: type=type1|type2. "
        "candidate=nurse: nurse is one of the candidates. With several, sentences that meet any of them.",
        ASK,
        asked=2,
    )
    pronouns: Sequence[str] = option(
        ("he", "she"),
        "he,she,they,xe,ze,ey,fae, your own (ve/ver/vis/verself), or a TOML file.",
        ASK,
        commas=True,
        asked=5,
    )
    columns: Mapping[str, str] = option(
        {}, "Which column of a table is which: --columns text=sentence,gold=answer.", ASK, asked=6
    )
    as_published: bool = option(
        False, "Repair nothing in the data: WinoBias's detached 's, BBQ's options.", ASK, asked=7
    )
    without_faults: bool = option(
        False, "Leave out the sets in which `equipoise data check` lists a fault.", ASK, asked=46
    )
    neutral: str = option(
        "",
        "Replace the occupation (the referent's, if known) by a neutral word.",
        ASK,
        choices=("person", "someone"),
        asked=8,
    )
    augment: Sequence[str] = option(
        ("R", "NR", "C"),
        "winoidentity: markers before the referent (R), the other (NR), both (C).",
        IDENTITIES,
        choices=("R", "NR", "C"),
        commas=True,
        asked=14,
    )
    attributes: Sequence[str] | None = option(
        None, "winoidentity: age,race,… (see `equipoise data show winoidentity`).", IDENTITIES, commas=True, asked=15
    )
    base: str = option(
        "winobias", "winoidentity: the sentences to mark: winobias, synthbias, builtin or a path.", IDENTITIES, asked=16
    )
    markers: str | None = option(
        None, "winoidentity: a TOML file with markers of your own.", IDENTITIES, path=True, asked=17
    )
    crossed: bool = option(
        False, "winoidentity: contrast every marker with all markers of the other side.", IDENTITIES, asked=18
    )


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """Texts that a model writes, for tasks and for servers."""

    reasoning_tokens: int = option(128, "…-cot: maximum tokens of the reasoning.", PROMPT, least=1, asked=22)
    samples: int = option(
        0,
        "Number of texts to sample for each question: answers (--task open, servers without probabilities), "
        "reasonings (…-cot).",
        PROMPT,
        least=0,
        asked=33,
    )


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(TextOptions):
    """How a task is asked and its answer read; tasks take these as they are."""

    chat: bool = option(
        False,
        "Ask through the model's chat template, with the beginning of the answer in the assistant's turn; the papers' "
        "prompts are raw text.",
        PROMPT,
        asked=12,
    )
    system: str = option("", "System prompt of --chat.", PROMPT, asked=13)
    token_aggregate: str = option(
        "sum",
        "How the scores of tokens are combined; pmi: next-word, max: cloze.",
        PROMPT,
        choices=("sum", "mean", "pmi", "max"),
        asked=24,
    )
    answer_space: str = option(
        "joined", "mcq: the answers are ' A' (joined) or 'A' (apart).", PROMPT, choices=("joined", "apart"), asked=25
    )
    both: bool = option(False, 'mcq: also offer "Both of them", a possible reading of they.', PROMPT, asked=26)
    answer_turn: str = option(
        "assistant",
        "…-cot: ask again in the assistant's own turn (assistant), in a user's turn (user, the WinoIdentity paper's "
        "format), or in plain text without turns (plain: models without a chat template).",
        PROMPT,
        choices=("assistant", "user", "plain"),
        asked=23,
    )
    temperature: float = option(1.0, "Temperature of sampled answers and reasonings.", PROMPT, above=0, asked=34)
    answer_tokens: int = option(32, "Maximum tokens of an open answer.", PROMPT, least=1, asked=35)
    second_reader: bool = option(
        False,
        "open: also ask the model whom its answer names; how often this agrees with the rules is reported.",
        PROMPT,
        asked=39,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.system and not self.chat:
            raise OptionError("chat must be set, too: system is its system prompt", "chat", "system")
        if self.second_reader and self.samples:
            sentence = "second_reader reads one answer for each question; leave samples out"
            raise OptionError(sentence, "second_reader", "samples")
        if self.chat and self.answer_turn == "plain":
            sentence = "answer_turn plain has no turns, and chat asks in turns; give one of them"
            raise OptionError(sentence, "chat", "answer_turn")


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(AnswerOptions, SeedOption):
    """How a task is asked, with the files and numbers that settings look up for it."""

    orders: int = option(1, "mcq: number of option orders to average over.", PROMPT, least=1, asked=3)
    questions: Sequence[str] = option(
        (),
        'Your own wording: "{text} The mood of {name} is". Several are averaged.',
        PROMPT,
        flag="--question",
        asked=9,
    )
    wordings: str | None = option(
        None,
        "Ask every sentence in every wording of a TOML file, or of the ten that come with the package (built-in); "
        "`equipoise study wording` then says how much the wording changes.",
        PROMPT,
        asked=10,
    )
    shots: str | None = option(
        None, "A table like your data, shown with its answers before each question.", PROMPT, path=True, asked=11
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wordings and self.questions:
            sentence = "questions and wordings both word the question; give one of them"
            raise OptionError(sentence, "questions", "wordings")


@dataclass(frozen=True, kw_only=True)
class EngineOptions(TextOptions, SeedOption):
    """How a model is loaded, or reached."""

    device: str = option(
        "auto",
        "auto, cpu, cuda or cuda:N; several (cuda:0,cuda:1) or all GPUs (all) score together, a process each; spread "
        "divides one large model over all GPUs.",
        MODEL,
        speed=True,
    )
    dtype: str = option(
        "auto",
        "Number format of the computation; auto: as in the model's files.",
        MODEL,
        choices=("auto", "float32", "bfloat16", "float16"),
        asked=27,
    )
    bos: str = option(
        "auto",
        "Begin-of-text token; auto: as the tokenizer does.",
        MODEL,
        choices=("auto", "always", "never"),
        asked=28,
    )
    chat_time: str = option(
        "",
        "The time that a chat template prints, such as 2026-11-16T09:00:00. Default: when the run begins; it is "
        "recorded, and a run that is continued keeps it.",
        MODEL,
        asked=38,
    )
    revision: str | None = option(None, "Revision of a hub's model.", MODEL, asked=29)
    trust_remote_code: bool = option(False, "Run code that comes with the model.", MODEL)
    allow_pickle: bool = option(False, "Load pickled weights, which can run code.", MODEL)
    verify_weights: bool = option(
        False, "Read all weights to check their hash, even if their size, times and inode are known.", MODEL, speed=True
    )
    whole_vocabulary: bool = option(
        False, "Also store entropy, Rényi, Fisher-Rao and candidate mass over the whole vocabulary.", MODEL
    )
    adapter: str | None = option(None, "Folder of a LoRA adapter (peft).", MODEL, asked=30)
    merge_adapter: bool = option(False, "Merge the adapter into the weights before scoring.", MODEL, asked=31)
    quantize: str | None = option(None, "Round the weights.", MODEL, choices=("int8", "int4"), asked=32)
    dropout: float = option(
        0.0, "Monte Carlo dropout: drop this share of each layer, such as 0.1.", MODEL, least=0, below=1, asked=36
    )
    passes: int = option(20, "With --dropout: number of passes to average.", MODEL, least=1, asked=37)
    server: str | None = option(
        None,
        "Address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1; MODEL is then a name that it serves "
        "(default: its only one). The key is read from EQUIPOISE_API_KEY or OPENAI_API_KEY.",
        SERVER,
    )
    concurrency: int = option(16, "Requests to a server at once.", SERVER, least=1, speed=True)
    timeout: float = option(
        120.0,
        "Timeout of a request to a server, or of the start of a cluster, in seconds.",
        SERVER,
        above=0,
        speed=True,
    )
    cluster: str | None = option(
        None,
        "Score on a Ray cluster: its address, or auto (what RAY_ADDRESS names, else a local one that ends with the "
        "command); needs equipoise[ray].",
        CLUSTER,
        speed=True,
    )
    workers: int = option(
        0, "Workers of the cluster; 0: one for each GPU, or for --worker-cores cores.", CLUSTER, least=0, speed=True
    )
    worker_cores: int = option(1, "Processor cores of each worker without a GPU.", CLUSTER, least=1, speed=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            datetime.fromisoformat(self.chat_time or "2026-11-16")
        except ValueError:
            sentence = f"chat_time must be a time such as 2026-11-16T09:00:00, not {self.chat_time!r}"
            raise OptionError(sentence, "chat_time") from None
        if self.dropout and self.server:
            raise OptionError("a server cannot put dropout into its model; load the model here")
        if self.cluster and self.server:
            sentence = "a server needs no cluster: it answers many requests at once (concurrency)"
            raise OptionError(sentence, "concurrency")
        if (self.workers or self.worker_cores != 1) and not self.cluster:
            raise OptionError("workers and worker_cores need cluster", "workers", "worker_cores", "cluster")


@dataclass(frozen=True, kw_only=True)
class PlanOptions(SeedOption):
    """How groups are formed and intervals made; a measuring plan takes these as they are."""

    by: Sequence[str] | None = option(
        None, "Break down by this group or combination (gender*form), not by the default ones.", MEASURING
    )
    disparity: str = option(
        "auto",
        "How sets with more than two sentences are compared; auto: by range, pairwise where sets differ in size.",
        MEASURING,
        choices=("auto", "range", "pairwise", "deviation"),
    )
    resamples: int = option(2000, "Number of bootstrap resamples for intervals.", MEASURING, least=1)
    level: float = option(0.95, "Confidence level of the intervals.", MEASURING, above=0, below=1)


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions(PlanOptions):
    """What is measured: by name, which settings look up."""

    metrics: Sequence[str] | None = option(
        None, "Measure only this metric (see `equipoise list metrics`).", MEASURING, flag="--metric"
    )
    estimators: Sequence[str] = option(
        ("perplexity",),
        "How certainty is computed: perplexity, entropy, renyi, fisher-rao, margin, top-probability; over the whole "
        "vocabulary (audits with --whole-vocabulary): vocab-entropy, vocab-renyi, vocab-fisher-rao; p-true asks the "
        "model whether its answer is true. All but perplexity are named in the metrics (ucerf_renyi).",
        MEASURING,
        flag="--estimator",
    )


@dataclass(frozen=True, kw_only=True)
class AuditOptions(StoppingOptions, MeasuringOptions, EngineOptions, QuestionOptions, DatasetOptions):
    """All that may be chosen about how a model is audited: these options are in the manifest of a run."""


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Options):
    """What a command prints and writes; the command line alone takes these."""

    log: Sequence[str] = option(
        (),
        "Log the run to a tracker, too (pip install 'equipoise[trackers]').",
        OUTPUT,
        choices=("mlflow", "wandb", "tensorboard"),
    )
    dry_run: bool = option(
        False, "Only print the number of prompts, the time, and what --until and --until-width save.", OUTPUT
    )
    no_html: bool = option(False, "Do not write report.html.", OUTPUT)
    quiet: bool = option(False, "Print nothing but errors.", OUTPUT, short="-q")
    json: bool = option(False, "Print the measurements as JSON instead of tables.", OUTPUT)
