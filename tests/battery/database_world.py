"""What the battery of database faults is lived in: replicas of `digest serve` over a PostgreSQL that may be lost.

Each replica reaches each server over a line of its own. Time is real: leases, time-outs and the waits between
tries are part of what is tried.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from digest.model.clock import SystemClock
from tests.acceptance.made import made_up
from tests.battery.kill_world import CountingMail, list_posts
from tests.battery.replicas import Replica, await_ready
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import write_config
from tests.fakes.slack import SlackReceiver
from tests.links import Link
from tests.postgres_servers import PostgresServer, find_port

DATABASE = "digest"
REPLICAS = 3
MAILS, POSTS = 90, 9
"""Digests of a wave: to a person each, and to a channel each."""

_MESSAGES = {"mailto": 1, "slack": 2}
"""Messages of a digest: in Slack its titles in the channel, and its papers in the thread."""

SLOW_DOT = 0.15
"""Seconds the mail server takes over each message, so that faults fall into the middle of some."""

_LOOK = 0.05


def make_papers() -> list[DemoPaper]:
    """Return a few papers of the last days."""
    now = SystemClock().now()
    days = [now - timedelta(days=5, hours=number) for number in range(4)]
    return [made_up(number, day, id=f"{day:%y%m}.{15_000 + number:05d}") for number, day in enumerate(days)]


class LinkedReplica(Replica):
    """A replica, and its lines to the servers.

    Args:
        folder: of the installation.
        number: its own.
        links: by server.
        slack_token: what it posts with.
    """

    def __init__(self, folder: Path, number: int, links: list[Link], slack_token: str) -> None:
        self.links = links
        hosts = ",".join(f"127.0.0.1:{link.port}" for link in links)
        environment = {
            "DIGEST_SLACK_TOKEN": slack_token,
            "DIGEST_STORE_URL": f"postgresql://postgres@{hosts}/{DATABASE}",
            "DIGEST_WEB_BIND": f"127.0.0.1:{find_port()}",
        }
        super().__init__(number, folder, environment, ["digest", "serve"])

    @property
    def said(self) -> str:
        """What it said on stderr."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def restart(self) -> int:
        """End it in an orderly way and start it anew, until it serves again; return its exit code."""
        code = self.stop()
        self.start()
        await_ready([self])
        return code

    def stop(self) -> int:
        """End it in an orderly way; return its exit code."""
        self.ask_to_stop()
        return self.await_stop()


@dataclass
class Arrived:
    """What came of a wave: how often each place got the same message, and how its deliveries stand."""

    seen: Counter[str]
    expected: list[str]
    states: Counter[str]
    seconds: float

    @property
    def lost(self) -> list[str]:
        """Places to which not all came."""
        return [place for place in self.expected if not self.seen[place]]

    def doubled(self, kind: str) -> list[str]:
        """Places of a kind that got a message more than once."""
        return [place for place in self.expected if place.startswith(kind) and self.seen[place] > 1]


