"""Tests mirror the package: src/equipoise/a/b.py is tested by tests/a/test_b.py, a package's own code by its name."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "src" / "equipoise"

TESTED_THROUGH = {
    "__init__.py": "names that are loaded when first asked for: test_architecture.py",
    "__main__.py": "one call of the command line: tests/cli",
    "builder/verdict/votes.py": "records without code",
    "media/page/elements.py": "media/page/test_charts.py draws with them",
    "options/tuning.py": "training/test_tune_plan.py",
    "measuring/ensembles.py": "measuring/test_wordings.py",
    "measuring/tables.py": "measuring/test_measure.py and test_sets.py",
    "metrics/columns.py": "test_kept.py keeps them, metrics/test_sides.py and measuring/test_items.py compute them",
    "metrics/table/answers.py": "a table: test_kept.py keeps it, test_invariants.py takes every metric of it",
    "metrics/table/calibration.py": "a table: test_kept.py keeps it, test_invariants.py takes every metric of it",
    "metrics/table/decisions.py": "a table: test_kept.py keeps it, test_invariants.py takes every metric of it",
    "metrics/table/fairness.py": "a table: test_kept.py keeps it, test_invariants.py takes every metric of it",
    "metrics/table/group_wise.py": "a table: test_kept.py keeps it, test_invariants.py takes every metric of it",
    "metrics/table/identities.py": "a table: test_kept.py keeps it, measuring/test_part.py and test_pinned.py",
    "metrics/table/questions.py": "a table: test_kept.py keeps it, test_invariants.py takes every metric of it",
    "runs/imported/__init__.py": "a table of formats: runs/imported/test_per_item.py and exports/test_task_folders.py",
    "tasks/task.py": "protocols, and one call that every task makes",
    "training/__init__.py": "one call: training/test_tuning.py",
}
"""Modules without a test file of their own, and where they are tested."""

ACROSS_MODULES = {
    "datasets/test_bbq_rules.py": "bbq.py, for its rules one by one",
    "datasets/test_routes.py": "the package's own code, for which loader reads a path",
    "datasets/test_real_data.py": "what real files become, as hashes of it were kept",
    "datasets/test_small_files.py": "what small files of every format become, as it was kept",
    "exports/test_discrim_eval.py": "decisions as lm-evaluation-harness asks them, and as statsmodels fits them",
    "cli/test_wrong_calls.py": "errors.py, for wrong calls and a process without memory",
    "cli/test_printed.py": "what commands print and write, as it was kept",
    "cli/test_odd_inputs.py": "what newcomers type and open: one right sentence each",
    "builder/survey/test_accessibility.py": "every page of the survey, with axe in a browser",
    "media/page/test_accessibility.py": "every kind of page, with axe in a browser, and all charts",
    "builder/survey/test_penetration.py": "attacks on the survey's server",
    "builder/survey/test_survey_under_fault.py": "raters, kills and both databases together",
    "builder/survey/web/test_late_forms.py": "rating.py, for forms that come too late",
    "builder/survey/web/test_walks.py": "every page that raters, panels and the administrator get",
    "builder/rules/test_hard_drafts.py": "variants, agreement and her together, on 120 drafts",
    "builder/test_commands.py": "every command of a build, from the word list to the dataset",
    "builder/test_killed_builds.py": "every step of a build, killed everywhere",
    "builder/test_loop.py": "a whole build with a model, a survey and raters",
    "measuring/leeway/test_sampled_runs.py": "sampled answers: on disk, measured again, compared, at a gate",
    "measuring/test_double_disadvantage.py": "values planted on identities, from an audit to its measurements",
    "measuring/test_interval_widths.py": "intervals of all metrics, of one set and of equal answers",
    "measuring/test_kept_measurements.py": "every kind of data and every method of intervals, as kept",
    "measuring/test_pinned.py": "what planted models give, metric by metric",
    "measuring/test_seeds_and_intervals.py": "measure.py, for seeds and intervals",
    "measuring/test_variants.py": "measure.py, for variants and mixed types",
    "metrics/test_kept_values.py": "every function of the room, with gaps, ties and weights, as kept",
    "metrics/test_sampled_answers.py": "metrics of sampled answers, against values by hand",
    "metrics/test_workforce_trend.py": "fairness.py, for the workforce",
    "verdict/test_gate_rules.py": "gate.py, without a run",
    "view/test_accessibility.py": "every page and state of the viewer: screen readers, light and dark, wide and narrow",
    "view/test_attacks.py": "forty attacks on the viewer, over real sockets and in a browser",
    "view/test_states.py": "every state of the viewer in a browser",
    "view/test_tasks.py": "three people's tasks from the list to the answer, counted and timed",
    "view/test_command.py": "the command `equipoise view`, as a process of its own",
    "runs/test_folder_refusals.py": "folder.py, for what cannot be written or used",
    "runs/test_hostile_folders.py": "every command against two hundred folders from strangers",
    "runs/test_kill_matrix.py": "every command that writes a run folder, killed at every step",
    "runs/test_repeated_runs.py": "two runs of one command, byte for byte",
    "runs/test_strange_folders.py": "every command against folders of nonsense",
    "scoring/test_score_rows.py": "score_store.py, for lines and closed stores",
    "scoring/test_score_store_ends.py": "score_store.py, for how it takes hold of its folder and lets go",
    "scoring/huggingface/test_loading_rules.py": "loading.py, for what is asked of a hub and of transformers",
    "scoring/server/test_method_rules.py": "methods.py, over an Api whose answers are given",
    "scoring/server/test_probe_rules.py": "probe.py, over an Api whose answers are given",
    "scoring/server/test_tokens_rules.py": "tokens.py, over an Api whose tokens are letters",
    "scoring/server/test_parts.py": "api, methods, tokens, probe and engine over a client whose answers are given",
    "scoring/server/test_client_rules.py": "http_client.py, for its rules one by one",
    "scoring/server/test_conversations.py": "servers of every kind: what they are asked, and what comes of it",
    "scoring/server/test_faults.py": "a server with every kind of fault, in every way of asking",
    "scoring/server/test_killed_server.py": "a real llama.cpp server and its client, killed",
    "scoring/server/test_llama_cpp.py": "a real llama.cpp server against the same model in process",
    "scoring/server/test_swapped_server.py": "a real llama.cpp server that comes back with other weights",
    "scoring/server/test_thinking_models.py": "a thinking model behind a real server, in every task",
    "stats/test_pinned_intervals.py": "what the functions of the room give for drawn data",
    "tasks/test_conversations.py": "every task with every choice: what it asks, and what it makes of planted answers",
    "test_architecture.py": "the house plan",
    "verification/test_single_cells.py": "five hundred forgeries of one cell, in every file",
    "test_benchmarks.py": "every benchmark's --smoke",
    "test_engines.py": "one contract for all engines",
    "test_kept.py": "kept tables: metrics, columns, options, constants and defaults",
    "test_estimator_invariants.py": "what holds for every estimator",
    "test_invariants.py": "what holds for every metric",
    "test_mirror.py": "this file",
    "test_packaging.py": "the wheel and its contents",
    "test_printed_numbers.py": "verdicts of eight kinds of runs beside their measurements",
    "test_run_steps.py": "run.py, for the steps of an audit",
    "test_report_media.py": "report.py, for what each medium is given",
    "test_report_of_comparisons.py": "report.py, for comparisons",
    "topics/test_case_browser.py": "the cases of a run's page in a browser: links, filters, copies, tables",
    "topics/test_kinds_of_runs.py": "every topic, with runs of eight kinds",
    "topics/test_own_numbers.py": "every topic, with an estimator of one's own",
    "training/test_examples.py": "the examples of the docs",
}
"""Test files that are of no single module, and what they test."""

ELSEWHERE = ("docs", "reference")
"""Folders of tests that follow the documentation and the papers."""


def has_code(file: Path) -> bool:
    """Return whether a module defines anything; a package's file often only says what is in the package."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in body)


