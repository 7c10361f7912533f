"""One chart of every kind, for tests of what draws them."""

from __future__ import annotations

import math

from equipoise.records import Estimate
from equipoise.records.showing import (
    Area,
    Axis,
    Bar,
    Bracket,
    Chart,
    Cloud,
    Dot,
    Heat,
    Key,
    Line,
    Note,
    Panel,
    Rule,
    Square,
)


def estimate(value: float, reach: float = 0.1, n: int = 40) -> Estimate:
    """Return a value with an interval on both sides."""
    return Estimate(value, value - reach, value + reach, 0.95, n, "bootstrap")


def rows() -> Chart:
    """Return named rows in two panels that share their names."""
    names = ["construction worker (4%)", "nurse", "CEO"]
    first = [Dot(estimate(0.3 * place), float(place), label=name) for place, name in enumerate(names)]
    second = [Dot(estimate(0.1), 1.0, 1, label="nurse", hollow=True), Rule(0.0, label="none")]
    panels = [
        Panel(first, Axis("UCerF", -0.2, 1), Axis.of_names(names)),
        Panel(second, Axis("eo", -0.5), Axis.of_names(names)),
    ]
    return Chart("Rows", panels, "rows", {"dataset": "d"}, layout="beside")


def curves() -> Chart:
    """Return a filled line over bars, one under another, with a legend."""
    points = [(x / 10, (x / 10) ** 2) for x in range(11)]
    above = Panel(
        [Line(points, "toward", "curve", filled=True), Rule(along="diagonal"), Rule(0.5, "y", "half")],
        Axis(),
        Axis("share"),
    )
    bars = [Bar((x / 10, x / 10 + 0.08), (0, x), "against", f"bar {x}", str(x)) for x in range(10)]
    below = Panel(
        [*bars, Bar((0, 1), (0, 9), link="#filter=x", strength=0.0)],
        Axis("P", ends=("no", "perhaps", "yes")),
        Axis("items", 0, 10),
        height=0.2,
    )
    return Chart(
        "Curves",
        [above, below],
        "curves",
        {"dataset": "d"},
        [Key("toward", "toward"), Key("against it", "against", dashed=True)],
    )


def squares() -> Chart:
    """Return squares, more than fit in a row."""
    marks = [Square("toward" if number < 9 else "same", f"#case={number}") for number in range(244)]
    return Chart(
        "Squares", [Panel(marks)], "squares", {"dataset": "d"}, [Key("9 changed", "toward", link="#filter=flip:toward")]
    )


def scatter() -> Chart:
    """Return dots with both intervals, and notes of which not all have room."""
    marks: list[Dot | Note] = [Dot(estimate(0.5 + n / 100), estimate(0.5 - n / 100), n, f"model {n}") for n in range(8)]
    marks += [Note(0.5 + n / 100, 0.5 - n / 100, f"the name of model {n}") for n in range(8)]
    return Chart("Scatter", [Panel(marks, Axis("performance"), Axis("UCerF"), height=0.8)], "scatter", {"dataset": "d"})


def radars(count: int = 5) -> Chart:
    """Return polar panels, each with a band, a polygon and dots."""
    names = ["fem", "fem: neurodivergent", "fem: old", "masc", "masc: neurodivergent", "masc: old"]
    values = [estimate(0.1 * place) for place in range(6)]
    marks = [
        Area([(float(n), value.low, value.high) for n, value in enumerate(values)], closed=True),
        Line([(float(n), value.value) for n, value in enumerate(values)], closed=True),
        *(
            Dot(float(n), value, small=True, label=name)
            for (n, value), name in zip(enumerate(values), names, strict=True)
        ),
        Rule(0.0, "y"),
    ]
    panel = Panel(marks, Axis.of_names(names), Axis("confidence", -0.2, 0.8), "age", polar=True)
    return Chart("Radars", [panel] * count, "radar", {"dataset": "d"}, [Key("model", 0)], layout="multiples")


