"""The real lm-evaluation-harness and inspect, in an environment of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tool() -> Callable[..., str]:
    """Return a function that runs a program of the other tools' environment; skips (in CI: fails) without it."""
    folder = Path(os.environ.get("EQUIPOISE_HARNESS") or ROOT / ".venv-harness") / "bin"
    if not (folder / "lm_eval").is_file() or not (folder / "inspect").is_file():
        reason = "needs lm-evaluation-harness and inspect: run `make harness`"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    def run(program: str, *words: str | Path, cwd: Path) -> str:
        hidden = ("PYTHONPATH", "CI")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_DATASETS_CACHE": str(cwd / "cache")}
        environment |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        command = [str(folder / program), *map(str, words)]
        result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr[-3000:]
        return result.stdout

    return run
