"""Ten thousand requests that nobody meant, and who learns what from an answer.

Run it by `python -m tests.battery.signups`.

Requests from made-up networks come for one address, then for many, while a simulated clock runs;
the mails that left are held against the limits. Known and unknown addresses are asked for in turn,
and the times of the answers compared. Scanners open and post to links of mails, and must neither
confirm nor unsubscribe anybody.
"""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import tempfile
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from math import sqrt
from pathlib import Path

import click
import httpx
from sqlalchemy import delete, func, select

from digest.deliver.dispatch import deliver
from digest.model import secrets
from digest.model.clock import monotonic
from digest.model.people import (
    LETTERS_TO_ADDRESS,
    REQUESTS_OF_ALL,
    REQUESTS_OF_NETWORK,
    Limit,
    RequestKind,
    SignupRequest,
)
from digest.people.letters import queue_letters
from digest.people.preferences import confirm_signup
from digest.people.signups import StoredSignup, save_signup
from digest.plan.links import make_links
from digest.serve.steps import run_pass
from digest.site import Site
from digest.store import backups
from digest.store.schema import (
    request_counts,
    saved_queries,
    signups,
    subscribers,
    subscription_destinations,
    suppressions,
)
from digest.web import create_app
from tests.harness.oracle import Verdict
from tests.integration.web.world import EVENING, live_in

ORIGIN = "https://localhost:8000"
EVERY = timedelta(minutes=5)
"""So often mails are sent."""

FORM = {"q": "tail latency", "days": "daily", "hour": "6", "zone": "Europe/Berlin", "kinds": "new"}
KINDS = ("application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=b")
BODIES = (
    b"",
    b"answer=yes",
    b"answer=not-me&token=",
    b"answer=leave&token=AAAAAAAAAAAAAAAAAAAAAA",
    b"List-Unsubscribe=One-Click&a=b",
    b'{"answer": "yes"}',
    b"\xff" * 100,
)


class OpenInstallation:
    """An installation where anybody may subscribe.

    It is sent forms as its pages send them, from any network.
    """

    def __init__(self, folder: Path) -> None:
        self._worlds = live_in(folder)
        self.world = self._worlds.__enter__()
        self.world.environ["DIGEST_WEB_SIGNUP"] = "open"
        self.world.write_config()
        self.site: Site = self.world.open()
        run_pass(self.site)
        with self.site.store.read() as conn:
            self.maker = make_links(conn, self.site.config)
        transport = httpx.ASGITransport(
            create_app(self.site), client=("127.0.0.1", 9)
        )  # a proxy of ours
        self.http = httpx.AsyncClient(transport=transport, base_url="http://localhost:8000")

    def close(self) -> None:
        self.site.close()
        self._worlds.__exit__(None, None, None)

    async def ask(self, address: str, client: str) -> tuple[int, float]:
        """Ask for a subscription; return the answer's status, and how many seconds it took."""
        day = self.site.clock.now().date().isoformat()
        fields = {
            **FORM,
            "address": address,
            "token": secrets.derive_token(self.maker.secret, "form", "/subscribe", day),
        }
        headers = {"Origin": ORIGIN, "X-Forwarded-For": client}
        began = monotonic()
        answer = await self.http.post("/subscribe", data=fields, headers=headers)
        return answer.status_code, monotonic() - began

    def count_people(self) -> list[int]:
        """Count requests that wait, people, who left, and what is saved."""
        with self.site.store.read() as conn:
            tables = (signups, subscribers, suppressions, saved_queries, subscription_destinations)
            return [
                conn.execute(select(func.count()).select_from(table)).scalar_one()
                for table in tables
            ]


@contextmanager
def opened() -> Iterator[OpenInstallation]:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(OpenInstallation(Path(folder))) as installation,
    ):
        yield installation


