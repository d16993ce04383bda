"""What people do by themselves: subscribe, change, join, pause, move, be erased.

Every edit of a person's own subscription is the same step as an edit of the operator's file: their
saved queries and their subscription are brought in line with what they want, in one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from digest.config import Config
from digest.model import secrets, taxonomy
from digest.model.cadences import Cadence, CadenceKind
from digest.model.destinations import OWN_FEED, mail_to
from digest.model.errors import QueryError, UnknownName, UsageError
from digest.model.people import (
    KINDS,
    LONGEST_QUERY,
    MOST_BEGINNINGS,
    MOST_QUERIES,
    UNDO,
    OwnQuery,
    RequestKind,
    SignupRequest,
)
from digest.model.polls import MOST_SEARCHED
from digest.model.said import Said, Saying
from digest.model.subscriptions import (
    EVERYTHING,
    DueSubscription,
    Subscription,
    SubscriptionState,
    is_personal,
)
from digest.people.signups import StoredSignup, delete_signup
from digest.people.tables import (
    MOVED,
    Membership,
    Person,
    change_address,
    confirm_person,
    delete_person,
    load_memberships,
    load_names_ever_sent_to,
    load_own_queries,
    load_own_subscription_name,
    load_person,
    load_records,
    rename_query,
    save_membership,
    set_owner,
)
from digest.people.unsubscription import PAGE, resubscribe_to
from digest.plan import slots
from digest.plan.links import LinkMaker, make_links, remember_preferences
from digest.query import Query, parse_query
from digest.store import matches, queries, subscribers, subscriptions
from digest.store.subscribers import LETTERS
from digest.store.sync import sync_subscriptions

TITLE = "Your papers"
"""What a person's own digests are called."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a person gets.

    Attributes:
        own: their own subscription; None if they only read what the operator's file decides.
        memberships: every live subscription that writes to them, or that they unsubscribed from;
            their own first.
        dues: these as stored, by key.
    """

    person: Person
    choices: SignupRequest
    own: DueSubscription | None
    memberships: tuple[Membership, ...]
    dues: Mapping[int, DueSubscription]
    has_unsubscribed_from_all: bool = False

    @property
    def is_paused(self) -> bool:
        """Whether their own subscription sends nothing for now."""
        return self.own is not None and self.own.state == SubscriptionState.PAUSED

    @property
    def has_active_own(self) -> bool:
        """Whether they have a subscription of their own and did not unsubscribe from it.

        What they subscribe to next is then added to it.
        """
        if self.own is None:
            return False
        kept = [one.id for one in self.memberships if one.unsubscribed_at is None]
        return self.own.id in kept

    def can_undo(self, membership: Membership, now: datetime) -> bool:
        """Whether leaving a subscription can still be undone."""
        return membership.unsubscribed_at is not None and now - membership.unsubscribed_at < UNDO


def load_preferences(conn: Connection, address: str) -> Preferences | None:
    """Return what somebody with a mail address gets; None for an address nothing is known of."""
    person = load_person(conn, address)
    if person is None:
        return None
    memberships = tuple(load_memberships(conn, person.destination))
    keys = [one.id for one in memberships]
    dues = {due.id: due for due in subscriptions.load(conn, keys)}
    own_keys = [one.id for one in memberships if is_personal(one.origin)]
    own = dues[own_keys[0]] if own_keys else None
    queries = tuple(load_own_queries(conn, person))
    joined = [one for one in memberships if one.is_joined and one.unsubscribed_at is None]
    choices = SignupRequest(queries=queries, joins=tuple(one.name for one in joined))
    if own is not None:
        stored = own.subscription
        choices = replace(
            choices,
            cadence=str(stored.cadence),
            kinds=stored.kinds,
            abstracts=stored.abstracts,
            has_feed=OWN_FEED in stored.destinations,
        )
    has_left_everything = EVERYTHING in subscribers.load_unsubscribed(conn, person.destination)
    return Preferences(person, choices, own, memberships, dues, has_left_everything)


def make_signup_request(
    config: Config,
    text: str,
    cadence: str,
    *,
    kinds: Collection[str],
    joins: Collection[str],
    has_feed: bool,
) -> SignupRequest:
    """Return what somebody wants, from the fields of a form.

    What can't be read or is not offered is refused.
    """
    offered = [one.name for one in list_offered(config)]
    are_kinds_offered = {*kinds} <= {*KINDS}
    are_joins_offered = {*joins} <= {*offered}
    if not are_kinds_offered or not are_joins_offered:
        raise UsageError("something is chosen that is not offered", hint="Choose from the lists.")
    has_text = text.strip() != ""
    if not has_text and not joins:
        raise UsageError(
            "nothing is chosen yet", hint="Write what you follow, or tick a subscription."
        )
    if has_feed and not has_text:
        raise UsageError(
            "a feed is made of what you follow", hint="Write what you follow, or untick the feed."
        )
    chosen_kinds = [kind for kind in KINDS if kind in kinds]
    chosen_joins = [name for name in offered if name in joins]
    choices = SignupRequest(
        cadence=cadence,
        kinds=tuple(chosen_kinds),
        has_feed=has_feed,
        joins=tuple(chosen_joins),
    )
    if has_text:
        choices = choices.add_query(read_text(text).expression)
    check_signup_request(choices)
    return choices


def read_text(text: str) -> Query:
    """Return the query that somebody means by what they typed.

    They may type words, a query, a category alone, or an address.
    """
    if len(text) > LONGEST_QUERY:
        raise QueryError(
            f"This is longer than {LONGEST_QUERY:,} characters",
            text=text[:LONGEST_QUERY],
            position=LONGEST_QUERY,
            hint="Split it in two.",
        )
    words = text.strip()
    meant = f"cat:{words}" if taxonomy.is_category(words) else text
    query = parse_query(meant)
    if query.canonical.count("*") > MOST_BEGINNINGS:
        up_to_fault = text.split("*")[: MOST_BEGINNINGS + 1]
        place = len("*".join(up_to_fault))
        raise QueryError(
            f"This has more than {MOST_BEGINNINGS} beginnings of words (with a *)",
            text=text[: place + 1],
            position=place,
            hint="Split it in two.",
        )
    return query


def check_signup_request(choices: SignupRequest) -> None:
    """Refuse what nobody may have."""
    if len(choices.queries) > MOST_QUERIES:
        raise UsageError(
            f"at most {MOST_QUERIES} saved queries are possible", hint="Delete some of them."
        )
    for query in choices.queries:
        read_text(query.text)
    if not choices.kinds:
        raise UsageError(
            "no kind of paper is chosen", hint="Tick at least one, such as new papers."
        )
    Cadence.parse(choices.cadence)


def apply_signup_request(
    conn: Connection, maker: LinkMaker, person: Person, choices: SignupRequest, *, at: datetime
) -> None:
    """Bring a person's saved queries and own subscription in line with what they want.

    Twice is as once. Their first saved queries bring a first digest, later ones what is announced
    from then on. Those off stay stored and bring nothing.

    Raises:
        UsageError: see `check_signup_request`; or arXiv's search is asked for as many saved
            queries as it may be.
    """
    check_signup_request(choices)
    canonicals = {query.name: _canonical(query.text) for query in choices.queries}
    if maker.config.arxiv.source == "query":
        _check_room(conn, canonicals.values())
    texts = {query.name: (query.text, canonicals[query.name], "") for query in choices.queries}
    queries.sync(conn, texts, person.origin, at)
    feed = (OWN_FEED,) if choices.has_feed else ()
    followed = [query.name for query in choices.queries if query.is_on]
    own = Subscription(
        name=choose_own_name(conn, maker, person, at=at),
        queries=tuple(followed),
        destinations=(person.destination, *feed),
        cadence=Cadence.parse(choices.cadence),
        kinds=choices.kinds,
        abstracts=choices.abstracts,
        title=TITLE,
    )
    wanted = [own] if choices.queries else []
    sync_subscriptions(conn, wanted, person.origin, at, slots)
    set_owner(conn, person)


def _check_room(conn: Connection, canonicals: Iterable[str]) -> None:
    """Refuse saved queries beyond those that arXiv's search may be asked for."""
    active = {revision.canonical for revision in queries.active_revisions(conn)}
    wanted = active.union(canonicals)
    if wanted > active and len(wanted) > MOST_SEARCHED:
        raise UsageError(
            "no more saved queries are possible here", hint="Ask who runs this service."
        )


