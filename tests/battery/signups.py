"""Ten thousand requests that nobody meant, and who learns what from an answer: `python -m tests.battery.signups`.

Requests from made-up networks come for one address, then for many, while a simulated clock runs; the mails that
left are held against the limits. Known and unknown addresses are asked for in turn, and the times of the answers
compared. Scanners open and post to links of mails, and must neither confirm nor unsubscribe anybody.
"""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import tempfile
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import sqrt
from pathlib import Path

import click
import httpx
from sqlalchemy import delete, func, select

from digest.deliver import people
from digest.deliver.dispatch import deliver
from digest.deliver.letters import queue_letters
from digest.model import secrets
from digest.model.clock import monotonic
from digest.model.people import LETTERS_TO_ADDRESS, REQUESTS, REQUESTS_OF_NETWORK, Ask, Limit, Wish
from digest.plan.links import LinkMaker, make_links
from digest.poll.installation import Site
from digest.serve.configuration import sync_roster
from digest.serve.steps import run_pass
from digest.store.database import load_violations
from digest.store.schema import request_counts, signups, subscribers, suppressions
from digest.store.signups import SignupState, StoredSignup
from digest.web import create_app
from tests.battery.verdict import Verdict
from tests.integration.web.world import EVENING, World, live_in

ORIGIN = "https://localhost:8000"
EVERY = timedelta(minutes=5)
"""So often the mails are sent."""

FORM = {"q": "tail latency", "days": "daily", "hour": "6", "zone": "Europe/Berlin", "kinds": "new"}
BODIES = (
    b"",
    b"a=b",
    b"answer=yes",
    b"answer=not-me&token=",
    b"answer=leave&token=AAAAAAAAAAAAAAAAAAAAAA",
    b"List-Unsubscribe=One-Click&a=b",
    b'{"answer": "yes"}',
    b"\xff" * 100,
)


@contextmanager
def opened() -> Iterator[tuple[World, Site]]:
    """Open an installation where anybody may subscribe, and that has had its first digest."""
    with tempfile.TemporaryDirectory() as folder, live_in(Path(folder)) as world:
        world.environ["DIGEST_WEB_SIGNUP"] = "open"
        world.write_config()
        site = world.open()
        try:
            run_pass(site)
            yield world, site
        finally:
            site.close()


class Visitor:
    """Sends forms as a page of ours does, from any network."""

    def __init__(self, site: Site) -> None:
        self._site = site
        with site.store.read() as conn:
            self.maker: LinkMaker = make_links(conn, site.config)
        transport = httpx.ASGITransport(create_app(site), client=("127.0.0.1", 9))  # a proxy of ours
        self.http = httpx.AsyncClient(transport=transport, base_url="http://localhost:8000")

    async def ask(self, address: str, network: str) -> tuple[int, float]:
        """Ask for a subscription; return the answer's status, and how many seconds it took."""
        day = self._site.clock.now().date().isoformat()
        token = secrets.derive_token(self.maker.secret, "form", "/subscribe", day)
        headers = {"Origin": ORIGIN, "X-Forwarded-For": network}
        began = monotonic()
        answer = await self.http.post(
            "/subscribe", data={**FORM, "address": address, "token": token}, headers=headers
        )
        return answer.status_code, monotonic() - began


def find_most(moments: Sequence[datetime], limit: Limit) -> int:
    """Return how many of some moments, in order, lie in a span of a limit at most."""
    return max(
        (bisect_right(moments, one + limit.span - timedelta.resolution) - at for at, one in enumerate(moments)),
        default=0,
    )


