"""How fast mails are sent, against plain smtplib into the same mail server.

    python -m tests.bench.sending

Both send 90 KB mails over eight connections into a real Postfix, which queues each on disk and throws it away.
smtplib does nothing else: eight threads, each with a connection it keeps. Ours is the whole way of a delivery:
the claim, the digest read, the intent with the mail's bytes committed, the sending, the mark committed; the
mail is made beforehand, as smtplib's is. They take turns, a round each, and the median of the rounds' ratios
counts. Goal: 80 % of smtplib on PostgreSQL; SQLite is reported. What it takes to render such mails, one digest
for many readers, is a line of its own.

PostgreSQL is the one from the wheel, with fsync on. Postfix is the machine's own, with an instance in a
folder of its own on a free port; that takes root.
"""

from __future__ import annotations

import os
import random
import shutil
import smtplib
import socket
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

import click

from digest.config import load_config
from digest.deliver.dispatch import LANES, deliver
from digest.model.clock import SystemClock
from digest.model.messages import Delivery, DeliveryPlan, DeliveryState, Message
from digest.model.subscriptions import Destination, DestinationKind
from digest.render import MailIdentity, Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry
from digest.serve.configuration import sync_roster
from digest.serve.installation import open_site
from digest.store import digests as digest_store
from digest.store import subscriptions as subscription_store
from tests.bench.installations import databases, say
from tests.fakes.config_file import write_config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from digest.poll.installation import Site

MAILS, ROUNDS, CONNECTIONS = 1_000, 5, 8
SIZE: Final = 90_000
GOAL: Final = 0.8

_SENDER = "digest@example.org"
_WORDS = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8").split()

_MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/spool
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
command_directory = /usr/sbin
daemon_directory = {daemons}
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
myhostname = bench.example.org
mydestination =
alias_maps =
alias_database =
default_transport = discard
smtpd_client_connection_count_limit = 0
smtpd_relay_restrictions = permit_mynetworks, reject
"""
_MASTER = """
127.0.0.1:{port} inet n - n - 50 smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass(frozen=True)
class Pace:
    """Mails a second, and milliseconds of this process's own work for each."""

    rate: float
    work: float


class MadeBefore:
    """Stands for the renderer: gives every delivery a mail of the size wanted, of words drawn once."""

    def __init__(self, seed: int = 1) -> None:
        rng = random.Random(seed)  # noqa: S311 - no secret
        body = b""
        while len(body) < SIZE:
            body += " ".join(rng.choices(_WORDS, k=9)).encode("ascii", "replace")[:76] + b"\r\n"
        self._body = body

    def write(self, key: str) -> bytes:
        """Return a mail."""
        head = f"From: {_SENDER}\r\nSubject: A day's papers\r\nMessage-ID: <{key}@example.org>\r\n\r\n"
        return head.encode() + self._body

    def render(self, _digest: object, delivery: Delivery, *_: object) -> Message:
        """Return a delivery's mail."""
        return Message("message/rfc822", self.write(delivery.idempotency_key), delivery.idempotency_key, "d.eml")


@contextmanager
def postfix() -> Iterator[int]:
    """Run a Postfix that throws away what it has queued; give its port."""
    folder = Path(tempfile.mkdtemp(prefix="digest-postfix-"))
    folder.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    daemons = _ask("postconf", "-d", "-h", "daemon_directory")
    for name in ("config", "spool", "data"):
        (folder / name).mkdir()
    shutil.chown(folder / "data", "postfix")
    (folder / "config" / "main.cf").write_text(_MAIN.format(folder=folder, daemons=daemons), encoding="ascii")
    (folder / "config" / "master.cf").write_text(_MASTER.format(port=port), encoding="ascii")
    try:
        _ask("postfix", "-c", str(folder / "config"), "start")
        try:
            yield port
        finally:
            _ask("postfix", "-c", str(folder / "config"), "stop")
    finally:
        shutil.rmtree(folder)


def _ask(name: str, *arguments: str) -> str:
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert path is not None, name
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - the machine's own
    if done.returncode:
        raise SystemExit(f"{name} {' '.join(arguments)}: {done.stderr or done.stdout}")
    return done.stdout.strip()


def _measure(mails: int, send: Any) -> Pace:  # noqa: ANN401 - called without arguments
    begun, worked = perf_counter(), process_time()
    send()
    return Pace(mails / (perf_counter() - begun), (process_time() - worked) / mails * 1e3)


def measure_smtplib(port: int, maker: MadeBefore, mails: int) -> Pace:
    """Send so many mails by smtplib alone."""

    def send_share(share: int) -> None:
        with smtplib.SMTP("127.0.0.1", port) as link:
            for number in range(share, mails, CONNECTIONS):
                link.sendmail(_SENDER, [f"reader-{number}@example.org"], maker.write(f"plain-{number}"))

    def send_all() -> None:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(send_share, range(CONNECTIONS)))

    return _measure(mails, send_all)


