"""A year of 1,500 papers a day in the repository of a reader.

What is pushed, and how large it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
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


def _publish(day: date, texts: Sequence[Paper], number: int) -> Iterator[DemoPaper]:
    """Yield a day's papers: real texts, whose titles are told apart by a number; ten match."""
    at = datetime.combine(day, ANNOUNCEMENT_TIME, tzinfo=EASTERN).astimezone(UTC)
    for place in range(A_DAY):
        paper = texts[(number * A_DAY + place) % len(texts)]
        others = tuple(one for one in paper.categories if one != "cs.PF") or ("cs.LG",)
        yield DemoPaper(
            id=f"{day:%y%m}.{(day.day - 1) * A_DAY + place + 1:05d}",
            announced=at,
            submitted=(at - timedelta(hours=7, seconds=A_DAY - place),),
            title=f"{paper.title} {number:x}",
            abstract=paper.abstract,
            authors=paper.authors,
            categories=("cs.PF", *others) if place % (A_DAY // _MATCHED) == 0 else others,
            comment=paper.comment,
        )


def measure_size(folder: Path, days: int, tell: Callable[[str], object]) -> Verdict:
    """Live through so many days with two starts each.

    What a whole year takes is carried on from the last half.
    """
    made_of, texts = load_papers()
    tell(f"{A_DAY} papers a day, {made_of}, 365 days a year")
    clock = ManualClock(datetime.combine(_BEGIN, time(8, 40), tzinfo=UTC))
    origin = Origin(folder)
    verdict = Verdict()
    seen = dict[Path, int]()
    with DemoArxiv((), clock) as arxiv, MailSink() as mail:
        one = {
            "name": "one",
            "follow": ["cat:cs.PF"],
            "to": "mailto:$READER",
            "when": "daily at 09:00 UTC",
        }
        store = {"git_branch": BRANCH, "forget_unmatched_after": "3 days"}
        origin.begin(write_config(arxiv.url, {}, [one], store=store, mail={"smtp": mail.url}))
        origin.clone(home := folder / "home")
        environ = {
            "DIGEST_VALUE_READER": "reader@example.org",
            "DIGEST_STORE_STATE_KEY": "A" * 43 + "=",
            "DIGEST_TEST_CLOCK": arxiv.clock_url,
        }
        recent = list[list[DemoPaper]]()
        total = [0]
        sizes = [0]
        for number in range(days):
            day = _BEGIN + timedelta(number)
            recent = [*recent[-_KEPT:], list(_publish(day - timedelta(days=1), texts, number))]
            arxiv._archive = Archive(
                paper for some in recent for paper in some
            )  # what is older would only take time
            for at in (time(8, 40), time(10, 10)):
                clock.set(max(clock.now(), datetime.combine(day, at, tzinfo=UTC)))
                done = run_digest(home, environ, "run", "--wait", "30m")
                if done.returncode:
                    verdict.accuse("run", f"{day}: {done}")
            new = {path: path.stat().st_size for path in origin.list_files()}
            total.append(total[-1] + sum(size for path, size in new.items() if path not in seen))
            seen = new
            sizes.append(int(origin.ask("cat-file", "-s", f"{BRANCH}:snapshot")))
            if number % _TOLD_EVERY == _TOLD_EVERY - 1 or number == days - 1:
                tell(
                    f"day {number + 1}: a snapshot of {sizes[-1]:,} bytes, {total[-1]:,} bytes pushed"
                )
    half = days // 2
    slope = (sizes[-1] - sizes[half]) / max(days - half, 1)
    daily = (total[-1] - total[half]) / max(days - half, 1)
    rest = 365 - days
    snapshot = round(sizes[-1] + slope * rest)
    pushed = round(total[-1] + daily * rest * (1 + slope * rest / 2 / max(sizes[-1], 1)))
    verdict.counts |= {
        "mails": len(mail.mails),
        "days lived": days,
        "snapshot after a year": snapshot,
        "pushed in a year": pushed,
    }
    if snapshot > _MOST_SNAPSHOT:
        verdict.accuse(
            "size", f"a snapshot of {snapshot:,} bytes after a year, at most {_MOST_SNAPSHOT:,}"
        )
    if pushed > _MOST_PUSHED:
        verdict.accuse("size", f"{pushed:,} bytes pushed in a year, at most {_MOST_PUSHED:,}")
    return verdict
