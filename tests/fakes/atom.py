"""The search interface's answers, in the format arXiv has used since 2025-11-11.

Element names and order follow https://info.arxiv.org/help/api/user-manual.html and the output of
https://github.com/arXiv/arxiv-search.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from digest.demo.oai import add_element, format_moment, open_element, write_xml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lxml import etree

    from digest.model.papers import Author, Paper

ATOM = "http://www.w3.org/2005/Atom"
OPENSEARCH = "http://a9.com/-/spec/opensearch/1.1/"
ARXIV = "http://arxiv.org/schemas/atom"
MEDIA_TYPE = "application/atom+xml; charset=utf-8"
INTERNAL_ERROR = (
    "The server encountered an internal error and was unable to complete your request. "
    "Either the server is overloaded or there is an error in the application."
)


def write_feed(
    papers: Sequence[Paper], *, query: str, ids: str, start: int, size: int, total: int, moment: datetime
) -> bytes:
    """Return one page of results; `size` is what was asked for, whatever came."""
    asked = f"search_query={query}&id_list={ids}&start={start}&max_results={size}"
    digest = hashlib.sha1(asked.encode(), usedforsecurity=False).digest()
    feed = _start_feed(
        f"https://arxiv.org/api/{base64.b64encode(digest).decode().rstrip('=')}", f"arXiv Query: {asked}", moment
    )
    address = f"https://arxiv.org/api/query?search_query={query}&start={start}&max_results={size}&id_list={ids}"
    add_element(feed, _atom("link"), None, {"href": address, "type": "application/atom+xml"})
    _add_counts(feed, size, total, start)
    for paper in papers:
        _add_entry(feed, paper)
    return write_xml(feed)


def write_error(message: str, moment: datetime, *, page: str = "https://arxiv.org/api/errors") -> bytes:
    """Return the feed of one entry that stands for an error."""
    feed = _start_feed("https://arxiv.org/", "arXiv Search Results", moment)
    _add_counts(feed, 1, 1, 0)
    entry = add_element(feed, _atom("entry"))
    add_element(entry, _atom("id"), page)
    add_element(entry, _atom("title"), "Error")
    add_element(entry, _atom("updated"), format_moment(moment))
    add_element(entry, _atom("link"), None, {"href": page, "rel": "alternate", "type": "text/html"})
    add_element(entry, _atom("summary"), message)
    add_element(add_element(entry, _atom("author")), _atom("name"), "arXiv api core")
    return write_xml(feed)


def _atom(name: str) -> str:
    return f"{{{ATOM}}}{name}"


def _arxiv(name: str) -> str:
    return f"{{{ARXIV}}}{name}"


def _start_feed(feed_id: str, title: str, moment: datetime) -> etree._Element:
    feed = open_element(_atom("feed"), ATOM, {"opensearch": OPENSEARCH, "arxiv": ARXIV})
    add_element(feed, _atom("id"), feed_id)
    add_element(feed, _atom("title"), title)
    add_element(feed, _atom("updated"), format_moment(moment))
    return feed


def _add_counts(feed: etree._Element, size: int, total: int, start: int) -> None:
    for name, count in (("itemsPerPage", size), ("totalResults", total), ("startIndex", start)):
        add_element(feed, f"{{{OPENSEARCH}}}{name}", str(count))


def _add_entry(feed: etree._Element, paper: Paper) -> None:
    entry = add_element(feed, _atom("entry"))
    add_element(entry, _atom("id"), f"http://arxiv.org/abs/{paper.id}v{paper.version}")
    add_element(entry, _atom("title"), paper.title)
    add_element(entry, _atom("updated"), format_moment(paper.updated))
    add_element(entry, _atom("link"), None, {"href": paper.url, "rel": "alternate", "type": "text/html"})
    pdf = {"href": paper.pdf_url, "rel": "related", "type": "application/pdf", "title": "pdf"}
    add_element(entry, _atom("link"), None, pdf)
    add_element(entry, _atom("summary"), paper.abstract)
    for category in paper.categories:
        add_element(entry, _atom("category"), None, {"term": category, "scheme": ARXIV})
    add_element(entry, _atom("published"), format_moment(paper.published))
    if paper.comment:
        add_element(entry, _arxiv("comment"), paper.comment)
    add_element(entry, _arxiv("primary_category"), None, {"term": paper.primary_category})
    if paper.journal_ref:
        add_element(entry, _arxiv("journal_ref"), paper.journal_ref)
    for author in paper.authors:
        _add_author(entry, author)
    for doi in paper.dois:
        add_element(entry, _arxiv("doi"), doi)
        link = {"rel": "related", "href": f"https://doi.org/{doi}", "title": "doi"}
        add_element(entry, _atom("link"), None, link)


def _add_author(entry: etree._Element, author: Author) -> None:
    element = add_element(entry, _atom("author"))
    add_element(element, _atom("name"), author.name)
    for affiliation in author.affiliations:
        add_element(element, _arxiv("affiliation"), affiliation)
