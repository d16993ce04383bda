"""Asks every address of the web shell in every way.

Run it by `python -m tests.battery.fuzz_web --requests 20000 --seed 1`.

Requests come from a grammar of forms and tokens; what pages and mails offer is taken up, damaged
and sent back. Now and then hours pass and all that is due is done. No answer may be an error of the
server or a redirect, none without a policy; no request by a form stays longer than it may; and at
the end every stored row reads back.
"""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
import traceback
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode, urljoin

import click
import httpx
import lxml.html
from sqlalchemy import func, select
from starlette.types import ASGIApp

from digest.model.clock import monotonic
from digest.model.destinations import Destination
from digest.model.people import REQUEST_LIFETIME, SignupRequest
from digest.query import parse_query
from digest.query.canonical import print_canonical
from digest.serve.steps import run_pass
from digest.site import Site
from digest.store import backups, schema, subscriptions
from digest.web import create_app
from digest.web.forms import make_form_token
from tests.battery.fuzz_queries import make_input
from tests.harness.serving import find_routes, find_shell
from tests.integration.web.world import READER, World, live_in
from tests.postgres_servers import create_database, quick_server

ORIGIN = "https://localhost:8000"
PASS = 250
"""Requests between two passes of the work that is due."""

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW")
FORM = "application/x-www-form-urlencoded"
KINDS = (
    FORM,
    f"{FORM}; charset=utf-8",
    "multipart/form-data; boundary=b",
    "text/plain",
    "",
    "\xff",
)
FIELDS = (
    "address q was days hour zone kinds kind feed joins answer token name text until abstracts"
    " action subscription on listed List-Unsubscribe next page day"
)
VALUES = (
    "yes not-me leave undo save pause resume erase export move feed delete edit weekdays daily"
    " announcement 0 9 23 -1 9.5 ٣ Europe/Berlin Mars/Olympus ../../etc/passwd new replacement none"
    " short full plain summary perf-team nobody * on One-Click 2026-12-24 2026-02-30 9999-12-31"
    " 0001-01-01 null // \\ \x7f <script> {{7*7}} %s ' \""
    " \u202e \ufffe 🙂 é"
)
LONG = ("x" * 300, "x" * 3_000, "x" * 70_000)
ADDRESSES = (
    "@",
    "a@b@c.example",
    "a b@c.example",
    "x@bücher.example",
    "a@c\r\nBcc: x",
    f"{'A' * 70}@c.example",
)
SOUND = {
    "address": tuple(f"reader{number}@example.org" for number in range(40)),
    "q": (
        "cat:cs.PF",
        "gpu",
        "https://arxiv.org/abs/2611.15000",
        'au:"Ada Example"',
        "ti:queues OR abs:clocks",
    ),
    "days": ("weekdays", "mondays", "announcement"),
    "hour": ("0", "9", "23"),
    "zone": ("Europe/Berlin", "UTC", ""),
    "kinds": ("new", "cross-listed"),
    "until": ("2026-12-24", "2027-03-01", ""),
    "answer": ("yes", "not-me", "unsubscribe", "undo"),
}
"""What people write. The rest of what is drawn is what they do not."""
ODD = b"\0 %00 %ff %ed%a0%80 % & = ; \r\n \xff\xfe %F0%9F%98%80 + %0d%0a".split(b" ")
BODIES = (b"List-Unsubscribe=One-Click", b"x" * 70_000, b"a=1&" * 90, bytes(range(256)))
TOKENS = (
    "x",
    "",
    ".",
    "..",
    "%00",
    "%2e%2e%2f",
    "%ff",
    "%ed%a0%80",
    "a%2Fb",
    "é",
    "a b",
    "A" * 22,
    "A" * 6_000,
)
HOSTS = ("localhost:8000",) * 30 + ("evil.example", "", "[::1]", "a" * 300, "localhost:8000, x")
ORIGINS = (ORIGIN,) * 50 + ("null", "", "https://evil.example", ORIGIN.upper())
MORE = (
    *[("x", "x")] * 8,
    ("if-none-match", "*"),
    ("if-modified-since", "\xff"),
    ("content-length", "x"),
)


