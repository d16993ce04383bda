"""Feeds hold to their formats whatever papers say.

The grammar of RFC 4287, and that of JSON Feed 1.1.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import feedparser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from lxml import etree

from digest.model.announcements import Kind
from digest.model.messages import FEED_BYTES, DigestEntry, Feed, FeedEntry
from digest.model.papers import Author
from digest.model.secrets import feed_uri
from digest.render.renderer import Renderer
from digest.render.samples import EVENING, make_entry
from tests.samples import odd_entries, sample_digest

RENDERER = Renderer()
ATOM = "{http://www.w3.org/2005/Atom}"
SCHEMA = etree.RelaxNG(file=str(Path(__file__).with_name("atom.rng")))
JSON_SCHEMA = Draft202012Validator(
    json.loads(Path(__file__).with_name("json_feed.schema.json").read_text(encoding="utf-8")),
    format_checker=Draft202012Validator.FORMAT_CHECKER,
)


def make_feed(entries: Sequence[DigestEntry], notice: str = "") -> Feed:
    """Make a feed with a paper an hour, newest first."""
    return Feed(
        id=feed_uri("here", "subscription", "1"),
        title="demo-team",
        updated=EVENING,
        self_url="https://digest.example.org/f/U29tZSBzZWNyZXQgZmVlZA.atom",
        home_url="https://digest.example.org/",
        entries=tuple(
            FeedEntry(
                id=feed_uri("here", "arxiv", str(entry.paper.id)),
                entry=entry,
                published=EVENING - timedelta(hours=number + 1),
                updated=EVENING - timedelta(hours=number),
            )
            for number, entry in enumerate(entries)
        ),
        notice=notice,
        refs_url="https://digest.example.org/refs",
    )


CUT = replace(make_feed(sample_digest().entries), papers=4_487)
"""A feed of which more came than it holds."""

FEEDS = {
    "cut": CUT,
    "ordinary": make_feed(sample_digest().entries),
    "odd": make_feed(odd_entries()),
    "empty": make_feed(
        (), notice="Nothing has matched yet. This feed fills from the next announcement on."
    ),
    "unserved": replace(make_feed(sample_digest().entries), self_url="", home_url="", refs_url=""),
}

texts = st.text(max_size=30) | st.sampled_from(
    [
        "$x^2",
        "<b>&amp;",
        "]]>",
        "\x00\x0b",
        "\ud800",
        "\ufffe",
        "\u202e",
        " ",
        r"\emph{",
        "大",
        "<mark>",
        "a\n b",
    ]
)


people = st.lists(st.tuples(texts, texts), max_size=3)


@st.composite
def entries(draw: st.DrawFn, number: int) -> DigestEntry:
    return make_entry(
        number,
        kind=draw(st.sampled_from(list(Kind))),
        label=draw(texts),
        queries=tuple(draw(st.lists(texts, max_size=3))),
        title=draw(texts),
        abstract=draw(texts),
        comment=draw(texts),
        journal_ref=draw(texts),
        authors=tuple(Author(name, (where,)) for name, where in draw(people)),
        categories=tuple(
            draw(st.lists(st.sampled_from(["cs.PF", "math.CO", "x"]), min_size=1, max_size=2))
        ),
    )


feeds = st.integers(0, 3).flatmap(
    lambda count: st.tuples(*(entries(number) for number in range(1, count + 1)))
)


@settings(max_examples=12)
@given(feeds, texts, texts)
def test_whatever_papers_say_both_formats_hold_and_agree(
    found: tuple[DigestEntry, ...], title: str, notice: str
) -> None:
    feed = replace(
        make_feed(found, notice=notice or "Nothing yet." if not found else ""), title=f"x{title}"
    )
    check(feed)


def check(feed: Feed) -> None:
    """Hold both forms of a feed against their grammars, and against each other."""
    root = etree.fromstring(RENDERER.render_feed(feed, "atom"))
    assert SCHEMA.validate(root), SCHEMA.error_log
    document = json.loads(RENDERER.render_feed(feed, "json"))
    JSON_SCHEMA.validate(document)
    assert document.get("feed_url", "") == feed.self_url
    # What a grammar cannot say: RFC 4287 §4.1.1 and §4.1.2.
    assert root.find(f"{ATOM}author") is not None
    ids = [entry.findtext(f"{ATOM}id") for entry in root.iter(f"{ATOM}entry")]
    assert [item["id"] for item in document["items"]] == ids
    assert len(set(ids)) == len(ids)
    for entry in root.iter(f"{ATOM}entry"):
        links = [(link.get("rel"), link.get("type")) for link in entry.iter(f"{ATOM}link")]
        assert len(set(links)) == len(links)
        assert ("alternate", "text/html") in links or entry.find(f"{ATOM}content") is not None


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_holds_to_its_formats(name: str) -> None:
    check(FEEDS[name])


def test_no_feed_is_longer_than_1_mb_and_the_oldest_go_first(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FEED_BYTES == 1_000_000
    monkeypatch.setattr(
        "digest.render.feeds.FEED_BYTES", 100_000
    )  # which takes a tenth of the time
    long = [make_entry(n, abstract=f"{n} words of an abstract. " * 40) for n in range(1, 201)]
    feed = replace(make_feed(long), papers=200)
    atom = renderer.render_feed(feed, "atom")
    body = renderer.render_feed(feed, "json")
    assert 80_000 < len(atom) <= 100_000
    assert 80_000 < len(body) <= 100_000
    document = json.loads(body)
    shown = [item["id"] for item in document["items"]]
    assert shown == [entry.id for entry in feed.entries[: len(shown)]]
    assert document["description"].startswith(f"The newest {len(shown)} of 200 ")


def test_another_notice_is_another_entry(renderer: Renderer) -> None:
    other = replace(FEEDS["empty"], notice="This feed has ended.")
    ids = {
        feedparser.parse(renderer.render_feed(feed, "atom")).entries[0].id
        for feed in (FEEDS["empty"], other)
    }
    assert len(ids) == 2
