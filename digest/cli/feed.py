"""`digest feed`: personal feeds and their secret addresses. The one command that prints a secret."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from digest.cli.feed_addresses import (
    open_query_feed,
    require_query_feed,
    require_subscription_feed,
    write_addresses,
)
from digest.cli.naming import require_name
from digest.cli.opening import opened
from digest.cli.storing import opened_store
from digest.cli.telling import json_option, print_json, print_table
from digest.pipeline.feeds import load_feed, load_query_feed, write_feed
from digest.store import feeds as feed_store
from digest.store import query_feeds as query_feed_store
from digest.store import subscriptions as subscription_store
from digest.transports.static_file import write_if_changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from digest.cli.storing import Installation
    from digest.planning import DueSubscription
    from digest.store.feeds import FeedPlace
    from digest.subscriptions import Destination


@click.group()
def command() -> None:
    """Feeds: list them, show a secret address, make it void, write one to a file."""


def of_query_option(function: Callable[..., None]) -> Callable[..., None]:
    """Add the option that says what a name is of."""
    return click.option("--query", "is_query", is_flag=True, help="NAME is a saved query, not a subscription.")(
        function
    )


@command.command("list")
@json_option
@click.pass_context
def list_feeds(ctx: click.Context, *, as_json: bool) -> None:
    """List the feeds, those served and those written as files."""
    with opened_store(ctx) as here, here.store.read() as conn:
        places = {place.name: place for place in feed_store.load_feed_places(conn)}
        feeds = [
            (due, destination)
            for due in subscription_store.load_subscriptions(conn)
            for destination in due.subscription.destinations
            if destination.is_pulled
        ]
        of_queries = query_feed_store.load_query_places(conn)
    if as_json:
        print_json(
            [
                *(_as_json(due, destination, places) for due, destination in feeds),
                *(_query_as_json(place) for place in of_queries),
            ]
        )
        return
    rows = [
        [
            due.subscription.name,
            here.show(destination),
            _describe_state(here, due, destination, places),
            " ".join(due.subscription.queries),
        ]
        for due, destination in feeds
    ]
    rows += [["-", "feed", _describe_place(here, place), place.name] for place in of_queries]
    print_table(
        ["SUBSCRIPTION", "FEED", "STATE", "QUERIES"],
        rows,
        empty='No feeds yet: write to = "feed" (or "file:feeds/name.atom") in a subscription, then `digest run`; '
        "or open one of a saved query: digest feed url NAME --query.",
    )


def _describe_state(
    here: Installation, due: DueSubscription, destination: Destination, places: dict[str, FeedPlace]
) -> str:
    if destination.address:
        is_there = here.config.folder.joinpath(destination.address).exists()
        return "written" if is_there else "not written yet: `digest run`"
    return _describe_place(here, places[due.subscription.name])


def _describe_place(here: Installation, place: FeedPlace) -> str:
    if not place.is_open:
        option = " --query" if place.origin else ""
        return f"revoked; another address: digest feed rotate {place.name}{option}"
    if not here.config.web.base_url:
        return "needs base_url under [web], and `digest serve`"
    return "open" + (f", address no. {place.generation + 1}" if place.generation else "")


def _as_json(due: DueSubscription, destination: Destination, places: dict[str, FeedPlace]) -> dict[str, object]:
    is_file = bool(destination.address)
    return {
        "subscription": due.subscription.name,
        "feed": str(destination),
        "is_open": is_file or places[due.subscription.name].is_open,
        "address_number": None if is_file else due.feed_generation + 1,
        "queries": due.subscription.queries,
    }


def _query_as_json(place: FeedPlace) -> dict[str, object]:
    return {
        "subscription": None,
        "feed": "feed",
        "is_open": place.is_open,
        "address_number": place.generation + 1,
        "queries": [place.name],
    }


@command.command()
@click.argument("name")
@of_query_option
@json_option
@click.pass_context
def url(ctx: click.Context, name: str, *, is_query: bool, as_json: bool) -> None:
    """Print the secret address of NAME's feed.

    Whoever knows it can read the feed, so hand it to one reader. With .json in place of .atom it is a JSON Feed.

    With --query it is the feed of a saved query, whoever follows that; it is opened where it was not yet, and
    begins with what the query finds in the last days, and goes on with new papers and cross-lists.
    """
    with opened_store(ctx) as here:
        if is_query:
            with here.store.begin() as conn:
                place = open_query_feed(conn, here.config, name, here.now)
                addresses = write_addresses(here, conn, place, place.generation)
        else:
            with here.store.read() as conn:
                place = require_subscription_feed(conn, name)
                addresses = write_addresses(here, conn, place, place.generation)
    _print_addresses(place, addresses, as_json=as_json)


@command.command()
@click.argument("name")
@of_query_option
@json_option
@click.pass_context
def rotate(ctx: click.Context, name: str, *, is_query: bool, as_json: bool) -> None:
    """Give NAME's feed a new secret address; the old one is void.

    It is void within half a minute, and for good: for 30 days it says that the feed has moved, then it is gone.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        place = _require_place(conn, name, is_query=is_query)
        if is_query:
            generation = query_feed_store.rotate_query_feed(conn, place.key, here.now)
        else:
            generation = subscription_store.bump_feed_generation(conn, place.key, here.now)
        addresses = write_addresses(here, conn, place, generation)
    _print_addresses(place, addresses, as_json=as_json)
    if place.is_open and not as_json:
        click.echo("The address before it is void within half a minute: hand out the new one.", err=True)


