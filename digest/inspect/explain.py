"""Says why a paper was or was not sent to a subscription."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import Connection

from digest.config import Config
from digest.deliver.feeds import load_matched
from digest.inspect.queries import find_why_not
from digest.interest.step import Interests
from digest.match.rules import exclude_changes, list_met, read_exclusion, select_for_subscription
from digest.match.step import find_overtaken
from digest.model.announcements import Kind, StoredChange
from digest.model.destinations import OWN_FEED, Destination
from digest.model.errors import QueryError
from digest.model.libraries import Near
from digest.model.messages import (
    FEED_DAYS,
    FEED_ENTRIES,
    TERMINAL_STATES,
    Delivery,
    DeliveryState,
    Occasion,
    Share,
)
from digest.model.papers import ArxivId, Paper, Span
from digest.model.subscriptions import (
    ActiveRevision,
    DueSubscription,
    QueryOutcome,
    SubscriptionState,
)
from digest.plan.feeds import choose_papers
from digest.query import (
    AnalysedPaper,
    And,
    Condition,
    Node,
    Not,
    Or,
    Query,
    analyse,
    find_reasons,
    matches,
    parse_query,
)
from digest.query.canonical import print_tree
from digest.query.queries import find_spans
from digest.render.papers import PaperView
from digest.store import attempts, changes, digests, papers, queries, subscribers
from digest.store.attempts import Attempt, StoredDelivery
from digest.store.matches import find_outcomes, find_rows
from digest.store.outbox import IN_DOUBT
from digest.store.papers import MATCHED
from digest.store.subscribers import DestinationState, DestinationStatus

_DOUBTFUL = frozenset({DeliveryState.SENDING, DeliveryState.UNKNOWN})
"""Somebody may have it: the message went out, and no answer is known."""


class Verdict(StrEnum):
    """What became of a change on its way to a subscription, the farthest first."""

    SENT = "sent"
    DOUBTFUL = "may have arrived"
    UNDERWAY = "on its way"
    UNSENT = "not delivered"
    WAITING = "waiting"
    SHOWN = "shown"
    PENDING = "not matched yet"
    DROPPED = "left out"
    EXCLUDED = "excluded"
    OTHER_KIND = "not sent"
    NOT_NEW = "nothing new"
    EARLIER = "not yet asked for"
    UNMET = "no match"


ORDER = tuple(Verdict)
"""A paper's verdict is the farthest that one of its changes came."""


class Met(StrEnum):
    """What a change meant to a saved query when it was matched."""

    ENTERED = "entered"
    STAYED = "stayed in"
    LEFT = "left"
    NEVER = ""


_OUTCOMES = {Met.ENTERED: "new", Met.STAYED: "changed", Met.LEFT: "gone"}
"""What a saved query's outcome calls them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One saved query of a subscription, and one change.

    It has the clauses that the change meets, or what fails, in words.
    """

    name: str
    met: Met = Met.NEVER
    would_meet: bool = False
    clauses: tuple[str, ...] = ()
    failing: str = ""


