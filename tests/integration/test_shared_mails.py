"""One digest for many readers: rendered once, stored once, and the same bytes for each reader."""

from __future__ import annotations

import zlib
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from digest.deliver.step import MessageMaker
from digest.model.clock import ManualClock
from digest.model.messages import Delivery, Message
from digest.serve.configuration import sync_config
from digest.serve.steps import PassReport, Steps, run_pass
from digest.site import Site
from digest.store import outbox
from digest.store.schema import bodies, deliveries
from tests.fakes.config_file import Table
from tests.integration.web.world import World, make_paper

HOSTILE = (
    "<script>alert(1)</script> & \"quotes\" 'and' more",
    "=3D=41 =?utf-8?q?=0D=0A?= . From here on",
    "Σ_{i<n} $\\alpha_i$ – 数学 and שלום of a title that is long enough for two lines of mail",
    ".\r\n.\r\nQUIT",
    "{{ links.unsubscribe }} {% if x %}",
    "https://localhost:8000/u/AAAAAAAAAAAAAAAAAAAAAA and https://localhost:8000/p/",
)

READERS = tuple(f"mailto:reader{number:02}@example.org" for number in range(14))
LONG = f"mailto:{'a' * 60}@{'b' * 60}.{'c' * 60}.example.org"
ODD = "mailto:o'brien+lists=a@x.example.org"


def list_subscriptions() -> list[dict[str, object]]:
    """Return twenty subscriptions, each of another kind, with fifteen readers or one."""
    kinds: list[dict[str, object]] = [
        {},
        {"archive": "public"},
        {"archive": "link"},
        {"joinable": True},
        {"shared": True},
        {"abstracts": "full"},
        {"abstracts": "none"},
        {"group_by": "query"},
        {"show": 2},
        {"title": "Größe & Maß <b>"},
    ]
    made = []
    for number, kind in enumerate(kinds):
        for name, to in ((f"team-{number}", [*READERS, LONG, ODD]), (f"own-{number}", [ODD])):
            made.append({"name": name, "follow": ["perf"], "to": to, **kind})
    return made


@pytest.fixture
def day(world: World) -> World:
    """Have papers with hostile titles come out at once; all is written, and nothing was sent."""
    submitted = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    for number, title in enumerate(HOSTILE):
        world.arxiv.add(make_paper(15_950 + number, title, submitted))
    world.write_config(to=())
    world.edit("to = []", 'to = ["feed"]')
    return world


def follow(world: World, subscriptions: list[dict[str, object]], **tables: Table) -> None:
    """Write a file with some subscriptions."""
    around: dict[str, Table] = {"defaults": {"when": "at once", "look_back": "0 days"}}
    around["web"] = {"base_url": "https://localhost:8000"}
    world.write_file({"perf": "cat:cs.PF"}, subscriptions, **{**around, **tables})


def plan(world: World) -> list[Delivery]:
    """Plan the day's digests, and claim all that is to be sent."""
    assert isinstance(world.clock, ManualClock)
    with closing(world.open()) as site:
        run_pass(site)
        world.clock.set(world.clock.now() + timedelta(days=3))
        steps = Steps(site, PassReport(sync_config(site)))
        for step in (steps.poll, steps.match, steps.plan):
            step()
        with site.store.begin() as conn:
            now = world.clock.now()
            return outbox.claim(conn, owner="test", limit=1_000, now=now)


def live(world: World) -> None:
    """Send the day's digests."""
    assert isinstance(world.clock, ManualClock)
    for days in (0, 3):
        world.clock.set(world.clock.now() + timedelta(days=days))
        with closing(world.open()) as site:
            run_pass(site)


def make_each(site: Site, planned: list[Delivery]) -> list[Message]:
    """Make messages in one pass."""
    maker = MessageMaker(site)
    return [maker.make(one, anew=True) for one in planned]


def make_alone(site: Site, planned: list[Delivery]) -> list[Message]:
    """Make each message in a pass of its own, where it is the first of its digest."""
    return [MessageMaker(site).make(one, anew=True) for one in planned]


@pytest.mark.parametrize(("base_url", "kinds"), [("https://localhost:8000", 20), ("", 4)])
def test_each_reader_gets_the_bytes_that_would_have_been_rendered_alone(
    day: World, base_url: str, kinds: int
) -> None:
    follow(day, list_subscriptions()[:kinds], web={"base_url": base_url})
    planned = plan(day)
    assert len({one.digest_id for one in planned}) == kinds
    with closing(day.open()) as site:
        shared = make_each(site, planned)
        assert shared == make_alone(site, planned)
    counted = Counter(bool(one.shared) for one in shared)
    several = kinds // 2 * 15
    assert counted == {True: several, False: kinds}, "the first of each is rendered alone"


@pytest.mark.parametrize(
    "foot",
    [
        "{{ links.unsubscribe | upper }}",
        "{% if links.unsubscribe.endswith('A') %}A{% endif %}",
        "{% for letter in links.preferences %}{{ letter }}.{% endfor %}",
        "<{{ links.unsubscribe }}>",  # HTML's tags are written small
    ],
)
def test_a_template_that_changes_addresses_is_rendered_for_each_reader(
    day: World, foot: str
) -> None:
    own = day.folder / "own" / "email" / "digest.html"
    own.parent.mkdir(parents=True)
    own.write_text(
        '{% extends "default:email/digest.html" %}{% block foot %}' + foot + "{% endblock %}"
    )
    follow(day, [{"name": "team", "follow": ["perf"], "to": list(READERS)}])
    day.write('templates = "own"\n' + day.config_file.read_text())
    planned = plan(day)
    with closing(day.open()) as site:
        made = make_each(site, planned)
        assert made == make_alone(site, planned)
    assert not any(one.shared for one in made)


def test_a_further_reader_costs_the_database_little_and_a_digest_is_stored_once(
    day: World,
) -> None:
    follow(day, [{"name": "team", "follow": ["perf"], "to": [*READERS]}])
    live(day)
    with day.reading() as conn:
        sizes = conn.execute(select(func.length(deliveries.c.body))).scalars().all()
        stored = conn.execute(select(func.count()).select_from(bodies)).scalar()
    first, *others = sorted(sizes, reverse=True)
    assert len(others) == len(READERS) - 1
    assert max(others) < 500
    assert first > 5_000
    assert stored == 1


def test_what_is_shared_names_no_reader(day: World) -> None:
    follow(day, [{"name": "team", "follow": ["perf"], "to": [*READERS]}])
    live(day)
    with day.reading() as conn:
        kept = conn.execute(select(deliveries.c.destination, deliveries.c.body)).all()
        places = [row.destination.removeprefix("mailto:").encode() for row in kept]
        contents = conn.execute(select(bodies.c.content)).scalars().all()
    for row in kept:
        mine = row.destination.removeprefix("mailto:").encode()
        assert [one for one in places if one in row.body] == [mine]
    assert not any(one in zlib.decompress(content) for one in places for content in contents)


def test_a_retry_by_another_process_sends_the_same_bytes(day: World) -> None:
    assert isinstance(day.clock, ManualClock)
    follow(day, [{"name": "team", "follow": ["perf"], "to": [*READERS]}])
    day.mail.script.drop("END", times=len(READERS))
    live(day)
    for _ in range(3):
        day.clock.set(day.clock.now() + timedelta(minutes=20))
        with closing(day.open()) as site:
            run_pass(site)
    came = Counter((mail.recipients, mail.raw) for mail in day.mail.mails)
    assert len(came) == len(READERS)
    assert set(came.values()) == {2}
