"""A year of 1,500 papers a day in the repository of a reader.

What is pushed, and how large it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain
from pathlib import Path

from digest.model.announcements import ANNOUNCEMENT_TIME, EASTERN
from digest.model.clock import ManualClock
from digest.model.papers import Paper
from tests.battery.runners_world import BRANCH, Origin
from tests.bench.papers import load_papers
from tests.command_line import run_digest
from tests.fakes.archive import Archive, DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import write_config
from tests.fakes.mail import MailSink
from tests.harness.oracle import Verdict

A_DAY = 1_500
_MATCHED = 10
_KEPT = 7
_BEGIN = date(2026, 1, 5)
_MOST_SNAPSHOT = 6_000_000
_MOST_PUSHED = 1_500_000_000
_TOLD_EVERY = 10
_STARTS = (time(8, 40), time(10, 10))
_READER = {
    "name": "one",
    "follow": ["cat:cs.PF"],
    "to": "mailto:$READER",
    "when": "daily at 09:00 UTC",
}
_STORE = {"git_branch": BRANCH, "forget_unmatched_after": "3 days"}
_SECRETS = {
    "DIGEST_VALUE_READER": "reader@example.org",
    "DIGEST_STORE_STATE_KEY": "A" * 43 + "=",
}


def _publish(day: date, texts: Sequence[Paper], number: int) -> Iterator[DemoPaper]:
    """Yield a day's papers: real texts, whose titles are told apart by a number; ten match."""
    at = datetime.combine(day, ANNOUNCEMENT_TIME, tzinfo=EASTERN).astimezone(UTC)
    of_month = (day.day - 1) * A_DAY + 1
    for place in range(A_DAY):
        paper = texts[(number * A_DAY + place) % len(texts)]
        others = tuple(one for one in paper.categories if one != "cs.PF") or ("cs.LG",)
        is_match = place % (A_DAY // _MATCHED) == 0
        submitted = at - timedelta(hours=7, seconds=A_DAY - place)
        yield DemoPaper(
            id=f"{day:%y%m}.{of_month + place:05d}",
            announced=at,
            submitted=(submitted,),
            title=f"{paper.title} {number:x}",
            abstract=paper.abstract,
            authors=paper.authors,
            categories=("cs.PF", *others) if is_match else others,
            comment=paper.comment,
        )


@dataclass
class Growth:
    """What the repository held after each day.

    The newest snapshot, and all bytes that were pushed.
    """

    snapshots: list[int] = field(default_factory=lambda: [0])
    pushed: list[int] = field(default_factory=lambda: [0])
    _seen: set[Path] = field(default_factory=set)

    def note_day(self, origin: Origin) -> None:
        files = {path: path.stat().st_size for path in origin.list_files()}
        new = files.keys() - self._seen
        self.pushed.append(self.pushed[-1] + sum(files[path] for path in new))
        self._seen = set(files)
        self.snapshots.append(int(origin.ask("cat-file", "-s", f"{BRANCH}:snapshot")))

    def foresee(self, days: int) -> tuple[int, int]:
        """Return the size of a snapshot after a year, and the bytes pushed in one.

        The last half of so many days is carried on.
        """
        half = days // 2
        counted = max(days - half, 1)
        slope = (self.snapshots[-1] - self.snapshots[half]) / counted
        daily = (self.pushed[-1] - self.pushed[half]) / counted
        rest = 365 - days
        snapshot = round(self.snapshots[-1] + slope * rest)
        growth = 1 + slope * rest / 2 / max(self.snapshots[-1], 1)
        return snapshot, round(self.pushed[-1] + daily * rest * growth)


def measure_size(folder: Path, days: int, tell: Callable[[str], object]) -> Verdict:
    """Live through so many days with two starts each.

    What a whole year takes is carried on from the last half.
    """
    made_of, texts = load_papers()
    tell(f"{A_DAY} papers a day, {made_of}, 365 days a year")
    clock = ManualClock(datetime.combine(_BEGIN, _STARTS[0], tzinfo=UTC))
    origin = Origin(folder)
    home = folder / "home"
    verdict = Verdict()
    growth = Growth()
    with DemoArxiv((), clock) as arxiv, MailSink() as mail:
        tables = {"store": _STORE, "mail": {"smtp": mail.url}}
        origin.begin(write_config(arxiv.url, {}, [_READER], **tables))
        origin.clone(home)
        environ = _SECRETS | {"DIGEST_TEST_CLOCK": arxiv.clock_url}
        recent = list[list[DemoPaper]]()
        for number in range(days):
            day = _BEGIN + timedelta(number)
            published = list(_publish(day - timedelta(days=1), texts, number))
            recent = [*recent[-_KEPT:], published]  # what is older would only take time
            arxiv._archive = Archive(chain.from_iterable(recent))
            for at in _STARTS:
                clock.set(max(clock.now(), datetime.combine(day, at, tzinfo=UTC)))
                done = run_digest(home, environ, "run", "--wait", "30m")
                if done.returncode:
                    verdict.accuse("run", f"{day}: {done}")
            growth.note_day(origin)
            if number % _TOLD_EVERY == _TOLD_EVERY - 1 or number == days - 1:
                newest = f"a snapshot of {growth.snapshots[-1]:,} bytes"
                tell(f"day {number + 1}: {newest}, {growth.pushed[-1]:,} bytes pushed")
    snapshot, pushed = growth.foresee(days)
    verdict.counts |= {
        "mails": len(mail.mails),
        "days lived": days,
        "snapshot after a year": snapshot,
        "pushed in a year": pushed,
    }
    if snapshot > _MOST_SNAPSHOT:
        size = f"a snapshot of {snapshot:,} bytes after a year"
        verdict.accuse("size", f"{size}, at most {_MOST_SNAPSHOT:,}")
    if pushed > _MOST_PUSHED:
        verdict.accuse("size", f"{pushed:,} bytes pushed in a year, at most {_MOST_PUSHED:,}")
    return verdict