@dataclass(frozen=True, slots=True)
class KeptMatch:
    """The match that was kept: its digest, None while it waits, and how far it has come in that."""

    match_run_id: int
    digest_id: int | None
    reached: Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict on one change, with why in words."""

    verdict: Verdict
    why: str


def judge_change(
    change: StoredChange,
    due: DueSubscription,
    asked: Sequence[Asked],
    row: KeptMatch | None,
    *,
    is_matched: bool,
    is_overtaken: bool = False,
) -> Judged:
    """Say what became of one change.

    Each saved query of the subscription was held against it.
    """
    if row is not None:
        return _judge_match(row, due)
    if not is_matched:
        return Judged(Verdict.PENDING, "the next run matches it")
    if any(one.met for one in asked):
        return _judge_unsent(change, due, asked, is_overtaken=is_overtaken)
    meeting = [one.name for one in asked if one.would_meet]
    if meeting:
        names = " and ".join(meeting)
        why = f"it matches {names}, but was found before {names} got this text"
        return Judged(Verdict.EARLIER, why)
    why_not = [f"{one.name}: it {one.failing}" for one in asked if one.failing]
    return Judged(Verdict.UNMET, "; ".join(why_not) or "the saved queries that it follows are gone")


def judge_feed(*, is_open: bool, was_matched: bool, is_shown: bool, is_excluded: bool) -> str:
    """Say why a feed does not show a paper; "" if it does."""
    if not is_open:
        return "it is closed"
    if is_shown:
        return ""
    if not was_matched:
        return "the paper did not match this subscription"
    if is_excluded:
        return "the subscription excludes the paper now"
    return f"it holds the newest {FEED_ENTRIES} papers, of {FEED_DAYS} days at most"


def judge_deliveries(
    states: Collection[DeliveryState], *, has_doubtful_hold: bool = False
) -> Verdict:
    """Say how far a paper in a digest has come.

    One delivery may be held since nobody can tell whether it arrived.
    """
    if DeliveryState.SENT in states:
        return Verdict.SENT
    if has_doubtful_hold or not _DOUBTFUL.isdisjoint(states):
        return Verdict.DOUBTFUL
    have_all_ended = TERMINAL_STATES.issuperset(states)
    return Verdict.UNSENT if have_all_ended else Verdict.UNDERWAY


def judge_paper(judged: Sequence[Judged]) -> Judged:
    """Say what became of a paper: the farthest any of its changes came, of equals the latest."""
    return min(reversed(judged), key=lambda one: ORDER.index(one.verdict))


def _judge_match(row: KeptMatch, due: DueSubscription) -> Judged:
    if row.digest_id is not None:
        others = ", which went to others" if row.reached is Verdict.DROPPED else ""
        return Judged(row.reached, f"it is in digest {row.digest_id}{others}")
    places = due.subscription.destinations
    if places and not due.subscription.has_digests:
        return Judged(Verdict.SHOWN, "it matched; this subscription is a feed, and sends nothing")
    if due.state == SubscriptionState.ENDED:
        why = "it matched, but the subscription ended before its digest was due"
        return Judged(Verdict.DROPPED, why)
    if not places:
        return Judged(Verdict.DROPPED, "it matched, but its readers unsubscribed")
    if row.match_run_id <= due.plan_after:
        why = "it matched while this subscription had no destination, or was not in digest.toml"
        return Judged(Verdict.DROPPED, why)
    is_paused = due.state == SubscriptionState.PAUSED
    awaited = "the end of the pause" if is_paused else "the next digest"
    return Judged(Verdict.WAITING, f"it matched, and waits for {awaited}")


def _judge_unsent(
    change: StoredChange, due: DueSubscription, asked: Sequence[Asked], *, is_overtaken: bool
) -> Judged:
    """Say why nothing was kept of a change that some saved query knew."""
    known = [one for one in asked if one.met]
    words = "; ".join(f"it {one.met} {one.name}" for one in known)
    outcomes = [QueryOutcome(**{_OUTCOMES[one.met]: (change.id,)}) for one in known]
    kinds = due.subscription.kinds
    kind_of = {change.id: change.kind}
    overtaken = {change.id} if is_overtaken else set()
    if not select_for_subscription(kinds, outcomes, kind_of, overtaken):
        return _judge_kind(change, due, known, words)
    exclusion = read_exclusion(due.subscription)
    changes = {change.id: change}
    left = [exclude_changes(outcome, exclusion, changes) for outcome in outcomes]
    if not select_for_subscription(kinds, left, kind_of, overtaken):
        cause = exclusion.find_cause(change.paper) or "what is excluded now"
        return Judged(Verdict.EXCLUDED, f"{words}; {cause}")
    return Judged(Verdict.EARLIER, f"{words}, but this subscription did not ask for it then")


def _judge_kind(
    change: StoredChange, due: DueSubscription, known: Sequence[Asked], words: str
) -> Judged:
    """Say why a change is not of a kind that is sent, by the saved queries that knew it."""
    if change.kind is Kind.KNOWN:
        why = f"{words}, but was announced before Digest first checked arXiv"
        return Judged(Verdict.EARLIER, why)
    has_stayed = all(one.met is Met.STAYED for one in known)
    if has_stayed and change.kind in (Kind.CROSS_LIST, Kind.METADATA):
        return Judged(
            Verdict.NOT_NEW, f"{words}: what is {change.kind} inside a saved query is not new"
        )
    has_left = all(one.met is Met.LEFT for one in known)
    if has_left and change.kind is not Kind.WITHDRAWAL:
        return Judged(Verdict.NOT_NEW, f"{words}: what leaves a saved query is not new")
    kinds = " and ".join(due.subscription.kinds)
    what = "a new version" if change.kind is Kind.REPLACEMENT else change.kind
    return Judged(Verdict.OTHER_KIND, f"{what}, and this list takes only {kinds} papers ({words})")


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """One change on its way.

    It was announced (Eastern date), found by a check, matched (UTC) and put into a digest.
    """

    version: int
    kind: Kind
    announced: date
    found_at: datetime
    run_id: int
    asked: tuple[Asked, ...]
    judged: Judged
    matched_at: datetime | None
    digest_id: int | None


@dataclass(frozen=True, slots=True)
class DigestHistory:
    """A digest that shows the paper, at its `place` from 1, 0 for none.

    `change` says what of the paper has changed. `is_dotted`: the paper has a dot, for nearness to a
    library; None if no paper of the digest has.
    """

    id: int
    occasion: Occasion
    planned_at: datetime
    papers: int
    shown: int
    place: int
    change: str
    is_dotted: bool | None
    deliveries: tuple[tuple[StoredDelivery, tuple[Attempt, ...]], ...]

    @property
    def hiding(self) -> tuple[Destination, ...]:
        """Where it is only counted and linked, because `show` or a message allows no more."""
        is_beyond_show = not 0 < self.place <= self.shown
        hiding = []
        for one in self.showing:
            share = one.share
            is_beyond_message = share is not None and share.first + share.shown < self.place
            is_capped = one.destination.traits.is_capped
            if is_beyond_message or (is_capped and is_beyond_show):
                hiding.append(one.destination)
        return tuple(dict.fromkeys(hiding))

    @property
    def showing(self) -> tuple[Delivery, ...]:
        """The deliveries that show it: of a digest of several messages those with its part."""
        every = tuple(stored.delivery for stored, _ in self.deliveries)
        with_it = tuple(one for one in every if self._is_in(one.share))
        return with_it or every

    def _is_in(self, share: Share | None) -> bool:
        """Whether a message with this share of the digest shows it; None is the whole digest."""
        return share is None or share.first < self.place <= share.end

    @property
    def reached(self) -> Verdict:
        """How far it has come; what was taken as sent before a restore is sent."""
        if self.occasion is Occasion.ALREADY_SENT:
            return Verdict.SENT
        states = {one.state for one in self.showing}
        return judge_deliveries(states, has_doubtful_hold=self._has_doubtful_hold)

    @property
    def _has_doubtful_hold(self) -> bool:
        """Whether a delivery that shows it is held, and may have arrived."""
        showing = self.showing
        for stored, tries in self.deliveries:
            is_held = stored.delivery.state is DeliveryState.HELD and stored.delivery in showing
            if is_held and tries and tries[-1].outcome in (DeliveryState.UNKNOWN, IN_DOUBT):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Order:
    """How near a paper is to the library, and which of the queries read first and last it meets."""

    near: Near | None
    read_first: tuple[str, ...]
    read_last: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PaperHistory:
    """All that is known of a paper and a subscription.

    `newest` is the last of all stored papers. Each place of `feeds` has why it does not show the
    paper, "" if it does. Of a paper that was forgotten because it matched nothing only that moment
    is known (UTC), if at all.
    """

    subscription: str
    state: str
    is_personal: bool
    paper: Paper | None = None
    announcement: date | None = None
    changes: tuple[ChangeHistory, ...] = ()
    digests: tuple[DigestHistory, ...] = ()
    judged: Judged | None = None
    newest: ArxivId | None = None
    feeds: tuple[tuple[Destination, str], ...] = ()
    unsubscribed: tuple[DestinationStatus, ...] = ()
    is_forgotten: bool = False
    forgotten_at: datetime | None = None
    order: Order | None = None

    @property
    def deciding(self) -> DigestHistory | None:
        """The digest the verdict speaks of; None if it speaks of none."""
        ids = {one.digest_id for one in self.changes if one.judged is self.judged}
        return next((one for one in self.digests if one.id in ids), None)


def explain_paper(
    conn: Connection,
    id_: ArxivId,
    due: DueSubscription,
    source: str,
    only: Destination | None = None,
) -> PaperHistory:
    """Gather the whole trail of a paper to a subscription, or to `only` one of its readers."""
    newest = papers.load_newest_paper(conn)
    known = papers.load(conn, id_)
    left = []
    for place in subscribers.load_statuses(conn, due.id):
        has_left = place.state is DestinationState.UNSUBSCRIBED
        if has_left and only in (None, place.destination):
            left.append(place)
    if only is not None:
        theirs = tuple(place for place in due.subscription.destinations if place == only)
        due = replace(due, subscription=replace(due.subscription, destinations=theirs))
    trail = PaperHistory(
        subscription=due.subscription.name,
        state=due.state,
        is_personal=due.is_personal,
        newest=newest[0] if newest else None,
        unsubscribed=tuple(left),
    )
    if known is None:
        gone = papers.load_forgotten(conn, [id_]).get(id_)
        return replace(trail, is_forgotten=gone is not None, forgotten_at=gone.at if gone else None)
    history = changes.load_earlier(conn, [known.key]).get(known.key, ())
    rows = find_rows(conn, due.id, [change.id for change in history])
    planned = {digest_id for _, digest_id, _ in rows.values() if digest_id is not None}
    digests = _load_digests(conn, id_, due, planned, only)
    kept = {}
    for change_id, (run_id, digest_id, matched_at) in rows.items():
        kept[change_id] = (_find_farthest(run_id, digest_id, planned, digests), matched_at)
    followed = tuple(_follow(conn, due, history, kept, source=source))
    first = history[0]
    last = history[-1]
    was_matched = any(one.matched_at for one in followed)
    return replace(
        trail,
        paper=last.paper,
        announcement=first.announced if first.kind is Kind.NEW else None,
        changes=followed,
        digests=tuple(digests.values()),
        judged=judge_paper([one.judged for one in followed]),
        feeds=tuple(_explain_feeds(conn, due, last, was_matched=was_matched)),
    )


def _load_digests(
    conn: Connection,
    id_: ArxivId,
    due: DueSubscription,
    planned: AbstractSet[int],
    only: Destination | None,
) -> dict[int, DigestHistory]:
    """Return the digests that hold a paper, by number: `planned` ones, and late first ones."""
    histories = {}
    for digest_id in sorted(planned | digests.find_late_first_digests(conn, due.id)):
        digest = _load_digest_history(conn, digest_id, id_, only)
        holds_paper = digest_id in planned or digest.place > 0
        was_delivered = only is None or len(digest.deliveries) > 0
        if holds_paper and was_delivered:
            histories[digest_id] = digest
    return histories


def _find_farthest(
    run_id: int,
    digest_id: int | None,
    planned: AbstractSet[int],
    digests: Mapping[int, DigestHistory],
) -> KeptMatch:
    """Return a match with the digest in which it came farthest.

    That is its own, or a first digest that was made later.
    """
    if digest_id is None:
        return KeptMatch(run_id, None, Verdict.WAITING)
    later = [key for key in digests if key not in planned and key > digest_id]
    own = digests.get(digest_id)
    farthest = KeptMatch(run_id, digest_id, own.reached if own else Verdict.DROPPED)
    for key in later:
        reached = digests[key].reached
        if ORDER.index(reached) < ORDER.index(farthest.reached):
            farthest = KeptMatch(run_id, key, reached)
    return farthest


def explain_order(
    conn: Connection, config: Config, due: DueSubscription, history: PaperHistory
) -> PaperHistory:
    """Add what puts the paper in its place."""
    if history.paper is None:
        return history
    texts = {query.name: query.canonical or query.text for query in queries.load(conn)}
    is_new = history.announcement is not None
    day = history.announcement or history.changes[-1].announced
    near = Interests(config).explain(conn, due, history.paper, day, is_new=is_new)
    digest = history.deciding
    # The dot is as it was sent, the words are as of now.
    if near and digest and digest.is_dotted is not None:
        near = replace(near, is_top=digest.is_dotted)
    if near and due.is_personal:  # what people like is theirs
        near = replace(near, title="", words=())
    ready = analyse(history.paper)
    read_first = tuple(list_met(due.subscription.read_first, texts, ready))
    read_last = tuple(list_met(due.subscription.read_last, texts, ready))
    return replace(history, order=Order(near, read_first, read_last))


def _explain_feeds(
    conn: Connection, due: DueSubscription, last: StoredChange, *, was_matched: bool
) -> Iterator[tuple[Destination, str]]:
    pulled = [destination for destination in due.subscription.destinations if destination.is_pulled]
    if not pulled:
        return
    shown = choose_papers(load_matched(conn, due))[:FEED_ENTRIES] if was_matched else []
    is_shown = any(found[0].change.paper_key == last.paper_key for found in shown)
    is_excluded = read_exclusion(due.subscription).covers(last)
    is_served = due.id in {
        place.key for place in queries.load_subscription_feeds(conn) if place.is_open
    }
    is_written = due.state != SubscriptionState.ENDED
    for destination in pulled:
        why_not = judge_feed(
            is_open=is_served if destination == OWN_FEED else is_written,
            was_matched=was_matched,
            is_shown=is_shown,
            is_excluded=is_excluded,
        )
        yield destination, why_not


def _follow(
    conn: Connection,
    due: DueSubscription,
    history: Sequence[StoredChange],
    kept: Mapping[int, tuple[KeptMatch, datetime]],
    *,
    source: str,
) -> Iterator[ChangeHistory]:
    mark = papers.load_mark(conn, MATCHED)
    query_ids = [revision.query_id for revision in due.revisions]
    met_by_outcome = {outcome: met for met, outcome in _OUTCOMES.items()}
    met = {}
    for query_id, change_id, outcome in find_outcomes(conn, query_ids, [one.id for one in history]):
        met[query_id, change_id] = met_by_outcome[outcome]
    overtaken = find_overtaken(conn, source, history)
    for change in history:
        ready = analyse(change.paper)
        asked = []
        for revision in due.revisions:
            recorded = met.get((revision.query_id, change.id), Met.NEVER)
            asked.append(_ask(revision, ready, recorded))
        row, matched_at = kept.get(change.id, (None, None))
        judged = judge_change(
            change,
            due,
            asked,
            row,
            is_matched=change.id <= mark,
            is_overtaken=change.id in overtaken,
        )
        yield ChangeHistory(
            version=change.paper.version,
            kind=change.kind,
            announced=change.announced,
            found_at=change.found_at,
            run_id=change.run_id,
            asked=tuple(asked),
            judged=judged,
            matched_at=matched_at,
            digest_id=row.digest_id if row else None,
        )


def _ask(revision: ActiveRevision, ready: AnalysedPaper, recorded: Met = Met.NEVER) -> Asked:
    try:
        query = parse_query(revision.text)
    except QueryError as error:
        return Asked(revision.name, recorded, failing=f"can't be held against it: {error.message}")
    reasons = find_reasons(query, ready)
    return Asked(
        name=revision.name,
        met=recorded,
        would_meet=matches(query, ready),
        clauses=tuple(reason.clause for reason in reasons),
        failing=find_why_not(query, ready),
    )


def _load_digest_history(
    conn: Connection, digest_id: int, id_: ArxivId, only: Destination | None
) -> DigestHistory:
    digest = digests.load(conn, digest_id)
    place = 0
    change = ""
    is_dotted = None
    for number, entry in enumerate(digest.entries, 1):
        if entry.paper.id == id_:
            place = number
            change = PaperView(entry, place).change
            if any(one.near for one in digest.entries):
                is_dotted = bool(entry.near)
            break
    deliveries = []
    for stored, tries in attempts.load_deliveries(conn, digest_id):
        if only in (None, stored.delivery.destination):
            deliveries.append((stored, tuple(tries)))
    return DigestHistory(
        id=digest.id,
        occasion=digest.occasion,
        planned_at=digest.planned_at,
        papers=len(digest.entries),
        shown=digest.shown,
        place=place,
        change=change,
        is_dotted=is_dotted,
        deliveries=tuple(deliveries),
    )


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of a query: its text, how deep it lies, whether the paper meets it, and where."""

    clause: str
    depth: int
    is_met: bool
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class MatchHistory:
    """Which parts of a query a paper meets, and which subscriptions exclude it.

    Each of these has what does it.
    A paper that is not stored is as arXiv has it now. `name` is the query's if it is saved.
    """

    paper: Paper
    is_stored: bool
    name: str
    query: str
    matches: bool
    clauses: tuple[Clause, ...]
    failing: str
    excluded_by: Mapping[str, str]


