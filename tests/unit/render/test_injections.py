"""Nothing a stranger writes into a paper, and nothing an operator names, comes alive in any medium."""

import email
import email.policy
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from digest.model.announcements import Kind
from digest.model.messages import Digest, DigestEntry, Feed
from digest.model.papers import Author, Field
from digest.render.mail import MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry
from tests.conftest import IS_NIGHTLY
from tests.fakes.blocks import check_blocks
from tests.unit.render.conftest import MakeDelivery, read_posts
from tests.unit.render.injections import INJECTIONS, SOME
from tests.unit.render.test_feeds import make_feed

TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "footer",
        "section",
        "div",
        "details",
        "summary",
    ),
    *("p", "h1", "h2", "h3", "a", "b", "i", "br", "code", "span", "sup", "sub", "mark", "bdi"),
    *("table", "colgroup", "col", "tbody", "tr", "th", "td", "small"),
}
ATTRIBUTES = {
    *("lang", "dir", "charset", "name", "content", "class", "style", "href", "id", "role"),
    *("width", "valign", "cellpadding", "link", "vlink"),
}
OURS = (
    *(f"https://arxiv.org/{form}/2611." for form in ("abs", "pdf", "html")),
    "https://digest.example.org/",
)
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
MRKDWN_LINK = re.compile(
    r"<(https://(?:arxiv\.org/(?:abs|pdf|html)/|digest\.example\.org/)[^<>|\s]+)\|[^<>|]+>"
)
NAMED = re.compile(
    r'<(?:a [^<>]*href=")?https?://[\w./?=]+(?:"[^<>]*>|\|)(?:Code|Data|Project page)(?:</a>|>)'
)
"""A plain address that an author names as their code, data or page: it is linked on purpose."""

SCHEMA = etree.RelaxNG(file=str(Path(__file__).with_name("atom.rng")))


HEADERS = [
    *("Date", "From", "To", "Subject", "Message-ID", "Auto-Submitted", "X-Auto-Response-Suppress"),
    *(
        "Reply-To",
        "List-Id",
        "List-Unsubscribe",
        "List-Unsubscribe-Post",
        "List-Help",
        "List-Archive",
    ),
    *("Precedence", "Feedback-ID"),
    *("MIME-Version", "Content-Type", "Content-Language"),
]


FIELDS = (
    *(
        "title",
        "abstract",
        "author",
        "affiliation",
        "comment",
        "journal_ref",
        "report_no",
        "doi",
        "category",
    ),
    *("license", "label", "query"),
)
"""Where a stranger's words, or a saved query's name, stand in an entry."""

_OWN_NAMES = ("comment", "journal_ref", "report_no", "license")
"""Those that a paper calls the same, and that are one text."""

_STEP = 23
"""Fields of one entry get texts this far apart."""


def make_entry_of(number: int, texts: dict[str, str]) -> DigestEntry:
    """Make an entry with texts in some of `FIELDS`, each met by the query where it stands."""
    values: dict[str, Any] = {name: texts[name] for name in _OWN_NAMES if name in texts}
    title = texts.get("title", "A title")
    abstract = texts.get("abstract", "An abstract")
    name = texts.get("author", "Somebody")
    where = texts.get("affiliation", "")
    met = {
        Field.TITLE: texts.get("title"),
        Field.ABSTRACT: texts.get("abstract"),
        Field.AUTHORS: texts.get("author"),
        Field.COMMENT: texts.get("comment"),
        Field.JOURNAL_REF: texts.get("journal_ref"),
        Field.REPORT_NO: texts.get("report_no"),
        Field.DOIS: texts.get("doi"),
        Field.CATEGORIES: texts.get("category"),
    }
    return make_entry(
        number,
        kind=Kind.REPLACEMENT if "label" in texts else Kind.NEW,
        label=texts.get("label", ""),
        queries=(texts.get("query", "perf"), "perf"),
        found=[(field, text) for field, text in met.items() if text],
        title=title,
        abstract=f"Before. {abstract} after.\n{abstract}",
        authors=(Author(name, (where, where) if where else ()), Author("Other")),
        dois=(texts["doi"],) if "doi" in texts else (),
        categories=("cs.PF", texts["category"]) if "category" in texts else ("cs.PF",),
        **values,
    )


