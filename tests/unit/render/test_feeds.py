import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import feedparser
import pytest
from lxml import etree

from digest.model.announcements import Kind
from digest.model.messages import DigestEntry, Feed, FeedEntry
from digest.model.papers import Author
from digest.model.secrets import feed_uri
from digest.render import Renderer
from digest.render.samples import EVENING, make_entry, odd_entries, sample_digest

ATOM = "{http://www.w3.org/2005/Atom}"
SCHEMA = etree.RelaxNG(file=str(Path(__file__).with_name("atom.rng")))


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
    "empty": make_feed((), notice="Nothing has matched yet. This feed fills from the next mailing on."),
    "unserved": replace(make_feed(sample_digest().entries), self_url="", home_url="", refs_url=""),
}


@pytest.mark.parametrize("name", FEEDS)
def test_an_atom_feed_is_valid(renderer: Renderer, name: str) -> None:
    root = etree.fromstring(renderer.render_atom(FEEDS[name]))
    assert SCHEMA.validate(root), SCHEMA.error_log
    # What a grammar cannot say: RFC 4287 §4.1.1 and §4.1.2.
    assert root.find(f"{ATOM}author") is not None
    ids = [entry.findtext(f"{ATOM}id") for entry in root.iter(f"{ATOM}entry")]
    assert len(set(ids)) == len(ids)
    for entry in root.iter(f"{ATOM}entry"):
        links = [(link.get("rel"), link.get("type")) for link in entry.iter(f"{ATOM}link")]
        assert len(set(links)) == len(links)
        assert ("alternate", "text/html") in links or entry.find(f"{ATOM}content") is not None


def test_a_feed_says_how_much_of_what_came_it_holds(renderer: Renderer) -> None:
    said = "The newest 6 of 4,487 papers that came within 30 days."
    assert feedparser.parse(renderer.render_atom(CUT)).feed.subtitle == said
    assert json.loads(renderer.render_json_feed(CUT))["description"].startswith(f"{said} Thank you to arXiv")
    assert "subtitle" not in feedparser.parse(renderer.render_atom(FEEDS["ordinary"])).feed


def test_no_feed_is_longer_than_1_mb_and_the_oldest_go_first(renderer: Renderer) -> None:
    long = [make_entry(n, abstract=f"{n} words of an abstract. " * 400) for n in range(1, 201)]
    feed = replace(make_feed(long), papers=200)
    for body in (renderer.render_atom(feed), renderer.render_json_feed(feed)):
        assert 800_000 < len(body) <= 1_000_000
    shown = [item["id"] for item in json.loads(renderer.render_json_feed(feed))["items"]]
    assert shown == [entry.id for entry in feed.entries[: len(shown)]]
    assert json.loads(renderer.render_json_feed(feed))["description"].startswith(
        f"The newest {len(shown)} of 200 "
    )


def test_an_entry_names_the_paper_in_every_detail(renderer: Renderer) -> None:
    entry = make_entry(
        12,
        authors=(Author("P\u0131nar Örnek", ("Made-up University",)), Author("Second")),
        categories=("cs.PF", "math.CO"),
    )
    (found,) = feedparser.parse(renderer.render_atom(make_feed([entry]))).entries
    assert found.id == feed_uri("here", "arxiv", "2611.15012")
    assert found.title == "Tail latency below 10⁻³ s on shared GPUs"
    assert found.link == "https://arxiv.org/abs/2611.15012v1"
    assert [author.name for author in found.authors] == ["P\u0131nar Örnek", "Second"]
    assert [tag.term for tag in found.tags] == ["cs.PF", "math.CO"]
    assert (found.published, found.updated) == ("2026-11-20T02:47:00Z", "2026-11-20T03:47:00Z")
    assert "P\u0131nar Örnek (Made-up University), Second" in found.content[0].value
    assert "10<sup>−3</sup> s" in found.content[0].value


def test_an_entry_names_where_its_references_are(renderer: Renderer) -> None:
    (found,) = feedparser.parse(renderer.render_atom(make_feed([make_entry(12)]))).entries
    related = {link.type: link.href for link in found.links if link.rel == "related"}
    assert related == {
        "application/pdf": "https://arxiv.org/pdf/2611.15012v1",
        "application/x-bibtex": "https://digest.example.org/refs/2611.15012.bib",
        "application/x-research-info-systems": "https://digest.example.org/refs/2611.15012.ris",
    }
    for address in list(related.values())[1:]:
        assert f'href="{address}"' in found.content[0].value
        (item,) = json.loads(renderer.render_json_feed(make_feed([make_entry(12)])))["items"]
        assert f'href="{address}"' in item["content_html"]


def test_an_entry_keeps_its_id_when_the_paper_gets_a_version(renderer: Renderer) -> None:
    first = make_feed([make_entry(12)])
    second = make_feed([make_entry(12, version=2, kind=Kind.REPLACEMENT, label="v1 → v2")])
    ids = [feedparser.parse(renderer.render_atom(feed)).entries[0].id for feed in (first, second)]
    assert ids[0] == ids[1]


def test_an_empty_feed_says_what_it_waits_for(renderer: Renderer) -> None:
    (entry,) = feedparser.parse(renderer.render_atom(FEEDS["empty"])).entries
    assert entry.content[0].value == "Nothing has matched yet. This feed fills from the next mailing on."
    assert entry.updated == "2026-11-20T03:47:00Z"
    (item,) = json.loads(renderer.render_json_feed(FEEDS["empty"]))["items"]
    assert item["id"] == entry.id
    assert "Nothing has matched yet" in item["content_html"]


def test_another_notice_is_another_entry(renderer: Renderer) -> None:
    other = replace(FEEDS["empty"], notice="This feed has ended.")
    ids = {feedparser.parse(renderer.render_atom(feed)).entries[0].id for feed in (FEEDS["empty"], other)}
    assert len(ids) == 2


@pytest.mark.parametrize("name", FEEDS)
def test_a_json_feed_holds_what_the_format_asks_for_and_the_same_as_atom(renderer: Renderer, name: str) -> None:
    document = json.loads(renderer.render_json_feed(FEEDS[name]))
    assert document["version"] == "https://jsonfeed.org/version/1.1"
    assert document["title"] == "demo-team"
    assert document.get("feed_url", "") == FEEDS[name].self_url
    for item in document["items"]:
        assert item["id"]
        assert item["content_html"]
    atom = feedparser.parse(renderer.render_atom(FEEDS[name])).entries
    assert [item["id"] for item in document["items"]] == [entry.id for entry in atom]
    assert [item["title"] for item in document["items"]] == [entry.title for entry in atom]
