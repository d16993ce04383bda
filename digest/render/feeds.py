"""Writes feeds as Atom (RFC 4287) and JSON Feed: the same bytes as long as the feed is the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element, indent, tostring

from markupsafe import escape

from digest.model.messages import FEED_BYTES, FEED_DAYS, Feed, FeedEntry
from digest.render.contexts import FeedEntryContext
from digest.render.digests import say_unchecked
from digest.render.papers import PaperView
from digest.render.templates import Templates
from digest.render.text import clean_markup, clean_text, shorten, show_plain, write_moment

_ATOM = "http://www.w3.org/2005/Atom"

_REFERENCES = {
    "bib": ("application/x-bibtex", "BibTeX"),
    "ris": ("application/x-research-info-systems", "RIS"),
}
_CATEGORY_SCHEME = "http://arxiv.org/schemas/atom"

LANGUAGE = "en"
AUTHOR = "Digest"
ACKNOWLEDGEMENT = "Thank you to arXiv for use of its open access interoperability."
"""The words arXiv's terms ask for: https://info.arxiv.org/help/api/tou.html."""

NOT_REVIEWED = (
    "This service was not reviewed or approved by, nor does it necessarily express or reflect the "
    "policies or opinions of, arXiv."
)

NOTICE_TITLE = "About this feed"
UNKNOWN = "unknown"
"""An author without a name that can be shown: both formats want a name."""

_LONGEST_SUMMARY = 400
"""Characters of an entry's abstract in plain Unicode."""


def write_atom(templates: Templates, feed: Feed) -> bytes:
    """Write a feed as an Atom document in UTF-8.

    Titles are plain Unicode, as readers differ on HTML in titles. The content is HTML as escaped text, which every
    reader understands.
    """
    subtitle = write_subtitle(feed)
    root = _make(
        "feed",
        _make("id", feed.id),
        _make("title", clean_text(feed.title), type="text"),
        *([_make("subtitle", subtitle, type="text")] if subtitle else []),
        _make("updated", write_moment(feed.updated)),
        *_link(feed.self_url, rel="self", type="application/atom+xml"),
        *_link(feed.home_url, rel="alternate", type="text/html"),
        _make("author", _make("name", AUTHOR)),
        _make("generator", "Digest"),
        _make("rights", f"{ACKNOWLEDGEMENT} {NOT_REVIEWED}"),
        *([_make_notice(feed)] if feed.notice else []),
        *(_make_entry(templates, feed, entry) for entry in feed.entries),
        **{"xmlns": _ATOM, "xml:lang": LANGUAGE},
    )
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    # Elements without text keep their spelling, so that a feed that did not change has the same bytes. No text
    # holds a bare >.
    short = document.replace(b" />", b"/>").replace(
        b'<summary type="text"/>', b'<summary type="text"></summary>'
    )
    return short + b"\n"


def _make_entry(templates: Templates, feed: Feed, entry: FeedEntry) -> Element:
    paper, view = entry.entry.paper, PaperView(entry.entry, number=1)
    references = _REFERENCES if feed.refs_url else {}
    return _make(
        "entry",
        _make("id", entry.id),
        _make("title", view.full_title or view.id, type="text"),
        _make("updated", write_moment(entry.updated)),
        _make("published", write_moment(entry.published)),
        *_link(view.url, rel="alternate", type="text/html"),
        *_link(view.pdf_url, rel="related", type="application/pdf"),
        # Not "alternate": readers open that, and RFC 4287 (§4.1.2) keeps it for the same text in another form.
        *(
            _make(
                "link",
                rel="related",
                type=kind,
                title=title,
                href=f"{feed.refs_url}/{view.id}.{suffix}",
            )
            for suffix, (kind, title) in references.items()
        ),
        *(
            _make("author", _make("name", show_plain(author.name) or UNKNOWN))
            for author in paper.authors
        ),
        *(
            _make("category", term=clean_text(name), scheme=_CATEGORY_SCHEME)
            for name in paper.categories
        ),
        _make("summary", shorten(view.abstract, _LONGEST_SUMMARY), type="text"),
        _make("content", write_content(templates, feed, view), type="html"),
    )


