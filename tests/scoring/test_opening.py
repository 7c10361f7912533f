"""A name, a path or a model in memory becomes an engine; plug-ins add their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.options.table import EngineOptions
from equipoise.records import EquipoiseError
from equipoise.scoring import opening
from equipoise.scoring.opening import open_engine


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("", ("default", "")),
        ("smollm2", ("default", "smollm2")),
        ("default:", ("default", "")),
        ("gpt2", ("hf", "gpt2")),
        ("owner/name", ("hf", "owner/name")),
        ("owner/name@v1", ("hf", "owner/name@v1")),
        ("hf:owner/name", ("hf", "owner/name")),
        ("hf:smollm2", ("hf", "smollm2")),
        ("./folder", ("hf", "./folder")),
        ("/a/folder:with/colon", ("hf", "/a/folder:with/colon")),
        ("C:\\models\\one", ("hf", "C:\\models\\one")),
        ("C:\\models\\one.gguf", ("gguf", "C:\\models\\one.gguf")),
        ("gguf:some file", ("gguf", "some file")),
        ("some.GGUF", ("gguf", "some.GGUF")),
        ("a:b/some.gguf", ("gguf", "a:b/some.gguf")),
        ("planted:bias=1", ("planted", "bias=1")),
        ("planted:", ("planted", "")),
        ("olama:llama3", None),
    ],
)
def test_a_name_finds_its_engine(spec: str, expected: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    openers = {name: (lambda rest, _, name=name: (name, rest)) for name in opening.SCHEMES}
    monkeypatch.setattr(opening, "SCHEMES", openers)
    if expected is not None:
        assert open_engine(spec) == expected
        return
    with pytest.raises(EquipoiseError, match=f"unknown engine '{spec.partition(':')[0]}'"):
        open_engine(spec)


def test_options_reach_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SCHEMES", {"hf": lambda _, options: options})
    asked = EngineOptions(device="cpu", dtype="bfloat16", bos="never", chat_time="2020-02-03T04:05:06")
    assert open_engine("any", asked) == asked  # type: ignore[comparison-overlap]
    now: Any = open_engine("any", replace(asked, chat_time=""))
    assert now.chat_time > asked.chat_time, "every process of an engine is given the same time"


@pytest.mark.parametrize("device", ["all", "cpu,cpu"])
def test_several_devices_are_for_real_models(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SCHEMES", {name: lambda rest, _: rest for name in ("planted", "hf")})
    monkeypatch.setattr(opening, "_open_on_several", lambda spec, _: f"several: {spec}")
    options = EngineOptions(device=device)
    assert open_engine("planted:bias=1", options) == "bias=1"
    assert open_engine("hf:my/planted", options) == "several: hf:my/planted"


def test_an_unknown_scheme_is_told_which_there_are() -> None:
    with pytest.raises(EquipoiseError, match="unknown engine 'olama'; known: default, ensemble, gguf, hf, planted"):
        open_engine("olama:llama3")


def test_a_gguf_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match=r"GGUF file .*none\.gguf does not exist"):
        open_engine(str(tmp_path / "none.gguf"))
