"""Do servers give the same scores as the model in process, and how fast? Prints the tables of docs/engines.md.

    python benchmarks/servers.py [--vllm ENVIRONMENT/bin/python] [--limit 200] [--sides q4_1 f16 f32 f32-exact rounded]

The same WinoBias prompts (next word) are scored by SmolLM2 in process, behind llama.cpp (xllamacpp, of the dev extra)
and, where its environment is given, behind vLLM. `f16` and `f32` are the same weights as floats; `exact` keeps keys,
values and attention in float32, too. `rounded` is in process, with the inputs of all linear layers rounded to 8 bits in
groups of 32, as llama.cpp rounds them for weights of 4 bits. WinoBias is read from EQUIPOISE_DATA or the cache.
`--smoke` takes the first two layers of SmolLM2 and built-in sentences.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import torch
from shared.machine import free_port
from shared.models import first_layers
from shared.options import parsed
from transformers import AutoModelForCausalLM, AutoTokenizer

import equipoise
from equipoise.datasets import open_dataset
from equipoise.options import EngineOptions
from equipoise.records import Prompt, Score
from equipoise.runs import Part
from equipoise.scoring.default_model import gguf_file, model_folder
from equipoise.scoring.encoding import Encoder, Question
from equipoise.scoring.engine import Engine, EngineDefaults, identity_key
from equipoise.scoring.opening import open_engine

LLAMA_CPP = """
import sys, time
from xllamacpp import CommonParams, Server, ggml_type, llama_flash_attn_type
model, port, threads, exact = sys.argv[1:]
parameters = CommonParams()
parameters.model.path, parameters.port, parameters.hostnames = model, int(port), ["127.0.0.1"]
parameters.cpuparams.n_threads = int(threads)
parameters.n_ctx, parameters.n_parallel, parameters.warmup = 4096, 4, False
if exact == "exact":
    parameters.cache_type_k = parameters.cache_type_v = ggml_type.GGML_TYPE_F32
    parameters.flash_attn_type = llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = Server(parameters)
time.sleep(36000)
"""

VLLM = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
SIDES = ("q4_1", "f16", "f32", "f32-exact", "rounded")
METRICS = ("accuracy", "ucerf", "certainty")
KINDS = ("type1", "type2")
GROUP = 32

Tokens = dict[str, tuple[tuple[float, ...], ...]]


class Recorder:
    """An engine that keeps the log-probability of every token, by example, and the seconds that scoring took."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.tokens: Tokens = {}
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity, names = identity_key(self._engine), {}

        def noted() -> Iterator[Sequence[Prompt]]:
            for batch in batches:
                names.update({prompt.key(identity): prompt.example_id for prompt in batch})
                yield batch

        start = time.perf_counter()
        for scores in self._engine.score(noted()):
            self.tokens.update({names[score.prompt_key]: score.token_logprobs for score in scores})
            yield scores
        self.seconds += time.perf_counter() - start


@dataclass
class Side:
    """The answers of one program."""

    name: str
    method: str
    tokens: Tokens
    part: Part
    rate: float
    """Prompts in a second."""

    differences: tuple[np.ndarray, np.ndarray] = field(default=(np.zeros(1), np.zeros(1)))
    """Of candidates and of tokens, to the model in process."""

    def compare(self, local: Side) -> None:
        """Note how the log-probabilities differ from those in process."""
        pairs = [
            (np.array(left), np.array(right))
            for example, rows in local.tokens.items()
            for left, right in zip(rows, self.tokens[example], strict=True)
        ]
        candidates = np.array([abs(left.sum() - right.sum()) for left, right in pairs])
        self.differences = candidates, np.concatenate([abs(left - right) for left, right in pairs])


def asked(name: str, engine: Engine, data: str, limit: int, folder: Path) -> Side:
    """Return what an engine answers."""
    # What an engine does once, on its first prompt, is not part of the rate.
    list(engine.score([[Prompt("first", "next-word", "", "The nurse said that", (" he", " she"))]]))
    recorder = Recorder(engine)
    run = equipoise.audit(
        recorder, data=[open_dataset(data).limited(limit)], out=folder / name.replace(" ", "-"), resamples=10
    )
    method = str(engine.description.get("scoring", "packed prefix trees"))
    return Side(name, method, recorder.tokens, run.parts[0], len(recorder.tokens) / recorder.seconds)


@contextmanager
def served(command: Sequence[str], port: int, **settings: str) -> Iterator[str]:
    """Yield the address of a server that the command starts."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | settings
    output = subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, stdout=output, stderr=output) as process:
        try:
            for _ in range(1800):
                time.sleep(0.2)
                if process.poll() is not None:
                    raise SystemExit(f"the server ended with status {process.returncode}: {' '.join(command[:4])} …")
                with suppress(httpx.TransportError):
                    if httpx.get(f"http://127.0.0.1:{port}/v1/models", timeout=60).status_code == 200:
                        break
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


class Rounded(EngineDefaults):
    """The default model with the inputs of its linear layers rounded as llama.cpp rounds them (Q8_1).

    Rounding makes much of differences in the last digit, so there is one sequence in each pass.
    """

    name = "rounded"
    identity: Mapping[str, Any] = {"engine": "rounded"}

    def __init__(self) -> None:
        self._model = AutoModelForCausalLM.from_pretrained(model_folder(), dtype="float32").eval()
        self._encoder = Encoder(AutoTokenizer.from_pretrained(model_folder()))
        for layer in self._model.modules():
            if isinstance(layer, torch.nn.Linear):
                layer.register_forward_pre_hook(rounded)

    @property
    def description(self) -> Mapping[str, Any]:
        return {"scoring": "one sequence at a time"}

    @torch.inference_mode()
    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            questions = zip(batch, self._encoder.questions(batch), strict=True)
            yield [Score(prompt.key(identity), self._logprobs(question)) for prompt, question in questions]

    def _logprobs(self, question: Question) -> tuple[tuple[float, ...], ...]:
        rows = []
        for sequence, start in zip(question.sequences, question.starts, strict=True):
            table = self._model(torch.tensor([sequence])).logits[0].log_softmax(-1)
            rows.append(tuple(float(table[place - 1, sequence[place]]) for place in range(start, len(sequence))))
        return tuple(rows)


def rounded(_: Any, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Return the input of a layer as 8 bits with a scale for each group, multiplied out again."""
    groups = given[0].reshape(-1, GROUP)
    scale = groups.abs().amax(dim=1, keepdim=True) / 127
    steps = (groups / scale.clamp(min=1e-30)).round()
    return ((steps * scale.half().float()).reshape(given[0].shape), *given[1:])