def save_query(
    conn: Connection,
    config: Config,
    preferences: Preferences,
    name: str,
    text: str,
    *,
    at: datetime,
) -> None:
    """Give one of a person's saved queries another text, or add one if no name is given.

    Either is on then. An edited one goes on from where matching is: it sends nothing again, and no
    first digest. Its name follows its words.

    It is refused if they have it already, or as many as they may, or may have none of their own.
    """
    choices = preferences.choices
    person = preferences.person
    maker = make_links(conn, config)
    if preferences.own is None and not config.web.signup.admits(person.address):
        require_own(preferences)
    if name and name not in {one.name for one in choices.queries}:
        raise UnknownName(
            "you have no such saved query any more", hint="Go back to your subscriptions."
        )
    text = read_text(text).expression
    canonical = _canonical(text)
    twins = [one.name for one in choices.queries if _canonical(one.text) == canonical]
    edited = twins[0] if twins else name
    if name and edited != name:
        raise UsageError(
            "you have this saved query already", hint="Go back, and delete one of the two."
        )
    if edited:
        choices = _replace_query(conn, person, choices, edited, text)
    else:
        choices = choices.add_query(text)
    apply_signup_request(conn, maker, person, choices, at=at)
    if preferences.own is None:
        own_name = choose_own_name(conn, maker, person, at=at)
        subscribers.log_consent(conn, person.id, own_name, "confirmed", how=PAGE, at=at)