def spread_entries() -> list[DigestEntry]:
    """Return as many entries as there are texts, so that every text stands once in every field."""
    count = len(INJECTIONS)
    return [
        make_entry_of(
            number + 1,
            {
                name: INJECTIONS[(number + _STEP * place) % count]
                for place, name in enumerate(FIELDS)
            },
        )
        for number in range(count)
    ]


def _spread() -> Iterator[Digest]:
    """Yield digests of a few papers each: every text in every field."""
    entries = spread_entries()
    for start in range(0, len(entries), 7):
        queries = tuple((text, text) for text in INJECTIONS[start : start + 7])
        yield make_digest(entries[start : start + 7], queries=queries)


def _headed() -> Iterator[Digest]:
    """Yield digests without papers: texts as title."""
    for text in SOME:
        yield make_digest((), title=text)


def _alone() -> Iterator[Digest]:
    """Yield a digest for each text.

    One paper per field with the text there alone, and in all of the digest.
    """
    for text in INJECTIONS:
        entries = [make_entry_of(number, {name: text}) for number, name in enumerate(FIELDS, 1)]
        yield make_digest(entries, title=text, queries=((text, text),))


MAKERS = {"spread": _spread, "headed": _headed, "alone": _alone}
EVERY_WAY = [*("spread", "headed"), *(("alone",) if IS_NIGHTLY else ())]


def make_digests(way: str) -> Iterator[Digest]:
    """Yield the digests of one of `MAKERS`."""
    yield from MAKERS[way]()


