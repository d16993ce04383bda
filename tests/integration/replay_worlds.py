"""A month of looks at a made-up arXiv: everything a replay has to bring out once more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from digest.clock import ManualClock
from digest.config import load_config
from digest.demo.archive import DemoPaper, plan_mailing
from digest.demo.arxiv import DemoArxiv
from digest.demo.loopback import Answer, Request
from digest.papers import Author
from digest.pipeline import PassReport, open_site, run_pass
from digest.pipeline.witnessing import read_slice
from digest.planning.slices import SLICES
from digest.planning.verifying import latest_listed
from digest.store import Store, open_store

START = datetime(2026, 3, 2, 12, 40, tzinfo=UTC)
"""A Monday noon."""

CONFIG = """\
[arxiv]
contact = "ops@digest.example"
source = "{source}"
api_url = "{arxiv}/api/query"
oai_url = "{arxiv}/oai"
rss_url = "{arxiv}/rss"

[store]
url = "{store}"

[defaults]
kinds = ["new", "cross-list", "replacement", "withdrawal"]

[queries]
{queries}

[[subscriptions]]
name = "readers"
queries = [{names}]
to = "feed"
"""

QUERIES = {
    "perf": "cat:cs.PF",
    "tail": "abs:tail",
    "zither": "abs:zither",
    "latency": "ti:latency",
    "sample": 'au:"Bo Sample"',
    "networks": "cat:cs.NI",
    "sound": "cat:cs.SD",
}

TAKEN_BACK = "2602.00009"
"""A paper that is cross-listed, and a week later is not any more: its text is the first one again."""

CROSS_LISTED = {4: "2602.00006", 9: TAKEN_BACK, 12: "2603.00106"}

REPLACED: dict[int, tuple[str, dict[str, object]]] = {
    3: ("2602.00005", {"comment": "Accepted at a conference"}),
    11: ("2602.00005", {"title": "Another title"}),
    19: ("2602.00008", {"categories": ("cs.NI", "cs.PF"), "doi": "10.1/made.up"}),
    20: ("2602.00008", {"abstract": "We measure the other tail."}),
}

FOUND_LATE = 142

BROKEN_OFF = 11
"""The day on which a harvest breaks off, and is gone on with hours later, at the second try."""

AWAY = 17
"""The day on which the harvest fails twice, and the search stands in for it."""

NEW_QUERIES = 18
"""From this day of March on all of them are saved, so many that they are searched for together; before, only
the first is."""


class LaggingArxiv(DemoArxiv):
    """One whose harvest may be asked at a replica that is behind, and dates its answers today all the same."""

    lag = timedelta()

    def _serve(self, request: Request, keep: float | None = None) -> Answer:
        if not self.lag or request.path != "/oai":
            return super()._serve(request, keep)
        now = self._clock.now()
        papers = self._archive.list_public(now - self.lag)
        return Answer(self._oai.answer(request.params, papers, now), media_type="text/xml; charset=utf-8")


def make_up(number: int, submitted: datetime, *, announced: datetime | None = None, **fields: object) -> DemoPaper:
    defaults: dict[str, object] = {
        "id": f"{2602 if number < 100 else 2603}.{number:05d}",
        "title": f"Made-up paper {number} on latency",
        "abstract": "We measure the tail.",
        "authors": (Author(r"P{\i}nar Made-Up", ("Somewhere",)), Author("Bo Sample")),
        "categories": ("cs.PF",),
    }
    return DemoPaper(
        announced=announced or plan_mailing(submitted),
        submitted=(submitted,),
        **(defaults | fields),  # type: ignore[arg-type]  # fields of DemoPaper, each of its own type
    )


def list_past() -> list[DemoPaper]:
    """List what arXiv had announced before: much within the last week, and one paper a year ago."""
    lately = [make_up(number, START - timedelta(days=6, hours=-number)) for number in range(1, 41)]
    old = make_up(
        1, START - timedelta(days=400), id="2501.00001", abstract="We tune a zither.", categories=("cs.SD",)
    )
    return [old, *lately]


def configure(
    folder: Path, arxiv: DemoArxiv, *, source: str = "harvest", store: str = "", names: tuple[str, ...] = ("perf",)
) -> None:
    text = CONFIG.format(
        source=source,
        arxiv=arxiv.url,
        store=store or f"sqlite:///{folder / 'digest.db'}",
        queries="\n".join(f"{name} = '{QUERIES[name]}'" for name in names),
        names=", ".join(f'"{name}"' for name in names),
    )
    (folder / "digest.toml").write_text(text, encoding="utf-8")


def look(folder: Path, arxiv: DemoArxiv) -> PassReport:
    """Do what is due, asking arXiv in any case."""
    config = load_config(folder / "digest.toml", {"DIGEST_TEST_CLOCK": arxiv.clock_url})
    site = open_site(config, arxiv._clock, owner="test", jitter=lambda: 0.5)
    try:
        return run_pass(site, poll_anyway=True)
    finally:
        site.close()


def read_listing(folder: Path, arxiv: DemoArxiv) -> None:
    """Read a part of arXiv's own listing of the last mailing, as `digest verify` does."""
    config = load_config(folder / "digest.toml", {"DIGEST_TEST_CLOCK": arxiv.clock_url})
    site = open_site(config, arxiv._clock, owner="test", jitter=lambda: 0.5)
    try:
        assert read_slice(site, SLICES[0], latest_listed(arxiv._clock.now())) is None
    finally:
        site.close()


