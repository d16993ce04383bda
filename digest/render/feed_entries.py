"""What Atom and JSON Feed share: readable parts of a feed's entries, and the words about arXiv."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from digest.planning.feeds import FEED_BYTES, FEED_DAYS
from digest.render.cleaning import clean_markup, clean_text, shorten
from digest.render.contexts import FeedEntryContext
from digest.render.presentation import PaperView

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.messages import Feed, FeedEntry
    from digest.render.environments import Templates

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
"""An author of whom nothing can be shown: both formats want a name."""

_LONGEST_SUMMARY = 400


def fit_feed(write: Callable[[Feed], bytes], feed: Feed) -> bytes:
    """Write a feed, with as many of its newest entries as it has room for."""
    body = write(feed)
    while len(body) > FEED_BYTES and len(feed.entries) > 1:
        room = len(feed.entries) * FEED_BYTES // len(body)
        feed = replace(feed, entries=feed.entries[: max(room, 1)])
        body = write(feed)
    return body


def view_entry(entry: FeedEntry) -> PaperView:
    """Return the paper of a feed's entry as templates see it."""
    return PaperView(entry.entry, number=1)


def find_reference(feed: Feed, paper: PaperView, suffix: str) -> str:
    """Return the address of a paper as `bib` or `ris`, "" where no server answers."""
    return f"{feed.refs_url}/{paper.id}.{suffix}" if feed.refs_url else ""


def write_content(templates: Templates, feed: Feed, paper: PaperView) -> str:
    """Return an entry's content as HTML on its own."""
    bibtex_url, ris_url = (find_reference(feed, paper, suffix) for suffix in ("bib", "ris"))
    rendered = templates.render(
        "feed/entry.html", FeedEntryContext(paper, paper.show_abstract(), bibtex_url, ris_url)
    )
    return clean_markup(rendered).strip()


def write_summary(paper: PaperView) -> str:
    """Return an entry's abstract in plain Unicode, at most 400 characters."""
    return shorten(paper.abstract, _LONGEST_SUMMARY)


def write_extent(feed: Feed) -> str:
    """Return how much of what came a feed holds, "" where that is all."""
    if len(feed.entries) >= feed.papers:
        return ""
    return f"The newest {len(feed.entries):,} of {feed.papers:,} papers that came within {FEED_DAYS} days."


def write_notice(feed: Feed) -> str:
    """Return a feed's notice in plain Unicode, "" for none."""
    return clean_text(feed.notice)


def name_notice(feed: Feed) -> str:
    """Return the permanent id of a feed's notice: another sentence is another entry."""
    digest = hashlib.sha256(write_notice(feed).encode("utf-8")).hexdigest()[:12]
    return f"{feed.id}:notice:{digest}"
