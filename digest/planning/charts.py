"""Papers a day as bars, in plain text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from digest.planning.previews import Day

WEEKS_FROM: Final = 45
"""From so many days on a chart has a bar a week."""

_WEEK = 7


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: what stands before it, the bar itself, its number, and whether that is final."""

    label: str
    bar: str
    number: int
    is_whole: bool = True


def draw_chart(days: Sequence[Day], *, width: int) -> list[Bar]:
    """Draw papers a day as bars of at most `width` cells, one for each week where there are many days.

    Args:
        days: in order; a long run of them without any paper has one line.
        width: cells of the longest bar; small numbers take four cells a paper.
    """
    lines = list(_sum_weeks(days) if len(days) >= WEEKS_FROM else _label_days(days))
    highest = max((line.number for line in lines), default=0)
    cells = min(width, 4 * highest)
    broadest = max((len(line.label) for line in lines), default=0)
    return [
        replace(
            line,
            label=f"{line.label:<{broadest}}",
            bar="█" * max(bool(line.number), round(line.number * cells / max(highest, 1))),
        )
        for line in lines
    ]


def _label_days(days: Sequence[Day]) -> Iterator[Bar]:
    for (is_empty, is_whole), group in groupby(days, key=lambda day: (not day.papers, day.is_whole)):
        run = list(group)
        if is_empty and len(run) >= _WEEK:
            yield Bar(f"{_label(run[0].date)} to {_label(run[-1].date)}", "", 0, is_whole)
        else:
            yield from (Bar(_label(day.date), "", day.papers, is_whole) for day in run)


def _label(day: date) -> str:
    return f"{day:%a} {day.day:>2} {day:%b}"


def _sum_weeks(days: Sequence[Day]) -> Iterator[Bar]:
    for monday, group in groupby(days, key=lambda day: day.date - timedelta(days=day.date.weekday())):
        week = list(group)
        number, is_whole = sum(day.papers for day in week), all(day.is_whole for day in week)
        yield Bar(f"week of {monday.day:>2} {monday:%b}", "", number, is_whole)
