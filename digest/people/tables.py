"""What belongs to one person: their own subscription, those they joined, and every row about them.

These functions load, change, move and delete it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    RowMapping,
    Table,
    and_,
    delete,
    not_,
    or_,
    select,
    update,
)

from digest.interest.tables import is_liked_by, read_likes_source, write_likes_source
from digest.model.destinations import Destination, mail_to
from digest.model.messages import DeliveryState
from digest.model.people import OwnQuery, name_query
from digest.model.said import NOTHING, Said, Saying
from digest.model.subscriptions import EVERYTHING, SubscriberState, SubscriptionState, write_origin
from digest.store import queries
from digest.store.dialect import dialect_insert
from digest.store.schema import (
    attempts,
    consents,
    deliveries,
    destination_addresses,
    digests,
    libraries,
    library_papers,
    matches,
    near_days,
    query_matches,
    query_revisions,
    saved_queries,
    signups,
    subscribers,
    subscription_destinations,
    subscription_queries,
    subscriptions,
    suppressions,
    tokens,
)
from digest.store.subscribers import DestinationState
from digest.store.tokens import TokenPurpose

MOVED = Said.of(Saying.MOVED)
"""How an address came to get or not to get what another one had."""

_AFTER_THE_FILE = 10_000
"""The position of a reader who joined: after all destinations that the operator's file names."""

_HIDDEN = frozenset({"token", "hash", "body", "shared", "owner", "lease_until"})
"""Columns that are shown to nobody: bytes, hashes of links, and who works on a row."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a mail address."""

    id: int
    address: str
    since: datetime

    @property
    def destination(self) -> Destination:
        """Where their mails go."""
        return mail_to(self.address)

    @property
    def origin(self) -> str:
        """What marks saved queries and the subscription as theirs."""
        return write_origin(self.id)


@dataclass(frozen=True, slots=True)
class Membership:
    """A subscription that writes to a person, or did until they unsubscribed.

    `is_joined`: the person joined it by themselves, on the first page.
    """

    id: int
    name: str
    title: str
    origin: str
    is_joined: bool
    unsubscribed_at: datetime | None


def load_person(conn: Connection, address: str) -> Person | None:
    """Return who has a mail address, given in its one spelling; locked if the connection writes."""
    owner = select(subscribers).where(subscribers.c.address == address)
    can_write = not conn.get_execution_options().get("postgresql_readonly")
    if can_write:
        owner = owner.with_for_update()  # two changes at once take turns
    row = conn.execute(owner).one_or_none()
    return _read_person(row) if row else None


def _read_person(row: Row[Any]) -> Person:
    return Person(row.id, row.address, row.since)


def load_people(conn: Connection) -> list[Person]:
    """Return everybody who subscribed by themselves, by address."""
    places = subscription_destinations.c
    joined = select(places.destination).where(places.is_joined)
    destinations = [Destination.parse(text) for text in conn.execute(joined).scalars()]
    addresses = [destination.address for destination in destinations]
    is_owned = subscriptions.c.subscriber_id.is_not(None)
    owners = select(subscriptions.c.subscriber_id).where(is_owned)
    is_owner = subscribers.c.id.in_(owners)
    has_joined = subscribers.c.address.in_(addresses)
    people = select(subscribers).where(or_(is_owner, has_joined)).order_by(subscribers.c.address)
    return [_read_person(row) for row in conn.execute(people)]


def confirm_person(conn: Connection, address: str, *, how: Said, at: datetime) -> Person:
    """Count an address as confirmed by its owner; return who that is."""
    row = {"address": address, "state": SubscriberState.CONFIRMED, "how": str(how), "since": at}
    insertion = dialect_insert(conn, subscribers).values(row)
    confirmation = insertion.on_conflict_do_update(index_elements=["address"], set_=row)
    return _read_person(conn.execute(confirmation.returning(subscribers)).one())


def load_own_queries(conn: Connection, person: Person) -> list[OwnQuery]:
    """Return a person's saved queries in the order they were made."""
    columns = saved_queries.c
    in_use = select(subscription_queries.c.query_id)
    is_on = columns.id.in_(in_use)
    is_theirs = columns.origin == person.origin
    is_live = columns.ended_at.is_(None)
    theirs = queries.current_revision().where(is_theirs, is_live).order_by(columns.id)
    revisions = theirs.add_columns(is_on.label("is_on"))
    own_queries = []
    for row in conn.execute(revisions):
        query = OwnQuery(row.name, row.text, bool(row.is_on))
        own_queries.append(query)
    return own_queries


