"""`digest feed`: personal feeds and their secret addresses. The one command that prints a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.naming import suggest_name
from digest.cli.storing import opened_store
from digest.cli.telling import json_option, print_json, print_table
from digest.errors import ConfigurationError, UnknownName, UsageError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from digest.cli.storing import Installation
    from digest.planning import DueSubscription
    from digest.store.feeds import FeedPlace
    from digest.subscriptions import Destination

LISTING = "digest feed list"


@click.group()
def command() -> None:
    """Feeds: list them, show a secret address, make it void."""


@command.command("list")
@json_option
@click.pass_context
def list_feeds(ctx: click.Context, *, as_json: bool) -> None:
    """List the feeds, those served and those written as files."""
    from digest.store import feeds as feed_store  # noqa: PLC0415 - the stack is loaded by the command that needs it
    from digest.store import subscriptions as subscription_store  # noqa: PLC0415 - the same

    with opened_store(ctx) as here, here.store.read() as conn:
        open_places = {place.name: place for place in feed_store.load_feed_places(conn)}
        feeds = [
            (due, destination)
            for due in subscription_store.load_subscriptions(conn)
            for destination in due.subscription.destinations
            if destination.is_pulled
        ]
    if as_json:
        print_json([_as_json(due, destination, open_places) for due, destination in feeds])
        return
    print_table(
        ["SUBSCRIPTION", "FEED", "STATE", "QUERIES"],
        [
            [
                due.subscription.name,
                here.show(destination),
                _describe_state(here, due, destination, open_places),
                " ".join(due.subscription.queries),
            ]
            for due, destination in feeds
        ],
        empty='No feeds yet: write to = "feed" (or "file:feeds/name.atom") in a subscription, then `digest run`.',
    )


def _describe_state(
    here: Installation, due: DueSubscription, destination: Destination, places: dict[str, FeedPlace]
) -> str:
    if destination.address:
        is_there = here.config.folder.joinpath(destination.address).exists()
        return "written" if is_there else "not written yet: `digest run`"
    if not places[due.subscription.name].is_open:
        return f"revoked; another address: digest feed rotate {due.subscription.name}"
    if not here.config.web.base_url:
        return "needs base_url under [web], and `digest serve`"
    return "open" + (f", address no. {due.feed_generation + 1}" if due.feed_generation else "")


def _as_json(due: DueSubscription, destination: Destination, places: dict[str, FeedPlace]) -> dict[str, object]:
    is_file = bool(destination.address)
    return {
        "subscription": due.subscription.name,
        "feed": str(destination),
        "is_open": is_file or places[due.subscription.name].is_open,
        "address_number": None if is_file else due.feed_generation + 1,
        "queries": due.subscription.queries,
    }


@command.command()
@click.argument("name")
@json_option
@click.pass_context
def url(ctx: click.Context, name: str, *, as_json: bool) -> None:
    """Print the secret address of NAME's feed.

    Whoever knows it can read the feed, so hand it to one reader. With .json in place of .atom it is a JSON Feed.
    """
    with opened_store(ctx) as here, here.store.read() as conn:
        place = _require_feed(conn, name)
        if not place.is_open:
            raise UsageError(
                f"the feed of {name} was revoked: no address works", hint=f"Make one: digest feed rotate {name}"
            )
        addresses = _write_addresses(here, conn, name, place.generation)
    _print_addresses(name, addresses, as_json=as_json)


@command.command()
@click.argument("name")
@json_option
@click.pass_context
def rotate(ctx: click.Context, name: str, *, as_json: bool) -> None:
    """Give NAME's feed a new secret address; the old one is void.

    It is void within half a minute, and for good.
    """
    from digest.store import subscriptions as subscription_store  # noqa: PLC0415 - the same

    with opened_store(ctx) as here, here.store.begin() as conn:
        place = _require_feed(conn, name)
        generation = subscription_store.bump_feed_generation(conn, place.subscription_id)
        addresses = _write_addresses(here, conn, name, generation)
    _print_addresses(name, addresses, as_json=as_json)


@command.command()
@click.argument("name")
@click.pass_context
def revoke(ctx: click.Context, name: str) -> None:
    """Close NAME's feed: its address is void until another is made.

    It is void within half a minute.
    """
    from digest.store import subscriptions as subscription_store  # noqa: PLC0415 - the same

    with opened_store(ctx) as here, here.store.begin() as conn:
        place = _require_feed(conn, name)
        if place.is_open:
            subscription_store.revoke_feed(conn, place.subscription_id, here.now)
    click.echo(f"The feed of {name} is closed. To open it at another address: digest feed rotate {name}")


def _require_feed(conn: Connection, name: str) -> FeedPlace:
    """Return a live subscription's feed.

    Raises:
        UnknownName: there is no such subscription, or it has no feed with an address.
    """
    from digest.store import feeds as feed_store  # noqa: PLC0415 - the same
    from digest.store import subscriptions as subscription_store  # noqa: PLC0415 - the same
    from digest.subscriptions import DestinationKind  # noqa: PLC0415 - the same

    live = {due.subscription.name: due.subscription for due in subscription_store.load_subscriptions(conn)}
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
        raise UnknownName(f"no subscription {name!r} has a feed", hint=suggest_name(name, with_feed, LISTING))
    return next(place for place in feed_store.load_feed_places(conn) if place.name == name)


def _write_addresses(here: Installation, conn: Connection, name: str, generation: int) -> dict[str, str]:
    """Return a feed's addresses by format.

    Raises:
        ConfigurationError: the installation has no public address.
    """
    from digest.pipeline.links import make_links  # noqa: PLC0415 - the same

    if not here.config.web.base_url:
        raise ConfigurationError(
            f"the feed of {name} has no address: nothing says where `digest serve` can be reached",
            hint='Write base_url = "https://…" below [web]; or, without a server, to = "file:feeds/name.atom".',
        )
    maker = make_links(conn, here.config)
    return {suffix: maker.feed_url(name, generation, suffix) for suffix in ("atom", "json")}


def _print_addresses(name: str, addresses: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json({"subscription": name, **addresses})
    else:
        click.echo(addresses["atom"])
