"""Charts of identities: what markers change, radars, lines over augmentations, maps of occupations, and disparities.

Those that take named parts show several runs or tasks in one drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...datasets.occupations import OCCUPATIONS
from ...records import Measurement
from ...records.showing import Area, Axis, Chart, Dot, Heat, Key, Line, Mark, Panel, Rule, Tone, cases_link, ends_of
from ...runs.run import Part
from ...stats.paired import DETECTED
from ...verdict.identities import Change, changes, detected_names, strongest_change
from ...verdict.subgroups import (
    NON_DEMOGRAPHIC,
    NONE,
    WAYS,
    Named,
    Subgroup,
    capital,
    main_disparity,
    subgroups,
    titled,
)

SHOWN_MARKERS = 10
"""On the first screen; the section on identities has all of them."""
LARGE = 0.20
"""The paper marks disparities over this."""
PRONOUNS = {"male": "he", "female": "she"}
SIDES = {"male": "male-dominated", "female": "female-dominated"}
MARKED = {"": "no marker", "privileged": "privileged markers", "disadvantaged": "disadvantaged markers"}

Values = Sequence[Sequence[Measurement | None]]
"""A row for each name of an axis, a column for each line of the legend."""


def _about(named: Named, kind: str, way: str = "") -> dict[str, str]:
    """Return what a chart is about, as its first part says it."""
    return next(iter(named.values())).about(kind, augmentation=way)


def _axis(rows: Iterable[Measurement | None], ideal: float = 0.0) -> Axis:
    """Return an axis that holds all intervals, 0 and the ideal, so that panels can be compared."""
    ends = [end for row in rows if row is not None for end in ends_of(row.estimate)]
    low = math.floor(min([0.0, *ends]) * 20) / 20
    return Axis("mean confidence", low, max(math.ceil(max([ideal, *ends]) * 20) / 20, low + 0.1))


def change_chart(part: Part, kind: str) -> Chart | None:
    """Return a dot for each marker: the change of confidence from no marker; a panel for each augmentation.

    Markers of an attribute are together, under its name. Only detected changes have a colour.
    """
    ways = {way: changes(subgroups(part), kind, way) for way in subgroups(part).ways(kind)}
    by_way = {way: several for way, several in ways.items() if several}
    if not by_way:
        return None
    markers: dict[str, dict[str, None]] = {}
    everything = [change for several in by_way.values() for change in several]
    for change in everything:
        markers.setdefault(change.attribute, {})[change.marker] = None
    names: list[str] = []
    heads: list[int] = []
    for attribute, words in markers.items():
        heads.append(len(names))
        names += [attribute, *words]
    across = Axis.over([0.0, *(change.row.estimate for change in everything)], "change")
    down = replace(Axis.of_names(names), heads=heads)
    panels = []
    for way, several in by_way.items():
        dots = [
            _change_dot(change, names.index(change.marker, names.index(change.attribute) + 1)) for change in several
        ]
        panels.append(Panel([Rule(0.0), *dots], across, down, way))
    caption = (
        "Left of 0: less confident with the marker than without it, in the same sentences. Lines are the intervals of"
        f" single markers. A marker is coloured if it differs from no marker: p < {DETECTED} after correction for"
        " all claims of the run, and an interval that does not include 0."
    )
    caption += "".join(f" {capital(WAYS[way])}: {detected_names(several)}" for way, several in by_way.items())
    title = titled("Change of confidence from no marker", kind)
    return Chart(title, panels, "changes", part.about(kind), caption=caption, layout="beside")


def leading_changes(part: Part) -> Chart | None:
    """Return the markers that change confidence most, of the type and augmentation with the strongest change."""
    identities = subgroups(part)
    strongest = strongest_change(identities)
    kind = strongest.kind if strongest else next(iter(identities.kinds), "")
    way = strongest.way if strongest else next(iter(identities.ways(kind)), "")
    every = sorted(changes(identities, kind, way), key=lambda change: (not change.detected, -abs(change.row.value)))
    if not every:
        return None
    shown = sorted(every[:SHOWN_MARKERS], key=lambda change: change.row.value)
    across = Axis.over([0.0, *(change.row.estimate for change in shown)], "change of confidence from no marker")
    names = Axis.of_names([f"{change.marker} ({change.attribute})" for change in shown])
    links = [cases_link(part=str(part), type=kind, group=f"marker={change.marker}") for change in shown]
    dots = [replace(_change_dot(change, place), link=links[place]) for place, change in enumerate(shown)]
    keys = [Key("less confident with the marker", "wrong"), Key("more", "right"), Key("not detected", "neither")]
    caption = f"{capital(WAYS[way])}. {detected_names(every)} Lines are intervals."
    if len(shown) < len(every):
        caption += f" The {len(shown)} of {len(every)} that change most."
    title, tones = titled("What the markers change", kind), {dot.tone for dot in dots}
    legend = [key for key in keys if key.tone in tones]
    return Chart(title, [Panel([Rule(0.0), *dots], across, names)], "markers", part.about(kind), legend, caption)


def _change_dot(change: Change, place: int) -> Dot:
    tone: Tone = ("wrong" if change.row.value < 0 else "right") if change.detected else "neither"
    label = f"{change.attribute}, {change.marker}, p = {change.p:.4f}"
    return Dot(change.row.estimate, float(place), tone, label, small=True)


def radars(named: Named, kind: str, way: str) -> Chart:
    """Return a radar for each attribute: subgroups on the rim, unmarked ones too, and a line for each part.

    All have one scale. An ideal model is sure of everybody; the paper leaves it out for ambiguous sentences.
    """
    ideal = 0.0 if kind == "type1" else 1.0
    rims = {attribute: _rim(named, kind, way, attribute) for attribute in _attributes(named, kind, way)}
    values = {
        (attribute, name): [subgroups(part).confidence(kind, subgroup) for subgroup in rim]
        for attribute, rim in rims.items()
        for name, part in named.items()
    }
    axis = _axis((row for rows in values.values() for row in rows), ideal)
    panels = []
    for attribute, rim in rims.items():
        corners = [(float(place), ideal) for place in range(len(rim))]
        marks: list[Mark] = [Line(corners, "ideal", "An ideal model: 1 for everybody", closed=True)] if ideal else []
        for number, name in enumerate(named):
            marks += _polygon(rim, values[attribute, name], number, name if len(named) > 1 else "")
        around = Axis.of_names([subgroup.rim_name for subgroup in rim])
        panels.append(Panel(marks, around, axis, attribute, polar=True))
    keys = [*Key.each(named), Key("no marker", "neither")]
    caption = "Dotted ring: 0, undecided. Squares: no marker. Bands: intervals. All radars have the same scale."
    if ideal:
        keys.append(Key("an ideal model: 1 for everybody", "ideal"))
    title, about = titled("Mean confidence by identity", kind, way), _about(named, kind, way)
    return Chart(title, panels, "radar", about, keys, caption, "multiples")


def _attributes(named: Named, kind: str, way: str) -> list[str]:
    return list(dict.fromkeys(name for part in named.values() for name in subgroups(part).markers(kind, way)))


def _rim(named: Named, kind: str, way: str, attribute: str) -> list[Subgroup]:
    """Return the subgroups on the rim, men opposite women."""
    every = dict.fromkeys(sub for part in named.values() for sub in subgroups(part).marked(kind, way, attribute))
    genders = list(dict.fromkeys(subgroup.gender for subgroup in every))
    return sorted(every, key=lambda subgroup: genders.index(subgroup.gender))


def _polygon(rim: Sequence[Subgroup], rows: Sequence[Measurement | None], number: int, name: str) -> Iterator[Mark]:
    """Yield the line of one part, the band of its intervals, and a dot for each subgroup; nothing without markers."""
    known = [(float(place), row.estimate) for place, row in enumerate(rows) if row is not None]
    if not any(rim[int(place)].marker for place, _ in known):
        return
    if all(estimate.has_interval for _, estimate in known):
        yield Area([(place, estimate.low, estimate.high) for place, estimate in known], number, closed=True)
    yield Line([(place, estimate.value) for place, estimate in known], number, closed=True)
    for place, estimate in known:
        # A grey square for what is not marked: what the others are to be compared with.
        tone: Tone = number if rim[int(place)].marker else "neither"
        yield Dot(place, estimate, tone, name, small=True)


def lines(part: Part, kind: str) -> Chart:
    """Return the confidence of each marker and gender, without a marker and with each augmentation; women dashed."""
    identities = subgroups(part)
    ways = identities.ways(kind)
    rows: dict[str, dict[Subgroup, list[Measurement | None]]] = {}
    for attribute in _attributes({"": part}, kind, ways[0]):
        for sub in identities.marked(kind, ways[0], attribute):
            if sub.marker:
                places = [Subgroup(NONE, "", "", sub.gender), *(sub._replace(way=way) for way in ways)]
                rows.setdefault(attribute, {})[sub] = [identities.confidence(kind, place) for place in places]
    up = _axis(row for of_attribute in rows.values() for several in of_attribute.values() for row in several)
    across = Axis.of_names(["no marker", *ways])
    panels = []
    for attribute, of_attribute in rows.items():
        tones = {marker: tone for tone, marker in enumerate(dict.fromkeys(sub.marker for sub in of_attribute))}
        marks: list[Mark] = [Rule(0.0, "y")]
        for number, (sub, several) in enumerate(of_attribute.items()):
            tone, beside = tones[sub.marker], _aside(number, len(of_attribute))
            known = [(place + beside, row.estimate) for place, row in enumerate(several) if row is not None]
            points = [(x, estimate.value) for x, estimate in known]
            marks.append(Line(points, tone, sub.name, dashed=sub.gender == "female"))
            marks += [Dot(x, estimate, tone, sub.name, small=True) for x, estimate in known]
        keys = [Key(sub.name, tones[sub.marker], sub.gender == "female") for sub in of_attribute]
        panels.append(Panel(marks, across, up, attribute, height=0.6, legend=keys))
    caption = "Dashed: women. Dotted line: 0. Vertical lines: intervals."
    title = titled("Confidence by marker and augmentation", kind)
    return Chart(title, panels, "lines", part.about(kind), caption=caption, layout="multiples")


def _aside(number: int, count: int) -> float:
    """Return how far beside its place a dot lies, where several share it and should not hide each other."""
    return (number - (count - 1) / 2) * min(0.28, 0.75 / count)


def heatmap(part: Part, kind: str, way: str) -> Chart | None:
    """Return mean confidence by identity (down) and by the occupation that is meant (across, the least first)."""
    identities = subgroups(part)
    rows = list(identities.marked(kind, way))
    values = np.full((len(rows), len(identities.occupations)), math.nan)
    for y, x in np.ndindex(values.shape):
        value = identities.confidence(kind, rows[y], identities.occupations[x])
        values[y, x] = math.nan if value is None else value.value
    asked = np.flatnonzero(~np.isnan(values).all(axis=0))
    if not len(asked):
        return None
    order = asked[np.argsort(np.nanmean(values[:, asked], axis=0), kind="stable")]
    jobs = [identities.occupations[place] for place in order]
    cells = [Heat(x, y, float(value)) for (y, x), value in np.ndenumerate(values[:, order])]
    across = Axis.of_names(jobs, tones=[_side(job) for job in jobs])
    down = Axis.of_names([subgroup.name for subgroup in rows], "identity")
    panel = Panel(cells, across, down, colours="mean confidence (0: undecided, below: wrong)")
    keys = [Key("stereotyped as men’s work", "he"), Key("as women’s", "she")] if any(across.tones) else []
    title = titled(f"Confidence of {part.run.name} by occupation and identity", kind, way)
    return Chart(title, [panel], "heatmap", part.about(kind, augmentation=way), keys)


def _side(job: str) -> str:
    """Return whose stereotype an occupation is: "he", "she", or "" where that is not on record."""
    known = OCCUPATIONS.get(job) or OCCUPATIONS.get(job.lower())
    return PRONOUNS.get(known.side, "") if known else ""


def crossing(named: Named, kind: str, way: str) -> Chart | None:
    """Return confidence by side of the occupation, gender and privilege; a panel for each part that has them."""
    places = {f"{PRONOUNS[gender]}, {SIDES[side]}": (side, gender) for side in SIDES for gender in PRONOUNS}
    values: dict[str, Values] = {}
    for name, part in named.items():
        rows = []
        for side, gender in places.values():
            at = {"type": kind, "side": side, "gender": gender}
            ways = [(privilege, way if privilege else NONE) for privilege in MARKED]
            rows.append([part.measured.get("confidence", privilege=p, augmentation=a, **at) for p, a in ways])
        if any(any(row[1:]) for row in rows):
            values[name if len(named) > 1 else ""] = rows
    if not values:
        return None
    across = _axis(row for rows in values.values() for of_place in rows for row in of_place)
    panels = _dotted(values, list(places), list(MARKED.values()), across, Rule(0.0))
    keys = Key.each(MARKED.values())
    title, about = titled("Identity and occupation", kind, way), _about(named, kind, way)
    return Chart(title, panels, "crossing", about, keys, layout="beside")


def _dotted(
    values: Mapping[str, Values], names: Sequence[str], series: Sequence[str], across: Axis, rule: Rule
) -> list[Panel]:
    """Return a panel for each table of values: its rows are named down the axis, its columns are dots side by side."""
    panels = []
    for title, rows in values.items():
        dots = [
            Dot(row.estimate, place + _aside(number, len(series)), number, series[number], small=True)
            for place, of_name in enumerate(rows)
            for number, row in enumerate(of_name)
            if row is not None
        ]
        panels.append(Panel([rule, *dots], across, Axis.of_names(names), title))
    return panels


def disparities(named: Named, kind: str) -> Chart:
    """Return how far the subgroups of each attribute lie apart, a panel for each augmentation, with intervals."""
    ways = [way for way in WAYS if any(way in subgroups(part).ways(kind) for part in named.values())]
    attributes = list(dict.fromkeys(name for way in ways for name in _attributes(named, kind, way)))
    values: dict[str, Values] = {}
    for way in ways:
        asked = [(NONE, ""), *((way, attribute) for attribute in attributes)]
        values[way] = [
            [
                part.measured.get(main_disparity(attribute), type=kind, augmentation=at, attribute=attribute)
                for part in named.values()
            ]
            for at, attribute in asked
        ]
    known = [row.estimate for rows in values.values() for of_name in rows for row in of_name if row is not None]
    across = Axis.over([0.0, LARGE, *known], "disparity", within=(0.0, 2.0))
    panels = _dotted(values, ["no marker", *attributes], list(named) if len(named) > 1 else [""], across, Rule(LARGE))
    keys = Key.each(named) if len(named) > 1 else []
    caption = f"Max - min of the means of gender × marker. No marker: he and she. Dotted line: {LARGE:.2f}."
    if NON_DEMOGRAPHIC in attributes:
        caption += f" {capital(NON_DEMOGRAPHIC)}: mean of |he - she|."
    caption += f" {capital('; '.join(WAYS[way] for way in ways))}."
    title, about = titled("Confidence disparity", kind), _about(named, kind)
    return Chart(title, panels, "disparities", about, keys, caption, "beside")


def trade_off(named: Named, kind: str, way: str) -> Chart | None:
    """Return accuracy against the mean disparity of confidence, a dot for each part; None for fewer than two."""
    dots: list[Dot] = []
    for number, (name, part) in enumerate(named.items()):
        at = {"type": kind, "augmentation": way}
        accuracy, attributes = part.measured.get("accuracy", **at), subgroups(part).markers(kind, way)
        rows = [part.measured.get("confidence_disparity", attribute=attribute, **at) for attribute in attributes]
        sizes = [row.value for row in rows if row is not None]
        if accuracy is not None and sizes:
            dots.append(Dot(accuracy.estimate, sum(sizes) / len(sizes), number, name))
    if len(dots) < 2:
        return None
    up = Axis.over([0.0, *(dot.y for dot in dots)], "confidence disparity, mean of the attributes", within=(0.0, 2.0))
    panel = Panel(dots, Axis.over([dot.x for dot in dots], "accuracy", within=(0.0, 1.0)), up, height=0.75)
    keys = [Key(dot.label, dot.tone) for dot in dots]
    title, about = titled("Performance and disparity", kind, way), _about(named, kind, way)
    return Chart(title, [panel], "trade-off", about, keys)


def pictures(named: Named) -> Iterator[Chart]:
    """Yield all charts of several runs or tasks; maps and lines are of one part each, and named after it."""

    def about(chart: Chart | None, run: str = "") -> Iterator[Chart]:
        if chart is not None:
            kind, way = chart.about["type"] or "all", chart.about.get("augmentation", "")
            yield replace(chart, about={"type": kind, "augmentation": way, "run": run})

    for kind in dict.fromkeys(kind for part in named.values() for kind in subgroups(part).kinds):
        for way in WAYS:
            asked = {name: part for name, part in named.items() if way in subgroups(part).ways(kind)}
            for draw in (radars, crossing, trade_off) if asked else ():
                yield from about(draw(asked, kind, way))
            for name, part in asked.items():
                yield from about(heatmap(part, kind, way), name)
        asked = {name: part for name, part in named.items() if subgroups(part).ways(kind)}
        for name, part in asked.items():
            yield from about(lines(part, kind), name if len(asked) > 1 else "")
        yield from about(disparities(asked, kind))
