"""`digest preview` and `digest send`: a digest in every shape; its readers get nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click
from sqlalchemy import Connection

from digest.cli.context import opened, require_subscription
from digest.cli.output import (
    LARGEST_ID,
    Part,
    answers,
    echo,
    find_width,
    put,
    shows_colors,
    writing_files,
)
from digest.deliver.feeds import load_feed
from digest.inspect.preview import (
    find_digest,
    load_numbered,
    make_preview_links,
    preview_digest,
    render_parts,
    send_trial,
)
from digest.model.destinations import Destination
from digest.model.errors import DigestError, OutsideError, UnknownName, UsageError
from digest.model.messages import DeliveryState, Digest, Links
from digest.model.numbers import count
from digest.model.subscriptions import DueSubscription, SubscriptionState
from digest.site import Site
from digest.store import attempts

T = TypeVar("T")

_SHAPES = ("terminal", "text", "page", "mail", "slack", "json", "feed")
_SUFFIXES = {
    ".html": "page",
    ".eml": "mail",
    ".txt": "text",
    ".atom": "feed",
    ".xml": "feed",
    ".json": "json",
}
_READ_BY_PEOPLE = ("terminal", "text")
"""Shapes in the terminal's encoding; all others name their own, and are shown as they are sent."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A digest to be shown, and a sentence on which one it is."""

    due: DueSubscription
    digest: Digest
    links: Links
    what: str


