"""Over the cap: counted and linked, whatever the medium and the digest.

Nothing is silently left out.
"""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from digest.model.announcements import Kind
from digest.model.messages import Digest, Links
from digest.model.subscriptions import Grouping
from digest.render.digests import group_papers, view_papers, view_rest
from digest.render.mail import MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import EVENING, SAMPLE_LINKS, make_digest, make_entry
from tests.conftest import IS_NIGHTLY
from tests.unit.render.conftest import MakeDelivery, read_parts, read_posts

RENDERER = Renderer()
_TITLE = re.compile(r"Paper no\. (\d+)\.")
IDENTITY = MailIdentity("digest@example.org", "Digest", "digest.example.org", EVENING)


def make(count: int, cap: int | None, group_by: Grouping = Grouping.KIND) -> Digest:
    """Make a digest of two kinds and two saved queries."""
    entries = []
    for number in range(1, count + 1):
        kind = Kind.NEW if number <= count * 2 // 3 else Kind.WITHDRAWAL
        entry = make_entry(
            number,
            kind=kind,
            label="withdrawn (v1)" if kind is Kind.WITHDRAWAL else "",
            queries=("perf",) if number <= count // 2 else ("gpu",),
            title=f"Paper no. {number:03d}.",
            abstract="Short.",
        )
        entries.append(entry)
    return make_digest(entries, shown=count if cap is None else min(cap, count), group_by=group_by)


DIGESTS = st.builds(
    make, st.integers(0, 45), st.none() | st.integers(1, 30), st.sampled_from(Grouping)
)


@settings(max_examples=60 if IS_NIGHTLY else 10)
@given(DIGESTS)
def test_groups_and_what_is_left_out_hold_every_paper_once(digest: Digest) -> None:
    papers = view_papers(digest)
    groups = group_papers(digest, papers[: digest.shown])
    shown = [paper.number for group in groups for paper in group.papers]
    rest = view_rest(papers[digest.shown :], "")
    assert shown == list(range(1, digest.shown + 1))
    assert rest.count == len(digest.entries) - digest.shown == len(rest.papers)
    whole = group_papers(digest, papers)
    assert sum(group.count for group in whole) == len(digest.entries)
    assert [group.count for group in whole] == [len(group.papers) for group in whole]
    if rest.parts:
        assert sum(int(part.split()[-1]) for part in rest.parts.split(" · ")) == rest.count


@pytest.mark.filterwarnings(
    "ignore:Generating overly large repr"
)  # a digest of hundreds of papers is one
@settings(max_examples=60 if IS_NIGHTLY else 5)
@given(digest=DIGESTS, links=st.sampled_from([SAMPLE_LINKS, Links()]))
@example(make(400, 1), Links())
def test_each_medium_shows_so_many_and_counts_and_links_the_rest(
    deliver: MakeDelivery, digest: Digest, links: Links
) -> None:
    hidden = len(digest.entries) - digest.shown
    left_out = [str(entry.paper.id) for entry in digest.entries[digest.shown :]]
    titles = {f"{number:03d}" for number in range(1, digest.shown + 1)}
    delivery = deliver("mailto:reader@example.org")
    plain, html = read_parts(RENDERER.render(digest, delivery, links, IDENTITY).body)
    named = {
        f"{number:03d}" for number in range(1, min(len(digest.entries), digest.shown + 100) + 1)
    }
    assert set(_TITLE.findall(html)) == (titles if links.web_view else named), (
        "many mail readers show this alone"
    )
    listed = (
        titles
        if links.web_view
        else {f"{number:03d}" for number in range(1, len(digest.entries) + 1)}
    )
    assert set(_TITLE.findall(plain)) == listed
    for mail in (plain, html):
        assert (f"{hidden} more in this digest" in mail) is (hidden > 0)
        told = links.web_view or "".join(left_out[-1:] if mail is plain else left_out[:100][-1:])
        assert not hidden or told in mail
    posts = [
        json.dumps(post, ensure_ascii=False)
        for post in read_posts(RENDERER, deliver, digest, links)
    ]
    assert set(_TITLE.findall("".join(posts))) >= titles
    assert (re.search(rf"{hidden} more(?: in the browser| \(|:)", posts[0]) is not None) is (
        hidden > 0
    )
    assert all(
        where in posts[0]
        for where in ([links.web_view] if links.web_view else left_out[:20])
        if hidden
    )
    page = RENDERER.render_page(digest, links)
    assert page.count('id="paper-') == len(digest.entries), "nothing is cut on a page"
    terminal = RENDERER.render_terminal(digest, width=96, color=False, limit=None)
    assert all(f"Paper no. {number}." in terminal for number in titles)
    assert (f"{hidden} more" in terminal) is (hidden > 0)
    event = json.loads(RENDERER.render(digest, deliver("webhook:lab"), links, IDENTITY).body)[
        "data"
    ]
    assert all(paper["is_shown"] is (paper["number"] <= digest.shown) for paper in event["papers"])
    assert len(event["papers"]) + event["rest"]["count"] == len(digest.entries)
    assert len(event["papers"]) == min(len(digest.entries), 100)
