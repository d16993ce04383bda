"""What must always be true, held against a life after each step.

By reading the database and what came out of it.

Nothing here asks the product what ought to be: which paper matches, which turn has come, which
state may follow which is said once more, from the wishes and the papers that the life made up.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, Row

from digest.model.announcements import StoredChange, announcement_moment
from digest.store import backups, changes, overview
from digest.store.dialect import unpack
from tests.contract.store.test_outbox_invariants import ARROWS
from tests.fakes.archive import DemoPaper
from tests.simulator.life import CHANNELS, TEXTS, File, Life, Wish, ask
from tests.simulator.received import Received, fail
from tests.simulator.turns import TurnBook, find_last_turn, find_seen_from, find_turn

_TEXTS_KEPT = timedelta(days=90)
_MISSED_FOR = timedelta(days=7)
_FEED_SPAN = timedelta(days=30)
_LEEWAY = timedelta(hours=1)
"""What a feed holds, but for papers that are just now leaving it."""

_HELD_FOR = timedelta(days=7)
_TRIED_WITHIN = timedelta(hours=6)
"""How long what Slack refuses is held, and how often it is tried again at least."""

_NOTHING: tuple[tuple[int, ...], ...] = ((), (), ())
"""What enters, stays in and leaves a query that found nothing."""

_COVERAGE_LINE = re.compile(
    rb"<subtitle[^>]*>What arXiv announced on [^<]*</subtitle>\s*"
    rb"|What arXiv announced on [^:]*: [^.]*\. "
)
"""What a feed says of days that failed: it follows from checks alone."""


@dataclass
class Watch:
    """Holds one life to what was promised.

    What it saw before is kept, so that each thing is looked at once.
    """

    life: Life
    looks: int = 0
    _passes: int = 0
    _steps: int = 0
    _run: int = 0
    _matched: int = 0
    _forgotten: set[str] = field(default_factory=set)
    _digest: int = 0
    _rows: dict[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict)
    _plan_after: dict[str, int] = field(default_factory=dict)
    _feeds: dict[str, tuple[object, bytes]] = field(default_factory=dict)
    _turns: TurnBook = field(default_factory=TurnBook)
    _disturbed: dict[str, datetime] = field(default_factory=dict)
    _cursor: datetime | None = None
    _refused: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _given_up: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._received = Received(self.life)

    def look(self) -> None:
        """Look at everything, and raise `Broken` where something is not as it must always be."""
        self.looks += 1
        if self.life.arxiv.violations:
            fail("arXiv's pace is kept", f"{self.life.arxiv.violations}")
        with self.life.site.store.read() as conn:
            for violation in backups.load_violations(conn):
                fail("the database's own rules", f"{violation.name} ({violation.count})")
            self._look_at_steps(conn)
            self._look_at_papers(conn)
            self._look_at_matching(conn)
            self._note_overtaken()
            self._look_at_digests(conn)
            self._look_at_turns(conn)
            self._received.look(conn)
            self._look_at_refused(conn)
            self._look_at_feeds(conn)
        self._passes = len(self.life.passed)

    @property
    def _is_after_a_whole_pass(self) -> bool:
        """Whether a pass came to its end since the last look."""
        return self.life.has_completed and self._passes < len(self.life.passed)

    def look_at_the_end(self) -> None:
        """Look once more when all has had its time: nothing is owed to anybody."""
        self.look()
        with self.life.site.store.read() as conn:
            # A mail that may have come twice already waits for the operator rather than come once
            # more. What Slack refused for a week has failed: each such end is looked at when it
            # comes.
            busy = ask(
                conn,
                "SELECT id, state, last_error FROM deliveries"
                " WHERE state NOT IN ('sent', 'suppressed')"
                " AND NOT (state = 'held' AND destination LIKE 'mailto:%' AND EXISTS"
                " (SELECT 1 FROM attempts"
                " WHERE delivery_id = deliveries.id AND outcome = 'repeated'))"
                " AND NOT (state = 'dead' AND refusal IN ('place', 'account'))",
            )
            for row in busy:
                fail("every delivery comes to its end", f"{row}")
            for row in self._load_pending(conn):
                if self._is_heard(row.name):
                    fail(
                        "every match is told", f"{row.name}: run {row.match_run_id} is in no digest"
                    )

    def _look_at_steps(self, conn: Connection) -> None:
        """States change along their arrows.

        No claim gets an older token, no attempt sends other bytes.
        """
        taken = ask(
            conn,
            "SELECT steps_taken.*, destination FROM steps_taken"
            " JOIN deliveries ON deliveries.id = delivery"
            " WHERE steps_taken.id > :last ORDER BY steps_taken.id",
            last=self._steps,
        )
        for row in taken:
            self._steps = row.id
            if row.destination.startswith("slack:"):
                self._look_at_order(row)
            if row.after != row.before and row.after not in ARROWS[row.before]:
                fail(
                    "states change along their arrows",
                    f"delivery {row.delivery}: {row.before} to {row.after}",
                )
            token, newer, attempts, more = map(int, row.tokens.split())
            if newer < token or more < attempts:
                fail("tokens and attempts only grow", f"delivery {row.delivery}: {row.tokens}")
            if not row.is_body_kept:
                fail("every attempt sends the same bytes", f"delivery {row.delivery}")

    def _look_at_order(self, row: Any) -> None:  # noqa: ANN401 - a row
        """What was refused goes first, in its order.

        Nothing newer for that place is sent before it.

        What may have arrived is held as well, but is never tried, and holds up nothing.
        """
        open_ = self._refused[row.destination]
        if row.after in ("sent", "dead", "suppressed"):
            open_.discard(row.delivery)
        elif row.after == "held" and row.before not in ("unknown", "held"):
            open_.add(row.delivery)
        elif row.after == "sending":
            older = [one for one in open_ if one < row.delivery]
            if older:
                detail = f"delivery {row.delivery} before {older}"
                fail("a place that refused goes on in order", detail)

    def _look_at_refused(self, conn: Connection) -> None:
        """What Slack refused is named by each pass, and sent once that is mended.

        It is given up after a week only.
        """
        held = ask(
            conn,
            "SELECT * FROM deliveries WHERE state = 'held' AND refusal IN ('place', 'account')",
        )
        dead = ask(
            conn,
            "SELECT * FROM deliveries WHERE state = 'dead' AND refusal IN ('place', 'account')",
        )
        newly_dead = [row for row in dead if row.id not in self._given_up]
        for row in newly_dead:
            if read_moment(row.ended_at) - read_moment(row.held_at) < _HELD_FOR:
                fail("nothing is given up before a week has passed", f"delivery {row.id}")
        news = {row.destination for row in newly_dead}
        self._given_up |= {row.id for row in dead}
        if not self._is_after_a_whole_pass:
            return
        if self.life.report is not None:
            named = {str(one.destination) for one in self.life.report.deliver.failures}
            are_held_named = {row.id for row in held}.issubset(self.life.report.held.ids)
            if not news <= named or not are_held_named:
                fail("each pass names what is held and what was given up", f"{news} {held}")
        began, _ = self.life.passed[-1]
        for channel, place in CHANNELS.items():
            mended_at = self.life.mended_at.get(channel)
            is_refused = {channel, ""} & self.life.refused_until.keys()
            waits = [row.id for row in held if row.destination == place]
            is_late = mended_at is not None and began - mended_at > _TRIED_WITHIN
            if waits and is_late and not is_refused and min(waits) == min(self._refused[place]):
                fail("what is held is sent once its place is mended", f"{place}: {waits}")

    def _look_at_papers(self, conn: Connection) -> None:
        """Each paper is stored once, nothing is missing behind the cursor.

        What is new is called so.
        """
        rows = ask(conn, "SELECT arxiv_id, forgotten_at FROM papers")
        if len({row.arxiv_id for row in rows}) != len(rows):
            fail("a paper is stored once", f"{rows}")
        cursor = ask(conn, "SELECT last_complete_at FROM cursors WHERE source = 'harvest'")
        reached = read_moment(cursor[0].last_complete_at) if cursor else None
        if self._cursor and (reached is None or reached < self._cursor):
            fail("the cursor never goes back", f"{self._cursor} to {reached}")
        self._cursor = reached
        latest = ask(
            conn,
            "SELECT arxiv_id, version, categories, abstract, is_withdrawn FROM papers"
            " JOIN versions ON versions.id = latest_version_id",
        )
        stored = {}
        for row in latest:
            categories = frozenset(row.categories.split())
            is_withdrawn = bool(row.is_withdrawn)
            stored[row.arxiv_id] = (row.version, categories, row.abstract, is_withdrawn)
        forgotten = {row.arxiv_id for row in rows if row.forgotten_at is not None}
        forgotten |= _load_packed(conn) - {row.arxiv_id for row in rows}
        self._forgotten |= forgotten
        for id_, states in self.life.papers.items():
            # A check that begins at the very moment of an announcement may not have seen it.
            public = [n for n, state in enumerate(states) if reached and state.announced < reached]
            if id_ in forgotten:
                self._look_at_forgotten(id_, [states[n] for n in public])
                continue
            announced = [
                (state.version, frozenset(state.categories), state.abstract, state.is_withdrawn)
                for state in states
            ]
            kept = stored.get(id_)
            if public and kept not in announced[public[-1] :]:
                fail("all that was announced up to the cursor is stored", f"{id_}: {kept}")
        self._look_at_kinds(conn)

    def _look_at_forgotten(self, id_: str, public: list[DemoPaper]) -> None:
        """The text of a paper is forgotten once its last public state is old enough."""
        now = self.life.clock.now()
        if not public or now - public[-1].announced < _TEXTS_KEPT:
            fail("texts are kept for their time", id_)

    def _look_at_kinds(self, conn: Connection) -> None:
        firsts = ask(
            conn,
            "SELECT arxiv_id, kind, version, is_bootstrap FROM changes"
            " JOIN papers ON papers.id = changes.paper_id"
            " JOIN versions ON versions.id = changes.version_id"
            " JOIN poll_runs ON poll_runs.id = changes.run_id"
            " WHERE changes.id IN (SELECT min(id) FROM changes GROUP BY paper_id)",
        )
        for row in firsts:
            is_first_version = row.version == 1 and not row.is_bootstrap
            is_news = is_first_version and row.arxiv_id not in self._forgotten
            if (row.kind == "new") != is_news:
                fail("what is met first at version 1 is new, however late", f"{row}")

    def _look_at_matching(self, conn: Connection) -> None:
        """Each change is held once against every query in force.

        Each subscription gets what it asks for.
        """
        runs = ask(conn, "SELECT * FROM match_runs WHERE id > :last ORDER BY id", last=self._run)
        if not runs:
            return
        began, file = self.life.passed[-1]
        revisions = ask(
            conn,
            "SELECT query_revisions.*, saved_queries.name FROM query_revisions"
            " JOIN saved_queries ON saved_queries.id = query_id ORDER BY query_revisions.id",
        )
        self._look_at_beginnings(conn, revisions, began)
        for run in runs:
            self._run = run.id
            if run.from_change != self._matched:
                fail(
                    "every change is matched once",
                    f"run {run.id} from {run.from_change}, not {self._matched}",
                )
            self._matched = run.to_change
            found = changes.load(conn, range(run.from_change + 1, run.to_change + 1))
            for change in found.values():
                kinds = self._expect_kinds(change)
                if kinds and str(change.kind) not in kinds:
                    detail = f"{change.paper.id}: {change.kind}, not {kinds}"
                    fail("a change is called what it is", detail)
            recorded = ask(
                conn, "SELECT * FROM query_matches WHERE match_run_id = :run", run=run.id
            )
            kept = {
                row.revision_id: tuple(map(unpack, (row.new, row.changed, row.gone)))
                for row in recorded
            }
            in_force = [row for row in revisions if row.ended_at is None]
            expected = {}
            for row in in_force:
                outcome = compare(TEXTS[row.text], found, row.active_from_change)
                if any(outcome):
                    expected[row.id] = outcome
            if kept != expected:
                detail = f"run {run.id}: {kept} {expected}"
                fail("every change is matched against every query in force", detail)
            by_name = {row.name: expected.get(row.id, _NOTHING) for row in in_force}
            wishes = file.wishes | self._find_missing(conn, read_moment(run.matched_at), file)
            self._look_at_matches(conn, run.id, wishes, by_name, found)

    def _find_missing(self, conn: Connection, at: datetime, file: File) -> dict[str, Wish]:
        """Return the subscriptions that the file has named no more for a while.

        They must lose nothing.
        """
        ended = ask(conn, "SELECT name, ended_at FROM subscriptions WHERE state = 'ended'")
        since = {
            row.name: read_moment(row.ended_at) for row in ended if row.name not in file.wishes
        }
        return {
            name: self.life.gone[name]
            for name, moment in since.items()
            if at - moment <= _MISSED_FOR
        }

    def _expect_kinds(self, change: StoredChange) -> set[str]:
        """Return what a change may be called; nothing for one whose text before it is forgotten."""
        now = change.paper
        before = change.previous
        if before is None:
            if str(now.id) in self._forgotten:
                return set()
            if now.is_withdrawn:
                return {"withdrawn", "known"}
            return {"replaced" if now.version > 1 else "new", "known"}
        if now.is_withdrawn and not before.is_withdrawn:
            return {"withdrawn"}
        if now.version > before.version:
            return {"replaced"}
        return {"cross-listed" if {*now.categories} - {*before.categories} else "edited"}

    def _look_at_beginnings(self, conn: Connection, revisions: list[Any], began: datetime) -> None:
        """Each text starts where matching stood: nothing falls between two of them."""
        for row in revisions:
            if read_moment(row.created_at) == began and len(self.life.passed) > 1:
                ((stood,),) = ask(
                    conn,
                    "SELECT coalesce(max(to_change), 0) FROM match_runs WHERE matched_at < :began",
                    began=row.created_at,
                )
                if row.active_from_change != stood:
                    fail(
                        "nothing falls between two texts of a query",
                        f"{row.name} from {stood}: {row}",
                    )

    def _look_at_matches(
        self,
        conn: Connection,
        run_id: int,
        wishes: dict[str, Wish],
        outcomes: dict[str, Any],
        changes: dict[int, StoredChange],
    ) -> None:
        found = ask(
            conn,
            "SELECT name, changes FROM matches"
            " JOIN subscriptions ON subscriptions.id = subscription_id"
            " WHERE match_run_id = :run",
            run=run_id,
        )
        kept = {row.name: set(unpack(row.changes)) for row in found}
        wanted = {}
        for name, wish in wishes.items():
            chosen: set[int] = set()
            for query in wish.follow:
                outcome = outcomes.get(query, _NOTHING)
                chosen |= choose(wish, outcome, changes, self._forgotten)
            if chosen:
                wanted[name] = chosen
        if kept != wanted:
            fail(
                "every live subscription is matched with what it asks for",
                f"run {run_id}: {kept} {wanted}",
            )

    def _look_at_digests(self, conn: Connection) -> None:
        """A match is told in one digest, for good.

        A digest tells what was matched for it, in its turn.
        """
        rows = ask(conn, "SELECT * FROM matches ORDER BY match_run_id, subscription_id")
        now = {
            (row.match_run_id, row.subscription_id): (row.changes, row.digest_id) for row in rows
        }
        for key, (matched, digest_id) in self._rows.items():
            if key not in now or now[key][0] != matched or (digest_id and now[key][1] != digest_id):
                fail(
                    "a match is told in one digest",
                    f"{key}: digest {digest_id}, now {now.get(key)}",
                )
        self._rows = now
        told: dict[int, Counter[int]] = defaultdict(Counter)
        of_digest: dict[int, set[int]] = defaultdict(set)
        for row in rows:
            told[row.subscription_id].update(unpack(row.changes))
            if row.digest_id:
                of_digest[row.digest_id] |= {*unpack(row.changes)}
        for subscription, counts in told.items():
            for id_, times in counts.items():
                if times > 1:
                    fail(
                        "a change is matched once for a subscription",
                        f"{subscription}: change {id_}",
                    )
        digests = ask(conn, "SELECT * FROM digests ORDER BY id")
        self._look_at_slots(digests)
        for row in digests:
            if row.id > self._digest:
                self._digest = row.id
                self._look_at_digest(conn, row, of_digest[row.id])

    def _note_overtaken(self) -> None:
        """Note whose next turn has come while the one before was open; an edit begins anew."""
        began, file = self.life.passed[-1]
        for name, at in self.life.disturbed.items():
            if self._disturbed.get(name) != at:
                self._turns.forget(name)
                self._disturbed[name] = at
        for name, wish in file.wishes.items():
            self._turns.note_overtaken(name, wish.when, began)

    def _look_at_digest(self, conn: Connection, row: Row[Any], change_ids: set[int]) -> None:
        content = json.loads(row.content)
        ((name,),) = ask(
            conn, "SELECT name FROM subscriptions WHERE id = :id", id=row.subscription_id
        )
        if wrong := self._turns.read_digest(name, row):
            fail(
                "a turn that closed unchecked is told in one digest", f"{name}, {row.slot}: {wrong}"
            )
        told = Counter(entry["change"] for entry in content["entries"])
        found = changes.load(conn, change_ids)
        newest = {change.paper_key: id_ for id_, change in sorted(found.items())}
        papers = frozenset(str(found[id_].paper.id) for id_ in newest.values())
        self._received.papers_of[row.id] = papers
        if told != Counter(newest.values()):
            fail(
                "a digest tells what was matched for it, once",
                f"digest {row.id}: {told}, not {newest}",
            )
        coverage = content["coverage"]
        if coverage["is_complete"] and coverage["announcement"]:
            out_by = announcement_moment(datetime.fromisoformat(coverage["announcement"]).date())
            firsts = ask(
                conn,
                "SELECT arxiv_id FROM papers JOIN changes ON changes.paper_id = papers.id"
                " WHERE found_at <= :at",
                at=row.planned_at,
            )
            stored = {one.arxiv_id for one in firsts} | self._forgotten
            missing = [
                id_
                for id_, states in self.life.papers.items()
                if states[0].announced <= out_by and id_ not in stored
            ]
            if missing:
                fail("a look is called complete when it was", f"digest {row.id}: {missing}")

    def _look_at_slots(self, digests: list[Any]) -> None:
        taken: dict[tuple[int, str], list[str]] = defaultdict(list)
        for row in digests:
            kind = re.sub(r"\d+", "0", row.slot)
            taken[row.subscription_id, kind].append(row.slot)
        for (subscription, kind), slots in taken.items():
            order = [int(slot[4:]) for slot in slots] if kind == "run:0" else slots
            pairs = pairwise(order)
            if any(later <= earlier for earlier, later in pairs):  # type: ignore[operator]  # alike
                fail("slots are unique and grow", f"subscription {subscription}: {slots}")

    def _look_at_turns(self, conn: Connection) -> None:
        """What was matched before a turn that has come is in a digest.

        It is so once a pass came to its end.
        """
        for row in ask(conn, "SELECT name, plan_after FROM subscriptions"):
            before = self._plan_after.get(row.name)
            is_back = self.life.returned.get(row.name, -1) >= self._passes
            if before is not None and row.plan_after != before and not is_back:
                fail("nobody's matches are passed over", f"{row.name}: behind run {row.plan_after}")
            self._plan_after[row.name] = row.plan_after
        if not self._is_after_a_whole_pass:
            return
        began, file = self.life.passed[-1]
        for row in self._load_pending(conn):
            wish = file.wishes.get(row.name)
            if wish is None or not self._is_heard(row.name):
                continue
            turn = find_turn(wish.when, began, self.life.disturbed.get(row.name))
            if turn and read_moment(row.matched_at) < turn:
                words = (
                    f"{row.name} ({wish.when}): matched {row.matched_at}, turn {turn}, now {began}"
                )
                fail("what was matched before a turn is told with it", words)
        self._look_at_open_turns(conn, began, file)

    def _look_at_open_turns(self, conn: Connection, began: datetime, file: File) -> None:
        """A turn that is open sends what has come; what waits is named as waiting."""
        pending: Counter[str] = Counter(row.name for row in self._load_pending(conn))
        named = overview.load_waiting(conn).keys()
        for row in ask(
            conn, "SELECT id, name, last_slot FROM subscriptions WHERE state = 'active'"
        ):
            wish = file.wishes.get(row.name)
            if wish is None or not self._is_heard(row.name):
                self._turns.forget(row.name)
                continue
            since = self._disturbed.get(row.name, self.life.passed[0][0])
            turn = self._turns.note_turn(row.name, wish.when, row.last_slot, began, since=since)
            self._look_at_passed_turn(conn, row, wish.when, began, since)
            waits_long = wish.when == "on announcement" or self.life.patience
            if turn is not None and pending[row.name] and not waits_long:
                fail("an open turn sends what has come", f"{row.name}: {turn}, now {began}")
            if pending[row.name] and row.id not in named:
                fail("what waits is named", row.name)

    def _look_at_passed_turn(
        self, conn: Connection, row: Row[Any], when: str, began: datetime, since: datetime
    ) -> None:
        """A turn passes without a digest only if nothing that it should tell is missing.

        What was announced by then was checked, or is stored.
        """
        turn = find_last_turn(when, began)
        if turn is None or turn.due_at <= since or turn.name not in row.last_slot.split():
            return
        seen_from = find_seen_from(when, turn)
        named = {"id": row.id, "slot": turn.name, "since": seen_from.strftime("%Y-%m-%d %H:%M:%S")}
        made = ask(
            conn, "SELECT 1 FROM digests WHERE subscription_id = :id AND slot = :slot", **named
        )
        checked = ask(
            conn,
            "SELECT 1 FROM poll_runs WHERE source = 'harvest' AND outcome IN ('complete', 'empty')"
            " AND started_at >= :since",
            **named,
        )
        stored = {
            one.arxiv_id for one in ask(conn, "SELECT arxiv_id FROM papers")
        } | self._forgotten
        out = [id_ for id_, states in self.life.papers.items() if states[0].announced <= seen_from]
        if not (made or checked or stored.issuperset(out)):
            fail("a turn passes only after a complete check", f"{row.name}: {turn}, now {began}")

    def _load_pending(self, conn: Connection) -> list[Any]:
        return ask(
            conn,
            "SELECT name, match_run_id, matched_at FROM matches"
            " JOIN subscriptions ON subscriptions.id = subscription_id"
            " WHERE digest_id IS NULL AND match_run_id > plan_after AND state = 'active'",
        )

    def _is_heard(self, name: str) -> bool:
        """Whether anybody gets a subscription's digests."""
        wish = self.life.file.wishes.get(name)
        return wish is not None and any(
            (place, name) not in self.life.left for place in wish.sent_to
        )

    def _look_at_feeds(self, conn: Connection) -> None:
        """A feed holds every paper matched for it once.

        It stays as it is while nothing changes.
        """
        if not self._is_after_a_whole_pass:
            return
        began, file = self.life.passed[-1]
        rows = ask(
            conn,
            "SELECT name, match_run_id, changes, matched_at FROM matches"
            " JOIN subscriptions ON subscriptions.id = subscription_id ORDER BY match_run_id",
        )
        for name, wish in file.wishes.items():
            mine = [row for row in rows if row.name == name]
            texts = tuple(file.queries[query] for query in wish.follow)
            cause = (texts, [row.match_run_id for row in mine])
            for place in wish.to:
                if place.startswith("file:"):
                    brought = self._date_papers(conn, mine)
                    self._look_at_feed(place, brought, began, cause)

    def _look_at_feed(
        self, place: str, brought: dict[str, datetime], began: datetime, cause: object
    ) -> None:
        """Look at one feed.

        `brought` is when each of its papers was matched, `cause` all that it follows from.
        """
        path = self.life.folder / place.removeprefix("file:")
        content = _COVERAGE_LINE.sub(b"", path.read_bytes())
        held = {*re.findall(r"/abs/(\d{4}\.\d{5})", content.decode())}
        begins = max(brought.values(), default=began) - _FEED_SPAN
        wanted = {id_ for id_, at in brought.items() if at > begins + _LEEWAY}
        allowed = {id_ for id_, at in brought.items() if at > begins - _LEEWAY}
        if not wanted <= held <= allowed:
            fail("a feed holds what was matched", f"{place}: {held}, not {wanted}")
        before = self._feeds.get(place)
        if before is not None and before[0] == cause and before[1] != content:
            fail("a feed stays as it is while nothing changes", place)
        self._feeds[place] = (cause, content)

    @staticmethod
    def _date_papers(conn: Connection, rows: list[Any]) -> dict[str, datetime]:
        """Return when each matched paper last changed in a way that is told, by its id."""
        matched: set[int] = set()
        for row in rows:
            matched.update(unpack(row.changes))
        found = changes.load(conn, matched)
        dated: dict[str, datetime] = {}
        for row in rows:
            for id_ in unpack(row.changes):
                dated[str(found[id_].paper.id)] = read_moment(row.matched_at)
        return dated


