"""A feed as JSON Feed 1.1 (https://www.jsonfeed.org/version/1.1/), with the same data as Atom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from digest.render.cleaning import clean_text
from digest.render.dates import write_moment
from digest.render.feed_entries import (
    ACKNOWLEDGEMENT,
    AUTHOR,
    LANGUAGE,
    NOT_REVIEWED,
    NOTICE_TITLE,
    UNKNOWN,
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


def write_json_feed(templates: Templates, feed: Feed) -> bytes:
    """Write a feed as JSON Feed in UTF-8, the same bytes as long as the feed is the same.

    Raises:
        TemplateError: `feed/entry.html` cannot be rendered.
    """
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": clean_text(feed.title),
        "home_page_url": feed.home_url,
        "feed_url": feed.self_url,
        "description": " ".join(filter(None, (write_extent(feed), ACKNOWLEDGEMENT, NOT_REVIEWED))),
        "language": LANGUAGE,
        "authors": [{"name": AUTHOR}],
        "expired": feed.has_ended,
        "items": [*_write_notice_item(feed), *(_write_item(templates, feed, entry) for entry in feed.entries)],
    }
    return (json.dumps(_drop_empty(document), ensure_ascii=False, indent=1) + "\n").encode("utf-8")


def _write_item(templates: Templates, feed: Feed, entry: FeedEntry) -> dict[str, Any]:
    paper, view = entry.entry.paper, view_entry(entry)
    return _drop_empty(
        {
            "id": entry.id,
            "url": view.url,
            "title": view.full_title or view.id,
            "content_html": write_content(templates, feed, view),
            "summary": write_summary(view),
            "date_published": write_moment(entry.published),
            "date_modified": write_moment(entry.updated),
            "authors": [{"name": show_plain(author.name) or UNKNOWN} for author in paper.authors],
            "tags": [clean_text(category) for category in paper.categories],
        }
    )


def _write_notice_item(feed: Feed) -> list[dict[str, Any]]:
    if not feed.notice:
        return []
    item = {
        "id": name_notice(feed),
        "url": feed.home_url,
        "title": NOTICE_TITLE,
        "content_html": f"<p>{escape(write_notice(feed))}</p>",
        "date_modified": write_moment(feed.updated),
    }
    return [_drop_empty(item)]


def _drop_empty(members: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not known; `items` stays even when empty, since the format asks for it."""
    return {name: value for name, value in members.items() if value or name == "items"}
