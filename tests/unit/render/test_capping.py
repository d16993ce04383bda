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
        is_new = number <= count * 2 // 3
        is_of_first_query = number <= count // 2
        entry = make_entry(
            number,
            kind=Kind.NEW if is_new else Kind.WITHDRAWAL,
            label="" if is_new else "withdrawn (v1)",
            queries=("perf",) if is_of_first_query else ("gpu",),
            title=f"Paper no. {number:03d}.",
            abstract="Short.",
        )
        entries.append(entry)
    shown = count if cap is None else min(cap, count)
    return make_digest(entries, shown=shown, group_by=group_by)


DIGESTS = st.builds(
    make, st.integers(0, 45), st.none() | st.integers(1, 30), st.sampled_from(Grouping)
)


@settings(max_examples=60 if IS_NIGHTLY else 10)
@given(DIGESTS)
def test_groups_and_what_is_left_out_hold_every_paper_once(digest: Digest) -> None:
    papers = view_papers(digest)
    shown = []
    for group in group_papers(digest, papers[: digest.shown]):
        shown += [paper.number for paper in group.papers]
    assert shown == list(range(1, digest.shown + 1))
    rest = view_rest(papers[digest.shown :], "")
    assert rest.count == len(digest.entries) - digest.shown
    assert rest.count == len(rest.papers)
    whole = group_papers(digest, papers)
    counts = [group.count for group in whole]
    assert sum(counts) == len(digest.entries)
    assert counts == [len(group.papers) for group in whole]
    if rest.parts:
        parts = rest.parts.split(" · ")
        assert sum(int(part.split()[-1]) for part in parts) == rest.count


def write_numbers(last: int) -> set[str]:
    """Return the numbers in the titles of the first papers."""
    return {f"{number:03d}" for number in range(1, last + 1)}


@pytest.mark.filterwarnings(
    "ignore:Generating overly large repr"
)  # a digest of hundreds of papers is one
@settings(max_examples=60 if IS_NIGHTLY else 5)
@given(digest=DIGESTS, links=st.sampled_from([SAMPLE_LINKS, Links()]))
@example(make(400, 1), Links())
def test_each_medium_shows_so_many_and_counts_and_links_the_rest(
    deliver: MakeDelivery, digest: Digest, links: Links
) -> None:
    titles = write_numbers(digest.shown)
    check_mail(digest, deliver, links, titles)
    check_posts(digest, deliver, links, titles)
    hidden = len(digest.entries) - digest.shown
    page = RENDERER.render_page(digest, links)
    assert page.count('id="paper-') == len(digest.entries), "nothing is cut on a page"
    terminal = RENDERER.render_terminal(digest, width=96, color=False, limit=None)
    assert all(f"Paper no. {number}." in terminal for number in titles)
    assert (f"{hidden} more" in terminal) is (hidden > 0)
    hook = RENDERER.render(digest, deliver("webhook:lab"), links, IDENTITY)
    event = json.loads(hook.body)["data"]
    papers = event["papers"]
    assert all(paper["is_shown"] is (paper["number"] <= digest.shown) for paper in papers)
    assert len(papers) + event["rest"]["count"] == len(digest.entries)
    assert len(papers) == min(len(digest.entries), 100)


def check_mail(digest: Digest, deliver: MakeDelivery, links: Links, titles: set[str]) -> None:
    """Hold both forms of a mail against what they are to show, count and link."""
    count = len(digest.entries)
    hidden = count - digest.shown
    left_out = [str(entry.paper.id) for entry in digest.entries[digest.shown :]]
    delivery = deliver("mailto:reader@example.org")
    rendered = RENDERER.render(digest, delivery, links, IDENTITY)
    plain, html = read_parts(rendered.body)
    # Without a page to link, a mail names what it doesn't show: the HTML a hundred at most.
    if links.web_view:
        in_plain = in_html = titles
        last_in_plain = last_in_html = links.web_view
    else:
        in_plain = write_numbers(count)
        in_html = write_numbers(min(count, digest.shown + 100))
        last_in_plain = "".join(left_out[-1:])
        last_in_html = "".join(left_out[:100][-1:])
    assert set(_TITLE.findall(html)) == in_html, "many mail readers show this alone"
    assert set(_TITLE.findall(plain)) == in_plain
    for mail, last in ((plain, last_in_plain), (html, last_in_html)):
        assert (f"{hidden} more in this digest" in mail) is (hidden > 0)
        assert not hidden or last in mail


def check_posts(digest: Digest, deliver: MakeDelivery, links: Links, titles: set[str]) -> None:
    """Hold the posts of a digest against what they are to show, count and link."""
    hidden = len(digest.entries) - digest.shown
    left_out = [str(entry.paper.id) for entry in digest.entries[digest.shown :]]
    payloads = read_posts(RENDERER, deliver, digest, links)
    posts = [json.dumps(payload, ensure_ascii=False) for payload in payloads]
    assert set(_TITLE.findall("".join(posts))) >= titles
    counted = re.search(rf"{hidden} more(?: in the browser| \(|:)", posts[0])
    assert (counted is not None) is (hidden > 0)
    if hidden:
        places = [links.web_view] if links.web_view else left_out[:20]
        assert all(place in posts[0] for place in places)
