"""What belongs to one person: their own subscription, those they joined, and all that is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, not_, or_, select, update

from digest.interest.tables import is_liked_by, read_likes_source, write_likes_source
from digest.model.destinations import Destination, DestinationKind, mail_to
from digest.model.messages import DeliveryState
from digest.model.people import OwnQuery, name_query
from digest.model.subscriptions import EVERYTHING, SubscriberState, SubscriptionState, write_origin
from digest.store.dialect import dialect_insert
from digest.store.queries import current_revision
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
    """A subscription that writes to a person, or did until they left.

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
    found = select(subscribers).where(subscribers.c.address == address)
    if not conn.get_execution_options().get("postgresql_readonly"):
        found = found.with_for_update()  # two changes at once take turns
    row = conn.execute(found).one_or_none()
    return Person(row.id, row.address, row.since) if row else None


def load_people(conn: Connection) -> list[Person]:
    """Return everybody who subscribed by themselves, by address."""
    joined = select(subscription_destinations.c.destination).where(
        subscription_destinations.c.is_joined
    )
    addresses = [
        text.removeprefix(f"{DestinationKind.MAIL}:") for text in conn.execute(joined).scalars()
    ]
    owners = select(subscriptions.c.subscriber_id).where(subscriptions.c.subscriber_id.is_not(None))
    found = select(subscribers).where(
        or_(subscribers.c.id.in_(owners), subscribers.c.address.in_(addresses))
    )
    rows = conn.execute(found.order_by(subscribers.c.address))
    return [Person(row.id, row.address, row.since) for row in rows]


def confirm_person(conn: Connection, address: str, *, how: str, at: datetime) -> Person:
    """Count an address as confirmed by its owner; return who that is."""
    row = {"address": address, "state": SubscriberState.CONFIRMED, "how": how, "since": at}
    upsert = dialect_insert(conn, subscribers).values(row)
    confirmed = upsert.on_conflict_do_update(index_elements=["address"], set_=row).returning(
        subscribers
    )
    person = conn.execute(confirmed).one()
    return Person(person.id, person.address, person.since)


def load_own_queries(conn: Connection, person: Person) -> list[OwnQuery]:
    """Return a person's saved queries in the order they were made."""
    is_on = saved_queries.c.id.in_(select(subscription_queries.c.query_id))
    found = (
        current_revision()
        .add_columns(is_on.label("is_on"))
        .where(saved_queries.c.origin == person.origin, saved_queries.c.ended_at.is_(None))
        .order_by(saved_queries.c.id)
    )
    return [OwnQuery(row.name, row.text, bool(row.is_on)) for row in conn.execute(found)]


def rename_query(conn: Connection, person: Person, name: str, text: str) -> str:
    """Name one of a person's saved queries after the words it has now; return its name. It goes on as it was."""
    theirs = saved_queries.c.origin == person.origin
    others = select(saved_queries.c.name).where(
        theirs, saved_queries.c.name != name
    )  # deleted ones, too
    renamed = name_query(text, list(conn.execute(others).scalars()))
    conn.execute(
        update(saved_queries).where(theirs, saved_queries.c.name == name).values(name=renamed)
    )
    return renamed


def load_own_name(conn: Connection, person: Person) -> str:
    """Return the name of a person's own subscription, though it may have ended; "" if there never was one."""
    own = select(subscriptions.c.name).where(subscriptions.c.origin == person.origin)
    return str(conn.execute(own).scalar() or "")


def set_owner(conn: Connection, person: Person) -> None:
    """Note on a person's own subscription whose it is."""
    own = update(subscriptions).where(subscriptions.c.origin == person.origin)
    conn.execute(own.values(subscriber_id=person.id))


