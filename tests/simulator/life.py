"""A whole installation being lived.

What anybody may do to it, and what was done, for the oracle to know.

arXiv, the mail server and Slack are real servers on 127.0.0.1, the database is a real one, every
pass is the product's own. A pass that is to die is a process of its own (see `deaths`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, make_url, text
from sqlalchemy.util import LRUCache

from digest.deliver.transports.smtp import SmtpTransport
from digest.model.clock import ManualClock, SystemClock
from digest.model.destinations import Destination
from digest.people.unsubscription import PAGE, resubscribe_to, unsubscribe_from
from digest.render.renderer import Renderer
from digest.serve.steps import PassReport, run_pass
from digest.site import Site
from digest.store import open_store
from tests.fakes.archive import DemoPaper, plan_announcement
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.slack import SlackReceiver
from tests.harness.installation import Installation, installed
from tests.harness.papers import START, made_up
from tests.simulator.deaths import (
    ENDED,
    KILLED,
    ForkedProcesses,
    Point,
    find,
    replace_function,
    shut_database,
)
from tests.simulator.planted import PLANTS

TEXTS: dict[str, Callable[[Any], bool]] = {
    "cat:cs.PF": lambda paper: "cs.PF" in paper.categories,
    "cat:cs.DC": lambda paper: "cs.DC" in paper.categories,
    "abs:latency": lambda paper: "latency" in paper.abstract,
    "cat:cs.PF AND abs:latency": lambda paper: (
        "cs.PF" in paper.categories and "latency" in paper.abstract
    ),
    "cat:cs.PF OR cat:cs.DC": lambda paper: bool({"cs.PF", "cs.DC"} & {*paper.categories}),
}
"""Saved queries, and what each means, said once more by other means than the product's."""

CADENCES = (
    *("daily at 06:00 UTC", "weekdays at 09:00 Europe/Berlin", "mondays at 08:00 America/New_York"),
    *("on announcement", "at once"),
)
KINDS = (("new", "cross-listed"), ("new", "cross-listed", "replaced", "withdrawn"))
CATEGORIES = ("cs.PF", "cs.DC", "math.CO")
CHANNELS = {"C000PAPERS": "slack:#papers", "C000LAB": "slack:#lab"}
"""Slack's channels, by id, as the file names them."""

WORDS = ("latency", "throughput")

_MINUTE = timedelta(minutes=1)
_LEASE = 61
"""Seconds after which a claim that is not kept alive lapses, and a silent worker counts as gone."""

_LOG = """
CREATE TABLE steps_taken (id {key}, delivery INTEGER, before TEXT, after TEXT, tokens TEXT,\
 is_body_kept INTEGER)
"""
_SQLITE_TRIGGER = """
CREATE TRIGGER note_steps AFTER UPDATE ON deliveries BEGIN
INSERT INTO steps_taken (delivery, before, after, tokens, is_body_kept)\
 VALUES (OLD.id, OLD.state, NEW.state,
OLD.token || ' ' || NEW.token || ' ' || OLD.attempts || ' ' || NEW.attempts,
OLD.body IS NULL OR OLD.body = NEW.body OR (NEW.body IS NULL AND OLD.ended_at IS NOT NULL)); END
"""
_POSTGRESQL_TRIGGER = """
CREATE FUNCTION note_step() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO steps_taken (delivery, before, after, tokens, is_body_kept)\
 VALUES (OLD.id, OLD.state, NEW.state,
OLD.token || ' ' || NEW.token || ' ' || OLD.attempts || ' ' || NEW.attempts,
(OLD.body IS NULL OR OLD.body = NEW.body OR (NEW.body IS NULL AND OLD.ended_at IS NOT NULL))::int);
RETURN NULL; END $$;
CREATE TRIGGER note_steps AFTER UPDATE ON deliveries FOR EACH ROW EXECUTE FUNCTION note_step()
"""

_compiled: LRUCache[Any, Any] = LRUCache(2_000)
_renderer = Renderer([])


