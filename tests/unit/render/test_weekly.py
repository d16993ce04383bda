"""The weekly digest of a week: day by day, what changed since, the most matched; within every medium's limits."""

from __future__ import annotations

import email
import email.policy
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from digest.model.announcements import Kind
from digest.model.messages import Digest, DigestEntry, Links, Sequel, StoredText
from digest.model.papers import Field, Reason, Span
from digest.model.subscriptions import Destination
from digest.render import MailIdentity, Renderer
from digest.render.blocks import MOST_BLOCKS, MOST_TEXT_BYTES, list_texts
from digest.render.digests import MOST_MATCHED, choose_most_matched, view_papers, view_week
from digest.render.mail import BUDGET
from digest.render.samples import SAMPLE_LINKS, make_coverage, make_digest, make_entry
from tests.samples import odd_entries, weekly_digest
from tests.unit.render.conftest import MakeDelivery, read_parts, read_posts

THURSDAY = date(2026, 11, 19)
SLACK = Destination.parse("slack:#papers")


def match(entry: DigestEntry, queries: int, clauses: int) -> DigestEntry:
    """Let an entry be met by so many saved queries and distinct clauses."""
    names = [f"q{number}" for number in range(queries)]
    reasons = tuple(
        Reason(f"abs:w{number}", (Span(Field.ABSTRACT, 0, 4),), names[number % queries])
        for number in range(max(queries, clauses))
    )
    return replace(entry, queries=tuple(names), reasons=reasons)


def make_week(entries: Sequence[DigestEntry], **fields: object) -> Digest:
    """Spread entries over the week's days, the newest first."""
    share = max(1, -(-len(entries) // 5))
    dated = [
        replace(entry, mailing=THURSDAY - timedelta(days=place // share)) for place, entry in enumerate(entries)
    ]
    coverage = make_coverage(len(entries), since=date(2026, 11, 15), mailings=5)
    return make_digest(dated, slot="2026-W47", coverage=coverage, is_weekly=True, **fields)


def withdraw(entry: DigestEntry, comment: str = "An error in Section 4.") -> DigestEntry:
    after = replace(entry.paper, version=2, comment=comment, is_withdrawn=True)
    return replace(entry, sequel=Sequel(Kind.WITHDRAWAL, THURSDAY, StoredText(entry.paper), StoredText(after)))


def test_a_day_is_without_papers_only_once_the_week_was_looked_at_to_its_end() -> None:
    digest = weekly_digest()
    for is_complete, said in ((True, ["none", "3"]), (False, ["none yet", "3"])):
        told = replace(digest, coverage=replace(digest.coverage, is_complete=is_complete))
        assert [day.said for day in view_week(told, view_papers(told)).days][:2] == said


def test_the_most_matched_come_by_queries_then_clauses_then_as_a_digest_orders_them() -> None:
    entries = [
        match(make_entry(number), *how) for number, how in enumerate([(1, 1), (2, 2), (1, 4), (2, 3), (1, 2)], 1)
    ]
    entries += [match(make_entry(6), 2, 2), match(make_entry(7), 1, 1)]
    papers = view_papers(make_week(entries))
    assert [paper.id[-2:] for paper in choose_most_matched(papers)] == ["04", "02", "06", "03", "05"]


def test_a_small_week_one_of_single_clauses_and_what_was_withdrawn_have_no_most_matched() -> None:
    assert choose_most_matched(view_papers(make_week([match(make_entry(n), 2, 2) for n in range(1, 6)]))) == ()
    assert choose_most_matched(view_papers(make_week([match(make_entry(n), 1, 1) for n in range(1, 9)]))) == ()
    gone = [withdraw(match(make_entry(n), 2, 2)) for n in range(1, 9)]
    assert choose_most_matched(view_papers(make_week(gone))) == ()


def test_where_more_papers_tie_than_are_named_none_is_named_as_most_matched() -> None:
    level = [match(make_entry(n), 1, 2) for n in range(1, 9)]
    assert choose_most_matched(view_papers(make_week(level))) == ()
    ahead = [match(make_entry(9), 1, 3), *level]
    assert len(choose_most_matched(view_papers(make_week(ahead)))) == MOST_MATCHED
    few = [*level[:MOST_MATCHED], match(make_entry(9), 1, 1)]
    assert len(choose_most_matched(view_papers(make_week(few)))) == MOST_MATCHED


def test_a_week_of_one_mailing_says_its_day_once(renderer: Renderer) -> None:
    entries = [replace(make_entry(number), mailing=THURSDAY) for number in (1, 2)]
    digest = make_digest(entries, slot="2026-W47", coverage=make_coverage(2), is_weekly=True)
    assert view_week(digest, view_papers(digest)).days == ()
    lines = renderer.render_text(digest, Links()).splitlines()
    assert "== Thursday 19 November 2026 (2) ==" in lines
    assert not any(line.startswith("Thu 19 Nov") for line in lines)


def test_the_subject_names_the_most_matched(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    entries = [
        match(make_entry(n, title=f"Paper {n}"), 2 if n == 5 else 1, 2 if n == 5 else 1) for n in range(1, 9)
    ]
    mail = renderer.render_mail(make_week(entries), deliver("mailto:r@example.org"), Links(), identity)
    parsed = email.message_from_bytes(mail.body, policy=email.policy.default)
    assert parsed["Subject"] == "8 papers: Paper 5 (15–19 Nov)"


def test_in_slack_every_paper_of_a_week_is_in_the_thread_once(renderer: Renderer, deliver: MakeDelivery) -> None:
    digest = make_week([match(make_entry(n, title=f"Paper no. {n:03d}."), 2, 2 + (n < 6)) for n in range(1, 41)])
    parent, *thread = (json.dumps(payload) for payload in read_posts(renderer, deliver, digest))
    assert "Most matched" in parent
    assert "*40 papers*, with authors and why each matched, in the thread" in parent
    for number in range(1, 41):
        assert "".join(thread).count(f"Paper no. {number:03d}.") == 1


WIDE = "\U0001f984" * 400
"""Four bytes a letter, longer than any line."""


@pytest.mark.parametrize("links", [SAMPLE_LINKS, Links()], ids=["links", "no-links"])
def test_the_widest_week_stays_within_slacks_and_mails_limits(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, links: Links
) -> None:
    crowd = [withdraw(make_entry(n, title=WIDE, comment=WIDE), WIDE) for n in range(1, 12)]
    best = [match(make_entry(n, title=WIDE), 3, 9 + (n < 36)) for n in range(31, 61)]
    odd = [entry for entry in odd_entries() if len(entry.paper.authors) < 99]
    digest = make_week([*crowd, *best, *odd], shown=40)
    for payload in read_posts(renderer, deliver, digest, links):
        assert len(payload["blocks"]) <= MOST_BLOCKS
        assert (
            sum(len(text.encode()) for block in payload["blocks"] for text in list_texts(block)) <= MOST_TEXT_BYTES
        )
    mail = renderer.render_mail(digest, deliver("mailto:r@example.org"), links, identity)
    assert len(read_parts(mail.body)[1].encode()) <= BUDGET