async def flood(verdict: Verdict, plan: Sequence[tuple[timedelta, str, str]], what: str) -> None:
    """Let requests come, each at a moment from the beginning, for an address and from a client."""
    with opened() as installation:
        clock = installation.world.clock
        mails = installation.world.mail
        sent_at = EVENING
        seen = len(installation.world.mail.mails)
        taken = defaultdict[str, list[datetime]](list)
        left = defaultdict[str, list[datetime]](list)
        statuses = Counter[int]()
        for moment, address, client in sorted(plan):
            clock.sleep(max(0.0, (EVENING + moment - clock.now()).total_seconds()))
            status, _ = await installation.ask(address, client)
            statuses[status] += 1
            for name in ("", client.rpartition(".")[0]) if status == 200 else ():
                taken[name].append(clock.now())
            if clock.now() - sent_at >= EVERY:
                sent_at = clock.now()
                while queue_letters(installation.site):
                    deliver(installation.site)
                for mail in mails.mails[seen:]:
                    left[mail.recipients[0]].append(sent_at)
                seen = len(mails.mails)
        verdict.counts[f"requests for {what}: answers {dict(statuses)}"] = statuses.total()
        verdict.counts[f"mails that left for {what}, to {len(left):,}"] = sum(
            map(len, left.values())
        )
        for limit in LETTERS_TO_ADDRESS:
            judge(verdict, f"mails to one of {what} in {limit.span.days} d", left, limit)
        judge(verdict, f"requests for {what} in an hour", {"": taken.pop("")}, REQUESTS_OF_ALL)
        judge(verdict, f"requests of one network for {what} in an hour", taken, REQUESTS_OF_NETWORK)
        with installation.site.store.read() as conn:
            for violation in backups.load_violations(conn):
                verdict.accuse("an invariant", violation.name)


def judge(
    verdict: Verdict, what: str, moments: Mapping[str, Sequence[datetime]], limit: Limit
) -> None:
    """Hold the fullest span of any name against a limit."""
    span = limit.span - timedelta.resolution
    most = max(
        (bisect_right(of, one + span) - at for of in moments.values() for at, one in enumerate(of)),
        default=0,
    )
    verdict.counts[f"most {what} (limit {limit.most})"] = most
    if most > limit.most:
        verdict.accuse(what, f"{most} > {limit.most}")


async def compare(verdict: Verdict, pairs: int, draw: random.Random) -> None:
    """Compare how long answers take for addresses that are subscribed and for others."""
    with opened() as installation:
        with installation.site.store.begin() as conn:
            now = installation.site.clock.now()
            wish = SignupRequest().add_query("tail")
            for number in range(pairs):
                asked = StoredSignup(
                    0, RequestKind.SUBSCRIBE, f"known{number}@example.org", wish, now, now
                )
                confirm_signup(conn, installation.site.config, installation.maker, asked, at=now)
        times: dict[str, list[float]] = {"known": [], "unknown": []}
        for number in range(pairs):
            for which in draw.sample(sorted(times), 2):
                installation.world.clock.sleep(45)
                address = f"{which}{number}@example.org"
                client = f"10.{number % 250}.0.{draw.randrange(1, 250)}"
                status, seconds = await installation.ask(address, client)
                times[which].append(seconds * 1000)
                if status != 200:
                    verdict.accuse("an answer", f"{status} to {which}")
        for which, taken in times.items():
            quartiles = ", ".join(f"{one:.2f}" for one in statistics.quantiles(taken, n=4))
            verdict.counts[f"answers for {which} addresses; ms, by quartiles: {quartiles}"] = len(
                taken
            )
        ours, theirs = map(sorted, times.values())
        places = [
            bisect_right(ours, one) / pairs - bisect_right(theirs, one) / pairs
            for one in (*ours, *theirs)
        ]
        distance = max(map(abs, places))
        allowed = 1.36 * sqrt(2 / pairs)
        verdict.counts[
            f"pairs: Kolmogorov-Smirnov distance {distance:.4f}, "
            f"by chance up to {allowed:.4f} (5 %)"
        ] = pairs
        if distance > allowed:
            verdict.accuse("answer times", f"they differ by {distance:.4f}")