async def flood(
    verdict: Verdict,
    what: str,
    addresses: Sequence[str],
    plan: Iterable[timedelta],
    networks: int,
    draw: random.Random,
) -> None:
    """Let requests come at planned moments from the beginning, for addresses and from networks drawn by chance."""
    with opened() as (world, site):
        visitor, sent_at = Visitor(site), EVENING
        taken: dict[str, list[datetime]] = defaultdict(list)
        left: dict[str, list[datetime]] = defaultdict(list)
        statuses, seen = Counter[int](), len(world.mail.mails)
        for moment in sorted(plan):
            world.clock.sleep(max(0.0, (EVENING + moment - site.clock.now()).total_seconds()))
            number = draw.randrange(networks)
            network = f"10.{number // 250}.{number % 250}.{draw.randrange(1, 250)}"
            status, _ = await visitor.ask(draw.choice(addresses), network)
            statuses[status] += 1
            if status == 200:
                taken["all"].append(site.clock.now())
                taken[network.rpartition(".")[0]].append(site.clock.now())
            if site.clock.now() - sent_at >= EVERY:
                sent_at = site.clock.now()
                while queue_letters(site):
                    deliver(site)
                for mail in world.mail.mails[seen:]:
                    left[mail.recipients[0]].append(sent_at)
                seen = len(world.mail.mails)
        verdict.counts[f"requests for {what}: answers {dict(statuses)}"] = statuses.total()
        verdict.counts[f"mails that left for {what}, to {len(left):,} addresses"] = sum(map(len, left.values()))
        for limit in LETTERS_TO_ADDRESS:
            judge(verdict, f"mails to one address in {limit.span.days} d, {what}", left, limit)
        networks_taken = {name: moments for name, moments in taken.items() if name != "all"}
        judge(verdict, f"requests of one network in an hour, {what}", networks_taken, REQUESTS_OF_NETWORK)
        judge(verdict, f"requests of all in an hour, {what}", {"all": taken["all"]}, REQUESTS)
        with site.store.read() as conn:
            for violation in load_violations(conn):
                verdict.accuse("an invariant", violation.name)


def judge(verdict: Verdict, what: str, moments: dict[str, list[datetime]], limit: Limit) -> None:
    """Hold the fullest span of any name against a limit."""
    most = max((find_most(one, limit) for one in moments.values()), default=0)
    verdict.counts[f"most {what} (limit {limit.most})"] = most
    if most > limit.most:
        verdict.accuse(what, f"{most} > {limit.most}")


def subscribe(site: Site, addresses: Iterable[str]) -> None:
    """Have addresses subscribed, as their letters' buttons do."""
    with site.store.begin() as conn:
        maker, now = make_links(conn, site.config), site.clock.now()
        for address in addresses:
            asked = StoredSignup(0, Ask.SUBSCRIBE, address, Wish().add_query("tail"), SignupState.MAILED, now, now)
            people.confirm(conn, site.config, maker, asked, at=now)


async def compare(verdict: Verdict, pairs: int, draw: random.Random) -> None:
    """Compare how long answers take for addresses that are subscribed and for others."""
    with opened() as (world, site):
        known = [f"known{number}@example.org" for number in range(pairs)]
        subscribe(site, known)
        visitor, times = Visitor(site), {"known": list[float](), "unknown": list[float]()}
        for number, address in enumerate(known):
            asked = [("known", address), ("unknown", f"other{number}@example.org")]
            draw.shuffle(asked)
            for which, one in asked:
                world.clock.sleep(30)
                status, seconds = await visitor.ask(one, f"10.{number % 250}.0.{draw.randrange(1, 250)}")
                times[which].append(seconds * 1000)
                if status != 200:
                    verdict.accuse("an answer", f"{status} to {which}")
        for which, taken in times.items():
            quartiles = ", ".join(f"{one:.2f}" for one in statistics.quantiles(taken, n=4))
            verdict.counts[f"answers for {which} addresses; ms, by quartiles: {quartiles}"] = len(taken)
        distance, allowed = find_distance(*times.values()), 1.36 * sqrt(2 / pairs)
        verdict.counts[
            f"pairs: Kolmogorov-Smirnov distance {distance:.4f}, by chance up to {allowed:.4f} (5 %)"
        ] = pairs
        if distance > allowed:
            verdict.accuse("answer times", f"they differ by {distance:.4f}")


