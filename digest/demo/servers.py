"""Three small servers on free ports of 127.0.0.1: an arXiv, a mail server and a Slack."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from digest.model.clock import Clock

LOOPBACK = "127.0.0.1"
PAGE_SIZE = 10
_RECORD = re.compile(
    r"<record>.*?<identifier>oai:arXiv\.org:(?P<id>.*?)<.*?<datestamp>(?P<day>.*?)<.*?</record>", re.DOTALL
)
_PAGE = """\
<?xml version="1.0" encoding="UTF-8"?>
<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">
<responseDate>{moment}</responseDate>
<request verb="ListRecords">https://oaipmh.arxiv.org/oai</request>
{listing}
</OAI-PMH>
"""
_NOTHING = '<error code="noRecordsMatch">The list is empty.</error>'

TOKEN = "xoxb-demo"  # noqa: S105 - opens nothing but this server
CHANNEL = {"id": "C000PAPERS", "name": "papers", "is_channel": True, "is_member": True, "is_archived": False}


class Request(NamedTuple):
    """What a client asked; `params` are those of the address."""

    path: str
    params: dict[str, str]
    body: bytes


class DemoAnswer(NamedTuple):
    """What it answers."""

    body: bytes
    media_type: str
    status: int = 200


def find_port() -> int:
    """Return a free port: the mail names the pages long before they are served."""
    with socket.create_server((LOOPBACK, 0)) as free:
        return int(free.getsockname()[1])


class DemoServer:
    """Serves `answer(request)` until it is closed."""

    def __init__(self, answer: Callable[[Request], DemoAnswer]) -> None:
        class Handler(_Handler):
            decide = staticmethod(answer)

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    decide: Callable[[Request], DemoAnswer]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        answer = self.decide(Request(address.path, dict(parse_qsl(address.query)), body))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_POST = do_GET  # noqa: N815 - the name http.server looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server passes
        """Print nothing: the story is shown elsewhere."""


class DemoArxiv(DemoServer):
    """An arXiv of the papers in `papers.xml`: a record is public from the day of its datestamp (UTC) on."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(self._answer)
        self._clock = clock
        text = (files("digest.demo") / "papers.xml").read_text(encoding="utf-8")
        self._records = [(found["id"], found["day"], found[0]) for found in _RECORD.finditer(text)]

    def _answer(self, request: Request) -> DemoAnswer:
        if request.path != "/oai":
            return DemoAnswer(b"Not Found", "text/plain", 404)
        now = self._clock.now()
        token = request.params.get("resumptionToken", "")
        since, _, skip = (token or request.params.get("from", "")).partition("+")
        public = {id_: (day, text) for id_, day, text in self._records if day <= now.date().isoformat()}
        listed = sorted((entry for entry in public.values() if entry[0] >= since), key=itemgetter(0))
        end = int(skip or 0) + PAGE_SIZE
        following = f"{since}+{end}" if len(listed) > end else ""
        page = "".join(text for _, text in listed[end - PAGE_SIZE : end])
        listing = f"<ListRecords>{page}<resumptionToken>{following}</resumptionToken></ListRecords>"
        body = _PAGE.format(moment=f"{now:%Y-%m-%dT%H:%M:%SZ}", listing=listing if page else _NOTHING)
        return DemoAnswer(body.encode(), "text/xml; charset=utf-8")


class DemoMail:
    """A mail server on a free port, until it is closed. `mails` are the bytes it took, oldest first."""

    def __init__(self) -> None:
        self.mails: list[bytes] = []
        self._controller = Controller(self, LOOPBACK, find_port())
        self._controller.start()
        self.close = self._controller.stop

    @property
    def url(self) -> str:
        """Where it listens."""
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
        super().__init__(self._answer)
        self.posts: list[dict[str, Any]] = []
        self._clock = clock

    @property
    def api_url(self) -> str:
        """The Web API, ending in a slash as `slack_sdk` wants it."""
        return f"{self.url}/api/"

    def _answer(self, request: Request) -> DemoAnswer:
        method = request.path.removeprefix("/api/")
        if method == "conversations.list":
            return _accept(channels=[CHANNEL], response_metadata={"next_cursor": ""})
        if method == "chat.postMessage":
            self.posts.append(json.loads(request.body))
            stamp = f"{self._clock.now().timestamp():.0f}.{len(self.posts):06d}"
            return _accept(channel=CHANNEL["id"], ts=stamp, message={})
        return _write_json({"ok": False, "error": "unknown_method"})


def _accept(**result: object) -> DemoAnswer:
    return _write_json({"ok": True, **result})


def _write_json(value: dict[str, object]) -> DemoAnswer:
    return DemoAnswer(json.dumps(value).encode(), "application/json")