def mirrored(module: str) -> str:
    """Return the test file of a module, both by their paths."""
    path = Path(module)
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return (path.parent / f"test_{name}.py").as_posix()


def faults(
    modules: Collection[str], files: Collection[str], through: Mapping[str, str], across: Mapping[str, str]
) -> Iterator[str]:
    """Yield what is wrong: a module without a test, a test without a module, and exceptions that are none."""
    wanted = {mirrored(module): module for module in modules}
    for file, module in wanted.items():
        if file not in files and module not in through:
            yield f"{module} has no {file}"
        if file in files and module in through:
            yield f"{module} has {file}: it is no exception any more"
    yield from (f"{module} is an exception, but not a module" for module in through if module not in modules)
    for file in files:
        if file not in wanted and file not in across:
            yield f"{file} is the test of no module"
    yield from (f"{file} is listed, but is not there" for file in across if file not in files)
    yield from (f"{file} is listed, but is the test of {wanted[file]}" for file in across if file in wanted)


def test_every_module_has_its_test_and_every_test_its_module() -> None:
    modules = [file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py") if "migrations" not in file.parts]
    modules = [name for name in modules if not name.endswith("__init__.py") or has_code(PACKAGE / name)]
    files = [file.relative_to(TESTS).as_posix() for file in TESTS.rglob("test_*.py")]
    files = [name for name in files if name.partition("/")[0] not in ELSEWHERE]
    assert len(modules) > 80 and "scoring/server/http_client.py" in modules
    assert not sorted(faults(modules, files, TESTED_THROUGH, ACROSS_MODULES))


def test_each_kind_of_fault_is_seen() -> None:
    modules = ["a/b.py", "a/c.py", "a/__init__.py", "d.py"]
    files = ["a/test_b.py", "a/test_a.py", "test_d.py", "test_all.py"]
    assert list(faults(modules, files, {"a/c.py": "through b"}, {"test_all.py": "all"})) == []
    assert list(faults(modules, files, {}, {"test_all.py": "all"})) == ["a/c.py has no a/test_c.py"]
    assert list(faults(modules, [*files, "a/test_c.py"], {"a/c.py": "through b"}, {"test_all.py": "all"})) == [
        "a/c.py has a/test_c.py: it is no exception any more"
    ]
    assert list(faults(modules, [*files, "a/test_x.py"], {"a/c.py": "b"}, {"test_all.py": "all"})) == [
        "a/test_x.py is the test of no module"
    ]
    listed = {"test_all.py": "all", "test_d.py": "d", "test_gone.py": "gone"}
    assert list(faults(modules, files, {"a/c.py": "b", "e.py": "gone"}, listed)) == [
        "e.py is an exception, but not a module",
        "test_gone.py is listed, but is not there",
        "test_d.py is listed, but is the test of d.py",
    ]
