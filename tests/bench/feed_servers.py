"""The servers of `tests.bench.feeding`: each a process of its own, the same uvicorn around another application.

    python -m tests.bench.feed_servers KIND FOLDER

prints where it listens, and serves until standard input closes.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Final

from digest.config import load_config
from digest.deliver.feeds import load_feed
from digest.match.step import match
from digest.model.clock import SystemClock
from digest.plan.links import make_links
from digest.serve.configuration import sync_roster
from digest.serve.installation import open_site
from digest.serve.telemetry import configure_logging
from digest.store import subscriptions as subscription_store
from digest.web import WebServer, create_app
from tests.bench.crowds import announce
from tests.bench.installations import say
from tests.bench.papers import load_papers
from tests.fakes.config_file import write_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

PAPERS: Final = 50
CLOCK: Final = "/_processor"
"""Where a server tells the seconds of processor time it has taken."""


@contextmanager
def served(kind: str, folder: str) -> Iterator[str]:
    process = subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-m", "tests.bench.feed_servers", kind, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # where the log goes
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


def _serve(kind: str, folder: Path) -> None:
    """Serve one contestant until standard input closes."""
    with ExitStack() as stack:
        makers: dict[str, Callable[[], ASGIApp]] = {
            "bare": lambda: _make_bare(folder),
            "feedgen": lambda: _make_feedgen(folder),
            "ours": lambda: _make_ours(folder, stack),
        }
        server = WebServer(_with_clock(makers[kind]()), "127.0.0.1", 0)
        server.start()
        say(server.url)
        sys.stdin.read()
        server.stop()


def _with_clock(app: ASGIApp) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == CLOCK:
            body = repr(process_time()).encode()
            await _send(send, 200, [(b"content-length", str(len(body)).encode())], body)
        else:
            await app(scope, receive, send)

    return answer


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _make_bare(folder: Path) -> ASGIApp:
    answers = json.loads((folder / "answers.json").read_text())
    tag = bytes.fromhex(answers.pop("tag")["body"])
    ready = {
        name: (
            one["status"],
            [(key.encode(), value.encode()) for key, value in one["headers"]],
            bytes.fromhex(one["body"]),
        )
        for name, one in answers.items()
    }

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        fields = dict(scope["headers"])
        name = "compressed" if b"accept-encoding" in fields else "whole"
        await _send(send, *ready["unchanged" if fields.get(b"if-none-match") == tag else name])

    return answer


def _make_feedgen(folder: Path) -> ASGIApp:
    from feedgen.feed import FeedGenerator  # noqa: PLC0415 - measured here alone

    document = json.loads((folder / "feed.json").read_text())

    def make() -> bytes:
        feed = FeedGenerator()
        feed.id(document["feed_url"])
        feed.title(document["title"])
        feed.link(href=document["feed_url"], rel="self")
        for item in document["items"]:
            entry = feed.add_entry(order="append")
            entry.id(item["id"])
            entry.title(item["title"])
            entry.link(href=item["url"])
            entry.published(item["date_published"])
            entry.updated(item["date_modified"])
            for author in item["authors"]:
                entry.author(name=author["name"])
            for tag in item["tags"]:
                entry.category(term=tag)
            entry.summary(item["summary"])
            entry.content(item["content_html"], type="html")
        return bytes(feed.atom_str())

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        body = make()
        length = (b"content-length", str(len(body)).encode())
        await _send(send, 200, [length, (b"content-type", b"application/atom+xml")], body)

    return answer


async def _live(receive: Receive, send: Send) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def _make_ours(folder: Path, stack: ExitStack) -> ASGIApp:
    configure_logging(logging.INFO)  # as `digest serve` does
    config = load_config(folder / "digest.toml", {})
    site = open_site(config, SystemClock(), owner="bench", jitter=lambda: 0.5)
    stack.callback(site.close)
    return create_app(site)


def make_installation(folder: Path) -> str:
    """Make an installation whose feed holds the papers, and what feedgen is given; return the feed's path."""
    papers = load_papers()[1][:PAPERS]
    query = " OR ".join(f"cat:{category}" for category in sorted({paper.categories[0] for paper in papers}))
    config_path = folder / "digest.toml"
    text = write_config(
        "http://127.0.0.1:9",
        {"everything": query},
        [{"name": "everything", "follow": ["everything"], "to": "feed"}],
        store={"url": f"sqlite:///{folder}/digest.db"},
        web={"base_url": "https://digest.example.org"},
    )
    config_path.write_text(text, encoding="utf-8")
    config = load_config(config_path, {})
    site = open_site(config, SystemClock(), owner="bench", jitter=lambda: 0.5)
    try:
        sync_roster(site)
        announce(site.store, papers, site.clock.now())
        match(site, first_digests=False)
        with site.store.read() as conn:
            (due,) = subscription_store.load_subscriptions(conn)
            token = make_links(conn, config).feed_token("everything", 0)
            feed = load_feed(conn, site, due, self_url=f"https://digest.example.org/f/{token}.atom")
        (folder / "feed.json").write_bytes(site.renderer.render_json_feed(feed))
    finally:
        site.close()
    return f"/f/{token}.atom"


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]))
