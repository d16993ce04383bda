from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from digest.demo.atom import ARXIV, ATOM, OPENSEARCH, write_error, write_feed
from digest.demo.markup import clean_text
from digest.papers import ArxivId, Author, Paper

NOW = datetime(2026, 11, 20, 1, 0, tzinfo=UTC)
NAMES = {"a": ATOM, "o": OPENSEARCH, "x": ARXIV}


def make_paper(title: str = "A title", abstract: str = "An abstract.") -> Paper:
    return Paper(
        id=ArxivId.parse("2611.00001"),
        version=2,
        title=title,
        abstract=abstract,
        authors=(Author("Zoë Abrelund", ("Vell", "Marrowby")), Author("Ren Wexcombe")),
        categories=("cs.PF", "cs.DC"),
        published=datetime(2026, 11, 16, 10, 0, tzinfo=UTC),
        updated=datetime(2026, 11, 18, 10, 0, tzinfo=UTC),
        comment="9 pages",
        journal_ref="J. 1",
        dois=("10.1/a;", "10.1/b"),
    )


def write(*papers: Paper) -> etree._Element:
    body = write_feed(papers, query="cat:cs.PF", ids="", start=60, size=15, total=5073, moment=NOW)
    return etree.fromstring(body)


def test_the_header_says_what_was_asked_and_how_much_there_is() -> None:
    feed = write()
    assert feed.findtext("a:title", None, NAMES) == (
        "arXiv Query: search_query=cat:cs.PF&id_list=&start=60&max_results=15"
    )
    counts = [feed.findtext(f"o:{name}", None, NAMES) for name in ("totalResults", "startIndex", "itemsPerPage")]
    assert counts == ["5073", "60", "15"]
    assert feed.findtext("a:updated", None, NAMES) == "2026-11-20T01:00:00Z"


def test_the_feeds_id_is_arxivs_own_hash_of_the_question() -> None:
    assert (write().findtext("a:id", None, NAMES) or "").startswith("https://arxiv.org/api/Gkr77sAx")


def test_an_entrys_elements_come_in_arxivs_order() -> None:
    (entry,) = write(make_paper()).findall("a:entry", NAMES)
    names = [etree.QName(element).localname for element in entry]
    assert names == [
        *("id", "title", "updated", "link", "link", "summary", "category", "category", "published", "comment"),
        *("primary_category", "journal_ref", "author", "author", "doi", "link", "doi", "link"),
    ]
    assert entry.findtext("a:id", None, NAMES) == "http://arxiv.org/abs/2611.00001v2"
    assert [e.text for e in entry.findall("a:author/x:affiliation", NAMES)] == ["Vell", "Marrowby"]


def test_an_error_is_a_feed_of_one_entry_titled_error() -> None:
    feed = etree.fromstring(write_error("start must be an integer", NOW))
    entry = feed.find("a:entry", NAMES)
    assert entry is not None
    assert [entry.findtext(f"a:{name}", None, NAMES) for name in ("title", "summary")] == [
        "Error",
        "start must be an integer",
    ]
    assert entry.find("a:published", NAMES) is None


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_text_survives_the_journey(title: str, abstract: str) -> None:
    (entry,) = write(make_paper(title, abstract)).findall("a:entry", NAMES)
    for name, text in (("title", title), ("summary", abstract)):
        received = entry.findtext(f"a:{name}", None, NAMES)
        assert received == clean_text(text).replace("\r\n", "\n").replace("\r", "\n") or received == clean_text(
            text
        )