def rename_query(conn: Connection, person: Person, name: str, text: str) -> str:
    """Name one of a person's saved queries after its present text; return the new name.

    Nothing else of the query changes.
    """
    columns = saved_queries.c
    is_theirs = columns.origin == person.origin
    others = select(columns.name).where(is_theirs, columns.name != name)
    taken = list(conn.execute(others).scalars())  # deleted ones, too
    new_name = name_query(text, taken)
    renaming = update(saved_queries).where(is_theirs, columns.name == name)
    conn.execute(renaming.values(name=new_name))
    return new_name


def load_own_subscription_name(conn: Connection, person: Person) -> str:
    """Return the name of a person's own subscription, which may have ended; "" for none."""
    is_own = subscriptions.c.origin == person.origin
    name = select(subscriptions.c.name).where(is_own)
    return str(conn.execute(name).scalar() or "")


def set_owner(conn: Connection, person: Person) -> None:
    """Note on a person's own subscription whose it is."""
    is_own = subscriptions.c.origin == person.origin
    ownership = update(subscriptions).where(is_own)
    conn.execute(ownership.values(subscriber_id=person.id))


def load_memberships(conn: Connection, destination: Destination) -> list[Membership]:
    """Return the live subscriptions of a destination, a person's own first.

    Those that the destination unsubscribed from are among them.
    """
    key = str(destination)
    suppressed = select(suppressions).where(suppressions.c.destination == key)
    since_by_name = {row.subscription: row.since for row in conn.execute(suppressed)}
    since_for_all = since_by_name.get(EVERYTHING)
    columns = subscriptions.c
    places = subscription_destinations.c
    is_of_subscription = places.subscription_id == columns.id
    is_in_use = places.state != DestinationState.DISABLED
    is_live = columns.state != SubscriptionState.ENDED
    is_of_file = columns.subscriber_id.is_(None)
    live = (
        select(subscriptions, places.is_joined)
        .join(subscription_destinations, is_of_subscription)
        .where(places.destination == key, is_in_use)
        .where(is_live)
        .order_by(is_of_file, columns.name)
    )
    memberships = []
    for row in conn.execute(live):
        membership = Membership(
            id=row.id,
            name=row.name,
            title=row.title,
            origin=row.origin,
            is_joined=row.is_joined,
            unsubscribed_at=since_for_all or since_by_name.get(row.name),
        )
        memberships.append(membership)
    return memberships


def load_names_ever_sent_to(conn: Connection, destination: Destination) -> list[str]:
    """Return the names of all subscriptions, ended ones too, that ever had a destination."""
    places = subscription_destinations.c
    is_of_subscription = places.subscription_id == subscriptions.c.id
    names = select(subscriptions.c.name).join(subscription_destinations, is_of_subscription)
    sent_to = names.where(places.destination == str(destination))
    return list(conn.execute(sent_to).scalars())


def save_membership(
    conn: Connection, subscription_id: int, destination: Destination, *, at: datetime
) -> None:
    """Make a person a reader of a subscription of the operator's file.

    Doing it twice changes nothing more.
    """
    joined = {"state": DestinationState.ACTIVE, "reason": NOTHING, "since": at, "is_joined": True}
    row = {
        "subscription_id": subscription_id,
        "destination": str(destination),
        "position": _AFTER_THE_FILE,
        "is_new": True,
        **joined,
    }
    places = subscription_destinations.c
    is_different = or_(places.state != DestinationState.ACTIVE, not_(places.is_joined))
    insertion = dialect_insert(conn, subscription_destinations).values(row)
    conn.execute(
        insertion.on_conflict_do_update(
            index_elements=["subscription_id", "destination"],
            set_=joined,
            where=is_different,
        )
    )