def sides(chosen: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Callable[[ExitStack], Engine]]]:
    """Yield the name of each side, and what opens its engine."""
    from gguf_floats import write_floats

    local, layers = "smollm2", None
    if chosen.smoke:
        local, layers = str(first_layers(model_folder(), folder / "first", 2)), 2
    yield "in process", lambda _: open_engine(local, EngineOptions(dtype="float32", device="cpu"))
    if chosen.vllm:
        port = free_port()
        words = ["--model", str(model_folder()), "--served-model-name", "smollm2", "--dtype", "float32"]
        words += ["--enforce-eager", "--max-model-len", "1024", "--host", "127.0.0.1", "--port", str(port)]
        command = [str(chosen.vllm), "-m", "vllm.entrypoints.openai.api_server", *words]
        yield "vLLM", lambda stack: _open(stack.enter_context(served(command, port, **VLLM)))
    for side in chosen.sides:
        if side == "rounded":
            yield "in process, rounded", lambda _: Rounded()
            continue
        kind, _, exact = side.partition("-")
        model = gguf_file() if kind == "q4_1" else folder / f"{kind}.gguf"
        if not model.exists():
            write_floats(gguf_file(), model, bits=int(kind[1:]), layers=layers)
        port = free_port()
        command = [sys.executable, "-c", LLAMA_CPP, str(model), str(port), str(chosen.threads), exact]
        yield f"llama.cpp {side}", lambda stack, c=command, p=port: _open(stack.enter_context(served(c, p)))


def _open(url: str) -> Engine:
    return open_engine("smollm2", EngineOptions(server=url))


def table(answers: Sequence[Side]) -> Iterator[str]:
    """Yield the lines of the table, a column for each side."""
    local = answers[0]
    yield "| | " + " | ".join(side.name for side in answers) + " |"
    yield "|---|" + "---|" * len(answers)
    rows: dict[str, Callable[[Side], str]] = {
        "method": lambda side: side.method,
        "largest difference, nats": lambda side: f"{side.differences[0].max():.2g}",
        "root mean square, nats": lambda side: f"{np.sqrt((side.differences[0] ** 2).mean()):.2g}",
        "mean difference, nats": lambda side: f"{side.differences[0].mean():.2g}",
        "of a token: largest": lambda side: f"{side.differences[1].max():.2g}",
        "of a token: mean": lambda side: f"{side.differences[1].mean():.2g}",
        "tokens within 0.3 nats": lambda side: f"{(side.differences[1] <= 0.3).mean():.1%}",
        "equal predictions": lambda side: f"{_equal(side, local):.1%}",
    }
    for name, cell in rows.items():
        cells = [cell(side) if name == "method" or side is not local else "–" for side in answers]
        yield f"| {name} | {' | '.join(cells)} |"
    for metric in METRICS:
        values = [[side.part.measured.get(metric, type=kind) for kind in KINDS] for side in answers]
        shown = [" / ".join("–" if value is None else f"{value.value:.3f}" for value in pair) for pair in values]
        yield f"| {metric}, type 1 / type 2 | {' | '.join(shown)} |"
    yield "| prompts/s | " + " | ".join(f"{side.rate:.3g}" for side in answers) + " |"


def _equal(side: Side, local: Side) -> float:
    return float((side.part.outcomes.logprobs.argmax(1) == local.part.outcomes.logprobs.argmax(1)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vllm", type=Path, help="the Python of an environment with vllm-cpu")
    parser.add_argument("--limit", type=int, default=200, help="base sentences; 200 are 394 prompts")
    parser.add_argument("--sides", nargs="*", default=["q4_1"], choices=SIDES)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of llama.cpp")
    parser.add_argument("--data", default="winobias")
    chosen = parsed(parser, data="builtin", limit=1, sides=["f32"], threads=1)
    answers: list[Side] = []
    with tempfile.TemporaryDirectory() as name:
        for side, opened in sides(chosen, Path(name)):
            start = time.perf_counter()
            with ExitStack() as stack:
                answers.append(asked(side, opened(stack), chosen.data, chosen.limit, Path(name)))
            answers[-1].compare(answers[0])
            print(f"{side}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        candidates, tokens = (len(values) for values in answers[0].differences)
        print(f"{len(answers[0].tokens)} prompts, {candidates} candidates, {tokens} tokens\n")
        print("\n".join(table(answers)))


if __name__ == "__main__":
    main()
