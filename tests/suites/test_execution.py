"""A run for every cell; failures and kills stay where they happen, and budgets are kept."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from tiny import make_model, make_tokenizer

from equipoise.run import audit
from equipoise.runs import Run
from equipoise.suites.execution import Choices, plan, run_suite
from equipoise.suites.results import write_results
from equipoise.suites.status import DONE, FAILED, SKIPPED, WAITING, Status
from equipoise.suites.suite_file import SuiteError, read_suite

Write = Callable[..., Path]


BASIS = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word"]\n'


def silent(status: Status) -> None:
    pass


@pytest.mark.slow
def test_budgets_are_kept(suite_file: Write) -> None:
    with pytest.raises(SuiteError, match="the cells ask 12 prompts, the budget is 5"):
        plan(read_suite(suite_file(BASIS + "[settings]\n[budget]\nprompts = 5")), Choices())
    with pytest.raises(SuiteError, match=r"the budget is 0\.001 GB"):
        plan(read_suite(suite_file(BASIS + "[settings]\n[budget]\ndisk_gb = 0.001")), Choices())
    with pytest.raises(SuiteError, match="several jobs would each start a cluster"):
        plan(read_suite(suite_file(BASIS)), Choices(jobs=2, settings={"cluster": "auto"}))
    late = read_suite(suite_file(BASIS + "[settings]\n[budget]\nhours = 1e-9"))
    status = run_suite(late, Choices(), show=silent)
    assert [cell.name for cell in status.of(WAITING)] == ["planted / builtin / next-word"]


@pytest.mark.slow
def test_a_cell_ends_when_it_is_settled_and_says_what_it_asked(suite_file: Write) -> None:
    text = BASIS + '[settings]\nuntil = ["flip_rate[type=type2] <= 0.9"]\n'
    choices = Choices(settings={"limit": 200})
    status = run_suite(read_suite(suite_file(text)), choices, show=silent)
    ((_, state, prompts, _, _),) = status.rows()
    asked, all_of_them = (int(number) for number in prompts.split(" of "))
    assert state == DONE and 0 < asked < all_of_them == 400
    (cell,) = status.cells
    assert len(Run(cell.folder).outcomes) == asked
    ((_, _, again, _, _),) = plan(read_suite(suite_file(text)), choices).rows()
    assert again == prompts


@pytest.mark.slow
def test_a_task_that_a_model_cannot_be_asked_is_left_out_and_the_rest_runs(suite_file: Write, tmp_path: Path) -> None:
    model, tokenizer = tmp_path / "plain", make_tokenizer()
    make_model("LlamaConfig", len(tokenizer)).save_pretrained(model)
    tokenizer.save_pretrained(model)
    text = f'models = ["{model}", "planted"]\ndata = ["builtin"]\ntask = ["next-word", "next-word-cot"]\n'
    status = run_suite(read_suite(suite_file(text)), Choices(), show=silent)
    assert [cell.name for cell in status.of(DONE)] == [f"{name} / builtin / next-word" for name in (model, "planted")]
    reasons = {cell.name: status.states[cell.name].note for cell in status.of(SKIPPED)}
    assert "the model has no chat template" in reasons[f"{model} / builtin / next-word-cot"]
    assert "a planted engine cannot" in reasons["planted / builtin / next-word-cot"]
    assert not status.of(FAILED, WAITING)


def _run(path: Path) -> None:
    run_suite(read_suite(path), Choices(), show=silent)


@pytest.mark.slow
@pytest.mark.usefixtures("faulty")
def test_a_suite_that_is_killed_goes_on_and_a_cell_that_always_dies_is_the_only_one_lost(
    suite_file: Write, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    models = [f"faulty:events={events},parent=2", "faulty:poison=The"]
    text = (
        f'models = {json.dumps(models)}\ndata = ["builtin"]\ntask = ["next-word", "mcq"]\n'
        f'[[override]]\nmodel = "{models[1]}"\ntask = "mcq"\nskip = "one is enough"\n'
    )
    path = suite_file(text)
    codes = []
    for _ in range(2):
        process = multiprocessing.get_context("fork").Process(target=_run, args=(path,))
        process.start()
        process.join(600)
        codes.append(process.exitcode)
    assert codes == [-signal.SIGKILL, 0]
    suite = read_suite(path)
    status = plan(suite, Choices())
    assert len(status.of(DONE)) == 2 and len(status.of(WAITING)) == 1  # what failed is tried again the next time
    kept = json.loads((suite.out / "status.json").read_text())["cells"]
    (reason,) = [state["note"] for state in kept.values() if state["state"] == FAILED]
    assert "its process ended with signal SIGKILL" in reason
    # Three batches for each cell; at most the one in work when the suite died was scored twice.
    assert 6 <= events.stat().st_size <= 7
    for cell in status.of(DONE):
        whole = audit("faulty:", "builtin", cell.task, out=tmp_path / cell.task, **cell.settings)
        for name in ("scores.jsonl", "measurements.csv", "outcomes.parquet"):
            assert (cell.folder / name).read_bytes() == (whole.path / name).read_bytes()
    results = write_results(suite, status)
    assert results is not None and (results.site / "index.html").is_file()
    rows = [len(Run(cell.folder).measurements) for cell in status.of(DONE)]
    assert len(pd.read_parquet(results.measurements)) == sum(rows)


@pytest.mark.slow
def test_on_a_cluster_the_cells_are_the_same(suite_file: Write) -> None:
    pytest.importorskip("ray")
    text = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word", "mcq"]\n'
    plain, spread = (read_suite(suite_file(text, name)) for name in ("plain", "spread"))
    run_suite(plain, Choices(), show=silent)
    status = run_suite(spread, Choices(settings={"cluster": "auto", "workers": 2}), show=silent)
    assert len(status.of(DONE)) == 2, status.line()
    for cell in status.of(DONE):
        assert Run(cell.folder).manifest.engine["workers"] == 2
        for name in ("scores.jsonl", "measurements.csv", "outcomes.parquet"):
            alone = plain.out / "cells" / cell.folder.name / name
            assert (cell.folder / name).read_bytes() == alone.read_bytes()


def test_a_budget_may_be_used_up_but_not_exceeded(suite_file: Write) -> None:
    plan(read_suite(suite_file(BASIS + "[settings]\n[budget]\nprompts = 12")), Choices())
    with pytest.raises(SuiteError, match="the cells ask 12 prompts, the budget is 11"):
        plan(read_suite(suite_file(BASIS + "[settings]\n[budget]\nprompts = 11")), Choices())