def change_address(conn: Connection, person: Person, address: str, *, at: datetime) -> None:
    """Give a person another address, and all that is theirs with it.

    Their own subscription and joined ones then write to the new address. Deliveries that wait or
    have ended, and links to unsubscribe, go with them. What the operator's file sends to the old
    address stays there, and so does a message that is on its way. Suppressions of the old address
    for these subscriptions are deleted: the caller wrote them for the new address before.
    """
    moved = update(subscribers).where(subscribers.c.id == person.id)
    conn.execute(moved.values(address=address, how=str(MOVED), since=at))
    old = str(person.destination)
    new = str(mail_to(address))
    name_by_id = _load_own_and_joined(conn, person)
    subscription_ids = name_by_id.keys()
    names = name_by_id.values()
    _move_deliveries(conn, subscription_ids, old, new)
    places = subscription_destinations.c
    is_theirs = places.subscription_id.in_(subscription_ids)
    to_old = update(subscription_destinations).where(places.destination == old, is_theirs)
    conn.execute(to_old.values(destination=new))
    _move_unsubscribe_links(conn, names, old, new)
    for subscription_id in subscription_ids:
        source = write_likes_source(subscription_id, old)
        likes = update(libraries).where(libraries.c.source == source)
        conn.execute(likes.values(source=write_likes_source(subscription_id, new)))
    end_links(conn, person.destination)
    is_old_address = destination_addresses.c.destination == old
    conn.execute(delete(destination_addresses).where(is_old_address))
    is_of_old = suppressions.c.destination == old
    is_of_theirs = suppressions.c.subscription.in_(names)
    conn.execute(delete(suppressions).where(is_of_old, is_of_theirs))


def _load_own_and_joined(conn: Connection, person: Person) -> dict[int, str]:
    """Return the names of a person's own subscription and of those they joined, by id."""
    columns = subscriptions.c
    places = subscription_destinations.c
    is_to_them = places.destination == str(person.destination)
    joined = select(places.subscription_id).where(is_to_them, places.is_joined)
    is_own = columns.origin == person.origin
    is_joined = columns.id.in_(joined)
    theirs = select(columns.id, columns.name).where(or_(is_own, is_joined))
    return {row.id: row.name for row in conn.execute(theirs)}


def _move_deliveries(
    conn: Connection, subscription_ids: Collection[int], old: str, new: str
) -> None:
    """Send deliveries that wait to another address, and store the ended ones under it."""
    is_theirs = digests.c.subscription_id.in_(subscription_ids)
    theirs = select(digests.c.id).where(is_theirs)
    columns = deliveries.c
    to_old = update(deliveries).where(columns.destination == old, columns.digest_id.in_(theirs))
    # The bytes of an earlier try name the old address.
    without_bytes = {"destination": new, "body": None, "shared": None, "media_type": None}
    waiting = to_old.where(columns.state == DeliveryState.READY)
    conn.execute(waiting.values(without_bytes))
    ended = to_old.where(columns.ended_at.is_not(None))
    conn.execute(ended.values(destination=new))


def _move_unsubscribe_links(conn: Connection, names: Collection[str], old: str, new: str) -> None:
    """Let the links in old mails unsubscribe the new address."""
    columns = tokens.c
    is_of_old = columns.destination == old
    is_unsubscribing = columns.purpose == TokenPurpose.UNSUBSCRIBE
    is_theirs = columns.subscription.in_(names)
    links = update(tokens).where(is_of_old, is_unsubscribing, is_theirs)
    conn.execute(links.values(destination=new))


def end_links(conn: Connection, destination: Destination) -> None:
    """End the links to a person's preferences.

    Only the hash of each stays, so that no link ever works again.
    """
    is_theirs = tokens.c.destination == str(destination)
    is_to_preferences = tokens.c.purpose == TokenPurpose.PREFERENCES
    links = update(tokens).where(is_theirs, is_to_preferences)
    conn.execute(links.values(purpose=TokenPurpose.ENDED, destination=""))


def load_records(conn: Connection, address: str, person_id: int) -> dict[str, list[dict[str, Any]]]:
    """Return every row that is about an address, by table, as plain values.

    Bytes and hashes of links are left out, and so is which papers matched. `person_id` is 0 if
    nobody with this address is stored: there may still be a request, or a suppression.
    """
    key = str(mail_to(address))
    conditions = _list_conditions(address, person_id)
    is_own_or_joined = conditions[subscription_destinations]
    is_to_them = subscription_destinations.c.destination == key
    conditions[subscription_destinations] = or_(is_own_or_joined, is_to_them)
    conditions[suppressions] = suppressions.c.destination == key
    records = {}
    for table, is_theirs in conditions.items():
        if table in (matches, query_matches):
            continue
        rows = conn.execute(select(table).where(is_theirs)).mappings()
        records[table.name] = [_drop_hidden(row) for row in rows]
    return records