def put_clock(arxiv: DemoArxiv, day: int, hour: int = 12) -> datetime:
    """Put the clock to an hour of a day of March 2026."""
    clock = arxiv._clock
    assert isinstance(clock, ManualClock)
    clock.set(START.replace(day=day, hour=hour))
    return clock.now()


def live_a_month(folder: Path, arxiv: LaggingArxiv, *, source: str = "harvest", store: str = "") -> None:
    """Look at arXiv through a March in which everything happens that happens to papers and to looks.

    The first look of a harvest is broken off and gone on with; every weekday brings two papers.
    """
    configure(folder, arxiv, source=source, store=store)
    if source == "harvest":
        arxiv.faults.add("500", times=9, skip=2, path="/oai")
        look(folder, arxiv)
        arxiv.faults.clear()
        put_clock(arxiv, 2, 15)
    look(folder, arxiv)
    for day in (*range(3, 7), *range(9, 14), *range(16, 21), *range(23, 26)):
        now = put_clock(arxiv, day)
        arxiv.faults.clear()
        arxiv.lag = timedelta()
        arxiv.add(make_up(100 + 2 * day, now), make_up(101 + 2 * day, now))
        change_papers(arxiv, day, now)
        spoil_answers(arxiv, day, "/oai" if source == "harvest" else "/api")
        if day == NEW_QUERIES:
            configure(folder, arxiv, source=source, store=store, names=tuple(QUERIES))
        look(folder, arxiv)
        if source == "harvest" and day in (BROKEN_OFF, AWAY):
            put_clock(arxiv, day, 16)
            look(folder, arxiv)
            arxiv.faults.clear()
            put_clock(arxiv, day, 17)
            look(folder, arxiv)
        if source == "harvest" and day == NEW_QUERIES:
            read_listing(folder, arxiv)


def change_papers(arxiv: DemoArxiv, day: int, now: datetime) -> None:
    """Let authors and moderators do what they do that day, to be seen on the next."""
    comes_out = plan_mailing(now)
    if day in REPLACED:
        id_, fields = REPLACED[day]
        arxiv.replace(id_, submitted=now, **fields)  # type: ignore[arg-type]  # as above
    if day in CROSS_LISTED:
        arxiv.cross_list(CROSS_LISTED[day], "cs.DC", announced=comes_out)
    if day == 5:
        arxiv.withdraw("2602.00007")
    elif day == 9:
        arxiv.add(make_up(99, now - timedelta(days=30), announced=comes_out))
    elif day == 17:
        arxiv.add(make_up(9, START - timedelta(days=6, hours=-9), announced=comes_out))
    elif day == 24:  # not among what the harvest asks for: only a check of the ids that are missing finds it
        arxiv.add(make_up(FOUND_LATE, now - timedelta(days=15), announced=now - timedelta(days=12)))


def spoil_answers(arxiv: LaggingArxiv, day: int, path: str) -> None:
    """Let arXiv answer the looks of that day as it answers on its worse days."""
    if day == 6:
        arxiv.faults.add("odd_entry", path=path)
    elif day == 10:
        arxiv.lag = timedelta(days=6)
    elif day == BROKEN_OFF and path == "/oai":
        arxiv.faults.add("500", times=6, skip=2, path=path)
    elif day == AWAY:
        arxiv.faults.add("500", times=6, path=path)
    elif day == 23 and path == "/oai":
        arxiv.faults.add("short_page", path=path)


def open_installation(folder: Path) -> Store:
    return open_store(f"sqlite:///{folder / 'digest.db'}")
