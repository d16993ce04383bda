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
        self.items.append(
            {"key": key, "itemType": kind, "title": title, "collections": [*collections], **more}
        )
        self.version += 1


class Zotero(LoopbackServer):
    """Serves libraries by their paths, such as `users/1`; `orders` are given instead of the next answers."""

    def __init__(self, **libraries: FakeLibrary) -> None:
        self.libraries = {name.replace("_", "/"): library for name, library in libraries.items()}
        self.orders: list[Answer] = []
        self.after: Callable[[], object] = lambda: None
        self.headers: tuple[tuple[str, str], ...] = ()
        super().__init__(self._answer, name="zotero")

    def _answer(self, request: Request) -> Answer:
        found = _PATH.fullmatch(request.path)
        library = self.libraries.get(found[1]) if found else None
        key = request.headers.get("zotero-api-key", "")
        if self.orders or request.headers.get("zotero-api-version") != "3":
            return (
                self.orders.pop(0) if self.orders else Answer(b"Another version was asked for", 400)
            )
        if found is None or library is None:
            return Answer(b"Not found", 404)
        if (key and key != KEY) or not (key or library.is_public):
            return Answer(b"Forbidden", 403)
        return self._list(request, library, found[2] or "items", found[3])

    def _list(
        self, request: Request, library: FakeLibrary, kind: str, collection: str | None
    ) -> Answer:
        version = str(library.version)
        headers = (("Last-Modified-Version", version), ("Zotero-API-Version", "3"), *self.headers)
        if int(request.headers.get("if-modified-since-version", -1)) >= library.version:
            return Answer(status=304, headers=headers)
        listed = library.items if kind == "items" else library.collections
        if collection:
            listed = [one for one in listed if collection in one["collections"]]
        if only := request.param("itemType"):
            types = only.removeprefix("-").split(" || ")
            listed = [
                one for one in listed if (one["itemType"] in types) is not only.startswith("-")
            ]
        start = int(request.param("start", "0"))
        limit = min(int(request.param("limit", "25")), 100)
        page = [
            {"key": one["key"], "version": 1, "data": one} for one in listed[start : start + limit]
        ]
        self.after()
        return answer_json(page, headers=(*headers, ("Total-Results", str(len(listed)))))