def explain_match(
    config: Config, name: str, query: Query, paper: Paper, *, is_stored: bool
) -> MatchHistory:
    """Hold a paper against each part of a query."""
    ready = analyse(paper)
    followers = [one for one in config.subscriptions if name in one.queries]
    causes = {one.name: read_exclusion(one).find_cause(paper) for one in followers}
    return MatchHistory(
        paper=paper,
        is_stored=is_stored,
        name=name,
        query=query.text,
        matches=matches(query, ready),
        clauses=tuple(_walk_clauses(query.tree, ready)),
        failing=find_why_not(query, ready),
        excluded_by={one: cause for one, cause in causes.items() if cause},
    )


def _walk_clauses(node: Node, paper: AnalysedPaper, depth: int = 0) -> Iterator[Clause]:
    """Yield each node of a query; a condition and its negation are one."""
    is_met = matches(node, paper)
    match node:
        case (Condition() as condition) | Not(Condition() as condition):
            yield Clause(print_tree(node), depth, is_met, find_spans(condition, paper))
        case Not(operand):
            yield Clause("not", depth, is_met)
            yield from _walk_clauses(operand, paper, depth + 1)
        case And(operands) | Or(operands):
            clause = "all of" if isinstance(node, And) else "any of"
            yield Clause(clause, depth, is_met)
            for operand in operands:
                yield from _walk_clauses(operand, paper, depth + 1)