def find_distance(some: Sequence[float], others: Sequence[float]) -> float:
    """Return the greatest distance of two samples' distributions."""
    ours, theirs = sorted(some), sorted(others)
    places = sorted({*ours, *theirs})
    return max(
        abs(bisect_right(ours, place) / len(ours) - bisect_right(theirs, place) / len(theirs)) for place in places
    )


async def scan(verdict: Verdict, visits: int, draw: random.Random) -> None:
    """Open and post to links of mails, as programs do that look for evil in them."""
    with opened() as (world, site):
        sync_roster(site)
        visitor = Visitor(site)
        for number in range(20):
            await visitor.ask(f"a{number}@example.org", "10.0.0.1")
        run_pass(site)
        texts = [mail.raw.decode().replace("=\r\n", "").replace("=3D", "=") for mail in world.mail.mails]
        paths = sorted({path for text in texts for path in re.findall(rf"{ORIGIN}(/[cpu]/[\w-]{{22}})", text)})
        verdict.counts[
            "links of mails: " + ", ".join(f"{n} of /{k}" for k, n in Counter(p[1] for p in paths).items())
        ] = len(paths)
        with site.store.begin() as conn:
            conn.execute(delete(request_counts))
        before = count_people(site)
        statuses = Counter[str]()
        for _ in range(visits):
            path, method = draw.choice(paths), draw.choice(("GET", "HEAD", "POST", "POST"))
            kind = draw.choice(
                ("application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=b")
            )
            headers = {"Content-Type": kind, **({"Origin": ORIGIN} if draw.random() < 0.5 else {})}
            body = draw.choice(BODIES) if method == "POST" else None
            answer = await visitor.http.request(method, path, content=body, headers=headers)
            statuses[f"{method} {answer.status_code}"] += 1
            if answer.status_code >= 500:
                verdict.accuse("a server error", f"{method} {path} {body!r}")
        verdict.counts[f"visits of scanners: {dict(sorted(statuses.items()))}"] = visits
        if count_people(site) != before:
            verdict.accuse("a scanner", f"changed {before} to {count_people(site)}")


def count_people(site: Site) -> list[int]:
    """Count requests that wait, people, and who left."""
    with site.store.read() as conn:
        tables = (signups, subscribers, suppressions)
        return [conn.execute(select(func.count()).select_from(table)).scalar_one() for table in tables]


@click.command()
@click.option("--requests", default=10_000, help="How many, for one address and again for many.")
@click.option("--networks", default=1_000, help="From so many networks.")
@click.option("--pairs", default=1_000, help="Answers compared.")
@click.option("--visits", default=1_000, help="Visits of scanners.")
@click.option("--seed", default=1, help="Makes the same requests again.")
def main(requests: int, networks: int, pairs: int, visits: int, seed: int) -> None:
    """Try it, and print what came of it."""
    draw, verdict = random.Random(seed), Verdict()  # noqa: S311 - no secret
    click.echo(f"seed {seed}")
    burst = [timedelta(seconds=draw.uniform(0, 3 * 3600)) for _ in range(requests // 2)]
    month = [timedelta(seconds=draw.uniform(0, 40 * 86_400)) for _ in range(requests - len(burst))]
    many = [f"somebody{number}@example.org" for number in range(2_000)]
    asyncio.run(flood(verdict, "one address", ["victim@example.org"], [*burst, *month], networks, draw))
    asyncio.run(flood(verdict, "many addresses", many, [*burst, *month], networks, draw))
    asyncio.run(compare(verdict, pairs, draw))
    asyncio.run(scan(verdict, visits, draw))
    for line in verdict.list_lines():
        click.echo(line)
    raise SystemExit(bool(verdict.findings))


if __name__ == "__main__":
    main()
