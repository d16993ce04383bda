"""A Zotero on 127.0.0.1: the reading half of its Web API, and faults on order.

Resources, parameters and headers: https://www.zotero.org/support/dev/web_api/v3/basics.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.loopback import Answer, LoopbackServer, Request, answer_json

KEY = "P9NiFoyLeZu2bZNvvuQPDWsd"
_PATH = re.compile(r"/((?:users|groups)/\d+)/(?:(items|collections)|collections/(\w+)/items)")


@dataclass
class FakeLibrary:
    """A library: items and collections as their `data`, each with a key."""

    is_public: bool = False
    items: list[dict[str, Any]] = field(default_factory=list)
    collections: list[dict[str, Any]] = field(default_factory=list)
    version: int = 7

    def add(self, title: str, *collections: str, kind: str = "preprint", **more: str) -> None:
        key = f"K{len(self.items):07}"
        item = {"key": key, "itemType": kind, "title": title, "collections": [*collections]}
        self.items.append({**item, **more})
        self.version += 1


class Zotero(LoopbackServer):
    """Serves libraries by their paths, such as `users/1`.

    `orders` are given instead of the next answers.
    """

    def __init__(self, **libraries: FakeLibrary) -> None:
        self.libraries: dict[str, FakeLibrary] = {}
        for name, library in libraries.items():
            path = name.replace("_", "/")
            self.libraries[path] = library
        self.orders: list[Answer] = []
        self.after: Callable[[], object] = lambda: None
        self.headers: tuple[tuple[str, str], ...] = ()
        super().__init__(self._answer, name="zotero")

    def _answer(self, request: Request) -> Answer:
        found = _PATH.fullmatch(request.path)
        library = self.libraries.get(found[1]) if found else None
        key = request.headers.get("zotero-api-key", "")
        if self.orders:
            return self.orders.pop(0)
        if request.headers.get("zotero-api-version") != "3":
            return Answer(b"Another version was asked for", 400)
        if found is None or library is None:
            return Answer(b"Not found", 404)
        is_allowed = key == KEY if key else library.is_public
        if not is_allowed:
            return Answer(b"Forbidden", 403)
        kind = found[2] or "items"
        return self._list(request, library, kind, found[3])

    def _list(
        self, request: Request, library: FakeLibrary, kind: str, collection: str | None
    ) -> Answer:
        version = str(library.version)
        headers = (("Last-Modified-Version", version), ("Zotero-API-Version", "3"), *self.headers)
        known = int(request.headers.get("if-modified-since-version", -1))
        if known >= library.version:
            return Answer(status=304, headers=headers)
        listed = library.items if kind == "items" else library.collections
        if collection:
            listed = [one for one in listed if collection in one["collections"]]
        only = request.param("itemType")
        if only:
            types = only.removeprefix("-").split(" || ")
            is_wanted = not only.startswith("-")
            listed = [one for one in listed if (one["itemType"] in types) is is_wanted]
        start = int(request.param("start", "0"))
        limit = min(int(request.param("limit", "25")), 100)
        end = start + limit
        page = [{"key": one["key"], "version": 1, "data": one} for one in listed[start:end]]
        total = ("Total-Results", str(len(listed)))
        self.after()
        return answer_json(page, headers=(*headers, total))
