"""Reads a library at Zotero over its Web API: https://www.zotero.org/support/dev/web_api/v3/basics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
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
    "Check the number of this library. If it is private, set [zotero] key, or DIGEST_ZOTERO_KEY, to a key that may"
    " read it. Keys, and your number: zotero.org/settings/keys."
)
_REFUSALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


def fetch_zotero(
    wire: Wire, url: str, key: str, source: ZoteroSource, version: str, *, clock: Clock
) -> LibraryReading | None:
    """Read a library, or one collection with those below it; None if nothing has changed since a version.

    `key`: "" reads what is public; `version`: that of the last reading, "" for none.

    Raise `ConfigurationError`: there is no such library or collection, the key may not read it, or it is large.
    Raise `OutsideError`: Zotero can't be reached, asks to wait for too long, or its answer can't be read.
    """
    if not (
        key.isascii() and key.isprintable() and " " not in key
    ):  # else the error of who sends it shows it
        raise ConfigurationError(
            "the key for Zotero has a blank, or letters that no key has", hint=_KEY_HINT
        )
    headers = {
        "Zotero-API-Version": "3",
        "Zotero-API-Key": key,
        "If-Modified-Since-Version": version,
    }
    owner = f"{'groups' if source.is_group else 'users'}/{source.number}"
    sent = {name: said for name, said in headers.items() if said}
    library = _Library(wire, f"{url.rstrip('/')}/{owner}", sent, clock, clock.now() + _MOST_TIME)
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
    only = urlencode({"itemType": f"-{' || '.join(NO_PAPERS)}"})
    found = [item for place in places for item in library.list_all(f"{place}{only}&")]
    items = {item["key"]: item for item in found if item.get("itemType") not in NO_PAPERS}
    above = [
        [paths[key] for key in item.get("collections") or () if key in paths]
        for item in items.values()
    ]
    return tuple(
        filter(None, map(make_paper, items.values(), (min(some, default="") for some in above)))
    )


def _choose_collections(collections: Sequence[Mapping[str, Any]], chosen: str) -> dict[str, str]:
    """Return the paths of a collection and of those below it, by their keys; of all if none is chosen."""
    known = {one["key"]: one for one in collections if not one.get("deleted")}

    def write_path(key: object, *below: object) -> str:
        one = None if key in below or len(below) > _DEEPEST else known.get(key)
        return (
            f"{write_path(one.get('parentCollection'), key, *below)}/{one.get('name')}"
            if one
            else ""
        )

    paths = {key: write_path(key)[1:] for key in known}
    found = {
        key: path
        for key, path in paths.items()
        if not chosen or f"{path}/".startswith(f"{chosen}/")
    }
    if chosen and not found:
        hint = f"Its collections: {', '.join(sorted(paths.values())) or 'none'}."
        raise ConfigurationError(f"this library at Zotero has no collection {chosen!r}", hint=hint)
    return found


@dataclass
class _Library:
    """Asks for the pages of one library. `version` is that of the first: what changes meanwhile is newer."""

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
            try:
                listed, version = json.loads(answer.body), answer.headers["last-modified-version"]
                listed = listed if isinstance(listed, list) else [None]
                page = [{**item["data"], "key": item["key"]} for item in listed]
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                hint = f"Does [zotero] url name Zotero's Web API? {_LATER}"
                raise OutsideError("Zotero's answer can't be read", hint=hint) from error
            if page and page == found[-len(page) :]:
                raise OutsideError("Zotero gives the same page again and again", hint=_LATER)
            found += page
            self.pages += 1
            self.size += len(answer.body)
            self.version = self.version or version
            total = answer.headers.get("total-results", "")
            if not page or (len(found) >= int(total) if total.isdecimal() else len(page) < _PAGE):
                return found

    def _require_within_limits(self) -> None:
        for is_over, limit in (
            (self.pages >= _MOST_PAGES, f"has more than {_MOST_PAGES} pages of {_PAGE} papers"),
            (self.size > _MOST_BYTES, f"has more than {_MOST_BYTES // 1_000_000} MB"),
            (self.clock.now() > self.until, "takes too long: more than two minutes"),
        ):
            if is_over:
                hint = "Name a collection of it: zotero:1234567/Collection."
                raise ConfigurationError(f"this library at Zotero {limit}", hint=hint)

    def _ask(self, path: str) -> HttpAnswer:
        self.waited += self.pause
        if self.waited > _MOST_WAITING:
            again = self.clock.now() + timedelta(seconds=min(self.pause, 86_400))
            raise OutsideError(
                f"Zotero asks to wait until {write_with_zone(again, UTC, again.date())}",
                hint=_LATER,
            )
        self.clock.sleep(self.pause)
        try:
            answer = self.wire.ask(
                "GET", f"{self.url}/{path}", silence=_SILENCE, headers=self.headers
            )
        except ExchangeError as error:
            raise OutsideError(
                f"Zotero can't be reached: {error}", hint=error.hint or _LATER
            ) from error
        backoff = read_retry_after(answer.headers.get("backoff", ""), None)
        self.pause = max(backoff or 0.0, answer.retry_after or 0.0)
        if answer.status == HTTPStatus.OK:
            return answer
        if answer.status == HTTPStatus.NOT_MODIFIED:
            raise _Unchanged
        if (
            answer.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
            and self.pause
        ):
            return self._ask(path)
        if answer.status in _REFUSALS:
            reason = (
                "the key may not read it" if "Zotero-API-Key" in self.headers else "it is private"
            )
            reason = f"{reason}, or there is none of this number ({answer.status})"
            raise ConfigurationError(f"Zotero does not show this library: {reason}", hint=_KEY_HINT)
        raise OutsideError(f"Zotero answered {answer.status}", hint=_LATER)
