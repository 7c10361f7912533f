"""Whether a model thinks, from its tokenizer alone: before its weights are loaded."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from transformers import AutoTokenizer

from ...options import EngineOptions
from ..encoding import Encoder


def template_thinks(name: str, options: EngineOptions) -> bool | None:
    """Return whether the chat template of a folder, a GGUF file or a cached hub model leaves a think block open.

    None where there is no tokenizer to look at on this machine.
    """
    path = Path(name).expanduser()
    source, _, revision = name.partition("@")
    extra = {"revision": revision or options.revision} if revision or options.revision else {}
    if path.is_file():
        source, extra = str(path.resolve().parent), {"gguf_file": path.name}
    elif path.is_dir():
        source, extra = str(path), {}
    try:
        with redirect_stderr(StringIO()):  # reading GGUF draws a progress bar
            tokenizer = AutoTokenizer.from_pretrained(
                source, local_files_only=True, trust_remote_code=options.trust_remote_code, **extra
            )
        return Encoder(tokenizer).thinks
    except Exception:  # transformers raises a dozen kinds; the audit itself tells what is wrong
        return None