def load_memberships(conn: Connection, destination: Destination) -> list[Membership]:
    """Return the live subscriptions that write to a destination or were left by it: its own first."""
    places = subscription_destinations.c
    key = str(destination)
    left = {
        row.subscription: row.since
        for row in conn.execute(select(suppressions).where(suppressions.c.destination == key))
    }
    found = (
        select(subscriptions, places.is_joined)
        .join(subscription_destinations, places.subscription_id == subscriptions.c.id)
        .where(places.destination == key, places.state != DestinationState.DISABLED)
        .where(subscriptions.c.state != SubscriptionState.ENDED)
        .order_by(subscriptions.c.subscriber_id.is_(None), subscriptions.c.name)
    )
    return [
        Membership(
            row.id,
            row.name,
            row.title,
            row.origin,
            row.is_joined,
            left.get(EVERYTHING) or left.get(row.name),
        )
        for row in conn.execute(found)
    ]


def load_joined_names(conn: Connection, destination: Destination) -> list[str]:
    """Return the names of all subscriptions that write to a destination or ever did, ended ones too."""
    places = subscription_destinations.c
    found = select(subscriptions.c.name).join(
        subscription_destinations, places.subscription_id == subscriptions.c.id
    )
    return list(conn.execute(found.where(places.destination == str(destination))).scalars())


def save_membership(
    conn: Connection, subscription_id: int, destination: Destination, *, at: datetime
) -> None:
    """Make a person a reader of a subscription of the operator's file; twice is as once."""
    row = {
        "subscription_id": subscription_id,
        "destination": str(destination),
        "position": 10_000,  # after all that the file names
        "state": DestinationState.ACTIVE,
        "reason": "",
        "since": at,
        "is_joined": True,
        "is_new": True,
    }
    upsert = dialect_insert(conn, subscription_destinations).values(row)
    back = {"state": row["state"], "reason": "", "since": at, "is_joined": True}
    places = subscription_destinations.c
    is_away = or_(places.state != DestinationState.ACTIVE, not_(places.is_joined))
    conn.execute(
        upsert.on_conflict_do_update(
            index_elements=["subscription_id", "destination"],
            set_=back,
            where=is_away,
        )
    )


def change_address(conn: Connection, person: Person, address: str, *, at: datetime) -> None:
    """Give a person another address, and all that is theirs with it: what comes, what came, and what they left.

    What the operator's file sends to the old address stays there, and so does a message that is on its way.
    """
    conn.execute(
        update(subscribers)
        .where(subscribers.c.id == person.id)
        .values(address=address, how="moved", since=at)
    )
    old, new = str(person.destination), str(mail_to(address))
    places, sent = subscription_destinations.c, deliveries.c
    is_leave = tokens.c.purpose == TokenPurpose.UNSUBSCRIBE
    joined = select(places.subscription_id).where(places.destination == old, places.is_joined)
    own = or_(subscriptions.c.origin == person.origin, subscriptions.c.id.in_(joined))
    mine = {
        row.id: row.name
        for row in conn.execute(select(subscriptions.c.id, subscriptions.c.name).where(own))
    }
    theirs = select(digests.c.id).where(digests.c.subscription_id.in_(mine))
    to_old = update(deliveries).where(sent.destination == old, sent.digest_id.in_(theirs))
    anew = {
        "destination": new,
        "body": None,
        "media_type": None,
    }  # the bytes of an earlier try name the old one
    conn.execute(to_old.where(sent.state == DeliveryState.READY).values(anew))
    for moving in (
        to_old.where(sent.ended_at.is_not(None)),
        update(subscription_destinations).where(
            places.destination == old, places.subscription_id.in_(mine)
        ),
        # Unsubscribing in an old mail still works.
        update(tokens).where(
            tokens.c.destination == old, is_leave, tokens.c.subscription.in_(mine.values())
        ),
    ):
        conn.execute(moving.values(destination=new))
    for id_ in mine:
        liked = update(libraries).where(libraries.c.source == write_likes_source(id_, old))
        conn.execute(liked.values(source=write_likes_source(id_, new)))
    end_links(conn, person.destination)
    conn.execute(delete(destination_addresses).where(destination_addresses.c.destination == old))
    conn.execute(
        delete(suppressions).where(
            suppressions.c.destination == old, suppressions.c.subscription.in_(mine.values())
        )
    )


