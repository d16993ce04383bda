"""Three feed readers in small: how each tells entries apart, dates them, and when it shows one again.

Their rules are those of Miniflux (`internal/reader`, 2026-08), FreshRSS with SimplePie (2024-10) and
NetNewsWire (RSParser and AccountArticles, 2026-08); nothing of theirs is used but the rules.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from lxml import etree

if TYPE_CHECKING:
    import httpx

ATOM = "{http://www.w3.org/2005/Atom}"
_ACCEPTED = "application/atom+xml, application/rss+xml, application/feed+json, text/xml; q=0.9, */*; q=0.8"


@dataclass(frozen=True)
class Shown:
    """An entry as a reader keeps it."""

    key: str
    title: str
    link: str
    content: str
    date: datetime | None
    authors: tuple[str, ...]
    tags: tuple[str, ...]
    is_unread: bool = True


@dataclass
class FeedReader:
    """A reader with one subscription. `said` lists what it told its user after each look.

    Args:
        http: asks the server.
        path: of the feed.
    """

    http: httpx.Client
    path: str
    shelf: dict[str, Shown] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    trouble: str = ""
    etag: str = ""
    last_modified: str = ""
    body_hash: str = ""

    def look(self) -> list[str]:
        """Ask once; return the titles that are unread because of it, and mark all read."""
        headers = {"Accept": _ACCEPTED, **self.condition()}
        answer = self.http.get(self.path, headers=headers)
        self.statuses.append(answer.status_code)
        if answer.status_code == 304:
            return []
        self.trouble = "" if answer.status_code == 200 else f"{answer.status_code}"
        if self.trouble:
            return []
        self.etag, self.last_modified = self.remember(answer)
        body_hash = hashlib.sha256(answer.content).hexdigest()
        if body_hash == self.body_hash:
            return []
        self.body_hash = body_hash
        is_json = "json" in answer.headers["Content-Type"]
        found = self.read_json(answer.content) if is_json else self.read_atom(answer.content)
        self.take(found)
        fresh = [one.title for one in self.shelf.values() if one.is_unread]
        self.shelf = {key: replace(one, is_unread=False) for key, one in self.shelf.items()}
        return fresh

    def condition(self) -> dict[str, str]:
        """Return what it asks under."""
        told = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in told.items() if value}

    def remember(self, answer: httpx.Response) -> tuple[str, str]:
        """Return the tag and the date it asks with next time."""
        return answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", "")

    def read_atom(self, body: bytes) -> list[Shown]:
        """Return an Atom document's entries."""
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        return [self._read_entry(entry) for entry in etree.fromstring(body, parser).iter(f"{ATOM}entry")]

    def _read_entry(self, entry: etree._Element) -> Shown:
        link = next(
            (
                one.get("href", "")
                for one in entry.iter(f"{ATOM}link")
                if one.get("rel", "alternate") == "alternate"
            ),
            "",
        )
        told = {name: entry.findtext(f"{ATOM}{name}") or "" for name in ("id", "title", "content", "summary")}
        published, updated = (read_date(entry.findtext(f"{ATOM}{name}")) for name in ("published", "updated"))
        return Shown(
            key=self.identify(told["id"], link),
            title=told["title"].strip() or link,
            link=link,
            content=told["content"] or told["summary"],
            date=published or updated,
            authors=tuple(one.text or "" for one in entry.iterfind(f"{ATOM}author/{ATOM}name")),
            tags=tuple(one.get("term", "") for one in entry.iterfind(f"{ATOM}category")),
        )

    def read_json(self, body: bytes) -> list[Shown]:
        """Return a JSON Feed's items."""
        return [self._read_item(item) for item in json.loads(body)["items"]]

    def _read_item(self, item: dict[str, Any]) -> Shown:
        content = item.get("content_html") or item.get("content_text") or item.get("summary") or ""
        link = item.get("url") or item.get("external_url") or ""
        return Shown(
            key=self.identify(item.get("id", ""), link),
            title=item.get("title") or link,
            link=link,
            content=content,
            date=read_date(item.get("date_published") or item.get("date_modified")),
            authors=tuple(one["name"] for one in item.get("authors", ())),
            tags=tuple(item.get("tags", ())),
        )

    def identify(self, id_: str, link: str) -> str:
        """Return what tells an entry apart from every other one."""
        return id_ or link

    def take(self, found: list[Shown]) -> None:
        """Put what was found on the shelf."""
        for one in found:
            known = self.shelf.get(one.key)
            self.shelf[one.key] = replace(one, is_unread=known is None or known.is_unread)


class Miniflux(FeedReader):
    """Knows an entry by a hash of its id; an update replaces the text and leaves it read."""

    def identify(self, id_: str, link: str) -> str:
        """Return the hash of the id, or of the link where there is none."""
        return hashlib.sha256((id_ or link).encode()).hexdigest()

    def remember(self, answer: httpx.Response) -> tuple[str, str]:
        """Forget both where the server says that the answer is outdated already."""
        return ("", "") if answer.headers.get("Expires") == "0" else super().remember(answer)


class FreshRss(FeedReader):
    """Compares a hash of each entry's text; set to mark what changed as unread, as careful readers do."""

    def take(self, found: list[Shown]) -> None:
        """Give up ids where more than one in twenty is empty or there twice."""
        keys = [one.key for one in found]
        if found and (len(keys) - len(set(keys)) + keys.count("")) / len(keys) > 0.05:
            found = [replace(one, key=one.link) for one in found]
        for one in found:
            known = self.shelf.get(one.key)
            has_changed = known is None or _text_hash(known) != _text_hash(one)
            self.shelf[one.key] = replace(one, is_unread=has_changed)


def _text_hash(one: Shown) -> str:
    told = [one.link, one.title, ";".join(one.authors), one.content, "#".join(one.tags)]
    return hashlib.md5("".join(told).encode(), usedforsecurity=False).hexdigest()


class NetNewsWire(FeedReader):
    """Knows an entry by its id; once in eight days it asks without conditions."""

    asked_first: datetime | None = None

    def look_at(self, now: datetime) -> list[str]:
        """Ask at a moment."""
        if self.asked_first is None or now - self.asked_first > timedelta(days=8):
            self.asked_first, self.etag, self.last_modified = now, "", ""
        return self.look()

    def remember(self, answer: httpx.Response) -> tuple[str, str]:
        """Ignore a date in 2038, which some servers send."""
        etag, date = super().remember(answer)
        return etag, "" if date and parsedate_to_datetime(date).year == 2038 else date


def read_date(text: str | None) -> datetime | None:
    """Read RFC 3339; None where there is none."""
    return datetime.fromisoformat(text) if text else None