class Grammar:
    """Draws requests, out of what it was made with and what it has seen."""

    def __init__(self, seed: int, site: Site, world: World) -> None:
        self.draw = random.Random(seed)  # noqa: S311 - the same requests for the same seed
        self.app = create_app(site)
        self.routes = find_routes(self.app)
        self.shell = find_shell(self.app).state.shell
        self.site = site
        self.world = world
        self.mails = 0
        self.forms: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {}
        self.is_sound = False
        self.known: dict[str, list[str]] = {name: [] for name in FIELDS.split(" ")}
        links = world.links(site)
        self.links = {
            "f": [links.feed_token("perf-team", 0)],
            "a": [links.archive_token("perf-team")],
        }
        self.links["p"] = [links.preferences_token(Destination.parse(READER))]

    def learn(self, path: str, page: str) -> None:
        """Take up the links of a page or mail, its forms, and the values that they offer."""
        for letter, token in re.findall(r"/([a-z])/([\w-]{22})", page):
            known = self.links.setdefault(letter, [])
            if token not in known:
                known[:] = [*known[-40:], token]
        if "<form" not in page:
            return
        document: Any = lxml.html.document_fromstring(
            page.encode(), parser=lxml.html.HTMLParser(encoding="utf-8")
        )
        for one in document.xpath("//*[self::button or self::input or self::option][@value]"):
            name = (one if one.tag != "option" else one.xpath("ancestor::select")[0]).get(
                "name"
            ) or "answer"
            offered = self.known.setdefault(name, [])
            if one.get("value") not in offered:
                offered[:] = [*offered[-40:], one.get("value")]
        for form in (one for one in document.forms if one.method.upper() == "POST"):
            to = urljoin(f"{ORIGIN}{path}", form.get("action") or "").removeprefix(ORIGIN)
            for button in form.xpath(
                "(.//button | //button[@form=$id])[@name]", id=form.get("id") or "-"
            ) or [{}]:
                fields = [*form.form_values(), (button.get("name", "x"), button.get("value", ""))]
                kind = " ".join(sorted({to[:3], *(name for name, _ in fields)}))
                self.forms[kind] = [*self.forms.get(kind, [])[-30:], (to, fields)]

    def make_value(self, name: str) -> str:
        """Return a value for a field: a sound one in a sound request, else often something else."""
        draw = self.draw
        kind = {"text": "q", "was": "q", "kind": "kinds"}.get(name, name)
        sound = SOUND.get(kind) or self.known.get(name)
        if sound and (self.is_sound or draw.random() < 0.4):
            return draw.choice(sound)
        if name in ("q", "text", "was") and draw.random() < 0.8:
            return make_input(1, draw.randrange(10**6))
        return "" if self.is_sound else draw.choice((*ADDRESSES, *VALUES.split(" "), *LONG, ""))

    def make_token(self, letter: str) -> str:
        """Return a token for an address.

        A right one most often, or one of another purpose, or a damaged one.
        """
        roll = self.draw.random()
        known = self.links.get(letter)
        others = [token for tokens in self.links.values() for token in tokens]
        if known and roll < 0.75:
            return self.draw.choice(known)
        if others and roll < 0.9:
            token = self.draw.choice(others)
            return self.draw.choice(
                (token, token[:-1], token + "A", token.swapcase(), f"{token}%20")
            )
        return self.draw.choice(TOKENS)

    def make_path(self) -> str:
        path = self.draw.choice(self.routes).path
        if self.draw.random() < 0.02:
            return self.draw.choice(("/", "//", "/" + "a/" * 500, "/%00", f"{path}/", "/F/x"))
        token = self.make_token(path[1:2])
        suffix = self.draw.choice((".atom", ".json", ".bib", ".ris", "", ".xml"))
        path = path.replace("{token}", token).replace("{name}", token + suffix)
        path = path.replace("{digest}", self.make_token("d"))
        return path.replace("{name:path}", f"2611.15000{suffix}")

    def make_form(self, path: str) -> tuple[str, list[tuple[str, str]]]:
        """Return an address and the fields for it.

        A page's own form with new values, or fields of our own.
        """
        draw = self.draw
        if self.forms and draw.random() < 0.6:
            path, given = draw.choice(self.forms[draw.choice(list(self.forms))])
            kept, more = (1.0, 0) if self.is_sound else (0.6, draw.choice((0, 0, 0, 1, 5)))
            keeps = [name == "token" or (value and draw.random() < kept) for name, value in given]
            fields = [
                (n, v if keep else self.make_value(n))
                for (n, v), keep in zip(given, keeps, strict=True)
            ]
            fields = [
                field for field in fields if field[0] == "token" or draw.random() < kept + 0.3
            ]
        else:
            fields = [("token", make_form_token(self.shell, unquote(path)))]
            more = 7
        names = draw.sample(list(SOUND if self.is_sound else self.known), more)
        fields += [(name, self.make_value(name)) for name in names]
        return path, fields * (1 if self.is_sound else draw.choice((*[1] * 30, 2, 80)))

    def make_request(self) -> httpx.Request:
        draw = self.draw
        path = self.make_path()
        self.is_sound = draw.random() < 0.4
        method = (
            draw.choice(METHODS) if draw.random() < 0.1 else draw.choice(("GET", "POST", "POST"))
        )
        body = b""
        kind = draw.choice(KINDS) if draw.random() < 0.08 else FORM
        if method == "GET" and draw.random() < 0.5:
            names = draw.sample(list(self.known), draw.randrange(1, 4))
            query = [(name, self.make_value(name)[:3_000]) for name in ("q", *names)]
            path += f"?{urlencode(query, errors='replace')}"
        elif method != "GET":
            path, fields = self.make_form(path)
            body = urlencode(fields, errors="surrogatepass").encode()
            if (roll := draw.random() + self.is_sound) < 0.05:
                body = draw.choice(BODIES)
            elif roll < 0.12:
                at = draw.randrange(len(body) + 1)
                body = body[:at] + draw.choice(ODD) + body[at:]
        network = draw.randrange(200)
        headers = [
            ("host", draw.choice(HOSTS)),
            ("origin", draw.choice(ORIGINS)),
            (
                "x-forwarded-for",
                draw.choice((f"10.{network}.0.9", f"2001:db8:{network:x}::1", "?", "")),
            ),
            ("accept", draw.choice(("text/html", "application/atom+xml", "*/*", ""))),
            draw.choice(MORE),
        ]
        headers += [("content-type", kind)] if kind else []
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        return httpx.Request(method, f"http://127.0.0.1{path}", headers=raw, content=body)


