"""The ways arXiv's answers have been seen to go wrong, one kind of fault each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from tests.fakes.faults import Fault
from tests.fakes.loopback import Answer, Ending
from tests.fakes.pages import ATOM_TYPE, INTERNAL_ERROR, error_feed, format_moment

REFUSALS = ("429", "rate_200", "503", "406", "403", "500", "redirect")
WRONG_BODIES = ("html", "bomb", "gzip", "truncate", "malformed", "odd_entry")
LOST_CONNECTIONS = ("reset", "hang", "drop", "cut")
THIN_PAGES = ("empty_page", "empty_zero", "short_page")
KINDS = (*REFUSALS, *WRONG_BODIES, *LOST_CONNECTIONS, *THIN_PAGES)

RATE_BODY = b"Rate exceeded."
_PLAIN = "text/plain; charset=utf-8"
_WEB_PAGE = "text/html; charset=utf-8"
_BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE feed [
 <!ENTITY a "aaaaaaaaaa">
 <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
 <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<feed xmlns="http://www.w3.org/2005/Atom"><title>&c;</title></feed>
"""
_HTML = (
    b"<!DOCTYPE html><html><head><title>arXiv</title></head>"
    b"<body><p>Please come back soon.</p></body></html>"
)
_VARNISH = b"""<?xml version="1.0" encoding="utf-8"?>
<html><head><title>503 first byte timeout</title></head>
<body><h1>Error 503 first byte timeout</h1><hr><p>Varnish cache server</p></body></html>
"""
_DENIED = b"<html><body><h1>Access denied</h1></body></html>"
_ENDINGS = {"reset": Ending.RESET, "hang": Ending.HANG, "drop": Ending.DROP}
_KEPT = {"empty_page": 0.0, "empty_zero": -1.0}
_REFUSED = {
    "429": (RATE_BODY, 429, _PLAIN, ""),
    "rate_200": (RATE_BODY, 200, _PLAIN, ""),
    "503": (_VARNISH, 503, _WEB_PAGE, "0"),
    "406": (b"Not Acceptable", 406, _WEB_PAGE, ""),
    "403": (_DENIED, 403, _WEB_PAGE, ""),
}
_FIRST_ID = re.compile(rb"(<(?:entry|arXivRaw)\b[^>]*>\s*<id>)[^<]*")


def spoil_answer(
    fault: Fault, serve: Callable[[float | None], Answer], moment: datetime, url: str
) -> Answer:
    """Return what a fault makes of a request.

    `serve` makes the right answer with a part of a page's entries (a negative part denies that
    there are any).
    """
    if fault.kind in _ENDINGS:
        return Answer(status=0, ending=_ENDINGS[fault.kind], patience=fault.seconds)
    if fault.kind in REFUSALS:
        return _refuse(fault, moment, url)
    if fault.kind in THIN_PAGES:
        return serve(_KEPT.get(fault.kind, fault.keep))
    return _DAMAGES[fault.kind](serve(None), fault)


def _refuse(fault: Fault, moment: datetime, url: str) -> Answer:
    if fault.kind == "500":
        return Answer(error_feed(INTERNAL_ERROR, updated=format_moment(moment)), 500, ATOM_TYPE)
    if fault.kind == "redirect":
        return Answer(b"", 301, _WEB_PAGE, (("Location", f"{url}/moved"),))
    body, status, media_type, retry_after = _REFUSED[fault.kind]
    wait = str(fault.retry_after) or retry_after
    return Answer(body, status, media_type, (("Retry-After", wait),) if wait else ())


_DAMAGES: dict[str, Callable[[Answer, Fault], Answer]] = {
    "html": lambda _, __: Answer(_HTML, 200, _WEB_PAGE),
    "bomb": lambda answer, _: replace(answer, body=_BOMB),
    "gzip": lambda answer, _: answer.pack(),
    "cut": lambda answer, _: replace(answer, ending=Ending.CUT),
    "truncate": lambda answer, fault: replace(
        answer, body=answer.body[: int(len(answer.body) * fault.keep)]
    ),
    "malformed": lambda answer, _: replace(
        answer, body=answer.body.replace(b"</title>", b"</titel>", 1)
    ),
    "odd_entry": lambda answer, _: replace(
        answer, body=_FIRST_ID.sub(rb"\1", answer.body, count=1)
    ),
}
