"""Every choice that a user has about tuning a model, declared once."""

from __future__ import annotations

from dataclasses import dataclass

from .option import TUNING, Options, option


@dataclass(frozen=True, kw_only=True)
class TuningOptions(Options):
    """How a model is tuned; a tuning plan takes these as they are."""

    method: str = option("lora", "lora (an adapter) or full (all weights).", TUNING, choices=("lora", "full"))
    rank: int = option(16, "Rank of the LoRA adapter.", TUNING, least=1)
    target: str = option(
        "base",
        "base (the model's own answers, averaged within sets) or labels (of the data).",
        TUNING,
        choices=("base", "labels"),
    )
    weight: float = option(1.0, "Weight of the UCerF loss; 0 trains the task only.", TUNING, least=0)
    decided: int = option(16, "Sets in a step in which the group word decides who is meant; 0: none.", TUNING, least=0)
    decided_target: str = option(
        "labels",
        "What is asked there: labels, or base (the model's own answer to each sentence).",
        TUNING,
        choices=("labels", "base"),
    )
    leash: float = option(1.0, "Weight of the divergence from the base on neutral text.", TUNING, least=0)
    temperature: float = option(0.5, "Softness of the sign in the UCerF loss.", TUNING, least=0)
    estimator: str = option("perplexity", "perplexity, entropy, renyi, fisher-rao, …", TUNING)
    parity: str = option(
        "both", "What to balance in unanswerable sets.", TUNING, choices=("certainty", "signed", "both")
    )
    steps: int = option(200, "Maximum number of steps.", TUNING, least=1)
    learning_rate: float = option(0.0, "0: 5e-4 for LoRA and 1e-4 for all weights.", TUNING, least=0)
    seed: int = option(0, "Seed of the sentences, the split and the order.", TUNING, least=0)
    validate_every: int = option(25, "Steps between validations.", TUNING, least=1)
    validation_sets: int = option(256, "Maximum number of sets to validate on, spread evenly.", TUNING, least=0)
    outside_sets: int = option(0, "Maximum number of built-in sets in each validation; 0 for all.", TUNING, least=0)
    patience: int = option(4, "Stop after this many validations without a gain.", TUNING, least=1)
