"""The figures of a month as a table, and its findings in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from tests.battery.month_arxiv import Asked
from tests.battery.month_installation import Ended
from tests.battery.month_life import Tally
from tests.battery.month_verdict import MonthVerdict

_WIDTH = 34


def write_table(
    tally: Tally, verdict: MonthVerdict, asked: Sequence[Asked], endings: Sequence[Ended]
) -> Iterator[str]:
    """Yield the lines of the table."""
    counts, faults = verdict.counts, Counter(one.kind for one in asked if one.kind)
    days = Counter(one.at.date() for one in asked)
    share = sum(faults.values()) / max(len(asked), 1)
    late = sorted(verdict.delays)[-1:] or [timedelta(0)]
    rows = [
        ("announcements", f"{len(tally.announcements)} ({tally.announcements[0]} to {tally.announcements[-1]})"),
        ("processes run", f"{len(endings)}, {tally.pairs} times two at once"),
        ("looks", _list(verdict.looks)),
        ("kills", str(tally.kills)),
        ("requests", f"{len(asked):,}; most in a run {max(tally.run_requests)}, in a day {max(days.values())}"),
        ("faults", f"{sum(faults.values()):,} = {share:.1%} of requests"),
        ("", _list(faults)),
        ("pace violations", str(sum(bool(one.violation) for one in asked))),
        ("fed in", _list(tally.fed)),
        ("papers known at the first look", f"{counts['known before']:,}"),
        (
            "papers announced afterwards",
            f"{counts['announced']:,}, of them {counts['behind the mark']} behind the mark",
        ),
        ("  whose comment says withdrawn", str(counts["unclear"])),
        ("  stored", f"{counts['stored']:,}"),
        ("  lost", str(counts["announced"] - counts["stored"])),
        ("  new twice", str(len(verdict.findings.get("paper new twice", ())))),
        *(
            (f"  {kind}", f"{verdict.expected[kind]:,} expected, {verdict.recorded[kind]:,} recorded")
            for kind in sorted(verdict.expected | verdict.recorded)
        ),
        ("changes seen as one with the next", str(counts["merged"])),
        ("longest until stored", str(late[0])),
        ("stored over a day late", str(sum(delay > timedelta(days=1) for delay in verdict.delays))),
        ("longest from stored to told", str(max(verdict.waits, default=timedelta(0)))),
        ("digests", f"{counts['digests']}, of them {counts['said complete']} calling an announcement complete"),
        ("  by a list cut short unseen", str(counts["said complete by a cut list"])),
        ("  quiet notes", str(counts["quiet notes"])),
        *((name, f"{number:,} papers") for name, number in counts.items() if name.startswith("told to")),
        ("entries of the feed", str(counts["feed entries"])),
        ("changes for the next digests", str(counts["waiting"])),
        (
            "mails",
            f"{counts['mails']}, {counts['mails sent again']} of them sent again after an unknown fate",
        ),
        ("findings", _list({name: len(texts) for name, texts in verdict.findings.items()}) or "none"),
    ]
    for name, text in rows:
        yield f"{name:<{_WIDTH}}{text}"


def _list(counts: Mapping[str, int]) -> str:
    return " · ".join(f"{name} {number}" for name, number in sorted(counts.items()))
