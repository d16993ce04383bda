"""`digest feed`: personal feeds and their secret addresses. The one command that prints a secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import click
from sqlalchemy import Connection

from digest.cli.commands import CommandGroup
from digest.cli.context import Installation, opened_store, suggest_name
from digest.cli.output import as_dict, json_option, print_json, print_table, say
from digest.model.errors import ConfigurationError, UnknownName, UsageError
from digest.model.subscriptions import DestinationKind
from digest.plan.links import make_links
from digest.store.queries import SubscriptionFeed, load_subscription_feeds
from digest.store.subscriptions import bump_feed_generation, load_subscriptions, revoke_feed


@click.group(cls=CommandGroup)
def command() -> None:
    """Feeds: list them, give one a new address, close one."""


@command.command("list")
@click.argument("name", required=False)
@click.option("--secret", is_flag=True, help="Print the secret addresses. A person who has one can read the feed.")
@json_option
@click.pass_context
def list_feeds(ctx: click.Context, name: str | None, *, secret: bool, as_json: bool) -> None:
    """List the feeds, or print their secret addresses.

    With NAME you see only this feed, and its address alone, which is easy to copy. Give it to one reader.
    With .json in place of .atom it is a JSON Feed.
    """
    with opened_store(ctx) as here, here.store.read() as conn:
        feeds = list(_find_feeds(here, conn))
        if name is not None:
            wanted = require_subscription_feed(conn, name)
            feeds = [feed for feed in feeds if feed.stored == wanted]
        for feed in feeds if secret else ():
            if feed.stored is not None and (feed.stored.is_open or name is not None):
                feed.addresses |= write_addresses(here, conn, feed.stored, feed.stored.generation)
    if as_json:
        print_json([as_dict(feed, "state", "stored", "addresses") | feed.addresses for feed in feeds])
    elif secret and name is not None:
        click.echo(feeds[0].addresses["atom"])
    else:
        print_table(
            ["SUBSCRIPTION", "FEED", "ADDRESS" if secret else "STATE", "QUERIES"],
            [
                [feed.subscription, feed.feed, feed.addresses.get("atom", feed.state), ", ".join(feed.queries)]
                for feed in feeds
            ],
            empty='No feeds yet. Write to = "feed" (or "file:feeds/x.atom") in a subscription, then `digest run`.',
        )


@dataclass(slots=True)
class Feed:
    """A line of the list: whose feed it is, what it shows, and how it stands; `place` is None for a file."""

    subscription: str
    feed: str
    state: str
    queries: Sequence[str]
    is_open: bool
    stored: SubscriptionFeed | None
    addresses: dict[str, str] = field(default_factory=dict)


def _find_feeds(here: Installation, conn: Connection) -> Iterator[Feed]:
    places = {feed.name: feed for feed in load_subscription_feeds(conn)}
    for due in load_subscriptions(conn):
        one = due.subscription
        for destination in one.destinations:
            if destination.address and destination.is_pulled:
                is_there = here.config.folder.joinpath(destination.address).exists()
                state = "written" if is_there else "not written yet: `digest run`"
                yield Feed(one.name, here.show(destination), state, one.queries, is_open=True, stored=None)
            elif destination.is_pulled:
                feed = places[one.name]
                state = _describe_feed(here, feed)
                yield Feed(one.name, "feed", state, one.queries, feed.is_open, feed)


def _describe_feed(here: Installation, feed: SubscriptionFeed) -> str:
    if not feed.is_open:
        return f"revoked; `digest feed rotate {feed.name}` makes another address"
    if not here.config.web.base_url:
        return "needs base_url under [web], and `digest serve`"
    return "open" + (f", address no. {feed.generation + 1}" if feed.generation else "")


@command.command()
@click.argument("name")
@json_option
@click.pass_context
def rotate(ctx: click.Context, name: str, *, as_json: bool) -> None:
    """Give NAME's feed a new secret address; the old one ends.

    The old address ends within half a minute. Feed readers learn that it is gone.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        feed = require_subscription_feed(conn, name)
        generation = bump_feed_generation(conn, feed.key)
        addresses = write_addresses(here, conn, feed, generation)
    if as_json:
        print_json({"subscription": feed.name, **addresses})
    else:
        click.echo(addresses["atom"])
    if feed.is_open and not as_json:
        say("The old address ends within half a minute: hand out the new one.", err=True)


@command.command()
@click.argument("name")
@click.pass_context
def revoke(ctx: click.Context, name: str) -> None:
    """Close NAME's feed: its address ends within half a minute.

    For 30 days it says that the feed was closed. Then it is gone.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        feed = require_subscription_feed(conn, name)
        if feed.is_open:
            revoke_feed(conn, feed.key, here.now)
    say(f"The feed of {name} is closed. To open it at another address: `digest feed rotate {name}`")


def require_subscription_feed(conn: Connection, name: str) -> SubscriptionFeed:
    """Return a live subscription's feed."""
    live = {due.subscription.name: due.subscription for due in load_subscriptions(conn)}
    with_feed = [
        subscription.name
        for subscription in live.values()
        if any(destination.kind is DestinationKind.FEED for destination in subscription.destinations)
    ]
    if name not in with_feed and name in live:
        raise UnknownName(
            f"the subscription {name} has no feed with an address",
            hint='Add "feed" to its `to` in digest.toml, then `digest run`.',
        )
    if name not in with_feed:
        raise UnknownName(
            f"no subscription {name!r} has a feed", hint=suggest_name(name, with_feed, "digest feed list")
        )
    return next(feed for feed in load_subscription_feeds(conn) if feed.name == name)


def write_addresses(
    here: Installation, conn: Connection, feed: SubscriptionFeed, generation: int
) -> dict[str, str]:
    """Return a feed's addresses by format."""
    if not here.config.web.base_url:
        raise ConfigurationError(
            f"the feed of {feed.name} has no address: nothing says where `digest serve` can be reached",
            hint='Write base_url = "https://…" below [web]; or, without a server, to = "file:feeds/name.atom".',
        )
    if not feed.is_open and generation == feed.generation:
        raise UsageError(
            f"the feed of {feed.name} was revoked: no address works",
            hint=f"Make one: `digest feed rotate {feed.name}`.",
        )
    maker = make_links(conn, here.config)
    token = maker.feed_token(feed.name, generation)
    return {suffix: maker.write_feed_url(token, suffix) for suffix in ("atom", "json")}