@dataclass(frozen=True)
class Wish:
    """A subscription as the file has it."""

    follow: tuple[str, ...]
    to: tuple[str, ...]
    when: str = CADENCES[0]
    kinds: tuple[str, ...] = KINDS[0]
    when_empty: str = "skip"

    @property
    def sent_to(self) -> tuple[str, ...]:
        return tuple(place for place in self.to if place.startswith(("mailto:", "slack:")))


WISHES = {
    "team": Wish(("a", "b"), ("mailto:team@example.org", "slack:#papers", "file:feeds/team.atom")),
    "solo": Wish(("a",), ("mailto:solo@example.org",), when=CADENCES[1], when_empty="note"),
    "lab": Wish(("b",), ("slack:#lab", "file:feeds/lab.json"), when=CADENCES[4]),
    "board": Wish(("a",), ("file:feeds/board.atom",)),
}


@dataclass(frozen=True)
class File:
    """What `digest.toml` says."""

    queries: dict[str, str]
    wishes: dict[str, Wish]

    def list_subscriptions(self) -> list[dict[str, object]]:
        return [{"name": name, **asdict(wish)} for name, wish in self.wishes.items()]


USUAL = File({"a": "cat:cs.PF", "b": "abs:latency"}, WISHES)


@dataclass(frozen=True)
class Left:
    """Since when somebody is to be left alone: so many messages had come by then."""

    mails: int
    posts: int