def crowded() -> Chart:
    """Return a polar panel with many long names, beside one with few."""
    words = ("neurodivergent", "unperturbed", "non-English-speaking", *(f"marker {n}" for n in range(6)))
    panels = []
    for count in (9, 3):
        names = [f"{gender}: {word}" for gender in ("fem", "masc") for word in ("no marker", *words[:count])]
        dots = [Dot(float(place), estimate(0.4), label="model") for place in range(len(names))]
        panels.append(Panel(dots, Axis.of_names(names), Axis("confidence", 0.0, 1.0), f"{count} markers", polar=True))
    return Chart("Crowded", panels, "crowded", {"dataset": "d"}, layout="multiples")


def headed() -> Chart:
    """Return named rows in three panels, some under a heading."""
    names = ["age", "young", "old", "language", "non-English-speaking", "English-speaking"]
    dots = [Dot(estimate(0.1 * place), float(place), "wrong") for place in (1, 2, 4, 5)]
    rows = Axis("", -0.5, 5.5, names, heads=(0, 3))
    panels = [Panel([Rule(0.0), *dots], Axis("change", -0.2, 0.7), rows, way) for way in ("R", "NR", "C")]
    return Chart("Headed", panels, "headed", {"dataset": "d"}, layout="beside")


def heatmap(rows: int = 12, columns: int = 30) -> Chart:
    """Return a map of names by names, with a cell that was not asked."""
    cells = [
        Heat(x, y, math.nan if (x, y) == (0, 0) else math.sin(x + 3 * y)) for y in range(rows) for x in range(columns)
    ]
    across = Axis.of_names(
        [f"occupation {x}" for x in range(columns)], tones=["he" if x % 2 else "" for x in range(columns)]
    )
    return Chart(
        "Map",
        [Panel(cells, across, Axis.of_names([f"identity {y}" for y in range(rows)], "identity"), colours="confidence")],
        "heatmap",
        {"dataset": "d"},
    )


def ranks() -> Chart:
    """Return lines over names, on an axis that is turned round."""
    lines = [Line([(0.0, 1.0 + n), (1.0, 3.0 - n)], n, f"model {n}") for n in range(3)]
    return Chart(
        "Ranks",
        [Panel(lines, Axis.of_names(["eo_sum", "ucerf"]), Axis("rank", 3.3, 0.7), height=0.4)],
        "ranks",
        {"dataset": "d"},
    )


def long_names() -> Chart:
    """Return panels with names that have no room beside them, each with a legend of its own."""
    names = [f"a model with a long name (strength {n}, bias 2.5, noise 0.7)" for n in range(4)]
    panels = [
        Panel(
            [Dot(estimate(0.2 * at, n=900), float(at), at % 2, name) for at, name in enumerate(names)],
            Axis("value", -0.1, 0.7),
            Axis.of_names(names),
            f"metric {number}",
            legend=[Key("first", 0), Key("a line of a legend that is long", 1)],
        )
        for number in range(4)
    ]
    return Chart("Long names", panels, "names", {"dataset": "d"}, layout="multiples")


def clouds() -> Chart:
    """Return hundreds of points without axes."""
    hidden = Axis(low=-1.1, high=1.1, hidden=True)
    marks = [
        Cloud([(math.sin(n * turn), math.cos(n * n)) for n in range(300)], tone) for tone, turn in enumerate((1, 2))
    ]
    keys = [Key("first", 0), Key("second", 1)]
    return Chart("Clouds", [Panel(marks, hidden, hidden, "map", height=1.0)], "clouds", {"dataset": "d"}, keys)


EVERY = {
    chart.topic: chart
    for chart in (
        rows(),
        curves(),
        squares(),
        scatter(),
        radars(),
        crowded(),
        headed(),
        heatmap(),
        ranks(),
        long_names(),
        clouds(),
    )
}