@command.command()
@click.argument("name")
@of_query_option
@click.pass_context
def revoke(ctx: click.Context, name: str, *, is_query: bool) -> None:
    """Close NAME's feed: its address is void until another is made.

    It is void within half a minute: for 30 days it says that the feed was closed, then it is gone.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        place = _require_place(conn, name, is_query=is_query)
        if place.is_open and is_query:
            query_feed_store.revoke_query_feed(conn, place.key, here.now)
        elif place.is_open:
            subscription_store.revoke_feed(conn, place.key, here.now)
    option = " --query" if is_query else ""
    click.echo(f"The feed of {name} is closed. To open it at another address: digest feed rotate {name}{option}")


@command.command()
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@of_query_option
@click.pass_context
def write(ctx: click.Context, name: str, file: Path, *, is_query: bool) -> None:
    """Write NAME's feed to FILE as it is now.

    As Atom, or where FILE ends in .json as JSON Feed. FILE is replaced at once and only where it differs, so
    this may run from cron beside a web server. A subscription with to = "file:feeds/name.atom" has its file
    written by each `digest run`.
    """
    with opened(ctx, create=False) as site:
        if is_query:
            with site.store.begin() as conn:
                place = open_query_feed(conn, site.config, name, site.clock.now())
                feed = load_query_feed(conn, site, place)
        else:
            with site.store.read() as conn:
                live = {due.subscription.name: due for due in subscription_store.load_subscriptions(conn)}
                require_name(name, live, what="subscription", listing="digest subscription list")
                feed = load_feed(conn, site, live[name])
        body = write_feed(site, feed, "json" if file.suffix.lower() == ".json" else "atom")
        has_changed = write_if_changed(file, body)
    papers = len(feed.entries)
    state = "written" if has_changed else "is as it was"
    click.echo(f"{file} {state}: {papers} paper{'' if papers == 1 else 's'}")


def _require_place(conn: Connection, name: str, *, is_query: bool) -> FeedPlace:
    return require_query_feed(conn, name) if is_query else require_subscription_feed(conn, name)


def _print_addresses(place: FeedPlace, addresses: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json({"query" if place.origin else "subscription": place.name, **addresses})
    else:
        click.echo(addresses["atom"])
