"""`digest feed`: personal feeds and their secret addresses. No other command prints a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click
from sqlalchemy import Connection

from digest.cli.commands import CommandGroup
from digest.cli.context import Installation, opened_store, suggest_name
from digest.cli.output import Aside, Part, answers, labelled, say, table
from digest.config import Config
from digest.model.destinations import OWN_FEED
from digest.model.errors import ConfigurationError, UnknownName, UsageError
from digest.plan.links import make_links
from digest.store import queries, subscriptions
from digest.store.queries import SubscriptionFeed


@click.group(cls=CommandGroup)
def command() -> None:
    """Feeds: list them, give one a new address, close one."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed: whose it is and where, how it is in words, and what it shows.

    `addresses` are by format; None if they were not asked for.
    """

    subscription: str
    feed: str
    state: str
    queries: tuple[str, ...]
    addresses: Mapping[str, str] | None = None


def _show_list(feeds: Sequence[Feed]) -> Iterator[Part]:
    secret = [(feed.subscription, feed.addresses["atom"]) for feed in feeds if feed.addresses]
    if secret:
        yield labelled(secret) if len(feeds) > 1 else secret[0][1]
        return
    empty = (
        'No feeds yet. Write to = "feed" (or "file:feeds/x.atom") in a subscription, '
        "then `digest run`."
    )
    rows = [(feed.subscription, feed.feed, feed.state, ", ".join(feed.queries)) for feed in feeds]
    yield table(("SUBSCRIPTION", "FEED", "STATE", "QUERIES"), rows, empty=empty)


@command.command("list")
@click.argument("name", required=False)
@click.option(
    "--secret",
    is_flag=True,
    help="Print the secret addresses. A person who has one can read the feed.",
)
@answers(_show_list)
@click.pass_context
def list_(ctx: click.Context, name: str | None, *, secret: bool) -> tuple[Feed, ...]:
    """List the feeds, or print their secret addresses.

    With NAME you see only this feed, and its address alone, which is easy to copy. Give it to one
    reader. With .json in place of .atom it is a JSON Feed.
    """
    with opened_store(ctx) as bench, bench.store.read() as conn:
        if name is not None:
            require_feed(conn, name)
        return tuple(_find_feeds(bench, conn, name, is_secret=secret))


def _find_feeds(
    bench: Installation, conn: Connection, name: str | None, *, is_secret: bool
) -> Iterator[Feed]:
    places = {place.name: place for place in queries.load_subscription_feeds(conn)}
    for due in subscriptions.load(conn):
        one = due.subscription
        is_asked = name in (None, one.name)
        for destination in one.destinations:
            if destination == OWN_FEED and is_asked:
                place = places[one.name]
                addresses = None
                if is_secret and (place.is_open or name is not None):
                    addresses = write_addresses(bench.config, conn, place, place.generation)
                state = _describe_feed(bench.config, place)
                yield Feed(one.name, "feed", state, one.queries, addresses)
            elif destination.address and destination.is_pulled and name is None:
                is_there = (bench.config.folder / destination.address).exists()
                state = "written" if is_there else "not written yet: `digest run`"
                yield Feed(one.name, bench.here.show(destination), state, one.queries)


def _describe_feed(config: Config, feed: SubscriptionFeed) -> str:
    if not feed.is_open:
        return f"revoked; `digest feed rotate {feed.name}` makes another address"
    if not config.web.base_url:
        return "needs base_url under [web], and `digest serve`"
    if not feed.generation:
        return "open"
    return f"open, address no. {feed.generation + 1}"


def _show_rotation(addresses: Mapping[str, str]) -> Iterator[Part]:
    yield addresses["atom"]
    yield Aside("The old address ends within half a minute: hand out the new one.")


@command.command()
@click.argument("name")
@answers(_show_rotation)
@click.pass_context
def rotate(ctx: click.Context, name: str) -> Mapping[str, str]:
    """Give NAME's feed a new secret address; the old one ends.

    The old address ends within half a minute. Feed readers learn that it is gone.
    """
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        place = require_feed(conn, name)
        return write_addresses(
            bench.config, conn, place, subscriptions.bump_feed_generation(conn, place.key)
        )


@command.command()
@click.argument("name")
@click.pass_context
def revoke(ctx: click.Context, name: str) -> None:
    """Close NAME's feed: its address ends within half a minute.

    For 30 days it says that the feed was closed. Then it is gone.
    """
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        place = require_feed(conn, name)
        if place.is_open:
            subscriptions.revoke_feed(conn, place.key, bench.here.now)
    say(f"The feed of {name} is closed. To open it at another address: `digest feed rotate {name}`")


def require_feed(conn: Connection, name: str) -> SubscriptionFeed:
    """Return a live subscription's feed."""
    wanted = [due.subscription for due in subscriptions.load(conn)]
    with_feed = [one.name for one in wanted if OWN_FEED in one.destinations]
    if name in with_feed:
        return next(feed for feed in queries.load_subscription_feeds(conn) if feed.name == name)
    if any(one.name == name for one in wanted):
        raise UnknownName(
            f"the subscription {name} has no feed with an address",
            hint='Add "feed" to its `to` in digest.toml, then `digest run`.',
        )
    raise UnknownName(
        f"no subscription {name!r} has a feed",
        hint=suggest_name(name, with_feed, "digest feed list"),
    )


def write_addresses(
    config: Config, conn: Connection, feed: SubscriptionFeed, generation: int
) -> dict[str, str]:
    """Return a feed's addresses by format."""
    if not config.web.base_url:
        raise ConfigurationError(
            f"the feed of {feed.name} has no address: "
            "nothing says where `digest serve` can be reached",
            hint='Write base_url = "https://…" below [web]; or, without a server, '
            'to = "file:feeds/name.atom".',
        )
    if not feed.is_open and generation == feed.generation:
        raise UsageError(
            f"the feed of {feed.name} was revoked: no address works",
            hint=f"Make one: `digest feed rotate {feed.name}`.",
        )
    maker = make_links(conn, config)
    token = maker.feed_token(feed.name, generation)
    return {suffix: maker.write_feed_url(token, suffix) for suffix in ("atom", "json")}