def _replace_query(
    conn: Connection, person: Person, choices: SignupRequest, name: str, text: str
) -> SignupRequest:
    """Put another text in a saved query's place, switched on and named after its words."""
    edited = OwnQuery(rename_query(conn, person, name, text), text)
    queries = [edited if one.name == name else one for one in choices.queries]
    return replace(choices, queries=tuple(queries))


def choose_own_name(conn: Connection, maker: LinkMaker, person: Person, *, at: datetime) -> str:
    """Return the name of a person's own subscription, or the one it gets at a moment (UTC).

    Links are made of it, and a database may give a person's number again: the moment is a part
    of it.
    """
    stored = load_own_subscription_name(conn, person)
    if stored:
        return stored
    fresh = secrets.derive_token(maker.secret, "person", str(person.id), at.isoformat())
    return f"p-{secrets.token_hash(fresh)[:10]}"


def confirm_signup(
    conn: Connection, config: Config, maker: LinkMaker, signup: StoredSignup, *, at: datetime
) -> Preferences:
    """Do what a confirmed request asks for, and forget the request.

    Return what the person gets now. Their saved queries are added to those they have. If they have
    a subscription, it keeps its times.

    Raises:
        UsageError: it would be too much for one person, the operator admits the address no more,
            or the new address belongs to somebody else.
    """
    if signup.kind is RequestKind.MOVE:
        _move(conn, maker, signup, at)
    else:
        _subscribe(conn, config, maker, signup, at)
    delete_signup(conn, signup.id)
    found = load_preferences(conn, signup.address)
    assert found is not None  # noqa: S101 - stored just now
    remember_preferences(conn, maker, found.person.destination, at=at)
    return found


