"""Three small servers on free ports of 127.0.0.1: an arXiv, a mail server and a Slack."""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable
from importlib.resources import files
from operator import attrgetter
from typing import Any, NamedTuple

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from digest.model.clock import Clock
from digest.web import WebServer

LOOPBACK = "127.0.0.1"
PAGE_SIZE = 10
_RECORD = re.compile(
    r"<record>.*?<identifier>oai:arXiv\.org:(?P<id>.*?)<.*?<datestamp>(?P<day>.*?)<.*?</record>",
    re.DOTALL,
)
_ENVELOPE = """\
<?xml version="1.0" encoding="UTF-8"?>
<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">
<responseDate>{moment}</responseDate>
<request verb="ListRecords">https://oaipmh.arxiv.org/oai</request>
{listing}
</OAI-PMH>
"""
_NOTHING = '<error code="noRecordsMatch">The list is empty.</error>'

TOKEN = "xoxb-demo"  # noqa: S105 - opens nothing but this server
CHANNEL = {
    "id": "C000PAPERS",
    "name": "papers",
    "is_channel": True,
    "is_member": True,
    "is_archived": False,
}


def find_port() -> int:
    """Return a port that is free now, to be bound later.

    The first mail names the pages by their port, long before they are served.
    """
    with socket.create_server((LOOPBACK, 0)) as free:
        return int(free.getsockname()[1])


class DemoServer:
    """Serves `answer(request)` at one path until it is closed; `url` has no slash at the end."""

    def __init__(self, path: str, answer: Callable[[Request], Awaitable[Response]]) -> None:
        app = Starlette(routes=[Route(path, answer, methods=["GET", "POST"])])
        server = WebServer(app, LOOPBACK, 0)
        server.start()
        self.url = server.url
        self.close = server.stop


class _Record(NamedTuple):
    """A paper as it was from a day on (its datestamp): the record in OAI-PMH's XML."""

    day: str
    text: str


class DemoArxiv(DemoServer):
    """An arXiv of the papers in `papers.xml`; a record is public from its datestamp (UTC) on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        text = (files("digest.demo") / "papers.xml").read_text(encoding="utf-8")
        self._records: dict[str, list[_Record]] = {}
        for found in _RECORD.finditer(text):
            record = _Record(found["day"], found[0])
            self._records.setdefault(found["id"], []).append(record)
        super().__init__("/oai", self._answer)  # last: it starts the server

    async def _answer(self, request: Request) -> Response:
        now = self._clock.now()
        token = request.query_params.get("resumptionToken", "")
        asked = token or request.query_params.get("from", "")
        # A token is "<since>+<number of records already listed>".
        since, _, already_listed = asked.partition("+")
        listed = self._list_changed(since, now.date().isoformat())
        start = int(already_listed or 0)
        end = start + PAGE_SIZE
        following = f"{since}+{end}" if len(listed) > end else ""
        page = "".join(record.text for record in listed[start:end])
        listing = _NOTHING
        if page:
            more = f"<resumptionToken>{following}</resumptionToken>"
            listing = f"<ListRecords>{page}{more}</ListRecords>"
        body = _ENVELOPE.format(moment=f"{now:%Y-%m-%dT%H:%M:%SZ}", listing=listing)
        return Response(body, media_type="text/xml")

    def _list_changed(self, since: str, today: str) -> list[_Record]:
        """Return the last public record of each paper that was changed since a day."""
        changed = []
        for records in self._records.values():
            public = [record for record in records if record.day <= today]
            if public and public[-1].day >= since:
                changed.append(public[-1])
        changed.sort(key=attrgetter("day"))
        return changed


class DemoMail:
    """A mail server on a free port, until it is closed.

    `mails` are the messages that the server took, as bytes, oldest first.
    """

    def __init__(self) -> None:
        self.mails: list[bytes] = []
        self._controller = Controller(self, LOOPBACK, find_port())
        self._controller.start()
        self.close = self._controller.stop

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"smtp://{LOOPBACK}:{self._controller.port}"

    async def handle_DATA(  # noqa: N802 - the name aiosmtpd looks for
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Keep a message."""
        self.mails.append(envelope.original_content or b"")
        return "250 2.0.0 OK"


class DemoSlack(DemoServer):
    """A Slack workspace; `posts` are the calls that posted a message, oldest first."""

    def __init__(self, clock: Clock) -> None:
        self.posts: list[dict[str, Any]] = []
        self._clock = clock
        super().__init__("/api/{method}", self._answer)  # last: it starts the server

    @property
    def api_url(self) -> str:
        """The address of the Web API, with a slash at its end as `slack_sdk` wants it."""
        return f"{self.url}/api/"

    async def _answer(self, request: Request) -> Response:
        method = request.path_params["method"]
        if method == "conversations.list":
            answer = {"ok": True, "channels": [CHANNEL], "response_metadata": {"next_cursor": ""}}
        elif method == "chat.postMessage":
            self.posts.append(await request.json())
            stamp = f"{self._clock.now().timestamp():.0f}.{len(self.posts):06d}"
            answer = {"ok": True, "channel": CHANNEL["id"], "ts": stamp, "message": {}}
        else:
            answer = {"ok": False, "error": "unknown_method"}
        return JSONResponse(answer)
