"""The actors: whoever is free takes the next piece of work; one that dies is replaced, and its work is done again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import ray

from ...options import EngineOptions
from ...records import Example, ModelError
from ..engine import Opener, local_path
from .actor import MISSING, Answer, Scorer, pack_files
from .connection import check_head, first_line

IN_FLIGHT = 2
"""Pieces that an actor has at once: the one it works on, and the next, so that it never waits."""

START_SECONDS = 900.0
"""How long no actor at all may be ready: a large model loads slowly, a full cluster never."""

TRIES = 3
"""How often a piece of work may end its actor before it is given up, or taken apart."""

STARTS = 4
"""How often an actor may die in succession before it has answered anything."""


@dataclass(frozen=True)
class Recipe:
    """What every actor opens, and what it needs of the cluster."""

    opener: Opener
    spec: str
    options: EngineOptions
    cores: int
    gpus: int = 0


@dataclass(eq=False)
class Piece:
    """A call of an actor's method. `deaths` counts the actors that died with it in hand."""

    method: str
    arguments: tuple[Any, ...]
    key: Any = None
    deaths: int = 0


Source = Callable[[], Piece | None]
"""Returns the next piece of work; None where there is none, or where enough of them are on their way."""

Split = Callable[[Piece], Sequence[Piece] | None]
"""Returns what to try after an actor died with a piece: other pieces, none to give it up, None for the same again."""


def give_up(piece: Piece) -> None:
    """Let a piece be tried again, a few times."""
    if piece.deaths >= TRIES:
        raise ModelError(f"a call of {piece.method} ended its worker {TRIES} times; earlier answers are saved")


@dataclass(eq=False)
class _Actor:
    """An actor: its handle, whether it has opened its engine, and the calls that it has not answered, oldest first."""

    handle: Any
    opening: Any
    placed: Any
    ready: bool = False
    calls: deque[tuple[Piece, Any]] = field(default_factory=deque)

    @property
    def next_answer(self) -> Any:
        return self.calls[0][1] if self.ready and self.calls else None if self.ready else self.opening