def _drop_hidden(row: RowMapping) -> dict[str, Any]:
    return {column: value for column, value in row.items() if column not in _HIDDEN}


def delete_person(
    conn: Connection, address: str, person_id: int, *, keep_suppressions: bool
) -> None:
    """Delete what is stored about a person whose own subscription has ended.

    Their own digests, saved queries and what was matched are deleted, too. What they shared with
    others stays: a digest of a subscription they joined does not name them.

    `keep_suppressions`: the operator's file names the address, so that it unsubscribed must be
    remembered.
    """
    destination = mail_to(address)
    end_links(conn, destination)
    _delete_near_days(conn, destination, write_origin(person_id))
    for table, is_theirs in _list_conditions(address, person_id).items():
        conn.execute(delete(table).where(is_theirs))
    if not keep_suppressions:
        is_theirs = suppressions.c.destination == str(destination)
        conn.execute(delete(suppressions).where(is_theirs))


def _delete_near_days(conn: Connection, destination: Destination, origin: str) -> None:
    """Delete how near papers were to what a person likes, and to their own libraries."""
    likes = select(libraries.c.source).where(is_liked_by(str(destination)))
    sources = conn.execute(likes).scalars()
    ids_with_likes = [read_likes_source(source) for source in sources]
    is_own = subscriptions.c.origin == origin
    own_ids = select(subscriptions.c.id).where(is_own)
    subscription_id = near_days.c.subscription_id
    is_theirs = or_(subscription_id.in_(ids_with_likes), subscription_id.in_(own_ids))
    conn.execute(delete(near_days).where(is_theirs))


def _list_conditions(address: str, person_id: int) -> dict[Table, ColumnElement[bool]]:
    """Return the condition for rows about an address, by table, in an order for deleting them.

    Suppressions and near days are not among them: the callers know which of these they want.
    """
    key = str(mail_to(address))
    origin = write_origin(person_id)
    is_own = subscriptions.c.origin == origin
    is_own_query = saved_queries.c.origin == origin
    own_ids = select(subscriptions.c.id).where(is_own)
    own_names = select(subscriptions.c.name).where(is_own)
    own_digests = select(digests.c.id).where(digests.c.subscription_id.in_(own_ids))
    theirs: dict[Table, ColumnElement[bool]] = {}

    liked = select(libraries.c.id).where(is_liked_by(key))
    theirs[library_papers] = library_papers.c.library_id.in_(liked)
    theirs[libraries] = is_liked_by(key)

    is_in_own_digest = deliveries.c.digest_id.in_(own_digests)
    is_to_them = or_(deliveries.c.destination == key, is_in_own_digest)
    delivery_ids = select(deliveries.c.id).where(is_to_them)
    theirs[attempts] = attempts.c.delivery_id.in_(delivery_ids)
    theirs[deliveries] = is_to_them
    theirs[matches] = matches.c.subscription_id.in_(own_ids)

    link = tokens.c
    is_to_own_digest = link.digest_id.in_(own_digests)
    is_of_own = link.subscription.in_(own_names)
    theirs[tokens] = or_(link.destination == key, is_to_own_digest, is_of_own)
    theirs[digests] = digests.c.id.in_(own_digests)

    place = subscription_destinations.c
    is_joined = and_(place.destination == key, place.is_joined)
    theirs[subscription_queries] = subscription_queries.c.subscription_id.in_(own_ids)
    theirs[subscription_destinations] = or_(place.subscription_id.in_(own_ids), is_joined)
    theirs[subscriptions] = is_own

    query_ids = select(saved_queries.c.id).where(is_own_query)
    is_own_revision = query_revisions.c.query_id.in_(query_ids)
    revision_ids = select(query_revisions.c.id).where(is_own_revision)
    theirs[query_matches] = query_matches.c.revision_id.in_(revision_ids)
    theirs[query_revisions] = is_own_revision
    theirs[saved_queries] = is_own_query

    json_text = f'"{address}"'
    names_address = signups.c.choices.contains(json_text, autoescape=True)
    theirs[signups] = or_(signups.c.address == address, names_address)
    theirs[destination_addresses] = destination_addresses.c.destination == key
    theirs[consents] = consents.c.subscriber_id == person_id
    theirs[subscribers] = subscribers.c.id == person_id
    return theirs
