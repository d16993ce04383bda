"""Where a process may die, and what each reader sees of it then.

The table, and how it is looked at.

Each medium goes through five moments: at death, at the next start (ten seconds later), once every
claim has lapsed, twenty minutes and five hours after that. A path names what stands there at each,
as `look_at` says it, the last for all that follow: `sending 1 > unknown 1 > sent 2` is a mail that
was taken right before the death, so that its only reader gets it twice. Of feeds `4/0` are the
papers served and those in the file.

On SQLite whoever starts next knows itself alone and goes on at once. On PostgreSQL nobody can tell
a dead process from a slow one before its claims have lapsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from digest.deliver.feeds import load_feed
from digest.store import subscriptions
from tests.simulator.deaths import ForkedProcesses, Point
from tests.simulator.life import File, Life, Wish, ask, living

OLD = 2
NEWS = 4
"""Papers known from the first look, and papers that came out since: two to a page."""

MEDIA = ("mail", "Slack", "feed")
_PREFIX = {"mail": "mailto:", "Slack": "slack:"}
_FEED = "feeds/perf.atom"
_PLACES = ("mailto:reader@example.org", "slack:#papers", "feed", f"file:{_FEED}")
_PERF = File(
    {"perf": "cat:cs.PF"}, {"perf-team": Wish(("perf",), _PLACES, when="daily at 12:00 UTC")}
)

MOMENTS = (timedelta(seconds=10), timedelta(minutes=2), timedelta(minutes=20), timedelta(hours=5))
"""From each moment to the next; the leases lapse before the second of them."""

_RUN = "digest.poll.record:RecordedRun."
_PASS = "digest.serve.steps:"
_OUTBOX = "digest.store.attempts:"
_SMTP = "digest.deliver.transports.smtp:SmtpTransport."
_SLACK = "digest.deliver.transports.slack:SlackTransport."
_FILE = "digest.deliver.transports.file:"


@dataclass(frozen=True)
class Stored:
    """What a database holds of the day's news.

    `cursor` says whether the day counts as looked at.
    """

    papers: int
    look: str
    cursor: str
    matched: int
    digests: int


ALL = OLD + NEWS
LOOKING = Stored(papers=OLD, look="running", cursor="old", matched=0, digests=0)
LOOKED = Stored(papers=ALL, look="complete", cursor="moved", matched=0, digests=0)
MATCHED = Stored(papers=ALL, look="complete", cursor="moved", matched=NEWS, digests=0)
PLANNED = Stored(papers=ALL, look="complete", cursor="moved", matched=NEWS, digests=1)

NOTHING_YET = "none 0 > sent 1"
NOT_WHILE_IT_LOOKS = "none 0 > none 0 > sent 1"
READY = "ready 0 > sent 1"
CLAIMED = "claimed 0 > sent 1"
SENT = "sent 1"
NOT_TAKEN = "sending 0 > unknown 0 > sent 1"
TAKEN_TWICE = "sending 1 > unknown 1 > sent 2"
FOUND = "sending 1 > unknown 1 > sent 1"
FEED_LATER = "0/0 > 4/4"
FEED_AFTER_THE_LOOK = "0/0 > 0/0 > 4/4"
FEED_SERVED = "4/0 > 4/4"
FEED_DONE = "4/4"


@dataclass(frozen=True)
class Row:
    """A crash point, the path of each medium, and what is stored at death.

    The paths that differ on PostgreSQL are given apart.
    """

    name: str
    between: str
    point: Point
    mail: str = SENT
    slack: str = SENT
    feed: str = FEED_SERVED
    stored: Stored = PLANNED
    postgresql: dict[str, str] = field(default_factory=dict)

    def path(self, medium: str, *, is_sqlite: bool) -> list[str]:
        """Return what stands at each of the five moments."""
        ordinary = {"mail": self.mail, "Slack": self.slack, "feed": self.feed}[medium]
        steps = (ordinary if is_sqlite else self.postgresql.get(medium, ordinary)).split(" > ")
        if not is_sqlite and steps[0].startswith(("claimed", "sending")):
            steps = [steps[0], *steps]  # until the claim of the dead has lapsed
        return steps + [steps[-1]] * (len(MOMENTS) + 1 - len(steps))


def _die_looking(
    name: str, between: str, point: Point, stored: Stored, feed: str = FEED_AFTER_THE_LOOK
) -> Row:
    """Return the row of a death while it looks at arXiv.

    A replica leaves arXiv to another until that has been silent for a minute; the digest waits
    meanwhile.
    """
    other = {"mail": NOT_WHILE_IT_LOOKS, "Slack": NOT_WHILE_IT_LOOKS, "feed": feed}
    return Row(name, between, point, NOTHING_YET, NOTHING_YET, FEED_LATER, stored, other)


_BACK = "the database goes away before the mark → it comes back"
_KILLED = "the database goes away before the mark → killed before it comes back"

TABLE = (
    _die_looking(
        "C1",
        "a grant from the gate → the request",
        Point("digest.store.gate:StoreGate.acquire", after=True),
        LOOKING,
    ),
    _die_looking("C2", "a page fetched → stored", Point(_RUN + "store_page"), LOOKING),
    _die_looking(
        "C3",
        "some of a page's rows → all of them",
        Point("digest.store.changes:save", after=True, skip=1),
        LOOKING,
    ),
    _die_looking(
        "C4",
        "one page → the next",
        Point(_RUN + "store_page", after=True, skip=1),
        Stored(papers=OLD + 2, look="running", cursor="old", matched=0, digests=0),
        "0/0 > 2/2 > 4/4",
    ),
    _die_looking(
        "C4, last",
        "the last page → the cursor",
        Point(_RUN + "_finish"),
        Stored(papers=ALL, look="running", cursor="old", matched=0, digests=0),
        FEED_LATER,
    ),
    Row(
        "C5",
        "all stored → matched",
        Point(_PASS + "match"),
        NOTHING_YET,
        NOTHING_YET,
        FEED_LATER,
        stored=LOOKED,
    ),
    Row(
        "C5, inside",
        "matches written → the mark",
        Point("digest.store.matches:save", after=True),
        NOTHING_YET,
        NOTHING_YET,
        FEED_LATER,
        stored=LOOKED,
    ),
    Row(
        "C6",
        "matched → planned",
        Point(_PASS + "match", after=True),
        NOTHING_YET,
        NOTHING_YET,
        stored=MATCHED,
    ),
    Row(
        "C7",
        "digest, deliveries and turn written → committed",
        Point("digest.plan.step:remember_tokens", after=True),
        NOTHING_YET,
        NOTHING_YET,
        stored=MATCHED,
    ),
    Row("C8", "planned → claimed", Point(_PASS + "plan", after=True), READY, READY),
    Row("C9, mail", "claimed → the intent", Point(_OUTBOX + "begin"), CLAIMED, READY),
    Row("C9, Slack", "claimed → the intent", Point(_OUTBOX + "begin", skip=1), SENT, CLAIMED),
    Row("C9, feed", "all sent → its file begun", Point(_PASS + "publish_feeds")),
    Row("C10, mail", "the intent → the first byte", Point(_SMTP + "send"), NOT_TAKEN, READY),
    Row(
        "C10, mail, inside",
        "all of its bytes → the final dot",
        Point("digest.deliver.transports.smtp_connection:SmtpConnection._check_once_more"),
        NOT_TAKEN,
        READY,
    ),
    Row("C10, Slack", "the intent → the first byte", Point(_SLACK + "send"), SENT, NOT_TAKEN),
    Row("C10, feed", "its new file is due → the first byte of it", Point(_FILE + "_replace")),
    Row("C10, feed, inside", "all bytes of its new file → its name", Point("shutil:copymode")),
    Row(
        "C11, mail",
        "taken by the mail server → the mark",
        Point(_SMTP + "send", after=True),
        TAKEN_TWICE,
        READY,
    ),
    Row("C11, Slack", "taken by Slack → the mark", Point(_SLACK + "send", after=True), SENT, FOUND),
    Row(
        "C11, feed",
        "its new file is in place → nothing is left to mark",
        Point(_FILE + "_sync_folder"),
        SENT,
        SENT,
        FEED_DONE,
    ),
    Row(
        "C12, mail",
        _BACK,
        Point(_SMTP + "send", after=True, happens="outage"),
        SENT,
        SENT,
        FEED_DONE,
    ),
    Row(
        "C12, Slack",
        _BACK,
        Point(_SLACK + "send", after=True, happens="outage"),
        SENT,
        SENT,
        FEED_DONE,
    ),
    Row(
        "C12, mail, killed",
        _KILLED,
        Point(_SMTP + "send", after=True, happens="outage, death"),
        TAKEN_TWICE,
        READY,
    ),
    Row(
        "C12, Slack, killed",
        _KILLED,
        Point(_SLACK + "send", after=True, happens="outage, death"),
        SENT,
        FOUND,
    ),
    Row(
        "C13, mail",
        "marked → what follows",
        Point("digest.deliver.step:_mark_sent", after=True),
        SENT,
        READY,
    ),
    Row(
        "C13, Slack",
        "marked → what follows",
        Point("digest.deliver.step:_mark_sent", after=True, skip=1),
    ),
    Row("C13, feed", "all is told → the pass ends", Point(_PASS + "watch"), SENT, SENT, FEED_DONE),
)
"""C15 takes more than a death: test_fail_points.py has it below the table."""

POINTS = (
    *(row.point for row in TABLE if row.point.happens == "death"),
    Point("digest.poll.search:fetch_first_digest_papers"),
    Point("digest.store.matches:set_matched_mark"),
    Point("digest.store.matches:set_matched_mark", after=True),
    Point("digest.store.runs:move_cursor"),
    Point("digest.store.runs:move_cursor", after=True),
    Point("digest.store.subscriptions:store_slots", after=True),
    Point("digest.store.digests:save"),
    Point("digest.store.outbox:claim", after=True),
    Point("digest.store.attempts:claim_unknown", after=True),
    Point("digest.store.attempts:settle_unknown"),
    Point("digest.store.attempts:mark_sent"),
    Point("digest.store.attempts:mark_sent", after=True),
)
"""Every point at which a process dies somewhere.