def _subscribe(
    conn: Connection, config: Config, maker: LinkMaker, signup: StoredSignup, at: datetime
) -> None:
    if not config.web.signup.admits(signup.address):
        raise UsageError(
            "this address may no longer subscribe here", hint="Ask who runs this service."
        )
    person = confirm_person(conn, signup.address, how=PAGE, at=at)  # first: two at once take turns
    before = load_preferences(conn, signup.address)
    choices = signup.choices
    offered = {one.name for one in list_offered(config)}
    joins = [name for name in choices.joins if name in offered]
    if not choices.queries and not joins:
        raise UnknownName(
            "what you wanted to join is not offered any more",
            hint="Choose on the first page again.",
        )
    own_name = choose_own_name(conn, maker, person, at=at)
    asked = [*joins, own_name] if choices.queries else joins
    _resubscribe_to_asked(conn, person, asked, at)
    if choices.queries:
        subscribers.save_resubscription(conn, person.destination, own_name, how=PAGE, at=at)
        apply_signup_request(conn, maker, person, _merge(before, choices), at=at)
        subscribers.log_consent(conn, person.id, own_name, "confirmed", how=PAGE, at=at)
    for joined in joins:
        join_subscription(conn, person, joined, at=at)


def _merge(before: Preferences | None, choices: SignupRequest) -> SignupRequest:
    """Return both wishes in one.

    If they unsubscribed from their own subscription, it begins anew: its saved queries stay, but
    off.
    """
    if before is None or before.own is None:
        return choices
    wanted = {_canonical(query.text) for query in choices.queries}
    kept = []
    for query in before.choices.queries:
        stays_on = query.is_on and before.has_active_own
        is_wanted = _canonical(query.text) in wanted
        kept.append(replace(query, is_on=stays_on or is_wanted))
    settings = before.choices if before.has_active_own else choices
    merged = replace(settings, queries=tuple(kept))
    known = {_canonical(query.text) for query in kept}
    for query in choices.queries:
        if _canonical(query.text) not in known:
            merged = merged.add_query(query.text)
    return replace(merged, has_feed=merged.has_feed or choices.has_feed)


def _resubscribe_to_asked(
    conn: Connection, person: Person, asked: Collection[str], at: datetime
) -> None:
    """Let somebody who unsubscribed from everything have what they ask for now, by name.

    They stay unsubscribed from all else.
    """
    destination = person.destination
    if EVERYTHING not in subscribers.load_unsubscribed(conn, destination):
        return
    for other in load_names_ever_sent_to(conn, destination):
        if other not in asked:
            subscribers.save_unsubscription(conn, destination, other, how=PAGE, at=at)
    subscribers.save_resubscription(conn, destination, EVERYTHING, how=PAGE, at=at)


def _canonical(text: str) -> str:
    return parse_query(text).canonical


def _move(conn: Connection, maker: LinkMaker, signup: StoredSignup, at: datetime) -> None:
    before = load_preferences(conn, signup.choices.old_address)
    if before is None:
        raise UsageError(
            "the address to move from is not stored any more",
            hint="Subscribe anew on the first page.",
        )
    if load_person(conn, signup.address) is not None:
        raise UsageError(
            "this address has subscriptions of its own already",
            hint="Unsubscribe there first, or keep both.",
        )
    for unsubscribed in subscribers.load_unsubscribed(conn, before.person.destination) - {LETTERS}:
        subscribers.save_unsubscription(conn, signup.destination, unsubscribed, how=MOVED, at=at)
    change_address(conn, before.person, signup.address, at=at)
    person = replace(before.person, address=signup.address)
    if before.choices.queries:
        apply_signup_request(conn, maker, person, before.choices, at=at)
    subscribers.log_consent(conn, person.id, EVERYTHING, "moved", how=PAGE, at=at)


def refuse_letters(conn: Connection, signup: StoredSignup, *, at: datetime) -> None:
    """End it for good: nobody's request brings a mail to this address any more.

    The operator can lift it.
    """
    not_me = Said.of(Saying.NOT_ME)
    subscribers.save_unsubscription(conn, signup.destination, LETTERS, how=not_me, at=at)
    delete_signup(conn, signup.id)


def list_offered(config: Config) -> tuple[Subscription, ...]:
    """Return the subscriptions of the operator's file that people may join, in the file's order."""
    return tuple(one for one in config.subscriptions if one.joinable)


