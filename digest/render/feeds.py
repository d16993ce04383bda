"""Writes feeds as Atom (RFC 4287) and JSON Feed: the same bytes as long as the feed is the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

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

    Titles are plain Unicode, as readers differ on HTML in titles. The content is HTML as escaped
    text, which every reader understands.
    """
    root = Element("feed", {"xmlns": _ATOM, "xml:lang": LANGUAGE})
    _add(root, "id", feed.id)
    _add(root, "title", clean_text(feed.title), type="text")
    subtitle = write_subtitle(feed)
    if subtitle:
        _add(root, "subtitle", subtitle, type="text")
    _add(root, "updated", write_moment(feed.updated))
    _add_link(root, feed.self_url, rel="self", type="application/atom+xml")
    _add_link(root, feed.home_url, rel="alternate", type="text/html")
    _add_author(root, AUTHOR)
    _add(root, "generator", "Digest")
    _add(root, "rights", f"{ACKNOWLEDGEMENT} {NOT_REVIEWED}")
    if feed.notice:
        _add_notice(root, feed)
    for entry in feed.entries:
        _add_entry(root, templates, feed, entry)
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return _spell_empty_elements(document) + b"\n"


def _spell_empty_elements(document: bytes) -> bytes:
    """Keep the spelling of elements without text: a feed that did not change has the same bytes.

    No text holds a bare `>`.
    """
    short = document.replace(b" />", b"/>")
    return short.replace(b'<summary type="text"/>', b'<summary type="text"></summary>')


def _add_entry(root: Element, templates: Templates, feed: Feed, entry: FeedEntry) -> None:
    paper = entry.entry.paper
    view = PaperView(entry.entry, number=1)
    element = _add(root, "entry")
    _add(element, "id", entry.id)
    _add(element, "title", view.full_title or view.id, type="text")
    _add(element, "updated", write_moment(entry.updated))
    _add(element, "published", write_moment(entry.published))
    _add_link(element, view.url, rel="alternate", type="text/html")
    _add_link(element, view.pdf_url, rel="related", type="application/pdf")
    if feed.refs_url:
        _add_references(element, f"{feed.refs_url}/{view.id}")
    for author in paper.authors:
        _add_author(element, show_plain(author.name) or UNKNOWN)
    for name in paper.categories:
        _add(element, "category", term=clean_text(name), scheme=_CATEGORY_SCHEME)
    _add(element, "summary", shorten(view.abstract, _LONGEST_SUMMARY), type="text")
    _add(element, "content", write_content(templates, feed, view), type="html")


def _add_references(element: Element, url: str) -> None:
    """Link to the paper's entry for reference managers.

    Not "alternate": readers open that, and RFC 4287 (§4.1.2) keeps it for the same text in another
    form.
    """
    for suffix, (media_type, title) in _REFERENCES.items():
        _add_link(element, f"{url}.{suffix}", rel="related", type=media_type, title=title)


def _add_notice(root: Element, feed: Feed) -> None:
    element = _add(root, "entry")
    _add(element, "id", name_notice(feed))
    _add(element, "title", NOTICE_TITLE, type="text")
    _add(element, "updated", write_moment(feed.updated))
    _add_link(element, feed.home_url, rel="alternate", type="text/html")
    _add(element, "content", clean_text(feed.notice), type="text")


def _add_author(parent: Element, name: str) -> None:
    author = _add(parent, "author")
    _add(author, "name", name)


def _add_link(parent: Element, href: str, **attributes: str) -> None:
    """Add a link, or nothing if its address is not known."""
    if href:
        _add(parent, "link", **attributes, href=href)


def _add(parent: Element, name: str, text: str = "", **attributes: str) -> Element:
    """Add an element, and return it to have a text or other elements in it."""
    element = SubElement(parent, name, attributes)
    element.text = text
    return element


def fit_feed(write: Callable[[Feed], bytes], feed: Feed) -> bytes:
    """Write a feed, with as many of its newest entries as it has room for."""
    body = write(feed)
    while len(body) > FEED_BYTES and len(feed.entries) > 1:
        room = len(feed.entries) * FEED_BYTES // len(body)
        feed = replace(feed, entries=feed.entries[: max(room, 1)])
        body = write(feed)
    return body


def write_content(templates: Templates, feed: Feed, paper: PaperView) -> str:
    """Return an entry's content as HTML on its own."""
    context = FeedEntryContext(paper, feed.refs_url)
    html = templates.render("feed/entry.html", context)
    return clean_markup(html).strip()


def write_subtitle(feed: Feed) -> str:
    """Say what was checked late in the last week, and how many papers a feed leaves out."""
    said = say_unchecked(feed.unchecked)
    held = len(feed.entries)
    if held < feed.papers:
        period = f"that came within {FEED_DAYS} days"
        said = f"{said} The newest {held:,} of {feed.papers:,} papers {period}.".strip()
    return said


def name_notice(feed: Feed) -> str:
    """Return the permanent id of a feed's notice: another sentence is another entry."""
    notice = clean_text(feed.notice).encode("utf-8")
    fingerprint = hashlib.sha256(notice).hexdigest()[:12]
    return f"{feed.id}:notice:{fingerprint}"


def write_json_feed(templates: Templates, feed: Feed) -> bytes:
    """Write a feed as JSON Feed in UTF-8, the same bytes as long as the feed is the same."""
    items = [_write_item(templates, feed, entry) for entry in feed.entries]
    if feed.notice:
        items.insert(0, _write_notice_item(feed))
    description = f"{write_subtitle(feed)} {ACKNOWLEDGEMENT} {NOT_REVIEWED}"
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": clean_text(feed.title),
        "home_page_url": feed.home_url,
        "feed_url": feed.self_url,
        "description": description.lstrip(),
        "language": LANGUAGE,
        "authors": [{"name": AUTHOR}],
        "items": items,
    }
    written = json.dumps(_drop_empty(document), ensure_ascii=False, indent=1)
    return f"{written}\n".encode()


def _write_item(templates: Templates, feed: Feed, entry: FeedEntry) -> dict[str, Any]:
    paper = entry.entry.paper
    view = PaperView(entry.entry, number=1)
    authors = []
    for author in paper.authors:
        name = show_plain(author.name)
        authors.append({"name": name or UNKNOWN})
    tags = [clean_text(category) for category in paper.categories]
    item = {
        "id": entry.id,
        "url": view.url,
        "title": view.full_title or view.id,
        "content_html": write_content(templates, feed, view),
        "summary": shorten(view.abstract, _LONGEST_SUMMARY),
        "date_published": write_moment(entry.published),
        "date_modified": write_moment(entry.updated),
        "authors": authors,
        "tags": tags,
    }
    return _drop_empty(item)


def _write_notice_item(feed: Feed) -> dict[str, Any]:
    notice = escape(clean_text(feed.notice))
    item = {
        "id": name_notice(feed),
        "url": feed.home_url,
        "title": NOTICE_TITLE,
        "content_html": f"<p>{notice}</p>",
        "date_modified": write_moment(feed.updated),
    }
    return _drop_empty(item)


def _drop_empty(members: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not known; the format asks for `items` even if there are none."""
    return {name: value for name, value in members.items() if value or name == "items"}