def _load_packed(conn: Connection) -> set[str]:
    """Return the ids of the papers that are forgotten but for a byte each."""
    packed = set()
    for row in ask(conn, "SELECT month, papers FROM forgotten"):
        for number, version in enumerate(row.papers[::4]):
            if version:
                packed.add(f"{row.month % 10_000:04}.{number:05}")
    return packed


def compare(
    matches: Any,  # noqa: ANN401 - a predicate
    changes: dict[int, StoredChange],
    begin: int,
) -> tuple[tuple[int, ...], ...]:
    """Say what enters, stays in and leaves a query."""
    enters: list[int] = []
    stays: list[int] = []
    leaves: list[int] = []
    for id_, change in sorted(changes.items()):
        is_in = matches(change.paper)
        was_in = change.previous is not None and matches(change.previous)
        if id_ <= begin:
            continue
        if is_in:
            (stays if was_in else enters).append(id_)
        elif was_in:
            leaves.append(id_)
    return tuple(enters), tuple(stays), tuple(leaves)


def choose(
    wish: Wish,
    outcome: Any,  # noqa: ANN401 - three tuples
    changes: dict[int, StoredChange],
    forgotten: set[str],
) -> set[int]:
    """Say what of a query's outcome a subscription is told.

    A paper that was forgotten is not met first.
    """
    new, changed, gone = outcome
    chosen = set()
    for id_ in new:
        change = changes[id_]
        kind = "cross-listed" if change.kind == "edited" else str(change.kind)
        is_met_first = change.previous is None and str(change.paper.id) not in forgotten
        if kind in wish.kinds or (kind == "replaced" and is_met_first and "new" in wish.kinds):
            chosen.add(id_)
    of_changed = {"replaced", "withdrawn"}.intersection(wish.kinds)
    of_gone = {"withdrawn"}.intersection(wish.kinds)
    chosen |= {id_ for id_ in changed if changes[id_].kind in of_changed}
    chosen |= {id_ for id_ in gone if changes[id_].kind in of_gone}
    return chosen


def read_moment(value: Any) -> datetime:  # noqa: ANN401 - text on SQLite
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