async def ask(app: ASGIApp, request: httpx.Request) -> httpx.Response:
    """Ask an application as uvicorn does."""
    answer = await httpx.ASGITransport(app).handle_async_request(request)
    await answer.aread()
    return answer


def judge(path: str, answer: httpx.Response) -> str:
    """Say what is wrong about an answer, "" for nothing."""
    status = answer.status_code
    policy = answer.headers.get("content-security-policy", "")
    if (status >= 500 and path != "/readyz") or 300 <= status < 304 or "location" in answer.headers:
        return f"status {status}"
    return "" if "script-src 'self'" in policy else "no policy"


def find_unreadable(site: Site) -> list[str]:
    """Return what is stored and does not read back, and what must never be so of a database."""
    with site.store.read() as conn:
        subscriptions.load(conn, include_ended=True)
        found = [
            f"the query {row.text!r} is stored as {row.canonical!r}: {row.problem}"
            for row in conn.execute(select(schema.query_revisions))
            if row.problem or print_canonical(parse_query(row.text).tree) != row.canonical
        ]
        for wish in conn.execute(select(schema.signups.c.choices)).scalars():
            SignupRequest.parse(wish)
        for table in (schema.subscription_destinations, schema.suppressions, schema.deliveries):
            for destination in conn.execute(select(table.c.destination)).scalars():
                Destination.parse(destination)
        return found + [str(violation) for violation in backups.load_violations(conn)]