@dataclass
class DatabaseWorld:
    """Servers, replicas, a mailbox and a Slack."""

    folder: Path
    stack: ExitStack
    mail: CountingMail
    slack: SlackReceiver
    arxiv: DemoArxiv
    servers: list[PostgresServer]
    replicas: list[LinkedReplica] = field(default_factory=list)
    waves: int = 0
    leading: int = 0

    @property
    def primary(self) -> PostgresServer:
        """The server that takes writes."""
        return self.servers[self.leading]

    def fail_over(self) -> None:
        """Lose the primary for good; its standby takes over, and what was the primary becomes its standby."""
        lost, self.leading = self.primary, 1 - self.leading
        lost.crash()
        self.primary.promote()

    def follow_again(self) -> None:
        """Give the primary a standby once more, at the address of the server that was lost."""
        place = 1 - self.leading
        folder = self.folder / f"server{place}.{self.waves}"
        self.servers[place] = self.primary.make_standby(folder, self.servers[place].port)

    def add_replica(self) -> LinkedReplica:
        """Start one more replica; wait until it serves."""
        links = [self.stack.enter_context(Link(("127.0.0.1", server.port))) for server in self.servers]
        replica = LinkedReplica(self.folder, len(self.replicas), links, self.slack.token)
        self.stack.callback(replica.kill)
        self.replicas.append(replica)
        replica.start()
        await_ready([replica])
        return replica

    def begin_wave(self) -> list[str]:
        """Let the file name new subscriptions, and the first replica take it over; return their places."""
        self.waves += 1
        wave = self.waves
        places = [f"mailto:w{wave}n{number}@example.org" for number in range(MAILS)]
        places += [f"slack:#w{wave}n{number}" for number in range(POSTS)]
        with (self.folder / "digest.toml").open("a", encoding="utf-8") as file:
            for number, place in enumerate(places):
                file.write(f'[[subscriptions]]\nname = "w{wave}-{number}"\nfollow = ["perf"]\nto = "{place}"\n')
        for replica in self.replicas[:1]:
            replica.hasten()
        return places

    def await_first(self, places: list[str], share: float) -> None:
        """Wait until a share of a wave has arrived."""
        wait_until(lambda: len(+self.count(places)) >= share * len(places), 120)

    def end_wave(self, places: list[str], seconds: float = 300.0) -> Arrived:
        """Wait until all of a wave has arrived and is known to have, or for so long."""
        begun = time.monotonic()
        states: Counter[str] = Counter()
        while time.monotonic() - begun < seconds:
            states = self.load_states()
            if all(self.count(places)[place] for place in places) and set(states) == {"sent"}:
                break
            time.sleep(0.5)
        return Arrived(self.count(places), places, states, time.monotonic() - begun)

    def load_states(self) -> Counter[str]:
        """Return how the deliveries of the present wave stand."""
        pattern = rf":#?w{self.waves}n"
        found = self.primary.do(
            f"SELECT state, count(*) FROM deliveries WHERE destination ~ '{pattern}' GROUP BY state", DATABASE
        )
        return Counter({str(state): int(str(count)) for state, count in found})

    def count(self, places: list[str]) -> Counter[str]:
        """Return how often each place got the same message; 0 where it lacks one of its digest's."""
        came: dict[str, Counter[str]] = {place: Counter() for place in places}
        for arrival in (*self.mail.arrivals, *list_posts(self.slack)):
            if arrival.place in came:
                came[arrival.place][arrival.key] += 1
        is_whole = {place: len(keys) >= _MESSAGES[place.partition(":")[0]] for place, keys in came.items()}
        return Counter({place: max(keys.values()) if is_whole[place] else 0 for place, keys in came.items()})

    def find_exits(self) -> list[str]:
        """Return what the replicas said that ended by themselves."""
        return [replica.said[-1500:] for replica in self.replicas if not replica.is_alive]

    def count_tracebacks(self) -> int:
        """Return how many errors the replicas did not understand: such are logged with where they came from."""
        unknown = re.compile(r"^Traceback|level=error .*exception=", re.MULTILINE)
        return sum(len(unknown.findall(replica.said)) for replica in self.replicas)


@contextmanager
def open_world(folder: Path, waves: int, *, standby: bool = True) -> Iterator[DatabaseWorld]:
    """Open a world without replicas as yet.

    Args:
        folder: where everything is kept.
        waves: how many there will be at most.
        standby: whether the server has one.
    """
    names = [f"w{wave}n{number}" for wave in range(1, waves + 1) for number in range(POSTS)]
    with ExitStack() as stack:
        servers = [PostgresServer(folder / "server0")]
        servers[0].create()
        stack.callback(_crash_all, servers)
        servers[0].do(f"CREATE DATABASE {DATABASE}")
        if standby:
            servers.append(servers[0].make_standby(folder / "server1"))
        arxiv = stack.enter_context(DemoArxiv(make_papers(), SystemClock()))
        mail = stack.enter_context(CountingMail())
        mail.script.delay("END", SLOW_DOT, times=10**9)
        slack = stack.enter_context(SlackReceiver(SystemClock(), channels=names))
        head = write_config(
            arxiv.url,
            {"perf": "cat:cs.PF"},
            mail={"smtp": mail.url, "ambiguous_wait": 20},
            slack={"url": slack.url, "ambiguous_wait": 5},
            defaults={"when": "at once"},
        )
        (folder / "digest.toml").write_text(head, encoding="utf-8")
        yield DatabaseWorld(folder, stack, mail, slack, arxiv, servers)


def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it is not for so long.
    """
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError(f"not so within {seconds:g} s")
        time.sleep(_LOOK)


def _crash_all(servers: list[PostgresServer]) -> None:
    for server in servers:
        with contextlib.suppress(RuntimeError):  # it was lost, and nothing took its place
            server.crash()
