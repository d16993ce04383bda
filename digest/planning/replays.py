"""Which looks can be replayed from the pages that are kept."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING

from digest.planning.polls import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime, timedelta


@dataclass(frozen=True, slots=True)
class LedgerRun:
    """A look as the ledger has it; for the fields see `digest.store.runs.PollRun`.

    Attributes:
        is_ended: whether it is over.
        has_judge: whether what it judged news by was kept, as far as is known in a way that can be read.
    """

    id: int
    source: str
    started_at: datetime
    is_ended: bool
    is_complete: bool
    is_bootstrap: bool
    pages: int
    papers: int
    new: int
    changed: int
    highest_id: str
    next_token: str
    has_judge: bool


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page that is kept as it came.

    Attributes:
        id: grows in the order in which pages were committed.
        run_id: its run.
        number: its place in the run, from 0.
        url: where it came from.
        fetched_at: when (UTC).
        sha256: of its bytes, as they came.
    """

    id: int
    run_id: int
    number: int
    url: str
    fetched_at: datetime
    sha256: str


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What can be replayed.

    Attributes:
        runs: those to be replayed, in order; a run without pages may be one of them.
        pages: theirs, in the order in which they were committed.
        forgotten: runs before them whose pages are gone, with the reason: what they brought is taken as known.
        broken: what is missing of runs among those to be replayed, though it should be there, by run.
    """

    runs: tuple[LedgerRun, ...] = ()
    pages: tuple[KeptPage, ...] = ()
    forgotten: tuple[tuple[LedgerRun, str], ...] = ()
    broken: Mapping[int, str] = field(default_factory=dict)


def plan_replay(
    runs: Sequence[LedgerRun], pages: Sequence[KeptPage], since: date | None = None, until: date | None = None
) -> ReplayPlan:
    """Choose what to replay: every run of a span of days but those at its beginning whose pages are gone.

    Pages are given up oldest first. So a page that is missing behind one that is kept was not given up but
    lost, and its run is replayed without it.

    Args:
        runs: all of the ledger, in order.
        pages: all that are kept.
        since: UTC day on which the first run started; None for as far back as pages are kept.
        until: UTC day on which the last one did; None for no end.
    """
    kept: dict[int, set[int]] = defaultdict(set)
    for page in pages:
        kept[page.run_id].add(page.number)
    oldest = min(((page.run_id, page.number) for page in pages), default=(0, 0))
    chosen: list[LedgerRun] = []
    forgotten: list[tuple[LedgerRun, str]] = []
    broken: dict[int, str] = {}
    for run in _choose_runs(runs, oldest[0], since, until):
        missing = [number for number in range(run.pages) if number not in kept[run.id]]
        reason = _explain_gone(run, missing, oldest if pages else None)
        if reason and not any(earlier.pages for earlier in chosen):
            forgotten += [*((earlier, reason) for earlier in chosen), (run, reason)]
            chosen.clear()
            continue
        chosen.append(run)
        if missing or reason:
            broken[run.id] = reason or f"{_name_pages(missing)} of {run.pages} {_be(missing)} missing"
    ids = {run.id for run in chosen}
    order = sorted((page for page in pages if page.run_id in ids), key=lambda page: page.id)
    return ReplayPlan(tuple(chosen), tuple(order), tuple(forgotten), broken)


def _choose_runs(
    runs: Sequence[LedgerRun], oldest: int, since: date | None, until: date | None
) -> list[LedgerRun]:
    """Return the runs of a span, without those that began while another was under way that still is.

    Nor those that read a listing: it holds no papers, only names them.
    """
    running = min((run.id for run in runs if not run.is_ended), default=None)
    inside = [
        run
        for run in runs
        if (run.id >= oldest if since is None else run.started_at.astimezone(UTC).date() >= since)
        and (until is None or run.started_at.astimezone(UTC).date() <= until)
        and (running is None or run.id < running)
    ]
    looks = [run for run in runs if run.source != Source.LISTING]
    return [run for run in looks if inside and inside[0].id <= run.id <= inside[-1].id]


def _explain_gone(run: LedgerRun, missing: Sequence[int], oldest: tuple[int, int] | None) -> str:
    if missing and (oldest is None or (run.id, missing[-1]) < oldest):
        return (
            "its pages are no longer kept" if len(missing) == run.pages else "its first pages are no longer kept"
        )
    if run.pages and not run.has_judge:
        return "what it judged news by was not kept, or not as this release writes it"
    return ""


def find_resumed(run: LedgerRun, before: Iterable[LedgerRun], within: timedelta) -> LedgerRun | None:
    """Return the harvest that was broken off and that a run went on with; None where it began anew.

    Args:
        run: a run.
        before: the runs before it, the latest first.
        within: how long before it the other may have started.
    """
    if run.source != Source.HARVEST:
        return None
    last = next((earlier for earlier in before if earlier.source == Source.HARVEST), None)
    if last is None or last.is_complete or not last.next_token:
        return None
    same_day = last.started_at.astimezone(UTC).date() == run.started_at.astimezone(UTC).date()
    return last if same_day and run.started_at - last.started_at < within else None


def _name_pages(missing: Sequence[int]) -> str:
    numbers = ", ".join(str(number + 1) for number in missing)
    return f"page{'s' * (len(missing) != 1)} {numbers}"


def _be(missing: Sequence[int]) -> str:
    return "is" if len(missing) == 1 else "are"