def end_links(conn: Connection, destination: Destination) -> None:
    """End the links to a person's preferences. Of each stays its hash alone, so that none works ever again."""
    theirs = (
        tokens.c.destination == str(destination),
        tokens.c.purpose == TokenPurpose.PREFERENCES,
    )
    conn.execute(update(tokens).where(*theirs).values(purpose=TokenPurpose.ENDED, destination=""))


def load_records(conn: Connection, address: str, person_id: int) -> dict[str, list[dict[str, Any]]]:
    """Return every row that is about an address, by table, as plain values; bytes and hashes of links left out.

    `person_id` is 0 if nobody with this address is stored: a request may be, or that they want no letters.
    """
    key = str(mail_to(address))
    found = _list_theirs(address, person_id) | {suppressions: suppressions.c.destination == key}
    found[subscription_destinations] |= subscription_destinations.c.destination == key
    hidden = {"token", "hash", "body", "owner", "lease_until"}
    return {
        table.name: [
            {name: value for name, value in row.items() if name not in hidden}
            for row in conn.execute(select(table).where(which)).mappings()
        ]
        for table, which in found.items()
        if table not in (matches, query_matches)
    }


def delete_person(
    conn: Connection, address: str, person_id: int, *, keep_suppressions: bool
) -> None:
    """Delete what is kept of an address whose own subscription has ended.

    Their own digests, saved queries and what was matched go with them. What others share stays: a digest of a
    subscription they joined does not name them.

    `keep_suppressions` if the operator's file names them: that they left must be remembered.
    """
    destination = mail_to(address)
    end_links(conn, destination)
    liked = map(
        read_likes_source,
        conn.execute(select(libraries.c.source).where(is_liked_by(str(destination)))).scalars(),
    )
    own = select(subscriptions.c.id).where(subscriptions.c.origin == write_origin(person_id))
    of_near = near_days.c.subscription_id
    conn.execute(delete(near_days).where(or_(of_near.in_(list(liked)), of_near.in_(own))))
    for table, which in _list_theirs(address, person_id).items():
        conn.execute(delete(table).where(which))
    if not keep_suppressions:
        conn.execute(delete(suppressions).where(suppressions.c.destination == str(destination)))


def _list_theirs(address: str, person_id: int) -> dict[Table, ColumnElement[bool]]:
    """Return which rows are about an address, by table, in an order in which they can be deleted."""
    origin, key = write_origin(person_id), str(mail_to(address))
    own = select(subscriptions.c.id).where(subscriptions.c.origin == origin)
    own_names = select(subscriptions.c.name).where(subscriptions.c.origin == origin)
    queries = select(saved_queries.c.id).where(saved_queries.c.origin == origin)
    revisions = select(query_revisions.c.id).where(query_revisions.c.query_id.in_(queries))
    theirs = select(digests.c.id).where(digests.c.subscription_id.in_(own))
    sent, places = (
        or_(deliveries.c.destination == key, deliveries.c.digest_id.in_(theirs)),
        subscription_destinations.c,
    )
    return {
        library_papers: library_papers.c.library_id.in_(
            select(libraries.c.id).where(is_liked_by(key))
        ),
        libraries: is_liked_by(key),
        attempts: attempts.c.delivery_id.in_(select(deliveries.c.id).where(sent)),
        deliveries: sent,
        matches: matches.c.subscription_id.in_(own),
        tokens: or_(
            tokens.c.destination == key,
            tokens.c.digest_id.in_(theirs),
            tokens.c.subscription.in_(own_names),
        ),
        digests: digests.c.id.in_(theirs),
        subscription_queries: subscription_queries.c.subscription_id.in_(own),
        subscription_destinations: places.subscription_id.in_(own)
        | ((places.destination == key) & places.is_joined),
        subscriptions: subscriptions.c.origin == origin,
        query_matches: query_matches.c.revision_id.in_(revisions),
        query_revisions: query_revisions.c.query_id.in_(queries),
        saved_queries: saved_queries.c.origin == origin,
        signups: or_(
            signups.c.address == address,
            signups.c.choices.contains(f'"{address}"', autoescape=True),
        ),
        destination_addresses: destination_addresses.c.destination == key,
        consents: consents.c.subscriber_id == person_id,
        subscribers: subscribers.c.id == person_id,
    }
