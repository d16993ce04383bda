"""A feed as Atom (RFC 4287): the same bytes as long as the feed is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from digest.render.cleaning import clean_text
from digest.render.dates import write_moment
from digest.render.feed_entries import (
    ACKNOWLEDGEMENT,
    AUTHOR,
    LANGUAGE,
    NOT_REVIEWED,
    NOTICE_TITLE,
    UNKNOWN,
    find_reference,
    name_notice,
    view_entry,
    write_content,
    write_extent,
    write_notice,
    write_summary,
)
from digest.render.marking import show_plain

if TYPE_CHECKING:
    from digest.messages import Feed, FeedEntry
    from digest.render.environments import Templates

_ATOM = "http://www.w3.org/2005/Atom"
# The default namespace has no prefix, which lxml asks to be written so and its stubs do not know.
_NAMESPACES: dict[str, str] = {None: _ATOM}  # type: ignore[dict-item]  # see above
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_REFERENCES = {
    "bib": ("application/x-bibtex", "BibTeX"),
    "ris": ("application/x-research-info-systems", "RIS"),
}
_CATEGORY_SCHEME = "http://arxiv.org/schemas/atom"


def write_atom(templates: Templates, feed: Feed) -> bytes:
    """Write a feed as an Atom document in UTF-8.

    Entries keep the ids they are given, titles are plain Unicode (readers differ on HTML in titles),
    and the content is HTML as escaped text, which every reader understands.

    Raises:
        TemplateError: `feed/entry.html` cannot be rendered.
    """
    root = etree.Element(_name("feed"), nsmap=_NAMESPACES)
    root.set(_XML_LANG, LANGUAGE)
    _add(root, "id", feed.id)
    _add(root, "title", clean_text(feed.title), type="text")
    if extent := write_extent(feed):
        _add(root, "subtitle", extent, type="text")
    _add(root, "updated", write_moment(feed.updated))
    _add_link(root, feed.self_url, rel="self", type="application/atom+xml")
    _add_link(root, feed.home_url, rel="alternate", type="text/html")
    _add(_add(root, "author"), "name", AUTHOR)
    _add(root, "generator", "Digest")
    _add(root, "rights", f"{ACKNOWLEDGEMENT} {NOT_REVIEWED}")
    if feed.notice:
        _add_notice(root, feed)
    for entry in feed.entries:
        _add_entry(root, templates, feed, entry)
    etree.indent(root)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _add_entry(root: etree._Element, templates: Templates, feed: Feed, entry: FeedEntry) -> None:
    paper, view = entry.entry.paper, view_entry(entry)
    element = _add(root, "entry")
    _add(element, "id", entry.id)
    _add(element, "title", view.full_title or view.id, type="text")
    _add(element, "updated", write_moment(entry.updated))
    _add(element, "published", write_moment(entry.published))
    _add_link(element, view.url, rel="alternate", type="text/html")
    _add_link(element, view.pdf_url, rel="related", type="application/pdf")
    # Not "alternate": readers open that, and RFC 4287 (§4.1.2) keeps it for the same text in another form.
    for suffix, (media_type, title) in _REFERENCES.items():
        _add_link(element, find_reference(feed, view, suffix), rel="related", type=media_type, title=title)
    for author in paper.authors:
        _add(_add(element, "author"), "name", show_plain(author.name) or UNKNOWN)
    for category in paper.categories:
        _add(element, "category", term=clean_text(category), scheme=_CATEGORY_SCHEME)
    _add(element, "summary", write_summary(view), type="text")
    _add(element, "content", write_content(templates, feed, view), type="html")


def _add_notice(root: etree._Element, feed: Feed) -> None:
    element = _add(root, "entry")
    _add(element, "id", name_notice(feed))
    _add(element, "title", NOTICE_TITLE, type="text")
    _add(element, "updated", write_moment(feed.updated))
    _add_link(element, feed.home_url, rel="alternate", type="text/html")
    _add(element, "content", write_notice(feed), type="text")


def _add(parent: etree._Element, name: str, text: str | None = None, **attributes: str) -> etree._Element:
    element = etree.SubElement(parent, _name(name), attributes)
    element.text = text
    return element


def _add_link(parent: etree._Element, href: str, **attributes: str) -> None:
    if href:
        etree.SubElement(parent, _name("link"), {**attributes, "href": href})


def _name(local: str) -> str:
    return f"{{{_ATOM}}}{local}"
