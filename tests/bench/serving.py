"""What `digest serve` costs: its memory while its pages are read, and who waits for whom.

    python -m tests.bench.serving

A real process lives through 30 announcements of some 400 papers; its jobs come every second. After
each one people try queries, search the archive and read digests, and its resident memory counts.
Then 300 clients ask for 20 beginnings of words each, from as many networks, and hang up, while
`/livez` and one-click unsubscribing are timed. Real papers are read where `DIGEST_REAL_DATA` names
a folder of them, made-up ones otherwise.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Final

import httpx

from digest.__main__ import main as run_digest
from digest.model.papers import Paper
from digest.serve import schedule
from tests.bench.installations import Verdict, say
from tests.bench.papers import load_papers
from tests.fakes.archive import DemoPaper, plan_announcement
from tests.harness.serving import Served, wait_until
from tests.integration.web.test_connections import hang_up, measure
from tests.integration.web.world import World, live_in

ANNOUNCEMENTS = 30
PAPERS = 430
CLIENTS = 300
MEGABYTES = 250.0
GROWTH = 1.05
SECONDS = 1.0
QUERIES: Final = (
    "cat:cs.LG",
    "tail latency",
    "learn* OR model* OR quant*",
    'abs:"dark matter"',
    'au:"J Smith"',
    "galax* ANDNOT dust",
    "cat:hep-ph AND abs:neutrino",
    "graph network",
    "superconduct*",
    "NOT cat:math.AG",
)
_SHOWN = ("title", "abstract", "authors", "categories", "comment")


def announce(moment: datetime, papers: list[Paper], first: int) -> list[DemoPaper]:
    """Return papers as arXiv announces them at a moment (UTC)."""
    submitted = (moment - timedelta(hours=20),)
    announced = []
    for number, paper in enumerate(papers, first):
        fields = {name: getattr(paper, name) for name in _SHOWN}
        id_ = f"{moment:%y%m}.{number:05d}"
        announced.append(DemoPaper(id_, moment, submitted, **fields))
    return announced


def read_pages(http: httpx.Client, archive: str, day: str) -> None:
    """Do what people do on the pages once the papers of a day are there."""
    wait_until(lambda: f">{day}<" in http.get("/live", params={"q": QUERIES[-1]}).text, 300)
    for text in QUERIES:
        http.get("/live", params={"q": text}).raise_for_status()
    for query in ({}, {"q": "learning OR matter"}):
        page = http.get(archive, params=query).raise_for_status().text
        for path in re.findall(r'href="\.\.(/d/[\w-]+)', page)[:5]:
            http.get(path).raise_for_status()


def live_through(world: World, process: Served, http: httpx.Client) -> list[float]:
    """Live through all announcements.

    Return the resident memory after each, in MB as `top` has them.
    """
    made_of, papers = load_papers()
    moment = world.clock.now()
    figures: list[float] = []
    archive = ""
    say(f"{PAPERS} {made_of} an announcement")
    in_month: Counter[int] = Counter()
    for number in range(ANNOUNCEMENTS):
        moment = plan_announcement(moment + timedelta(hours=1))
        start = number * PAPERS % (len(papers) - PAPERS)
        first = 1 + in_month[moment.month]
        in_month[moment.month] += PAPERS  # ids begin anew each month: a gap would be asked for
        world.arxiv.add(*announce(moment, papers[start : start + PAPERS], first))
        until_shown = moment + timedelta(hours=3) - world.clock.now()
        world.clock.sleep(until_shown.total_seconds())
        sent = len(world.mail.mails)
        wait_until(lambda sent=sent: len(world.mail.mails) > sent, 300)
        if not archive:
            site = world.open()
            archive = f"/a/{world.links(site).archive_token('perf-team')}"
            site.close()
        day = moment - timedelta(hours=12)
        read_pages(http, archive, f"{day:%a} {day.day} {day:%b}")
        figures.append(measure(process.process.pid, "VmRSS") / 2**20)
        say(f"  {number + 1}: {figures[-1]:.0f} MB")
    return figures


def time_answers(world: World, process: Served, http: httpx.Client) -> float:
    """Return the seconds that the slower of two cheap answers takes behind clients that hung up."""
    found = re.search(r"/u/[\w-]+", str(world.mail.mails[0].message["List-Unsubscribe"]))
    assert found is not None
    took = []
    for number in range(CLIENTS):
        hang_up(process.url, number)
    for method, path in (("GET", "/livez"), ("POST", found[0])):
        begun = monotonic()
        http.request(method, path, data={"List-Unsubscribe": "One-Click"}).raise_for_status()
        took.append(monotonic() - begun)
    return max(took)


def main() -> int:
    """Measure everything; return 1 where a goal was missed."""
    verdict = Verdict()
    begun = datetime(2026, 10, 1, 12, tzinfo=UTC)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        world = stack.enter_context(live_in(folder, begun))
        file = folder / "digest.toml"
        text = file.read_text(encoding="utf-8").replace("cat:cs.PF", "cat:cs.* OR abs:matter")
        file.write_text(text.replace("daily at 02:00 UTC", "on announcement"), encoding="utf-8")
        process = stack.enter_context(world.serve(program="tests.bench.serving"))
        headers = {"X-Forwarded-For": "192.0.2.1"}
        http = stack.enter_context(httpx.Client(base_url=process.url, timeout=60, headers=headers))
        figures = live_through(world, process, http)
        verdict.tell("memory at its highest", max(figures), "MB", MEGABYTES, at_most=True)
        growth = max(figures[-3:]) / max(figures[-8:-5])
        verdict.tell(
            "memory after the last announcements, against a week before",
            growth,
            "×",
            GROWTH,
            at_most=True,
        )
        slowest = time_answers(world, process, http)
        verdict.tell(
            "/livez and one-click behind clients that hung up", slowest, "s", SECONDS, at_most=True
        )
    return 0 if verdict.is_met else 1


if __name__ == "__main__":
    if sys.argv[1:]:  # this is the process that serves
        defaults = schedule.Schedule.__init__.__kwdefaults__ or {}
        defaults["every"] = dict.fromkeys(schedule.EVERY, 1.0)
        run_digest()
    sys.exit(main())