def work(site: Site, world: World, hours: float) -> list[str]:
    """Let time pass and do what is due; return what went wrong, and what was kept for too long."""
    world.clock.sleep(hours * 3600)
    began = world.clock.now()  # what is over while the pass runs goes with the next one
    try:
        run_pass(site)
    except Exception:  # noqa: BLE001 - whatever it is, it is what is searched for
        return [traceback.format_exc()]
    with site.store.read() as conn:
        is_late = schema.signups.c.asked_at < began - REQUEST_LIFETIME
        late = conn.execute(
            select(func.count()).select_from(schema.signups).where(is_late)
        ).scalar_one()
    return [f"{late} requests are older than {REQUEST_LIFETIME}"] if late else []


async def fuzz(grammar: Grammar, requests: int, at_once: int) -> list[str]:
    """Send so many requests; return what was found."""
    found: list[str] = []
    counted: Counter[tuple[str, str, int]] = Counter()
    for number in range(0, requests, at_once):
        asked = [grammar.make_request() for _ in range(min(at_once, requests - number))]
        answers = await asyncio.gather(
            *(ask(grammar.app, one) for one in asked), return_exceptions=True
        )
        for request, answer in zip(asked, answers, strict=True):
            path = request.url.raw_path.decode().partition("?")[0]
            status = 500
            if isinstance(answer, BaseException):
                wrong = "".join(traceback.format_exception(answer))
            else:
                wrong = judge(path, answer)
                status = answer.status_code
                grammar.learn(path, answer.text)
            counted["/".join(path.split("/")[:2])[:12], request.method, status] += 1
            if wrong:
                sent = f"{request!r:.300} {request.headers} {request.content!r:.600}"
                found.append(f"{number}: {wrong}\n  {sent}")
        if number % PASS < at_once:
            found += work(grammar.site, grammar.world, grammar.draw.choice((0.2, 1, 7, 30)))
            for mail in grammar.world.mail.mails[grammar.mails :]:
                body: Any = mail.message.get_body(("plain",))
                grammar.learn("/", body.get_content())
            grammar.mails = len(grammar.world.mail.mails)
    found += work(grammar.site, grammar.world, 49) + find_unreadable(grammar.site)
    for (path, method, status), count in sorted(counted.items()):
        click.echo(f"  {path:12} {method:8} {status} {count:8,}")
    return found


@click.command(help=__doc__.partition("\n\n")[0] if __doc__ else None)
@click.option("--requests", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--at-once",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Requests at the same time.",
)
@click.option("--postgres", is_flag=True, help="On PostgreSQL instead of SQLite.")
def main(requests: int, seed: int, at_once: int, *, postgres: bool) -> None:
    with ExitStack() as stack:
        world = stack.enter_context(
            live_in(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        )
        world.environ["DIGEST_WEB_SIGNUP"] = "open"
        if postgres:
            world.environ["DIGEST_STORE_URL"] = create_database(
                stack.enter_context(quick_server()), "fuzz"
            )
        world.write_config(extra="joinable = true\n")
        site = world.open()
        stack.callback(site.close)
        run_pass(site)
        grammar = Grammar(seed, site, world)
        began = monotonic()
        found = asyncio.run(fuzz(grammar, requests, at_once))
        click.echo(
            f"{requests:,} requests to {len(grammar.routes)} addresses "
            f"in {monotonic() - began:,.0f} s"
        )
        click.echo(f"seed {seed}; {len(world.mail.mails)} mails were sent")
    click.echo("\n".join([*found[:20], f"{len(found)} findings"]))
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