def measure_rendering(readers: int) -> tuple[int, float]:
    """Return how many bytes a mail of 40 papers has, and milliseconds of work to render it for each reader."""
    renderer, digest = Renderer(), make_digest([make_entry(number) for number in range(1, 41)])
    identity = MailIdentity(_SENDER, "", "example.org", digest.planned_at)
    size, worked = 0, process_time()
    for number in range(readers):
        own = [f"https://digest.example.org/{page}/{number:022}" for page in "up"]
        links = replace(SAMPLE_LINKS, unsubscribe=own[0], preferences=own[1])
        mail = renderer.render_mail(digest, make_delivery(number, digest.planned_at), links, identity)
        size = len(mail.body)
    return size, (process_time() - worked) / readers * 1e3


def make_delivery(number: int, at: datetime) -> Delivery:
    """Return a delivery to a reader of its own."""
    return Delivery(
        id=number,
        digest_id=1,
        destination=Destination(DestinationKind.MAIL, f"reader-{number}@example.org"),
        part=0,
        parts=1,
        state=DeliveryState.CLAIMED,
        attempts=0,
        token=1,
        idempotency_key=f"key-{number}",
        not_before=at,
        created_at=at,
    )


def measure_ours(site: Site, mails: int, number: int) -> Pace:
    """Send so many mails from the outbox; they are planned before the clock starts."""
    readers = [Destination(DestinationKind.MAIL, f"reader-{n}@example.org") for n in range(mails)]
    plans = [DeliveryPlan(reader, 0, 1, f"bench-{number}-{n}") for n, reader in enumerate(readers)]
    now = site.clock.now()
    with site.store.begin() as conn:
        (due,) = subscription_store.load_subscriptions(conn)
        empty = make_digest((), subscription="everybody", slot=f"run:{number}", planned_at=now)
        digest_store.save_digests(conn, [digest_store.DigestDraft(due.id, empty, plans, ())], at=now)
    sent: list[int] = []
    pace = _measure(mails, lambda: sent.append(deliver(site, lanes=LANES[:1]).total))
    if sent != [mails]:
        raise SystemExit(f"{sent} of {mails} were sent")
    return pace


@contextmanager
def installed(url: str, port: int, mails: int) -> Iterator[Site]:
    """Open an installation with one subscription to many readers."""
    readers = [f"mailto:reader-{n}@example.org" for n in range(mails)]
    text = write_config(
        "http://127.0.0.1:9",
        {"perf": "cat:cs.PF"},
        [{"name": "everybody", "follow": ["perf"], "to": readers}],
        store={"url": url},
        mail={"smtp": f"smtp://127.0.0.1:{port}", "connections": CONNECTIONS},
    )
    with tempfile.TemporaryDirectory(prefix="digest-bench-") as folder:
        path = Path(folder) / "digest.toml"
        path.write_text(text, encoding="utf-8")
        site = open_site(load_config(path, {}), SystemClock(), owner="bench", jitter=lambda: 0.5)
        try:
            sync_roster(site)
            site.renderer = MadeBefore()  # type: ignore[assignment]  # all of it that sending needs
            yield site
        finally:
            site.close()


def measure_side_by_side(site: Site, port: int, mails: int, rounds: int) -> list[tuple[Pace, Pace]]:
    """Return for each round how fast smtplib was, and ours; a small round goes before."""
    maker = MadeBefore()
    measure_smtplib(port, maker, CONNECTIONS)
    measure_ours(site, min(mails, 50), 0)
    return [
        (measure_smtplib(port, maker, mails), measure_ours(site, mails, number)) for number in range(1, rounds + 1)
    ]


@click.command()
@click.option("--mails", default=MAILS, show_default=True, help="how many in a round")
@click.option("--rounds", default=ROUNDS, show_default=True)
def main(mails: int, rounds: int) -> None:
    """Measure everything."""
    if shutil.which("postfix", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None or os.geteuid() != 0:
        say("skipped: this needs Postfix and root (apt-get install postfix)")
        return
    size, work = measure_rendering(mails)
    say(f"rendering: {work:.2f} ms of own work for a mail of {size / 1000:.0f} KB, a digest to {mails:,} readers")
    is_met = True
    with databases() as urls, postfix() as port:
        for name, url in urls.items():
            with installed(url, port, mails) as site:
                pairs = measure_side_by_side(site, port, mails, rounds)
            ratio = median(ours.rate / plain.rate for plain, ours in pairs)
            goal = "reported"
            if name == "PostgreSQL":
                is_met = ratio >= GOAL
                goal = f"≥ {GOAL:.0%} {'met' if is_met else 'MISSED'}"
            plain, ours = (
                (median(p.rate for p in side), median(p.work for p in side)) for side in zip(*pairs, strict=True)
            )
            say(
                f"{name}: {ours[0]:,.0f} mails a second over {CONNECTIONS} connections, smtplib {plain[0]:,.0f}: "
                f"{ratio:.0%}   {goal}; own work for a mail {ours[1]:.2f} ms, smtplib {plain[1]:.2f} ms"
            )
    raise SystemExit(0 if is_met else 1)


if __name__ == "__main__":
    main()
