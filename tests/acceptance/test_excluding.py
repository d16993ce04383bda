"""What a subscription excludes is told to nobody through it, and to all others as ever."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import Connection

from digest.model.clock import ManualClock
from digest.model.papers import Author
from digest.store import open_store, subscriptions
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation
from tests.harness.papers import ALL_KINDS, START, later, made_up

OTHER = """
[[subscriptions]]
name = "other-team"
follow = ["perf"]
to = "mailto:other@example.org"
look_back = "0 days"
"""
KEIKO = (Author("Keiko Lindquell"), Author("Bo Sample"))


@pytest.fixture
def old_papers() -> list[DemoPaper]:
    return [made_up(number, START - timedelta(days=4, minutes=number)) for number in range(1, 4)]


@pytest.fixture
def here(arxiv: DemoArxiv, install: Callable[..., Installation]) -> Installation:
    """Two subscriptions to one saved query, past their beginning."""
    made = install(arxiv, extra=f"look_back = '0 days'\n{ALL_KINDS}")
    path = made.folder / "digest.toml"
    path.write_text(path.read_text() + OTHER)
    made.run()
    return made


def exclude(here: Installation, line: str) -> None:
    beginning = 'follow = ["perf"]\n'
    here.edit(f'{beginning}to = ["mailto:reader', f'{beginning}{line}\nto = ["mailto:reader')


def steer(
    here: Installation,
    move: Callable[[Connection, int, datetime | None], bool],
    at: datetime | None,
) -> None:
    """Pause or resume the subscription, as the commands do."""
    store = open_store(f"sqlite:///{here.folder / 'digest.db'}")
    with store.begin() as conn:
        (due,) = subscriptions.load(conn, names=["perf-team"])
        assert move(conn, due.id, at)
    store.close()


def told_to(here: Installation) -> dict[str, list[str]]:
    ids = {}
    for digest in here.run().plan.digests:
        ids[digest.subscription] = sorted(str(entry.paper.id) for entry in digest.entries)
    return ids


def test_an_excluded_paper_is_told_to_nobody_through_this_subscription(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    exclude(here, 'exclude_papers = ["2603.00101"]')
    arxiv.add(made_up(101, START + timedelta(hours=1)), made_up(102, START + timedelta(hours=1)))
    later(clock, 3)
    assert told_to(here) == {
        "perf-team": ["2603.00102"],
        "other-team": ["2603.00101", "2603.00102"],
    }
    feed = (here.folder / "feeds" / "perf.atom").read_text()
    assert "2603.00102" in feed
    assert "2603.00101" not in feed
    arxiv.replace("2603.00101", submitted=clock.now() + timedelta(hours=1))
    later(clock, 4)
    assert told_to(here) == {"other-team": ["2603.00101"]}


def test_a_namesake_is_not_told_and_the_person_followed_is(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    here.edit("perf = 'cat:cs.PF'", "perf = 'author:\"Keiko Lindquell\"'")
    exclude(here, "exclude = 'author:\"Keiko Lindquell\" AND cat:math.CO'")
    arxiv.add(
        made_up(101, START + timedelta(hours=1), authors=KEIKO),
        made_up(
            102,
            START + timedelta(hours=1),
            authors=(Author("K. Lindquell"),),
            categories=("math.CO",),
        ),
        made_up(103, START + timedelta(hours=1), authors=(Author("Kevin Lindquell"),)),
    )
    later(clock, 3)
    assert told_to(here) == {
        "perf-team": ["2603.00101"],
        "other-team": ["2603.00101", "2603.00102"],
    }


def test_what_waits_when_it_is_excluded_is_let_go_and_leaves_the_feed(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    steer(here, subscriptions.pause, None)
    arxiv.add(made_up(101, START + timedelta(hours=1)), made_up(102, START + timedelta(hours=1)))
    later(clock, 3)
    assert told_to(here) == {"other-team": ["2603.00101", "2603.00102"]}
    assert "2603.00101" in (here.folder / "feeds" / "perf.atom").read_text()
    exclude(here, 'exclude_papers = ["2603.00101"]')
    later(clock, 4)
    steer(here, partial(subscriptions.resume, at=clock.now()), clock.now())
    assert told_to(here) == {"perf-team": ["2603.00102"]}
    assert "2603.00101" not in (here.folder / "feeds" / "perf.atom").read_text()


def test_a_first_digest_leaves_out_what_is_excluded(
    arxiv: DemoArxiv, install: Callable[..., Installation]
) -> None:
    made = install(arxiv)
    exclude(made, 'exclude_papers = ["2603.00002"]')
    assert told_to(made) == {"perf-team": ["2603.00001", "2603.00003"]}


def test_a_query_to_exclude_that_cannot_be_read_excludes_nothing_and_is_told(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    exclude(here, "exclude = 'author:Lindquell'")
    arxiv.add(made_up(101, START + timedelta(hours=1)))
    later(clock, 3)
    assert told_to(here)["perf-team"] == ["2603.00101"]
    ((name, problem),) = here.reports[-1].config.unread
    assert name == "what perf-team excludes"
    assert "'Lindquell' is not a full name" in problem