def _make_notice(feed: Feed) -> Element:
    return _make(
        "entry",
        _make("id", name_notice(feed)),
        _make("title", NOTICE_TITLE, type="text"),
        _make("updated", write_moment(feed.updated)),
        *_link(feed.home_url, rel="alternate", type="text/html"),
        _make("content", clean_text(feed.notice), type="text"),
    )


def _make(name: str, *inside: Element | str, **attributes: str) -> Element:
    """Make an element with a text, or with other elements in it."""
    element = Element(name, attributes)
    for one in inside:
        if isinstance(one, str):
            element.text = one
        else:
            element.append(one)
    return element


def _link(href: str, **attributes: str) -> list[Element]:
    return [_make("link", **attributes, href=href)] if href else []


def fit_feed(write: Callable[[Feed], bytes], feed: Feed) -> bytes:
    """Write a feed, with as many of its newest entries as it has room for."""
    while len(body := write(feed)) > FEED_BYTES and len(feed.entries) > 1:
        room = len(feed.entries) * FEED_BYTES // len(body)
        feed = replace(feed, entries=feed.entries[: max(room, 1)])
    return body


def write_content(templates: Templates, feed: Feed, paper: PaperView) -> str:
    """Return an entry's content as HTML on its own."""
    return clean_markup(
        templates.render("feed/entry.html", FeedEntryContext(paper, feed.refs_url))
    ).strip()


def write_subtitle(feed: Feed) -> str:
    """Say what was checked late in the last week, and how many papers a feed leaves out."""
    said = say_unchecked(feed.unchecked)
    if len(feed.entries) < feed.papers:
        shown = f"The newest {len(feed.entries):,} of {feed.papers:,} papers that came within {FEED_DAYS} days."
        said = f"{said} {shown}".strip()
    return said


def name_notice(feed: Feed) -> str:
    """Return the permanent id of a feed's notice: another sentence is another entry."""
    digest = hashlib.sha256(clean_text(feed.notice).encode("utf-8")).hexdigest()[:12]
    return f"{feed.id}:notice:{digest}"


def write_json_feed(templates: Templates, feed: Feed) -> bytes:
    """Write a feed as JSON Feed in UTF-8, the same bytes as long as the feed is the same."""
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": clean_text(feed.title),
        "home_page_url": feed.home_url,
        "feed_url": feed.self_url,
        "description": " ".join(
            filter(None, (write_subtitle(feed), ACKNOWLEDGEMENT, NOT_REVIEWED))
        ),
        "language": LANGUAGE,
        "authors": [{"name": AUTHOR}],
        "items": [
            *([_write_notice_item(feed)] if feed.notice else []),
            *(_write_item(templates, feed, entry) for entry in feed.entries),
        ],
    }
    return (json.dumps(_drop_empty(document), ensure_ascii=False, indent=1) + "\n").encode("utf-8")


def _write_item(templates: Templates, feed: Feed, entry: FeedEntry) -> dict[str, Any]:
    paper, view = entry.entry.paper, PaperView(entry.entry, number=1)
    return _drop_empty(
        {
            "id": entry.id,
            "url": view.url,
            "title": view.full_title or view.id,
            "content_html": write_content(templates, feed, view),
            "summary": shorten(view.abstract, _LONGEST_SUMMARY),
            "date_published": write_moment(entry.published),
            "date_modified": write_moment(entry.updated),
            "authors": [{"name": show_plain(author.name) or UNKNOWN} for author in paper.authors],
            "tags": [clean_text(category) for category in paper.categories],
        }
    )


def _write_notice_item(feed: Feed) -> dict[str, Any]:
    return _drop_empty(
        {
            "id": name_notice(feed),
            "url": feed.home_url,
            "title": NOTICE_TITLE,
            "content_html": f"<p>{escape(clean_text(feed.notice))}</p>",
            "date_modified": write_moment(feed.updated),
        }
    )


def _drop_empty(members: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not known; the format asks for `items` even if there are none."""
    return {name: value for name, value in members.items() if value or name == "items"}
