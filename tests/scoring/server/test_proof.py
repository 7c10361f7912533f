"""A server is believed only while known questions get known answers, and what follows is dropped where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from served import assert_true, many, opened

from equipoise.records import Message, ModelError
from equipoise.scoring.score_store import ScoreStore
from equipoise.scoring.server.proof import COMPARED, SHARE, most_probable, tolerance_of


@pytest.mark.slow
@pytest.mark.parametrize("faults", [(), ("echo ignored",)])
def test_a_model_that_is_swapped_in_the_middle_is_found_and_the_same_command_finishes_the_run(
    serve: Any, tmp_path: Path, faults: tuple[str, ...]
) -> None:
    prompts = many()[:120]
    server = serve(*faults)
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        engine = opened(server)
        swap_after(server, 700 if faults else 80)
        with pytest.raises(ModelError, match=r"answers changed during the audit .* were dropped, the others are saved"):
            store.scorer(engine)(prompts)
        assert 0 < len(store) < 120
        server.seed = 0
        assert_true(store.scorer(opened(server))(prompts), prompts)


def swap_after(server: Any, requests: int) -> None:
    """Let the server serve another model after so many completions."""
    answer, left = server.answer, [requests]

    def counted(path: str, body: Any) -> Any:
        left[0] -= path.endswith("completions")
        if left[0] == 0:
            server.seed = 1
        return answer(path, body)

    server.answer = counted


def test_what_is_written_is_proven_as_well(serve: Any) -> None:
    server = serve()
    engine = opened(server)
    server.seed = 1
    with pytest.raises(
        ModelError, match=r"answers changed during the audit .* 2 texts since the last proof were dropp"
    ):
        engine.generate(["abc", (Message("user", "hello"),)], 5)


def test_proof_is_a_small_share_of_all_requests_and_says_so(serve: Any, tmp_path: Path) -> None:
    server = serve()
    engine = opened(server)
    before = sum(server.paths.values())
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        store.scorer(engine)(many()[:200])
    total = sum(server.paths.values()) - before
    (note,) = [note for note in engine.notes if note.startswith("proof of the server")]
    asked = int(note.split()[4])
    assert f"{asked} of {total:,} requests ({asked / total:.1%}) asked known questions again" in note
    assert 2 <= asked <= SHARE * total + 2


def test_tolerances_and_what_is_compared() -> None:
    table = {n: -float(n) for n in range(30)}
    assert list(most_probable(table)) == list(range(COMPARED)) and most_probable({"a": 0.0}) == {"a": 0.0}
    assert tolerance_of(0.0) == tolerance_of(0.005) < tolerance_of(0.02) < tolerance_of(0.2)


def test_a_server_whose_answers_vary_is_refused(serve: Any) -> None:
    server = serve("chat only", "no tokenize")
    answer, asked = server.answer, [0]

    def varied(path: str, body: Any) -> Any:
        asked[0] += 1
        server.seed = asked[0] % 3
        return answer(path, body)

    server.answer = varied
    with pytest.raises(ModelError, match="no log-probabilities that can be trusted"):
        opened(server)