class Pool:
    """Actors with one engine each. All of them must give the same answers, so all must have the same identity."""

    def __init__(self, recipe: Recipe, count: int) -> None:
        self._recipe = recipe
        self._actors: list[_Actor] = []
        self._prepared: list[Any] = []
        self._files: Any = None
        self._failed_starts = 0
        self._idle_since = time.monotonic()
        self.about: dict[str, Any] = {}
        for _ in range(count):
            self._start()
        while not self.about:
            self._wait()

    def prepare(self, examples: Sequence[Example]) -> None:
        """Let all actors, and those that come after them, take note of the examples."""
        reference = ray.put(list(examples))
        self._prepared.append(reference)
        for actor in self._actors:
            if actor.ready:
                # Calls of an actor run in order, so whatever is asked next is asked of a prepared engine.
                actor.handle.prepare.remote(reference)

    def ask(self, piece: Piece) -> Any:
        """Return the answer to one piece of work."""
        pieces = iter([piece])
        ((_, answer),) = self.answers(lambda: next(pieces, None), give_up)
        return answer

    def answers(self, source: Source, split: Split) -> Iterator[tuple[Piece, Any]]:
        """Yield each piece of the source with its answer, as they arrive; the source may say None for "not now".

        `split` is called with a piece whose actor died. It returns the pieces to try instead, none to give it up, or
        None to try it again as it is. Those wait until the source has nothing else: several actors that are killed
        one after the other then lose different pieces, and none of these is taken for the cause.
        """
        again: deque[Piece] = deque()
        suspects: deque[Piece] = deque()
        try:
            while True:
                exhausted = self._hand_out(again, source, suspects)
                if exhausted and not any(actor.calls for actor in self._actors):
                    return
                for actor in self._wait():
                    if (answered := self._collect(actor)) is not None:
                        yield answered
                    else:
                        suspected, untouched = self._survivors(actor, split)
                        again.extendleft(reversed(untouched))
                        suspects.extend(suspected)
        finally:
            # Left early: calls that nobody will fetch are taken back, so that the actors can be used again.
            for actor in self._actors:
                for _, reference in actor.calls:
                    with suppress(Exception):
                        ray.cancel(reference)
                actor.calls.clear()

    def _hand_out(self, again: deque[Piece], source: Source, suspects: deque[Piece]) -> bool:
        """Give every actor that is ready as much work as it may have; return whether there is no more to give."""
        while True:
            free = [actor for actor in self._actors if actor.ready and len(actor.calls) < IN_FLIGHT]
            if not free:
                return False
            piece = again.popleft() if again else source()
            if piece is None:
                if not suspects:
                    return True
                piece = suspects.popleft()
            actor = min(free, key=lambda candidate: len(candidate.calls))
            reference = getattr(actor.handle, piece.method).remote(*piece.arguments)
            actor.calls.append((piece, reference))

    def _wait(self) -> list[_Actor]:
        """Return the actors that have answered, or died; ModelError where no actor has been ready for too long."""
        waited = {actor.next_answer: actor for actor in self._actors if actor.next_answer is not None}
        done, _ = ray.wait(list(waited), timeout=5.0)
        check_head()
        if any(actor.ready for actor in self._actors):
            self._idle_since = time.monotonic()
        elif not done:
            self._check_start(time.monotonic() - self._idle_since)
        several = [waited[reference] for reference in done]
        for actor in several:
            if not actor.ready:
                self._opened(actor)
        return [actor for actor in several if actor.ready and actor.calls]

    def _check_start(self, seconds: float) -> None:
        """Raise an error where no actor has a place, or none its model, after this number of seconds."""
        patience = self._recipe.options.timeout
        if seconds > START_SECONDS:
            raise ModelError(f"no worker of the cluster was ready within {START_SECONDS:.0f} seconds")
        if seconds > patience and not ray.wait([actor.placed for actor in self._actors], timeout=0)[0]:
            raise ModelError(f"the cluster had no room for a worker within {patience:g} seconds (timeout); is it full?")

    def _opened(self, actor: _Actor) -> None:
        """Take an actor into service once its engine is open; one that died is replaced."""
        try:
            answer: Answer = ray.get(actor.opening)
        except ray.exceptions.RayError as error:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise ModelError(f"workers of the cluster end while they load the model: {first_line(error)}") from None
            self._replace(actor)
            return
        if MISSING in answer:
            actor.opening = actor.handle.open.remote(self._recipe.spec, self._recipe.options, self._packed())
            return
        about = _value(answer)
        if self.about and about["identity"] != self.about["identity"]:
            raise ModelError(
                f"the workers of the cluster do not give the same answers: {_differing(self.about, about)}"
            )
        self.about = self.about or about
        actor.ready = True
        for reference in self._prepared:
            actor.handle.prepare.remote(reference)

    def _collect(self, actor: _Actor) -> tuple[Piece, Any] | None:
        """Return the oldest call of an actor with its answer; None where the actor has died, and is replaced."""
        piece, reference = actor.calls[0]
        try:
            answer: Answer = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise ModelError(f"a worker of the cluster failed: {first_line(error)}") from None
        except ray.exceptions.RayError:
            self._replace(actor)
            return None
        actor.calls.popleft()
        self._failed_starts = 0
        return piece, _value(answer)

    def _survivors(self, actor: _Actor, split: Split) -> tuple[list[Piece], list[Piece]]:
        """Return what to try instead of a dead actor's oldest call, which may have killed it, and its other calls."""
        (first, *rest) = [piece for piece, _ in actor.calls]
        first.deaths += 1
        instead = split(first)
        return [first] if instead is None else list(instead), rest

    def _start(self) -> None:
        recipe = self._recipe
        needs: dict[str, Any] = {"num_gpus": 1, "num_cpus": 0} if recipe.gpus else {"num_cpus": recipe.cores}
        handle = ray.remote(Scorer).options(**needs).remote(recipe.opener, recipe.cores)
        placed = handle.__ray_ready__.remote()
        self._actors.append(_Actor(handle, handle.open.remote(recipe.spec, recipe.options), placed))

    def _replace(self, actor: _Actor) -> None:
        with suppress(Exception):
            ray.kill(actor.handle)
        self._actors.remove(actor)
        self._start()

    def _packed(self) -> Any:
        """Return the model's files in Ray's object store, put there once."""
        if self._files is None:
            self._files = ray.put(pack_files(local_path(self._recipe.spec)))
        return self._files

    def close(self) -> None:
        """End all actors."""
        for actor in self._actors:
            with suppress(Exception):
                ray.kill(actor.handle)
        self._actors.clear()


def _value(answer: Answer) -> Any:
    if "error" in answer:
        raise answer["error"]
    return answer["value"]


def _differing(first: dict[str, Any], second: dict[str, Any]) -> str:
    keys = [key for key in first["identity"] if first["identity"][key] != second["identity"].get(key)]
    return ", ".join(f"{key} {first['identity'][key]} and {second['identity'].get(key)}" for key in keys)
