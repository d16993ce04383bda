"""What of a replay comes out otherwise than it was recorded, and what of that proves nothing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NOTHING = "nothing"

_LETTERS = 8
"""Of a content hash, enough to tell two texts apart."""

_LONGEST = 60
"""Letters shown of a value."""

_FOLLOW_FROM_CHANGES = frozenset({"new", "changed"})
"""Figures of a run that count its changes; the others count what came."""


@dataclass(frozen=True, slots=True)
class Found:
    """A change, as it was recorded or as it comes out again.

    Attributes:
        run_id: the run that found it.
        paper: the paper's id.
        kind: what it is.
        version: the version it found.
        fields: names of what differs, parted by blanks.
        content_hash: of the text it found.
        previous: of the text stored before; "" for none.
    """

    run_id: int
    paper: str
    kind: str
    version: int
    fields: str
    content_hash: str
    previous: str = ""

    def describe(self) -> str:
        """Say it in words."""
        fields = f" ({', '.join(self.fields.split())})" if self.fields else ""
        before = f" after {self.previous[:_LETTERS]}" if self.previous else ""
        return f"{self.kind} v{self.version}{fields}, text {self.content_hash[:_LETTERS]}{before}"


class Subject(StrEnum):
    """What it is that comes out otherwise."""

    CHANGE = "change"
    TEXT = "text"
    PAPER = "paper"
    SET_ASIDE = "set aside"
    COUNT = "count"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that does not come out as it was recorded.

    Attributes:
        run_id: its run.
        subject: what it is.
        name: the paper's id, the name of the figure, or the place on the run's pages.
        recorded: as it was, in words.
        replayed: as it comes out now, in words.
        doubt: why it proves nothing; "" where it does.
    """

    run_id: int
    subject: Subject
    name: str
    recorded: str
    replayed: str
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why what comes out of one paper proves nothing, from a run on."""

    run_id: int
    reason: str


def write_figures(papers: int, new: int, changed: int, highest_id: str) -> dict[str, str]:
    """Return a run's figures by name, as text."""
    return {
        "papers": f"{papers:,}",
        "new": f"{new:,}",
        "changed": f"{changed:,}",
        "highest": highest_id or NOTHING,
    }


def compare_changes(recorded: Iterable[Found], replayed: Iterable[Found]) -> list[Difference]:
    """Hold changes against changes, each side in the order it was found; return what differs by run and paper."""
    sides: dict[tuple[int, str], tuple[list[Found], list[Found]]] = defaultdict(lambda: ([], []))
    for side, found in enumerate((recorded, replayed)):
        for change in found:
            sides[change.run_id, change.paper][side].append(change)
    differences = []
    for (run_id, paper), (before, after) in sorted(sides.items()):
        if before == after:
            continue
        lost = [change for change in before if change not in after]
        gained = [change for change in after if change not in before]
        pairs = zip_longest(lost, gained) if lost or gained else zip_longest(before, after)
        differences += [
            Difference(
                run_id,
                Subject.CHANGE,
                paper,
                one.describe() if one else NOTHING,
                other.describe() if other else NOTHING,
            )
            for one, other in pairs
        ]
    return differences


def compare_fields(
    run_id: int, subject: Subject, name: str, recorded: Mapping[str, object], replayed: Mapping[str, object]
) -> list[Difference]:
    """Hold the fields of one thing against each other; return one difference that names all that differ."""
    differing = [field for field in recorded if recorded[field] != replayed[field]]
    if not differing:
        return []
    before, after = (
        ", ".join(f"{field} {_cut(side[field])}" for field in differing) for side in (recorded, replayed)
    )
    return [Difference(run_id, subject, name, before, after)]


def compare_figures(run_id: int, recorded: Mapping[str, str], replayed: Mapping[str, str]) -> list[Difference]:
    """Hold a run's figures against what they come out as; see `write_figures`."""
    return [
        Difference(run_id, Subject.COUNT, name, figure, replayed[name])
        for name, figure in recorded.items()
        if figure != replayed[name]
    ]


def weigh_differences(
    differences: Sequence[Difference], doubts: Mapping[str, Doubt], broken: Mapping[int, str]
) -> list[Difference]:
    """Return the differences, each with the doubt there is about it.

    What a run recorded from a page that is missing can't come out again, and whatever comes out of those
    papers later follows from that. The missing page itself is a difference beyond doubt.

    Args:
        differences: all of them; a doubt they have already stays.
        doubts: by paper.
        broken: what is missing of runs, by run.
    """
    doubted = dict(doubts)
    for difference in differences:
        if difference.subject is Subject.CHANGE and difference.run_id in broken:
            earlier = doubted.get(difference.name)
            if earlier is None or earlier.run_id > difference.run_id:
                reason = f"run {difference.run_id}: {broken[difference.run_id]}"
                doubted[difference.name] = Doubt(difference.run_id, reason)
    weighed = [replace(difference, doubt=_doubt(difference, doubted, broken)) for difference in differences]
    unsure = {
        difference.run_id: difference.doubt
        for difference in weighed
        if difference.subject is Subject.CHANGE and difference.doubt
    }
    return [
        replace(difference, doubt=unsure.get(difference.run_id, ""))
        if difference.subject is Subject.COUNT and not difference.doubt and difference.name in _FOLLOW_FROM_CHANGES
        else difference
        for difference in weighed
    ]


def _doubt(difference: Difference, doubts: Mapping[str, Doubt], broken: Mapping[int, str]) -> str:
    if difference.subject is Subject.PAGE or difference.doubt:
        return difference.doubt
    if difference.subject in (Subject.COUNT, Subject.SET_ASIDE):
        missing = broken.get(difference.run_id)
        return f"run {difference.run_id}: {missing}" if missing else ""
    doubt = doubts.get(difference.name)
    return doubt.reason if doubt is not None and difference.run_id >= doubt.run_id else ""


def _cut(value: object) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