def join_subscription(conn: Connection, person: Person, name: str, *, at: datetime) -> None:
    """Make a person a reader of a subscription that is offered; twice is as once."""
    found = subscriptions.load(conn, names=[name])
    if not found:
        raise UnknownName(f"{name} is new and not ready yet", hint="Try again in a minute.")
    (due,) = found
    subscribers.save_resubscription(conn, person.destination, name, how=PAGE, at=at)
    save_membership(conn, due.id, person.destination, at=at)
    if not due.subscription.has_digests:
        turn = slots.next_due(due.subscription, at, due.last_slot, None)
        subscriptions.start_slots(conn, due.id, turn)
    subscribers.log_consent(conn, person.id, name, "confirmed", how=PAGE, at=at)


def pause_digests(
    conn: Connection, due: DueSubscription, until: datetime | None, *, at: datetime
) -> None:
    """Pause a subscription; what matches meanwhile waits. None: until somebody resumes it."""
    subscriptions.pause(conn, due.id, until)
    if until is not None:
        turn = slots.next_due(due.subscription, at, due.last_slot, until)
        subscriptions.set_next_due(conn, due.id, turn)


def resume_digests(conn: Connection, due: DueSubscription, *, at: datetime) -> datetime | None:
    """Let a paused subscription go on; what waited comes with its next digest.

    Return when that is due, None if only papers make it due.
    At once means as soon as may be if something waits.
    """
    wanted = due.subscription
    turn = None
    if wanted.has_digests:
        turn = slots.next_due(wanted, at, due.last_slot)
        is_at_once = wanted.cadence.kind is CadenceKind.AT_ONCE
        if is_at_once and matches.load_pending(conn, due.id, due.plan_after):
            turn = slots.first_due(wanted, at, due.last_slot)
    subscriptions.resume(conn, due.id, turn, at)
    return turn


def require_own(preferences: Preferences) -> DueSubscription:
    """Return a person's own subscription.

    Who has none is refused: the operator's file decides what they get.
    """
    if preferences.own is None:
        raise UsageError(
            "these digests are set by the operator of this service",
            hint="Unsubscribe, or write to the operator.",
        )
    return preferences.own


def list_read_alone(config: Config, preferences: Preferences) -> dict[str, DueSubscription]:
    """Return the subscriptions that nobody but this person reads, by name.

    These are their own, and those of the file.
    """
    reader = str(preferences.person.destination)
    return {
        due.subscription.name: due
        for due in preferences.dues.values()
        if config.find_reader(due.subscription) == reader
    }


def undo_unsubscription(
    conn: Connection, preferences: Preferences, name: str, *, at: datetime
) -> None:
    """Undo that a person unsubscribed from a subscription, or `EVERYTHING`, within `UNDO`."""
    named = [one for one in preferences.memberships if name in (one.name, EVERYTHING)]
    if not named or not preferences.can_undo(named[0], at):
        raise UsageError("this can't be undone any more", hint="Subscribe again on the first page.")
    destination = preferences.person.destination
    has_left_everything = EVERYTHING in subscribers.load_unsubscribed(conn, destination)
    which = EVERYTHING if has_left_everything else name
    resubscribe_to(conn, destination, which, how=PAGE, at=at)


def export_records(conn: Connection, address: str) -> dict[str, Any] | None:
    """Return everything stored about an address, by table; None if nothing is."""
    person = load_person(conn, address)
    found = load_records(conn, address, person.id if person else 0)
    if not any(found.values()):
        return None
    return {"address": address, "stored": found}


def erase_person(
    conn: Connection, config: Config, address: str, *, at: datetime, how: Said = PAGE
) -> bool:
    """Delete everything stored about an address; return whether the operator's file still names it.

    If the file does, one row stays: that this address unsubscribed. Without it, digests would be
    sent there again.
    """
    if export_records(conn, address) is None:
        raise UnknownName(f"nothing is stored about {address}")
    person = load_person(conn, address)
    destination = mail_to(address)
    is_named = any(destination in one.destinations for one in config.subscriptions)
    subscribers.save_unsubscription(conn, destination, EVERYTHING, how=how, at=at)
    person_id = 0
    if person is not None:
        person_id = person.id
        sync_subscriptions(conn, [], person.origin, at, slots)
    delete_person(conn, address, person_id, keep_suppressions=is_named)
    return is_named
