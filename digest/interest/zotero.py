"""Reads a library at Zotero over its Web API.

https://www.zotero.org/support/dev/web_api/v3/basics
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlencode

from digest.interest.entries import NO_PAPERS, make_paper
from digest.model.clock import Clock, write_with_zone
from digest.model.errors import ConfigurationError, OutsideError
from digest.model.libraries import LibraryPaper, LibraryReading, ZoteroSource
from digest.wire import ExchangeError, HttpAnswer, Wire, read_retry_after

_SILENCE = 30.0
_PAGE = 100
_MOST_WAITING = 30.0
"""Seconds that one reading waits in all, if Zotero asks for it."""

_DEEPEST = 50
_MOST_PAGES = 300
_MOST_BYTES = 100_000_000
_MOST_TIME = timedelta(minutes=2)
"""What one reading may take: collections in one another, and in all pages, bytes and time."""

_LATER = "Check the network, or try again later."
_KEY_HINT = (
    "Check the number of this library. If it is private, set [zotero] key, or DIGEST_ZOTERO_KEY, to"
    " a key that may read it. Keys, and your number: zotero.org/settings/keys."
)
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_REFUSALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


def fetch_zotero(
    wire: Wire, url: str, key: str, source: ZoteroSource, version: str, *, clock: Clock
) -> LibraryReading | None:
    """Read a library, or one collection with those below it; None if it has not changed since.

    `key`: "" reads what is public; `version`: that of the last reading, "" for none.

    Raise `ConfigurationError`: there is no such library or collection, the key may not read it, or
    it is large. Raise `OutsideError`: Zotero can't be reached, asks to wait for too long, or its
    answer can't be read.
    """
    is_sendable = key.isascii() and key.isprintable() and " " not in key
    if not is_sendable:  # else the error of who sends it shows it
        raise ConfigurationError(
            "the key for Zotero has a blank, or letters that no key has", hint=_KEY_HINT
        )
    headers = {"Zotero-API-Version": "3"}
    if key:
        headers["Zotero-API-Key"] = key
    if version:
        headers["If-Modified-Since-Version"] = version
    owners = "groups" if source.is_group else "users"
    address = f"{url.rstrip('/')}/{owners}/{source.number}"
    library = _Library(wire, address, headers, clock, until=clock.now() + _MOST_TIME)
    try:
        papers = _read_papers(library, source.collection)
    except _Unchanged:
        return None
    return LibraryReading(papers, version=library.version)


class _Unchanged(Exception):
    """Nothing in the library has changed."""


def _read_papers(library: _Library, collection: str) -> tuple[LibraryPaper, ...]:
    paths = _choose_collections(library.list_all("collections?"), collection)
    places = [f"collections/{key}/items?" for key in paths] if collection else ["items?"]
    no_papers = " || ".join(NO_PAPERS)
    only = urlencode({"itemType": f"-{no_papers}"})
    items: dict[str, dict[str, Any]] = {}
    for place in places:
        for item in library.list_all(f"{place}{only}&"):
            if item.get("itemType") not in NO_PAPERS:
                items[item["key"]] = item
    papers = []
    for item in items.values():
        above = [paths[key] for key in item.get("collections") or () if key in paths]
        paper = make_paper(item, min(above, default=""))
        if paper:
            papers.append(paper)
    return tuple(papers)


def _choose_collections(collections: Sequence[Mapping[str, Any]], chosen: str) -> dict[str, str]:
    """Return the paths of a collection and of those below it, by keys; of all if none is chosen."""
    known = {one["key"]: one for one in collections if not one.get("deleted")}

    def write_path(key: object, *below: object) -> str:
        one = known.get(key)
        if one is None or key in below or len(below) > _DEEPEST:
            return ""
        above = write_path(one.get("parentCollection"), key, *below)
        return f"{above}/{one.get('name')}"

    paths = {key: write_path(key)[1:] for key in known}
    if not chosen:
        return paths
    found = {key: path for key, path in paths.items() if f"{path}/".startswith(f"{chosen}/")}
    if not found:
        names = ", ".join(sorted(paths.values())) or "none"
        raise ConfigurationError(
            f"this library at Zotero has no collection {chosen!r}",
            hint=f"Its collections: {names}.",
        )
    return found


@dataclass
class _Library:
    """Asks for the pages of one library.

    `version` is that of the first page: what changes meanwhile is newer.
    """

    wire: Wire
    url: str
    headers: Mapping[str, str] = field(repr=False)
    clock: Clock
    until: datetime
    version: str = ""
    pause: float = 0.0
    waited: float = 0.0
    pages: int = 0
    size: int = 0

    def list_all(self, place: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            self._require_within_limits()
            answer = self._ask(f"{place}limit={_PAGE}&start={len(found)}")
            page = _read_page(answer)
            if page.items and page.items == found[-len(page.items) :]:
                raise OutsideError("Zotero gives the same page again and again", hint=_LATER)
            found += page.items
            self.pages += 1
            self.size += len(answer.body)
            self.version = self.version or page.version
            if page.is_last or len(found) >= page.total:
                return found

    def _require_within_limits(self) -> None:
        if self.pages >= _MOST_PAGES:
            raise _make_refusal(f"has more than {_MOST_PAGES} pages of {_PAGE} papers")
        if self.size > _MOST_BYTES:
            raise _make_refusal(f"has more than {_MOST_BYTES // 1_000_000} MB")
        if self.clock.now() > self.until:
            raise _make_refusal("takes too long: more than two minutes")

    def _ask(self, path: str) -> HttpAnswer:
        self._wait()
        url = f"{self.url}/{path}"
        try:
            answer = self.wire.ask("GET", url, silence=_SILENCE, headers=self.headers)
        except ExchangeError as error:
            hint = error.hint or _LATER
            raise OutsideError(f"Zotero can't be reached: {error}", hint=hint) from error
        backoff = read_retry_after(answer.headers.get("backoff", ""), None)
        self.pause = max(backoff or 0.0, answer.retry_after or 0.0)
        if answer.status == HTTPStatus.OK:
            return answer
        if answer.status == HTTPStatus.NOT_MODIFIED:
            raise _Unchanged
        if answer.status in _BUSY and self.pause:
            return self._ask(path)
        if answer.status in _REFUSALS:
            has_key = "Zotero-API-Key" in self.headers
            reason = "the key may not read it" if has_key else "it is private"
            reason = f"{reason}, or there is none of this number ({answer.status})"
            raise ConfigurationError(f"Zotero does not show this library: {reason}", hint=_KEY_HINT)
        raise OutsideError(f"Zotero answered {answer.status}", hint=_LATER)

    def _wait(self) -> None:
        """Wait as long as Zotero asked, but not longer than a reading may take."""
        self.waited += self.pause
        if self.waited > _MOST_WAITING:
            again = self.clock.now() + timedelta(seconds=min(self.pause, 86_400))
            at = write_with_zone(again, UTC, again.date())
            raise OutsideError(f"Zotero asks to wait until {at}", hint=_LATER)
        self.clock.sleep(self.pause)


def _make_refusal(why: str) -> ConfigurationError:
    """Return the error of a library that is over a limit."""
    hint = "Name a collection of it: zotero:1234567/Collection."
    return ConfigurationError(f"this library at Zotero {why}", hint=hint)


class _Page(NamedTuple):
    """A page of a list.

    Attributes:
        total: how many items there are on all pages; no number is larger if it is not said.
        is_last: nothing can follow it.
        version: of the library.
    """

    items: list[dict[str, Any]]
    total: float
    is_last: bool
    version: str


def _read_page(answer: HttpAnswer) -> _Page:
    """Read the items of a page, each with its key; it must name the library's version."""
    try:
        listed = json.loads(answer.body)
        version = answer.headers["last-modified-version"]
        entries: list[Any] = listed if isinstance(listed, list) else [None]  # has no data
        items = [{**entry["data"], "key": entry["key"]} for entry in entries]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        hint = f"Does [zotero] url name Zotero's Web API? {_LATER}"
        raise OutsideError("Zotero's answer can't be read", hint=hint) from error
    total = answer.headers.get("total-results", "")
    if total.isdecimal():
        return _Page(items, int(total), not items, version)
    return _Page(items, math.inf, len(items) < _PAGE, version)
