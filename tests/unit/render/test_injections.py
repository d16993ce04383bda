"""Nothing a stranger writes into a paper, and nothing an operator names, comes alive in any medium."""

import email
import email.policy
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from digest.announcements import Kind
from digest.messages import Digest, DigestEntry, Feed
from digest.papers import Author, Field
from digest.render import MailIdentity, Renderer, validate_blocks
from digest.render.samples import EVENING, SAMPLE_LINKS, make_coverage, make_digest, make_entry
from digest.subscriptions import Destination
from tests.unit.render.conftest import INJECTIONS, MakeDelivery
from tests.unit.render.test_feeds import make_feed

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "footer", "section", "div", "details", "summary"),
    *("p", "h1", "h2", "h3", "a", "b", "i", "br", "code", "sup", "sub", "mark", "bdi"),
}
ATTRIBUTES = {"lang", "dir", "charset", "name", "content", "class", "style", "href", "id"}
OURS = ("https://arxiv.org/abs/2611.", "https://arxiv.org/pdf/2611.", "https://digest.example.org/")
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
MRKDWN_LINK = re.compile(r"<(https://(?:arxiv\.org/abs/|digest\.example\.org/)[^<>|\s]+)\|[^<>|]+>")
SCHEMA = etree.RelaxNG(file=str(Path(__file__).with_name("atom.rng")))


HEADERS = [
    *("Date", "From", "To", "Subject", "Message-ID", "List-Id", "List-Unsubscribe", "List-Unsubscribe-Post"),
    *("Auto-Submitted", "Precedence", "X-Auto-Response-Suppress", "Content-Language"),
    *("MIME-Version", "Content-Type"),
]


def _entries(text: str) -> list[DigestEntry]:
    """Return one paper per field, each with the text in that field alone."""
    fields: list[dict[str, Any]] = [
        {"title": text, "found": ((Field.TITLE, text),)},
        {"abstract": f"Before. {text} after.\n{text}", "found": ((Field.ABSTRACT, text),)},
        {"authors": (Author(text), Author("Other")), "found": ((Field.AUTHORS, text),)},
        {"authors": (Author("Somebody", (text, text)),)},
        {"comment": text, "found": ((Field.COMMENT, text),)},
        {"journal_ref": text, "found": ((Field.JOURNAL_REF, text),)},
        {"report_no": text, "found": ((Field.REPORT_NO, text),)},
        {"dois": (text,), "found": ((Field.DOIS, text),)},
        {"categories": ("cs.PF", text), "found": ((Field.CATEGORIES, text),)},
        {"submitter": text, "license": text},
        {"kind": Kind.REPLACEMENT, "label": text},
        {"kind": Kind.REPLACEMENT, "change_note": text},
        {"queries": (text, "perf")},
    ]
    return [make_entry(number, **values) for number, values in enumerate(fields, 1)]


def _digest(text: str) -> Digest:
    """Return a digest with the text in every field of every noun, the best paper's title among them."""
    return make_digest(
        _entries(text), title=text, queries=((text, text),), coverage=make_coverage(13, failure=text)
    )


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
    read = _Reader(html)
    assert read.tags <= TAGS, read.tags - TAGS
    assert read.attributes <= ATTRIBUTES, read.attributes - ATTRIBUTES
    assert all(link.startswith((*OURS, "mailto:leave@example.org?")) for link in read.links), read.links
    assert len(read.others) == comments
    assert not HIDDEN.search(html.replace("\r", ""))
    return read


@pytest.mark.parametrize("number", range(len(INJECTIONS)))
def test_nothing_comes_alive_in_a_mail(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, number: int
) -> None:
    raw = renderer.render_mail(
        _digest(INJECTIONS[number]), deliver("mailto:a@b.example"), SAMPLE_LINKS, identity
    ).body
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
    _check_html(html, comments=2)


@pytest.mark.parametrize("number", range(len(INJECTIONS)))
def test_nothing_comes_alive_in_slack(renderer: Renderer, deliver: MakeDelivery, number: int) -> None:
    digest = _digest(INJECTIONS[number])
    parts = renderer.count_parts(digest, Destination.parse("slack:#x"))
    for part in range(parts):
        body = renderer.render_slack(digest, deliver("slack:#x", part=part, parts=parts), SAMPLE_LINKS).body
        payload = json.loads(body)
        assert validate_blocks(payload) == []
        blocks = payload["blocks"]
        texts = [one for block in blocks for one in [block.get("text"), *block.get("elements", [])] if one]
        mrkdwn = [str(one["text"]) for one in texts if one["type"] == "mrkdwn"]
        for text in (*mrkdwn, payload["text"]):
            bare = MRKDWN_LINK.sub("", text)
            assert not re.search(r"[<>]|(?i:@here|@channel|@everyone)|[`~]|:[a-z_]+:", bare), bare
            assert not re.search(r"&(?!amp;|lt;|gt;)", text)
            assert not HIDDEN.search(text)
        shown = "\n".join(mrkdwn)
        # Only the templates' own emphasis is there: around titles, counts and headings.
        assert shown.count("*") % 2 == 0
        assert not re.search(r"(?m)^_|_$|\s_\S", shown)


@pytest.mark.parametrize("number", range(len(INJECTIONS)))
def test_structure_is_the_templates_alone_in_slack(renderer: Renderer, deliver: MakeDelivery, number: int) -> None:
    digest = make_digest(_entries(INJECTIONS[number])[:5])
    payload = json.loads(renderer.render_slack(digest, deliver("slack:#x"), SAMPLE_LINKS).body)
    assert [block["type"] for block in payload["blocks"]] == ["header", *["section", "context"] * 5, "context"]


@pytest.mark.parametrize("number", range(len(INJECTIONS)))
def test_nothing_comes_alive_on_a_page(renderer: Renderer, number: int) -> None:
    _check_html(renderer.render_page(_digest(INJECTIONS[number]), SAMPLE_LINKS))


def _feed(text: str) -> Feed:
    return make_feed(_entries(text), notice=text)


@pytest.mark.parametrize("number", range(len(INJECTIONS)))
def test_nothing_comes_alive_in_a_feed(renderer: Renderer, number: int) -> None:
    feed = _feed(INJECTIONS[number])
    root = etree.fromstring(renderer.render_atom(feed))
    assert SCHEMA.validate(root), SCHEMA.error_log
    for element in root.iter("{http://www.w3.org/2005/Atom}content"):
        if element.get("type") == "html":
            _check_html(str(element.text))
    assert not HIDDEN.search(etree.tostring(root, encoding="unicode"))
    for item in json.loads(renderer.render_json_feed(feed))["items"]:
        _check_html(item["content_html"])
        assert not HIDDEN.search(item["title"])


@pytest.mark.parametrize("number", range(len(INJECTIONS)))
def test_nothing_comes_alive_in_a_terminal(renderer: Renderer, number: int) -> None:
    digest = _digest(INJECTIONS[number])
    plain = renderer.render_terminal(digest, width=100, color=False, limit=None)
    assert not HIDDEN.search(plain)
    colored = renderer.render_terminal(digest, width=100, color=True, limit=None)
    assert not HIDDEN.search(re.sub(r"\x1b\[(?:0|1|2|1;32|1;36)m", "", colored))
    assert not HIDDEN.search(renderer.render_text(digest, SAMPLE_LINKS))


def test_the_corpus_is_large_and_holds_what_it_should(injections: tuple[str, ...]) -> None:
    assert len(injections) == len(set(injections)) >= 60
    assert EVENING.tzinfo is not None
