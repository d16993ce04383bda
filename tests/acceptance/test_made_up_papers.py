"""The whole line on made-up papers: what is told, when, once, and what a reader can rely on."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from email import message_from_bytes, policy

import feedparser
import pytest

from digest.deliver.rules import Step
from digest.model.announcements import Kind
from digest.model.clock import ManualClock
from digest.serve.steps import PassReport
from tests.fakes.archive import plan_announcement
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation
from tests.harness.papers import ALL_KINDS, START, later, made_up, told


def read_labels(report: PassReport) -> dict[str, str]:
    """Return the label of each paper that a pass planned, by its id."""
    labels = {}
    for digest in report.plan.digests:
        for entry in digest.entries:
            labels[str(entry.paper.id)] = entry.label
    return labels


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_each_paper_is_told_once_on_the_day_it_comes_out(
    source: str, arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, source=source, extra=f"look_back = '0 days'\n{ALL_KINDS}")
    assert told(here.run()) == []
    plain = made_up(101, START + timedelta(hours=1))
    held = made_up(
        102, START - timedelta(days=11), announced=plan_announcement(START + timedelta(hours=1))
    )
    arxiv.add(plain, held)
    arxiv.replace(
        "2603.00005", submitted=START + timedelta(hours=2), comment="accepted at a conference"
    )
    arxiv.cross_list("2603.00006", "cs.DC")
    arxiv.withdraw("2603.00007", announced=plan_announcement(START + timedelta(hours=2)))
    later(clock, 3)
    assert sorted(told(here.run())) == sorted(
        [
            ("2026-03-03", "2603.00101", Kind.NEW),
            ("2026-03-03", "2603.00102", Kind.NEW),
            ("2026-03-03", "2603.00005", Kind.REPLACEMENT),
            ("2026-03-03", "2603.00007", Kind.WITHDRAWAL),
        ]
    )
    for day in (4, 5, 6, 7, 8, 9):
        later(clock, day)
        assert told(here.run()) == []


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_a_new_saved_query_shows_a_first_digest_and_never_a_flood(
    source: str, arxiv: DemoArxiv, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, source=source)
    first = here.run()
    digest = first.plan.digests[0]
    assert str(digest.occasion) == "first digest"
    assert 15 <= len(digest.entries) <= 20
    assert len(here.mail.mails) == 1
    again = here.run()
    assert (again.plan.digests, again.deliver.total) == ([], 0)


def test_who_subscribes_between_two_announcements_has_the_day_s_news_with_the_first_digest(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, when="mondays at 06:00 UTC")
    here.run()
    arxiv.add(made_up(101, START + timedelta(hours=1)))
    later(clock, 3)
    with (here.folder / "digest.toml").open("a") as file:
        file.write(
            '[[subscriptions]]\nname = "late"\nfollow = ["perf"]\n'
            'to = ["mailto:late@example.org"]\n'
        )
    (digest,) = here.run().plan.digests
    assert (digest.subscription, str(digest.occasion)) == ("late", "first digest")
    ids = [str(entry.paper.id) for entry in digest.entries]
    assert ids.count("2603.00101") == 1
    assert len(ids) > 1
    later(clock, 9)
    (regular,) = (
        digest for digest in here.run().plan.digests if digest.subscription == "perf-team"
    )
    assert [str(entry.paper.id) for entry in regular.entries] == ["2603.00101"]
    assert told(here.run()) == []


def test_a_paper_that_enters_a_query_by_a_cross_list_or_a_new_version_is_told(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    elsewhere = [
        made_up(number, START - timedelta(days=4), categories=("cs.NI",)) for number in (50, 51)
    ]
    arxiv.add(*elsewhere)
    here = install(arxiv, extra=f"look_back = '0 days'\n{ALL_KINDS}")
    here.run()
    arxiv.cross_list("2603.00050", "cs.PF")
    arxiv.replace("2603.00051", submitted=START + timedelta(hours=1), categories=("cs.PF",))
    later(clock, 3)
    labels = read_labels(here.run())
    assert labels == {"2603.00050": "cross-listed into cs.PF", "2603.00051": "now matches (v2)"}


def test_a_replacement_is_labelled_with_the_version_the_reader_saw(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra=f"look_back = '0 days'\n{ALL_KINDS}")
    here.run()
    arxiv.add(made_up(101, START + timedelta(hours=1)))
    later(clock, 3)
    here.run()
    arxiv.replace("2603.00101", submitted=clock.now() + timedelta(hours=1), comment="accepted")
    arxiv.replace("2603.00005", submitted=clock.now() + timedelta(hours=1))
    later(clock, 4)
    labels = read_labels(here.run())
    assert labels == {"2603.00101": "v1 → v2", "2603.00005": "first time here (v2)"}


def test_mail_slack_and_feed_tell_the_same_papers(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra="look_back = '0 days'")
    here.run()
    title = r"$\mu$path below $10^{-3}$ s"
    arxiv.add(made_up(101, START + timedelta(hours=1), title=title))
    later(clock, 3)
    here.run()
    mail = message_from_bytes(here.mail.wait_for(1)[0].raw, policy=policy.default)
    plain = mail.get_body(("plain",))
    html = mail.get_body(("html",))
    assert plain is not None
    assert html is not None
    feed = feedparser.parse((here.folder / "feeds/perf.atom").read_bytes())
    slack = here.read_posts()
    assert "μpath below 10⁻³ s" in mail["Subject"]
    for text in (str(plain.get_content()), slack, feed.entries[0].title):
        assert "μpath below 10⁻³ s" in text
    assert re.search(r"10<sup[^>]*>−3</sup>", str(html.get_content()))
    for text in (
        str(plain.get_content()),
        str(html.get_content()),
        slack,
        " ".join(author.name for author in feed.entries[0].authors),
    ):
        assert "Pınar Made-Up" in text


def test_one_bad_recipient_does_not_stop_the_others(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra="look_back = '0 days'")
    text = (here.folder / "digest.toml").read_text()
    both = text.replace(
        '"mailto:reader@example.org"', '"mailto:gone@example.org", "mailto:reader@example.org"'
    )
    (here.folder / "digest.toml").write_text(both)
    here.run()
    here.mail.script.reply("RCPT", "550 5.1.1 no such mailbox", match="gone@example.org")
    arxiv.add(made_up(101, START + timedelta(hours=1)))
    later(clock, 3)
    report = here.run()
    assert [mail.recipients for mail in here.mail.mails] == [("reader@example.org",)]
    (given_up,) = report.deliver.failures
    assert (given_up.step, str(given_up.destination)) == (Step.GIVE_UP, "mailto:gone@example.org")
    later(clock, 4)
    assert here.run().deliver.total == 0


def test_who_left_stays_away_when_the_subscription_comes_back_under_another_name(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv)
    here.run()
    here.command("subscription", "unsubscribe", "perf-team", "mailto:reader@example.org")
    text = (here.folder / "digest.toml").read_text()
    (here.folder / "digest.toml").write_text(text.replace('name = "perf-team"', 'name = "renamed"'))
    later(clock, 3)
    report = here.run()
    assert report.config.not_subscribed == (("mailto:reader@example.org", "renamed", "perf-team"),)
    assert len(here.mail.mails) == 1


@pytest.mark.parametrize("kind", ["429", "reset"])
def test_a_first_digest_stays_owed_until_arxiv_could_be_read(
    kind: str, arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv)
    arxiv.faults.add(kind, times=3)
    assert here.run().plan.digests == []
    arxiv.faults.clear()
    clock.advance(timedelta(minutes=2))
    here.run()
    clock.advance(timedelta(hours=3))
    first = here.run().plan.digests or here.reports[1].plan.digests
    assert [str(digest.occasion) for digest in first] == ["first digest"]
    assert len(first[0].entries) >= 15


def test_a_canonical_text_that_this_release_cannot_read_is_made_anew_before_anybody_needs_it(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv)
    arxiv.faults.add("reset", times=3)
    here.run()
    arxiv.faults.clear()
    with closing(sqlite3.connect(here.folder / "digest.db")) as store, store:
        store.execute("UPDATE query_revisions SET canonical = 'ti:('")
    clock.advance(timedelta(hours=3))
    (digest,) = here.run().plan.digests
    assert str(digest.occasion) == "first digest"


def test_a_feed_file_that_cannot_be_written_stops_nothing_and_is_told(
    arxiv: DemoArxiv, install: Callable[..., Installation]
) -> None:
    here = install(arxiv)
    (here.folder / "feeds").write_text("a file where a folder should be")
    report = here.run()
    assert report.deliver.sent["mailto"] == 1
    assert len(report.feeds.failures) == 1
    assert report.troubles == report.feeds.failures