The table's, and the edges of each transaction besides.
"""


@contextmanager
def perf_team(
    folder: Path, forked_processes: ForkedProcesses, database: str, admin: str
) -> Iterator[Life]:
    """Begin a life with one reader of mail, one channel and one feed.

    It begins on the noon after a day with news.
    """
    with living(
        folder, forked_processes, database, admin, file=_PERF, old=OLD, page_size=2
    ) as life:
        life.patience = timedelta(
            hours=2
        )  # as `digest serve` lets a digest wait for an announcement
        for _ in range(NEWS):
            life.announce()
        life.advance(timedelta(days=1))
        yield life


def live_on(life: Life, moments: tuple[timedelta, ...] = MOMENTS) -> dict[str, list[str]]:
    """Look at every medium now and after each of the moments, at each of which it runs once."""
    seen = {medium: [look_at(life, medium)] for medium in MEDIA}
    for moment in moments:
        life.advance(moment)
        life.make_pass(wait=timedelta(0))
        for medium in MEDIA:
            seen[medium].append(look_at(life, medium))
    return seen


def look_at(life: Life, medium: str) -> str:
    """Say how a medium stands.

    Its deliveries' states and how many copies came, such as `sending 1`.

    Of Slack only the message in the channel counts. Of a feed it says how many papers are served
    and how many are in its file, such as `4/0`.
    """
    with life.site.store.read() as conn:
        if medium == "feed":
            (due,) = subscriptions.load(conn)
            feed = life.site.renderer.render_feed(load_feed(conn, life.site, due), "atom")
            served = _count_entries(feed)
            return f"{served}/{_count_entries(read_feed(life))}"
        first = f"destination LIKE '{_PREFIX[medium]}%' AND part = 0"
        rows = ask(conn, f"SELECT state FROM deliveries WHERE {first} ORDER BY id")
    states = "+".join(row.state for row in rows) or "none"
    if medium == "mail":
        return f"{states} {len(life.mail.mails)}"
    posts = [post for post in life.slack.messages if not post.thread_ts]
    return f"{states} {len(posts)}"


def look_into(life: Life) -> Stored:
    """Say what its database holds."""
    with life.site.store.read() as conn:
        (row,) = ask(
            conn,
            "SELECT (SELECT count(*) FROM papers) AS papers,"
            " (SELECT outcome FROM poll_runs WHERE source = 'harvest'"
            " ORDER BY id DESC LIMIT 1) AS look,"
            " (SELECT count(*) FROM cursors JOIN poll_runs ON poll_runs.id = last_complete_run_id"
            "  WHERE cursors.source = 'harvest' AND NOT is_bootstrap) AS moved,"
            f" (SELECT value FROM marks WHERE name = 'matched') - {OLD} AS matched,"
            " (SELECT count(*) FROM digests) AS digests",
        )
    return Stored(row.papers, row.look, "moved" if row.moved else "old", row.matched, row.digests)


def find_told(life: Life) -> set[str]:
    """Return the ids of the news that every medium has brought to its readers by now."""
    (mail, *others) = {mail.raw for mail in life.mail.mails}
    assert not others, "one mail, however often it came, byte for byte alike"
    posts: list[str] = []
    for post in life.slack.messages:
        if post.thread_ts:
            posts += post.block_texts
    texts = (mail.decode(), " ".join(posts), read_feed(life).decode())
    told = [{*re.findall(r"2603\.\d{5}", words)} for words in texts]
    return set.intersection(*told)


def read_feed(life: Life) -> bytes:
    """Return its feed's file, nothing while there is none."""
    path = life.folder / _FEED
    return path.read_bytes() if path.exists() else b""


def _count_entries(feed: bytes) -> int:
    """Count the papers of a feed; one without any holds a note that says so."""
    return len({*re.findall(rb"/abs/(2603\.\d{5})", feed)})