def choosing(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command the arguments that choose a digest: those of `_choose_digest`."""
    options = (
        click.option(
            "--digest", "number", type=click.IntRange(1, LARGEST_ID), help="The one of this number."
        ),
        click.option(
            "--date",
            "day",
            type=click.DateTime(["%Y-%m-%d"]),
            metavar="YYYY-MM-DD",
            help="The one of this day.",
        ),
        click.option("--next", "wants_next", is_flag=True, help="The one that would go out now."),
        click.argument("name", metavar="SUBSCRIPTION"),
    )
    for add_option in options:
        command = add_option(command)
    return command


@click.command()
@choosing
@click.option(
    "--as", "shape", type=click.Choice(_SHAPES), help="What to show; terminal by default."
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it here; .html, .eml, .txt, .json and .atom say what.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    shape: str | None,
    output: Path | None,
    **choice: Any,  # noqa: ANN401 - as `choosing` gives
) -> None:
    """Show a subscription's digest in any shape; nothing is sent.

    You see what waits for its next digest. If nothing waits, you see its last one. A digest that
    was planned is shown as it was. The link to unsubscribe is left out, because each reader has
    another.

    \b
    digest preview perf-team
    digest preview perf-team --date 2026-11-19 --output look.html
    digest preview perf-team --next --as slack
    """  # noqa: D301 - click reads the backspace, which must be one
    wanted = shape or _choose_shape(output)
    with opened(ctx, create=False) as site, site.store.read() as conn:
        chosen = _choose_digest(conn, site, **choice)
        body = _render(conn, site, chosen, wanted)
    echo(chosen.what, err=True)
    write_output(body, output, is_text=wanted in _READ_BY_PEOPLE)


def write_output(body: bytes, output: Path | None, *, is_text: bool = False) -> None:
    """Write a document to a file, or to standard output: a text in the terminal's encoding."""
    if output is None:
        put(body.decode() if is_text else body, nl=not body.endswith(b"\n"))
        return
    with writing_files():
        output.write_bytes(body)
    echo(f"Written to {output}.", err=True)


def _choose_shape(output: Path | None) -> str:
    """Return what a file's ending says, or the terminal's view if there is no file."""
    if output is None:
        return "terminal"
    ending = output.suffix.lower()
    if ending not in _SUFFIXES:
        endings = " ".join(_SUFFIXES)
        shapes = ", ".join(_SHAPES)
        raise UsageError(
            f"the ending of {output} does not say what to write",
            hint=f"Endings that say it: {endings}. Or name it with --as: {shapes}.",
        )
    return _SUFFIXES[ending]


def _choose_digest(
    conn: Connection,
    site: Site,
    *,
    name: str,
    number: int | None,
    day: datetime | None,
    wants_next: bool,
) -> Chosen:
    """Find a digest by number, of a day, or the next; else what waits, or the last one."""
    is_numbered = number is not None
    is_dated = day is not None
    if [is_numbered, is_dated, wants_next].count(True) > 1:
        raise UsageError("give one of --digest, --date and --next")
    due = require_subscription(site.config, conn, name, include_ended=True)
    is_waiting = False
    digest = None
    if number is not None:
        digest = load_numbered(conn, due, number)
    elif day is None and due.state != SubscriptionState.ENDED:
        digest = preview_digest(conn, site, due)
        is_waiting = digest is not None
    if digest is None and not wants_next:
        digest = find_digest(conn, due, day.date() if day else None, site.config.zone)
    if digest is None:
        nothing = "nothing waits for it"
        if not wants_next:
            of_day = f" of {day:%a %-d %b %Y}" if day else ""
            nothing = f"it has had no digest{of_day}"
        raise UnknownName(
            f"there is nothing to show of {name}: {nothing}",
            hint=f"`digest subscription show {name}` lists its digests.",
        )
    if due.is_personal:  # what people like is theirs
        digest = digest.hide_library()
    what = _describe(conn, digest, name, is_waiting=is_waiting)
    return Chosen(due, digest, make_preview_links(conn, site, digest), what)


def _describe(conn: Connection, digest: Digest, name: str, *, is_waiting: bool) -> str:
    """Say which digest it is, and whether it was sent."""
    papers = count(len(digest.entries), "paper")
    if is_waiting:
        return f"what waits for {name}: {papers}, not planned yet"
    deliveries = attempts.load_deliveries(conn, digest.id)
    is_sent = any(one.delivery.state is DeliveryState.SENT for one, _ in deliveries)
    state = "already sent" if is_sent else "as it was planned"
    return f"digest {digest.id} of {name}: {papers}, {state}"


def _render(conn: Connection, site: Site, chosen: Chosen, shape: str) -> bytes:
    renderer = site.renderer
    digest = chosen.digest
    match shape:
        case "page":
            text = renderer.render_page(digest, chosen.links)
        case "text":
            text = renderer.render_text(digest, chosen.links)
        case "mail":
            return _render_for(site, chosen, "mailto:reader@example.org")[0]
        case "slack":
            bodies = _render_for(site, chosen, "slack:#channel")
            text = _write_json([json.loads(body) for body in bodies])
        case "json":
            body, *_ = _render_for(site, chosen, "webhook:preview")
            text = _write_json(json.loads(body)["data"])
        case "feed":
            return renderer.render_feed(load_feed(conn, site, chosen.due), "atom")
        case _:
            text = renderer.render_terminal(
                digest, width=find_width(), color=shows_colors(), limit=None
            )
    return text.encode("utf-8", "backslashreplace")


def _render_for(site: Site, chosen: Chosen, stand_in: str) -> list[bytes]:
    """Render all parts for the subscription's own destination of a kind, or one in its place."""
    place = Destination.parse(stand_in)
    for own in chosen.due.subscription.destinations:
        if own.kind is place.kind:
            place = own
            break
    messages = render_parts(site, chosen.digest, place, chosen.links)
    return [message.body for message in messages]


def _write_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Trial:
    """A digest sent to a place of the operator's.

    `messages` is in how many, `error` why it was not taken; "" if it was.
    """

    to: str
    messages: int
    error: str


@dataclass(frozen=True, slots=True)
class Trials:
    """Which digest was sent, and what came of it."""

    digest: str
    sent: tuple[Trial, ...]

    @property
    def exit_code(self) -> int:
        """4 if a place did not take it."""
        return OutsideError.exit_code if any(one.error for one in self.sent) else 0


def _show_trials(trials: Trials) -> Iterator[Part]:
    yield trials.digest
    for one in trials.sent:
        if one.error:
            yield f"  {one.to}: not taken: {one.error}"
        else:
            yield f"  {one.to}: sent, {count(one.messages, 'message')}"


@click.command()
@choosing
@answers(_show_trials)
@click.pass_context
def command_send(
    ctx: click.Context,
    /,
    **choice: Any,  # noqa: ANN401 - as `choosing` gives
) -> Trials:
    """Send a digest to yourself, to try how it arrives.

    It goes to the places that alarms.to names. Its readers get nothing, and nothing is marked
    as sent. Exit code 4 if a place did not take it.
    """
    with opened(ctx, create=False, warns=True) as site:
        places = site.config.alarms.to
        if not places:
            raise UsageError(
                "no address of yours", hint='Add `to = "mailto:you@example.org"` under [alarms].'
            )
        with site.store.read() as conn:
            chosen = _choose_digest(conn, site, **choice)
        sent = tuple(_try(site, chosen, place) for place in places)
        return Trials(chosen.what, sent)


def _try(site: Site, chosen: Chosen, place: Destination) -> Trial:
    try:
        wanted = chosen.due.subscription
        is_own = place in wanted.destinations and site.config.find_reader(wanted) is not None
        digest = chosen.digest if is_own else chosen.digest.hide_library()
        messages = send_trial(site, digest, place, chosen.links)
    except DigestError as error:
        return Trial(str(place), 0, error.message)
    return Trial(str(place), len(messages), "")