def brackets() -> Chart:
    """Return lying bars with words behind them, and brackets beside their rows."""
    names = ["one", "two", "three", "four"]
    bars = [Bar((0.0, 0.2 * at + 0.1), (at - 0.3, at + 0.3), "he", f"{names[at]}", f"{at} words") for at in range(4)]
    joined = [Bracket([0.0, 1.0]), Bracket([1.0, 2.0, 3.0], 1)]
    across = Axis("share", unit="%", ends=("none", "", "all"))
    panel = Panel([*bars, *joined], across, Axis.of_names(names, "row"), "Lying", spacing=1.5)
    return Chart("Brackets", [panel], "brackets", {"dataset": "d"}, [Key("bars", "he")], "A caption.")


def standing() -> Chart:
    """Return standing bars, lines, rules and notes, with a hidden axis and a common one."""
    marks = [
        Bar((0, 2), (0, 5), 0, "wide", "12,345", "#wide", 0.5),
        Bar((3, 4), (0, 2), 3, "narrow", "a word of many letters", "#narrow", 0.5),
        Line([(0.0, 1.0), (4.0, 3.0), (2.0, 4.0)], "they", "line", closed=True, dashed=True),
        Area([(0.0, 1.0, 2.0), (2.0, 2.0, 4.0), (4.0, 0.5, 1.0)], "she"),
        Rule(2.0, label="limit"),
        Rule(3.0, "y", "level"),
        Rule(1.0),
        *(Note(x, y, text) for x, y, text in ((2.0, 2.5, "in the middle"), (0.1, 4.9, "at an end"), (3.9, 0.1, "low"))),
        *(Dot(x, estimate(y, 0.7), "wrong", f"dot {x}", hollow=True, small=True) for x, y in ((1.0, 2.0), (3.0, 4.0))),
    ]
    above = Panel(marks, Axis("hours", 0, 4), Axis("level", 0, 5), "Above", height=0.7)
    below = Panel([Line([(0.0, 0.2), (4.0, 0.9)], 3)], Axis("hours", 0, 4), Axis(hidden=True), "Below", height=0.2)
    return Chart("Standing", [above, below], "standing", legend=[Key("dashed", "they", True), Key("x" * 70, 1)])


def around(count: int) -> Chart:
    """Return a polar panel with that many names, some of them long."""
    words = ("short", "a word and three more words", "incomprehensibilities", "x: y", "x: another longer name")
    names = [f"{words[at % len(words)]}{at if at >= len(words) else ''}" for at in range(count)]
    marks = [
        Area([(float(at), 0.2, 0.6) for at in range(count)], 1),
        Line([(float(at), 0.4) for at in range(count)], 1),
        Dot(0.0, estimate(0.4), 2, "first"),
        Rule(0.5, "y"),
    ]
    panel = Panel(marks, Axis.of_names(names), Axis("confidence", 0.0, 1.0), f"{count} names", polar=True)
    return Chart("Around", [panel, panel], "around", layout="multiples")


def under() -> Chart:
    """Return names under panels, in several lines or turned, some of them with a tone."""
    names = ["a name of several words", "short", "another"]
    bounded = Estimate(math.nan, 0.2, 0.6, 0.95, 12, "")
    dots = [Dot(float(at), estimate(0.2 * at), at, link=f"#{at}") for at in range(3)] + [Dot(1.0, bounded, "quiet")]
    tones = ["he", "", "she"]
    wrapped = Panel(dots, Axis.of_names(names, "group", tones), Axis("UCerF", -0.2, 1.0, unit="%"), "Wrapped")
    turned = Panel(dots, Axis.of_names([f"{name} incomprehensibly" for name in names] * 4, tones=tones), title="Turned")
    named = Panel([Dot(0.5, 1.0)], Axis("value"), Axis.of_names(["first", "second"]), "Named")
    return Chart("Under", [wrapped, turned, named], "under", layout="multiples")


ODD = {
    "brackets": brackets(),
    "standing": standing(),
    "under": under(),
    **{f"around {count}": around(count) for count in (1, 2, 3, 7, 13, 24)},
}
"""Charts of everything that the others do not have."""
