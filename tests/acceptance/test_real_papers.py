"""The whole line on fifteen real papers: harvest or search, mail, Slack and feed, day by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from itertools import chain

import feedparser
import pytest

from digest.model.announcements import Kind
from tests.conftest import IS_NIGHTLY
from tests.harness.installation import Installation
from tests.harness.stand_in import StandIn

SEED = ["standin/seed_papers.jsonl"]
FIRST_VERSIONS = 11
REPLACEMENTS = 4


def body_of(raw: bytes) -> str:
    mail = message_from_bytes(raw, policy=policy.default)
    part = mail.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


def days(first: str, last: str, at: str) -> Iterator[datetime]:
    """Count the days from one date to another, at one time of day (UTC)."""
    moment = datetime.fromisoformat(f"{first}T{at}").replace(tzinfo=UTC)
    while moment.date().isoformat() <= last:
        yield moment
        moment += timedelta(days=1)


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_fifteen_real_papers_reach_mail_slack_and_feed_once(
    source: str, stand_in: Callable[..., StandIn], install: Callable[..., Installation]
) -> None:
    arxiv = stand_in(SEED, "2026-03-24T12:40:00Z")
    here = install(arxiv, source=source)
    report = here.run()
    assert len(report.plan.digests[0].entries) == 15
    text = body_of(here.mail.wait_for(1)[0].raw)
    slack = here.read_posts()
    feed = feedparser.parse((here.folder / "feeds/perf.atom").read_bytes())
    assert len(feed.entries) == 15
    for entry in report.plan.digests[0].entries:
        assert entry.paper.url in text or f"https://arxiv.org/abs/{entry.paper.id}" in text
        assert str(entry.paper.id) in slack
    assert "Pınar Tözün" in text
    assert arxiv.violations == 0

    mails = len(here.mail.mails)
    posts = len(here.slack.messages)
    again = here.run()
    assert again.deliver.total == 0
    assert (len(here.mail.mails), len(here.slack.messages)) == (mails, posts)


@pytest.mark.skipif(
    not IS_NIGHTLY, reason="a week of real papers is told by night, made-up ones daily"
)
@pytest.mark.parametrize("source", ["harvest", "query"])
def test_each_first_version_is_new_on_its_day_and_each_replacement_is_told_once(
    source: str, stand_in: Callable[..., StandIn], install: Callable[..., Installation]
) -> None:
    arxiv = stand_in(SEED, "2026-02-20T12:40:00Z")
    here = install(
        arxiv,
        source=source,
        extra='look_back = "0 days"\nkinds = ["new", "cross-listed", "replaced", "withdrawn"]',
    )
    told: dict[tuple[Kind, str], list[str]] = {}
    for moment in days("2026-02-20", "2026-03-24", "12:40"):
        arxiv.set_now(moment)
        for digest in here.run().plan.digests:
            for entry in digest.entries:
                told.setdefault((entry.kind, str(entry.paper.id)), []).append(
                    moment.date().isoformat()
                )
    new = {id_: dates for (kind, id_), dates in told.items() if kind is Kind.NEW}
    replaced = {id_: dates for (kind, id_), dates in told.items() if kind is Kind.REPLACEMENT}
    assert len(new) == FIRST_VERSIONS
    assert len(replaced) == REPLACEMENTS
    assert set(told) == {(Kind.NEW, id_) for id_ in new} | {
        (Kind.REPLACEMENT, id_) for id_ in replaced
    }
    came_out = arxiv.datestamps()
    assert new | replaced == {id_: [day] for id_, day in came_out.items()}
    assert Counter(chain.from_iterable(new.values()))["2026-03-02"] == 5
    assert arxiv.violations == 0