async def scan(verdict: Verdict, visits: int, draw: random.Random) -> None:
    """Open and post to links of mails, as programs do that look for evil in them."""
    with opened() as installation:
        for number in range(20):
            await installation.ask(f"a{number}@example.org", "10.0.0.1")
        with installation.site.store.begin() as conn:
            for number in range(10):
                now = installation.site.clock.now()
                address = f"known{number}@example.org"
                asked = StoredSignup(
                    0, RequestKind.SUBSCRIBE, address, SignupRequest().add_query("tail"), now, now
                )
                confirm_signup(conn, installation.site.config, installation.maker, asked, at=now)
                save_signup(
                    conn,
                    RequestKind.LINK if number % 2 else RequestKind.FRESH,
                    address,
                    SignupRequest(),
                    at=now,
                )
        run_pass(installation.site)
        texts = [
            mail.raw.decode().replace("=\r\n", "").replace("=3D", "=")
            for mail in installation.world.mail.mails
        ]
        paths = sorted(
            {path for text in texts for path in re.findall(rf"{ORIGIN}(/[ckpu]/[\w-]{{22}})", text)}
        )
        kinds = ", ".join(
            f"{number} of /{kind}" for kind, number in Counter(path[1] for path in paths).items()
        )
        verdict.counts[f"links of mails: {kinds}"] = len(paths)
        with installation.site.store.begin() as conn:
            conn.execute(delete(request_counts))
        before = installation.count_people()
        statuses = Counter[str]()
        for _ in range(visits):
            path = draw.choice(paths)
            method = draw.choice(("GET", "HEAD", "POST", "POST"))
            headers = {
                "Content-Type": draw.choice(KINDS),
                **({"Origin": ORIGIN} if draw.random() < 0.5 else {}),
            }
            body = draw.choice(BODIES) if method == "POST" else None
            answer = await installation.http.request(method, path, content=body, headers=headers)
            statuses[f"{method} {answer.status_code}"] += 1
            if answer.status_code >= 500:
                verdict.accuse("a server error", f"{method} {path} {body!r}")
        verdict.counts[f"visits of scanners: {dict(sorted(statuses.items()))}"] = visits
        if installation.count_people() != before:
            verdict.accuse("a scanner", f"changed {before} to {installation.count_people()}")


@click.command()
@click.option("--requests", default=10_000, help="How many, for one address and again for many.")
@click.option("--networks", default=1_000, help="From so many networks.")
@click.option("--pairs", default=1_000, help="Answers compared.")
@click.option("--visits", default=1_000, help="Visits of scanners.")
@click.option("--seed", default=1, help="Makes the same requests again.")
def main(requests: int, networks: int, pairs: int, visits: int, seed: int) -> None:
    """Try it, and print what came of it.

    Half of the requests within three hours, the others within 40 days.
    """
    draw = random.Random(seed)  # noqa: S311 - no secret
    verdict = Verdict()
    click.echo(f"seed {seed}")
    for what, addresses in (("one address", 1), ("2,000 addresses", 2_000)):
        plan = []
        for number in range(requests):
            moment = timedelta(seconds=draw.uniform(0, 3 * 3600 if number % 2 else 40 * 86_400))
            network = draw.randrange(
                networks if draw.random() < 0.5 else 3
            )  # three ask again and again
            client = f"10.{network // 250}.{network % 250}.{draw.randrange(1, 250)}"
            plan.append((moment, f"somebody{draw.randrange(addresses)}@example.org", client))
        asyncio.run(flood(verdict, plan, what))
    asyncio.run(compare(verdict, pairs, draw))
    asyncio.run(scan(verdict, visits, draw))
    for line in verdict.list_lines():
        click.echo(line)
    raise SystemExit(bool(verdict.findings))


if __name__ == "__main__":
    main()