class _Reader(HTMLParser):
    """Collects everything in HTML that is not text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.others: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)


def _check_html(html: str, *, comments: int = 0) -> _Reader:
    read = _Reader(NAMED.sub("", html))
    assert read.tags <= TAGS, read.tags - TAGS
    assert read.attributes <= ATTRIBUTES, read.attributes - ATTRIBUTES
    assert all(link.startswith((*OURS, "mailto:leave@example.org?")) for link in read.links), (
        read.links
    )
    assert len(read.others) == comments
    assert not HIDDEN.search(html.replace("\r", ""))
    return read


@pytest.mark.parametrize("way", EVERY_WAY)
def test_nothing_comes_alive_in_a_mail(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, way: str
) -> None:
    for digest in make_digests(way):
        raw = renderer.render(digest, deliver("mailto:a@b.example"), SAMPLE_LINKS, identity).body
        _check_mail(raw, len(digest.entries))


def _check_mail(raw: bytes, papers: int) -> None:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message.keys() == HEADERS
    assert [part.get_content_type() for part in message.walk()] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]
    assert not message.defects
    assert not HIDDEN.search(message["Subject"])
    assert len(re.findall(rb"(?m)^--=_", raw)) == 3
    plain, html = (part.get_content() for part in message.iter_parts())
    assert not HIDDEN.search(plain.replace("\r", ""))
    read = _check_html(html, comments=2)
    assert read.links.count(SAMPLE_LINKS.unsubscribe) == 1
    assert html.count("<h3 ") == plain.count("\nhttps://arxiv.org/abs/") == papers


@pytest.mark.parametrize("way", EVERY_WAY)
def test_nothing_comes_alive_in_slack(renderer: Renderer, deliver: MakeDelivery, way: str) -> None:
    for digest in make_digests(way):
        _check_slack(renderer, deliver, digest)


def _check_slack(renderer: Renderer, deliver: MakeDelivery, digest: Digest) -> None:
    for payload in read_posts(renderer, deliver, digest):
        assert check_blocks(payload["blocks"]) == []
        blocks = payload["blocks"]
        texts = [
            one
            for block in blocks
            for one in [block.get("text"), *block.get("elements", [])]
            if one
        ]
        mrkdwn = [str(one["text"]) for one in texts if one["type"] == "mrkdwn"]
        for text in (*mrkdwn, payload["text"]):
            bare = NAMED.sub("", MRKDWN_LINK.sub("", text))
            assert not re.search(r"[<>]|(?i:@here|@channel|@everyone)|[`~]|:[a-z_]+:", bare), bare
            assert not re.search(r"&(?!amp;|lt;|gt;)", text)
            assert not HIDDEN.search(text)
        shown = "\n".join(mrkdwn)
        # Only the templates' own emphasis is there: around titles, counts and headings.
        assert shown.count("*") % 2 == 0
        assert not re.search(r"(?m)^_|_$|\s_\S", shown)


def test_structure_is_the_templates_alone_in_slack(
    renderer: Renderer, deliver: MakeDelivery
) -> None:
    for text in SOME:
        digest = make_digest(
            [make_entry_of(n, {name: text}) for n, name in enumerate(FIELDS[:5], 1)]
        )
        parent, thread = read_posts(renderer, deliver, digest)
        assert [one["type"] for one in parent["blocks"]] == [
            "header",
            "section",
            "section",
            "context",
        ]
        assert [one["type"] for one in thread["blocks"]] == ["section", "context"] * 5


@pytest.mark.parametrize("way", EVERY_WAY)
def test_nothing_comes_alive_on_a_page(renderer: Renderer, way: str) -> None:
    for digest in make_digests(way):
        _check_html(renderer.render_page(digest, SAMPLE_LINKS))


@pytest.mark.parametrize("way", EVERY_WAY)
def test_nothing_comes_alive_in_a_feed(renderer: Renderer, way: str) -> None:
    for digest in make_digests(way):
        notice = digest.title if way != "spread" else ""
        _check_feed(renderer, replace(make_feed(digest.entries, notice=notice), title=digest.title))


def _check_feed(renderer: Renderer, feed: Feed) -> None:
    root = etree.fromstring(renderer.render_feed(feed, "atom"))
    assert SCHEMA.validate(root), SCHEMA.error_log
    for element in root.iter("{http://www.w3.org/2005/Atom}content"):
        if element.get("type") == "html":
            _check_html(str(element.text))
    assert not HIDDEN.search(etree.tostring(root, encoding="unicode"))
    for item in json.loads(renderer.render_feed(feed, "json"))["items"]:
        _check_html(item["content_html"])
        assert not HIDDEN.search(item["title"])


@pytest.mark.parametrize("way", EVERY_WAY)
def test_nothing_comes_alive_in_a_terminal(renderer: Renderer, way: str) -> None:
    for digest in make_digests(way):
        _check_terminal(renderer, digest)


def _check_terminal(renderer: Renderer, digest: Digest) -> None:
    plain = renderer.render_terminal(digest, width=100, color=False, limit=None)
    assert not HIDDEN.search(plain)
    colored = renderer.render_terminal(digest, width=100, color=True, limit=None)
    ours = r"\x1b\[(?:0|1|2|1;32|1;36)m|\x1b\]8;;(?:https://arxiv\.org/abs/[\w./-]+)?\x1b\\"
    assert not HIDDEN.search(re.sub(ours, "", colored))
    assert not HIDDEN.search(renderer.render_text(digest, SAMPLE_LINKS))


@pytest.mark.parametrize("way", EVERY_WAY)
def test_other_programs_get_every_text_as_it_is_and_nothing_of_it_becomes_structure(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, way: str
) -> None:
    for digest in make_digests(way):
        body = renderer.render(digest, deliver("webhook:lab"), SAMPLE_LINKS, identity).body
        assert body.isascii()
        event = json.loads(body)
        told = event["data"]["papers"]
        papers = [digest.entries[one["number"] - 1].paper for one in told]
        assert len(papers) + event["data"]["rest"]["count"] == len(digest.entries)
        assert [one["title_tex"] for one in told] == [paper.title for paper in papers]
        assert [one["comment"] for one in told] == [paper.comment for paper in papers]
        assert [query["text"] for query in event["data"]["queries"]] == [
            text for _, text in digest.queries
        ]
