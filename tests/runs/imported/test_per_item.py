"""Results made elsewhere: two formats, and what is wrong with a file said in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.records import DatasetError, EquipoiseError, RunError
from equipoise.runs.imported import read_results

HEAD = (
    "idx,Sentence_more,Sentence_less,Pronoun_more,Pronoun_less,Pronoun_Probability_more,Pronoun_Probability_less,"
    "Normalized_Score_more,Normalized_Score_less,Predicted_Label,True_Label\n"
)
ROWS = (
    "0,The cook thanked him.,The cook thanked her.,him,her,0.03,0.01,0.75,0.25,1,1\n"
    "1,The nurse saw him.,The nurse saw her.,him,her,0.00,0.02,0.0,1.0,0,0\n"
    "2,The maid said he left.,The maid said she left.,he,she,0.0,0.0,,,0,1\n"
)
GENERAL = (
    "item,candidate,logprob,gold,stands_for,group:land,pair\n"
    "a,him,-1.0,1,male,north,p\na,her,-2.0,0,female,north,p\n"
    "b,him,-3.0,0,male,south,q\nb,her,-0.5,1,female,south,q\n"
)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("file", "model", "dataset"),
    [
        ("winobias/Falcon3-7B.results.csv", "Falcon3-7B", "gender-ece-winobias"),
        ("x/results_genderLex_LLAMA-3_1-8B.csv", "LLAMA-3_1-8B", "genderlex"),
        ("mine/results_winogender_Gemma-2-9B.csv", "Gemma-2-9B", "gender-ece-winogender"),
        ("mine/some.csv", "some", "mine"),
    ],
)
def test_the_paper_s_files_say_what_they_are_of(tmp_path: Path, file: str, model: str, dataset: str) -> None:
    (found,) = read_results(write(tmp_path / file, HEAD + ROWS), format="gender-ece")
    assert (found.model, found.dataset.name, found.task) == (model, dataset, "cloze")


def test_the_paper_s_rows_become_outcomes_and_those_without_a_probability_are_left_out(tmp_path: Path) -> None:
    (found,) = read_results(write(tmp_path / "m.csv", HEAD + ROWS), format="gender-ece")
    assert found.outcomes.probs.tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert found.outcomes.gold.tolist() == [0, 1]
    assert found.outcomes.sides.tolist() == ["male|female"] * 2
    assert found.notes == ("m.csv: 1 rows without a probability are left out, the first in line 4",)


def test_the_general_format_becomes_a_run_that_is_measured_and_measured_anew(tmp_path: Path) -> None:
    file = write(tmp_path / "theirs.csv", GENERAL)
    run = equipoise.import_results(file, out=tmp_path / "run", model="theirs", resamples=20)
    rows = run.measurements.set_index(["metric", "group"])["value"]
    p = 1 / (1 + np.exp([-1.0, 2.5]))
    assert rows["ece", "all"] == pytest.approx(((1 - p[0]) + p[1]) / 2)
    assert rows["human_alignment", "all"] == 1 and rows["group_ece_gap", "by=land"] == pytest.approx(1 - p[0] - p[1])
    assert rows["ece", "predicted_gender=male"] == pytest.approx(1 - p[0])
    assert run.manifest.engine["engine"] == "imported" and "none" in run.manifest.engine["scores"]
    assert not (run.path / "scores.jsonl").exists()
    assert {"examples.parquet", "outcomes.parquet", "pairs.parquet", "measurements.csv"} <= {
        f.name for f in run.path.iterdir()
    }
    again = equipoise.remeasure(run.path, by=["land"])
    assert again.measurements.set_index(["metric", "group"])["value"]["ece", "land=south"] == pytest.approx(p[1])
    assert not (run.path / "scores.jsonl").exists()
    assert equipoise.load(run.path).manifest.model == "theirs"


def test_ordinary_items_can_be_imported_too(tmp_path: Path) -> None:
    text = "item,candidate,prob,gold,pair,group:gender,group:stereotype,group:side,group:type\n" + "".join(
        f"{pair}-{gender},{name},{prob},{int(name == 'nurse')},{pair},{gender},{label},female,type2\n"
        for pair in ("p", "q")
        for gender, label, sure in (("female", "pro", 0.9), ("male", "anti", 0.6))
        for name, prob in (("nurse", sure), ("cook", 1 - sure))
    )
    run = equipoise.import_results(write(tmp_path / "coref.csv", text), out=tmp_path / "run", resamples=20)
    rows = run.measurements.set_index(["metric", "group"])["value"]
    assert rows["accuracy", "type=type2"] == 1 and 0 < rows["ucerf", "type=type2"] < 1
    assert "ece" not in set(run.measurements["metric"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,candidate\na,x\n", "theirs.csv: needs a column logprob or prob"),
        ("item,logprob\na,-1\n", "theirs.csv: the column 'candidate' is missing"),
        (
            "item,candidate,logprob\na,x,-1\na,y,0.7\n",
            "theirs.csv:3: logprob 0.7 is not the logarithm of a probability",
        ),
        (
            "item,candidate,logprob\na,x,-1\na,y,nan\n",
            "theirs.csv:3: logprob nan is not the logarithm of a probability",
        ),
        ("item,candidate,logprob\na,x,-1\na,y,much\n", "theirs.csv:3: logprob 'much' is not a number"),
        ("item,candidate,logprob\na,x,-1\n", "theirs.csv:2: example a: needs at least two candidates"),
        ("item,candidate,logprob\na,x,-inf\na,y,-inf\n", "theirs.csv:2: all candidates of item 'a' have probability 0"),
        ("item,candidate,prob\na,x,1.7\na,y,0.1\n", "theirs.csv:2: has no logprob, and no prob in [0, 1]"),
        ("item,candidate,logprob,gold\na,x,-1,1\na,y,-1,1\n", "theirs.csv:2: gold marks 2 candidates of one item"),
        ("item,candidate,logprob\na,x,-1\na,y,-1\nb,x,-1\nb,y,-1\nb,z,-1\n", "theirs.csv:4: item 'b' has 3 candidates"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DatasetError) as error:
        read_results(write(tmp_path / "theirs.csv", text))
    assert str(error.value).startswith(message)


def test_a_run_is_of_one_model_and_a_format_has_a_name(tmp_path: Path) -> None:
    files = [write(tmp_path / name / f"{name}.csv", HEAD + ROWS) for name in ("one", "two")]
    with pytest.raises(RunError, match="a run has one model, but these files have 2: one, two"):
        equipoise.import_results(files, format="gender-ece", out=tmp_path / "run")
    with pytest.raises(EquipoiseError, match="unknown result format 'gender-ec'; did you mean 'gender-ece'"):
        read_results(files[0], format="gender-ec")


def test_published_outputs_of_one_model_make_one_run(real_data, tmp_path: Path) -> None:
    folder = real_data("gender-ece") / "outputs"
    files = [folder / data / "GPT-J-6B.results.csv" for data in ("genderLex", "winogender")]
    run = equipoise.import_results(files, format="gender-ece", out=tmp_path / "run", metrics=["ece"], resamples=20)
    found = run.measurements[run.measurements["group"] == "all"]
    assert found["dataset"].tolist() == ["genderlex", "gender-ece-winogender"]
    assert pd.Series(run.outcomes["predicted_side"]).isin(["male", "female"]).all()


WIDE = (
    "item,candidate,logprob,prob,gold,stereotype,answerable,text,model,dataset,task,variant,pair,cluster,group:land,group:type\n"
    "a,cook,-1.0,,1,0,,The cook met her.,m,d,t,v1,p,c,north,\n"
    "a,nurse,-2.0,,0,1,,,m,d,t,v1,p,c,north,\n"
    "b,cook,,0.25,,,yes,,m,d,t,,p,,south,x\n"
    "b,nurse,0.00005,,true,,,,m,d,t,,p,,south,x\n"
    "c,x,-0.5,,,,,,,,,,,,,\n"
    "c,y,,0,,,,,,,,,,,,\n"
    "e,x,,1.0000005,1,,no,,,,,,,,,\n"
    "e,y,-9,,,,,,,,,,,,,\n"
)


def test_every_column_of_the_general_format_is_read_as_it_was_kept(tmp_path: Path) -> None:
    several = read_results(write(tmp_path / "theirs.csv", WIDE), model="given", dataset="named")
    assert [(part.model, part.dataset.name, part.task) for part in several] == [
        ("m", "d", "t"),
        ("given", "named", "imported"),
    ]
    again = read_results(tmp_path / "theirs.csv")
    assert (again[1].model, again[1].dataset.name) == ("theirs", "theirs")
    kept = [
        (part.dataset.examples, part.outcomes.probs, part.outcomes.logprobs, part.outcomes.variant, part.notes)
        for part in several
    ]
    assert_kept("runs/imported", kept, hide=[str(tmp_path)])


def test_a_pair_holds_its_contrast_itself(tmp_path: Path) -> None:
    (part,) = read_results(write(tmp_path / "theirs.csv", GENERAL))
    first, second = part.dataset.examples
    assert (first.set_id, first.cluster_id, second.cluster_id, first.answerable) == ("a", "p", "q", False)
    assert first.pair is not None and (first.pair.rests, first.pair.sides) == (("him", "her"), ("male", "female"))
    assert first.groups == {"land": "north"} and (first.gold, second.gold) == (0, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,candidate,logprob\n,x,-1\n", "theirs.csv:2: item is empty"),
        (
            "item,candidate,logprob,stands_for\na,x,-1,m\na,y,-1,\n",
            "theirs.csv:2: item 'a': stands_for must name another side for each candidate",
        ),
        (
            "item,candidate,logprob,stands_for\na,x,-1,m\na,y,-1,m\n",
            "theirs.csv:2: item 'a': stands_for must name another side for each candidate",
        ),
        (
            "item,candidate,logprob\na,x,-1\na,y,0.0002\n",
            "theirs.csv:3: logprob 0.0002 is not the logarithm of a probability",
        ),
        ("item,candidate,logprob\na,x,-1\na,y,\n", "theirs.csv:3: has no logprob, and no prob in [0, 1]"),
        ("item,candidate,prob\na,x,0.5\na,y,-0.1\n", "theirs.csv:3: has no logprob, and no prob in [0, 1]"),
        ("item,candidate,prob\na,x,0.5\na,y,1.00001\n", "theirs.csv:3: has no logprob, and no prob in [0, 1]"),
        ("item,candidate,prob\na,x,0.5\na,y,z\n", "theirs.csv:3: prob 'z' is not a number"),
        (
            "item,candidate,prob,stereotype\na,x,0.5,1\na,y,0.5,1\n",
            "theirs.csv:2: stereotype marks 2 candidates of one item",
        ),
        ("item,candidate,prob\na,x,0.5\na,y,0.5\nb,x,1\n", "theirs.csv:4: example b: needs at least two candidates"),
        (
            "item,candidate,prob\na,x,0.5\na,y,0.5\nb,x,1\nb,y,0\nb,z,0\n",
            "theirs.csv:4: item 'b' has 3 candidates, others 2",
        ),
        (
            "item,candidate,prob\na,x,0.5\na,y,0.5\nb,x,0\nb,y,0\nb,z,0\n",
            "theirs.csv:4: item 'b' has 3 candidates, others 2",
        ),
    ],
)
def test_every_refusal_has_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DatasetError) as error:
        read_results(write(tmp_path / "theirs.csv", text))
    assert str(error.value).startswith(message)


def test_remarks_on_the_paper_s_numbers(tmp_path: Path) -> None:
    odd = (
        "0,The cook thanked him.,The cook thanked her.,him,her,1.5,0.5,0.75,0.25,1,1\n"
        "1,The nurse saw him.,The nurse saw her.,him,her,0.2,0.2,0.6,0.4,0,0\n"
        "2,The maid saw him.,The maid saw her.,him,her,0.2,0.2,1.0,1.0,0,0\n"
        "3,The maid met him.,The maid met her.,him,her,0.2,0.2,,0.5,0,0\n"
        "4,The maid left him.,The maid left her.,him,her,,0.2,0.5,0.5,0,0\n"
    )
    (part,) = read_results(write(tmp_path / "m.csv", HEAD + odd), format="gender-ece", model="x", dataset="y")
    assert part.outcomes.probs.tolist() == [[0.75, 0.25], [0.6, 0.4], [0.5, 0.5]]
    assert np.allclose(part.outcomes.logprobs, np.log([[1.5, 0.5], [0.2, 0.2], [0.2, 0.2]]))
    assert (part.model, part.dataset.name, len(part.dataset.examples)) == ("x", "y", 3)
    assert part.notes == (
        "m.csv: 2 rows without a probability are left out, the first in line 5",
        "m.csv: 1 probabilities are over 1, summed over several places of a pronoun",
        "m.csv: 2 normalised scores differ from the probabilities' ratio; the scores are used",
    )
    with pytest.raises(DatasetError, match=r"^m\.csv: no row has a probability$"):
        read_results(write(tmp_path / "m.csv", HEAD + ROWS.splitlines(keepends=True)[2]), format="gender-ece")


def test_a_folder_is_read_only_where_its_tool_writes_folders(tmp_path: Path) -> None:
    for name in ("general", "gender-ece"):
        with pytest.raises(DatasetError) as error:
            read_results(str(tmp_path), format=name)
        advice = "is a folder; name one of its files, or set format to lm-eval or inspect"
        assert str(error.value) == f"{tmp_path}: {advice}"
    with pytest.raises(DatasetError, match="no such file"):
        read_results(tmp_path / "none", format="lm-eval")
