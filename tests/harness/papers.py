"""What stories on made-up papers share: their papers, their days, and what a pass planned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from digest.model.announcements import Kind
from digest.model.clock import ManualClock
from digest.model.papers import Author
from digest.serve.steps import PassReport
from tests.fakes.archive import DemoPaper, plan_announcement
from tests.fakes.arxiv import DemoArxiv

START = datetime(2026, 3, 2, 12, 40, tzinfo=UTC)
"""A Monday noon."""

TUESDAY = datetime(2026, 3, 4, 1, 0, tzinfo=UTC)
"""20:00 Eastern time of Tue 3 Mar, winter time still: an announcement comes out."""

ALL_KINDS = 'kinds = ["new", "cross-listed", "replaced", "withdrawn"]'


def made_up(
    number: int, submitted: datetime, *, announced: datetime | None = None, **fields: object
) -> DemoPaper:
    """Make a paper up; ids have the month of March 2026 unless `id` says otherwise."""
    defaults: dict[str, object] = {
        "id": f"2603.{number:05d}",
        "title": f"Made-up paper {number}",
        "abstract": "We measure tail latency.",
        "authors": (Author(r"P{\i}nar Made-Up", ("Somewhere",)), Author("Bo Sample")),
        "categories": ("cs.PF",),
    }
    return DemoPaper(
        announced=announced or plan_announcement(submitted),
        submitted=(submitted,),
        **(defaults | fields),  # type: ignore[arg-type]  # fields of DemoPaper, each its own type
    )


def announce(arxiv: DemoArxiv, at: datetime, *numbers: int, **fields: object) -> None:
    """Have made-up papers come out at a moment, handed in that morning."""
    for number in numbers:
        arxiv.add(made_up(number, at - timedelta(hours=9), announced=at, **fields))


def told(report: PassReport) -> list[tuple[str, str, Kind]]:
    """Return slot, id and kind of all that a pass planned."""
    planned = []
    for digest in report.plan.digests:
        planned += [(digest.slot, str(entry.paper.id), entry.kind) for entry in digest.entries]
    return planned


def told_ids(report: PassReport) -> list[str]:
    """Return the ids a pass planned, in order."""
    return [id_ for _, id_, _ in told(report)]


def later(clock: ManualClock, day: int, hour: int = 12) -> None:
    """Put the clock to a day of March 2026."""
    clock.set(START.replace(day=day, hour=hour))
