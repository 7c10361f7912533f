"""Sections with everything that a medium may be given: findings and tables of every kind, and some charts."""

from __future__ import annotations

import math

from sample_charts import EVERY, estimate

from equipoise.records import Measurement
from equipoise.records.showing import Cell, Column, Finding, Row, Section, Table

MEASURED = Measurement("ucerf", "m", "d", "t", "all", estimate(0.25, n=1234), "higher")
SAME = Table(
    "Metrics, all with one n",
    (
        Column("metric", words=True),
        Column("ambiguous", "higher", hint="of sentences that leave it open"),
        Column("resolvable", "lower", digits=2),
        Column("what it is", words=True, spare=True),
    ),
    [
        Row(("of answers",), heading=True),
        Row(
            (Cell("ucerf", link="#ucerf"), MEASURED, Cell(estimate(0.5, n=1234), strong=True), "how alike `both` are"),
            (0, 1),
            "higher",
        ),
        Row(("accuracy", None, estimate(0.75, n=1234), ""), better="lower"),
        Row(("of confidence",), heading=True),
        Row(("certainty_gap", estimate(-0.125, n=7), None, "a longer explanation of the gap"), (-1, 1)),
        Row(("folded", estimate(0.1, n=9), estimate(0.2, n=9), "at the end")),
    ],
    "metrics",
    {"dataset": "d", "task": "t"},
    notes=["A first note.", "A second <note>."],
    shown=5,
    more="more metrics of groups",
)
OTHERS = Table(
    "Models, each with its n",
    (
        Column("model", words=True, code=True),
        Column("UCerF", "higher", filters={"type": "type1"}, link="ucerf.html"),
        Column("flips", "lower", form=".1%", filters={"type": "type2"}),
        Column("n of runs"),
        Column("share", form="+.2f"),
    ),
    [
        Row(
            (Cell("a|b_c", code=True), Cell(estimate(0.5), before="1–2", after="±0.1"), estimate(0.25, n=3), 1234, 0.5)
        ),
        Row((Cell("=SUM(a)", hint="a hint"), Cell(estimate(0.4), link="#x"), None, 0, math.nan)),
        Row(("-x", estimate(0.3, n=12), estimate(0.125, n=3), None, -0.25)),
        Row(("ünïcode → 漢字", Cell(estimate(0.2), strong=True), Cell("words"), True, 1.0)),
    ],
    "models",
    sortable=True,
    choices={"metric": [Cell("UCerF", strong=True, link="ucerf.html"), Cell("flips", link="flips.html")]},
)
MANY = Table(
    "Many values in a row",
    (Column("group", words=True), *(Column(f"value {n}", digits=n) for n in range(1, 6))),
    [Row(("all", *(estimate(0.1 * n) for n in range(1, 6)))), Row(("none", *[None] * 5))],
    "many",
)
FACTS = Table.of_facts("Facts", [("model", "m"), ("code", Cell("a = 1\nb = 2", code=True)), ("number", 1234)])
EMPTY = Table("Nothing", (Column("a", words=True),), [])
FINDINGS = [
    Finding("Difference found: `she` is doubted more.", topic="verdict"),
    Finding("The pronoun changed 3 of 9 answers."),
    Finding("The mass is low.", state="doubt", name="mass", short="0.2", beside="Beside every claim."),
    Finding("The accuracy is fine.", state="fine", name="accuracy", short="0.9"),
    Finding("A doubt without a check.", state="doubt"),
    Finding("Nothing could be read.", state="invalid"),
    Finding("A note [in brackets].", state="note"),
    Finding("The worst case", example="#case=s1,d t"),
]
SECTIONS = [
    Section("First *of all*", FINDINGS, "first", "First", "An introduction.", layout="first"),
    Section("Tables", [SAME, OTHERS, EMPTY, Finding("After the tables."), MANY, FACTS], "tables", link="tables.html"),
    Section(
        "Charts",
        [EVERY["rows"], EVERY["ranks"], Section("Inside", [Finding("Deep down."), FACTS], "inside", intro="Within.")],
        "charts",
        "All charts",
    ),
    Section("Folded", [Finding("Only on request."), EVERY["names"]], "folded", folded=True),
    Section("", [Finding("Without a title.")]),
]
TABLES = [SAME, OTHERS, MANY, FACTS, EMPTY]