@dataclass
class Life(Installation):
    """One installation from its first look on.

    `disturbed` is since when each subscription's turns go as they go now, `passed` the file as each
    pass read it, `returned` which subscriptions somebody came back to, with how many passes there
    had been, `gone` those that the file names no more. Slack refuses each place until a moment, the
    token as "", and each was last mended at another; `report` is of the last whole pass.
    """

    clock: ManualClock
    _: KW_ONLY
    database: str
    admin: str
    forked_processes: ForkedProcesses
    file: File
    fault: str = ""
    patience: timedelta = timedelta(0)
    left: dict[tuple[str, str], Left] = field(default_factory=dict)
    disturbed: dict[str, datetime] = field(default_factory=dict)
    passed: list[tuple[datetime, File]] = field(default_factory=list)
    has_completed: bool = False
    returned: dict[str, int] = field(default_factory=dict)
    gone: dict[str, Wish] = field(default_factory=dict)
    papers: dict[str, list[DemoPaper]] = field(default_factory=dict)
    held: list[tuple[str, datetime]] = field(default_factory=list)
    deaths: int = 0
    refused_until: dict[str, datetime] = field(default_factory=dict)
    mended_at: dict[str, datetime] = field(default_factory=dict)
    report: PassReport | None = None
    _edited: set[str] = field(default_factory=set)
    _numbers: Counter[str] = field(default_factory=Counter)
    _owners: int = 0
    _site: Site | None = None

    @property
    def is_sqlite(self) -> bool:
        return not self.admin

    def advance(self, by: timedelta) -> None:
        """Let time pass; the database's own clock goes on, too, as far as leases can tell."""
        self.clock.advance(by)
        if by > timedelta(seconds=_LEASE):
            with self.site.store.begin() as conn:
                conn.execute(text(f"UPDATE deliveries SET lease_until = lease_until - {_LEASE}"))
                conn.execute(text(f"UPDATE workers SET seen_at = seen_at - {_LEASE}"))

    def announce(
        self,
        category: str = "cs.PF",
        word: str = "latency",
        *,
        held_since: tuple[str, datetime] | None = None,
    ) -> None:
        """Let a paper come out with the next announcement.

        One that was held, under the id it had long ago.
        """
        id_, submitted = held_since or self._take_id()
        announced = plan_announcement(self.clock.now())
        fields = {
            "id": id_,
            "announced": announced,
            "abstract": f"We measure {word}.",
            "categories": (category,),
        }
        self.publish(made_up(0, submitted, **fields))  # type: ignore[arg-type]  # DemoPaper's

    def hold(self) -> None:
        """Let a moderator keep a paper back; its id is given out."""
        self.held.append(self._take_id())

    def publish(self, paper: DemoPaper) -> None:
        self.arxiv.add(paper)
        self._keep(paper)

    def replace_paper(self, paper_id: str, word: str) -> None:
        self._keep(self.arxiv.replace(paper_id, abstract=f"We measure {word} anew."))

    def cross_list(self, paper_id: str, category: str) -> None:
        if category not in self.papers[paper_id][-1].categories:
            self._keep(self.arxiv.cross_list(paper_id, category))

    def withdraw(self, paper_id: str) -> None:
        if not self.papers[paper_id][-1].is_withdrawn:
            self._keep(self.arxiv.withdraw(paper_id))

    def edit_paper(self, paper_id: str, journal_ref: str) -> None:
        """Let a paper be published in a journal, which is public at once."""
        last = self.papers[paper_id][-1]
        self.publish(
            replace(last, journal_ref=journal_ref, announced=max(last.announced, self.clock.now()))
        )

    def change_file(self, file: File) -> None:
        """Change the file; the next pass reads it."""
        names = {*self.file.wishes, *file.wishes}
        self._edited |= {
            name for name in names if self.file.wishes.get(name) != file.wishes.get(name)
        }
        self.returned |= dict.fromkeys(
            file.wishes.keys() - self.file.wishes.keys(), len(self.passed)
        )
        self.gone |= {
            name: wish for name, wish in self.file.wishes.items() if name not in file.wishes
        }
        self.file = file
        self.close()

    def edit_wish(self, name: str, **changes: Any) -> None:  # noqa: ANN401 - fields of Wish
        if name in self.file.wishes:
            wish = replace(self.file.wishes[name], **changes)
            self.change_file(replace(self.file, wishes=self.file.wishes | {name: wish}))

    def leave(self, place: str, name: str) -> None:
        """Somebody leaves by the link, at this moment; also in the middle of a pass."""
        with self.site.store.begin() as conn:
            unsubscribe_from(conn, Destination.parse(place), name, how=PAGE, at=self.clock.now())
        self.left.setdefault((place, name), Left(len(self.mail.mails), len(self.slack.messages)))
        self._edited.add(name)

    def resubscribe(self, place: str, name: str) -> None:
        if (place, name) in self.left:
            with self.site.store.begin() as conn:
                resubscribe_to(conn, Destination.parse(place), name, how=PAGE, at=self.clock.now())
            del self.left[place, name]
            self.returned[name] = len(self.passed)
            self._edited.add(name)

    def refuse(self, channel: str, code: str, lasting: timedelta) -> None:
        """Let Slack refuse a channel, "" for the token, for a while."""
        if channel:
            self.slack.workspace.refusals[channel] = code
        else:
            self.slack.trouble = code
        self.refused_until[channel] = self.clock.now() + lasting

    def mend(self, *, all_of_them: bool = False) -> None:
        """Let Slack take again what it refused long enough."""
        now = self.clock.now()
        over = [one for one, until in self.refused_until.items() if until <= now or all_of_them]
        for channel in over:
            del self.refused_until[channel]
            if channel:
                del self.slack.workspace.refusals[channel]
            else:
                self.slack.trouble = ""
            self.mended_at |= dict.fromkeys([channel] if channel else CHANNELS, now)

    def make_pass(
        self,
        point: Point | None = None,
        *,
        meanwhile: Callable[[], None] | None = None,
        wait: timedelta = _MINUTE,
    ) -> None:
        """Live one pass after a while.

        Something may happen at a point, or before a message is rendered.
        """
        self.clock.advance(wait)
        self.disturbed |= dict.fromkeys(self._edited, self.clock.now())
        self._edited.clear()
        self.passed.append((self.clock.now(), self.file))
        self.has_completed = False
        self.report = None
        if point is None:
            planted = PLANTS[self.fault]() if self.fault else nullcontext()
            with planted, self._interject(meanwhile) if meanwhile else nullcontext():
                self.report = run_pass(self.site, patience=self.patience)
            self.has_completed = True
        else:
            self._run_apart(point)

    def _run_apart(self, point: Point) -> None:
        """Live one pass in a process of its own.

        Something happens to it at a point that it may come to.
        """
        self._write_wishes()
        self.close()
        ended = self.forked_processes.run(
            point,
            folder=self.folder,
            environ=self.environ,
            owner=self._name_owner(),
            admin=self.admin,
            fault=self.fault,
            patience=self.patience,
        )
        assert ended in (KILLED, ENDED), self.forked_processes.read_log()
        self.has_completed = ended == ENDED
        self.deaths += ended == KILLED
        if "outage" in point.happens and self.admin:
            shut_database(self.admin, str(make_url(self.database).database), is_open=True)
        while self._count_busy():
            SystemClock().sleep(0.01)

    def _count_busy(self) -> int:
        """Count the connections that PostgreSQL has not noticed to be gone."""
        if self.is_sqlite:
            return 0
        with self.site.store.read() as conn:
            ((busy,),) = ask(
                conn,
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
                " AND state <> 'idle'",
            )
        return int(busy)

    @contextmanager
    def _interject(self, act: Callable[[], None]) -> Iterator[None]:
        """Do something from outside once the first message of a pass is about to be rendered."""
        path = "digest.deliver.step:MessageMaker.make"
        is_done = False
        original = find(path)

        def interrupted(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - stands for any function
            nonlocal is_done
            if not is_done:
                is_done = True
                act()
            return original(*args, **named)

        undo = replace_function(path, interrupted)
        try:
            yield
        finally:
            undo()

    @property
    def site(self) -> Site:
        """The installation as the next process finds it."""
        if self._site is None:
            self._write_wishes()
            self._site = self.open(self._name_owner())
            # Compiled templates and statements are the same for every process.
            self._site.renderer = _renderer
            if self.is_sqlite:
                self._site.store.engine._compiled_cache = _compiled
        return self._site

    def _name_owner(self) -> str:
        self._owners += 1
        return f"process {self._owners}"

    def _write_wishes(self) -> None:
        """Write `digest.toml` as it is wished for."""
        self.write_file(
            self.file.queries,
            self.file.list_subscriptions(),
            store={"url": self.database},
            web={"base_url": "http://localhost"},
            defaults={"look_back": "0 days"},
        )

    def close(self) -> None:
        """Throw the process away, without a word to anybody."""
        if self._site is not None:
            for transport in self._site._transports.values():
                if isinstance(transport, SmtpTransport):
                    for connection in (*transport._idle, *transport._lent):
                        connection.drop()
            self._site.client.close()
            self._site.store.engine.dispose()
            self._site = None

    def _take_id(self) -> tuple[str, datetime]:
        """Give out the next id of the month; return it with when it was."""
        now = self.clock.now()
        month = f"{now:%y%m}"
        self._numbers[month] += 1
        return f"{month}.{self._numbers[month]:05d}", now

    def _keep(self, paper: DemoPaper) -> None:
        self.papers.setdefault(paper.id, []).append(paper)


@contextmanager
def living(
    folder: Path,
    forked_processes: ForkedProcesses,
    database: str,
    admin: str = "",
    *,
    file: File = USUAL,
    old: int = 4,
    page_size: int = 5,
) -> Iterator[Life]:
    """Begin a life in an empty folder, on an empty database.

    So many papers are known from its first look.
    """
    with closing(open_store(database, create=True)) as store, store.begin() as conn:
        note_every_step(conn)
    arxiv = DemoArxiv([], ManualClock(START), pace=3.0, page_size=page_size)
    slack = SlackReceiver(arxiv.clock, channels=["papers", "lab"])
    with installed(
        Life,
        folder,
        arxiv,
        slack=slack,
        database=database,
        admin=admin,
        forked_processes=forked_processes,
        file=file,
    ) as life:
        for _ in range(old):
            id_, now = life._take_id()
            life.publish(made_up(0, now - timedelta(days=3), id=id_))
        life.make_pass()
        yield life


def note_every_step(conn: Connection) -> None:
    """Let the database itself write down every change of a delivery's state.

    It does so in the transaction that makes the change.
    """
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql(_LOG.format(key="INTEGER PRIMARY KEY"))
        conn.exec_driver_sql(_SQLITE_TRIGGER)
    else:
        conn.exec_driver_sql(_LOG.format(key="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"))
        conn.exec_driver_sql(_POSTGRESQL_TRIGGER)


def ask(conn: Connection, statement: str, **values: object) -> list[Any]:
    return list(conn.execute(text(statement), values))
