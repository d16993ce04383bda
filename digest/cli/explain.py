"""`digest explain`: the whole trail of one paper to one subscription, or where it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest import tex
from digest.cli.context import opened_store, require_subscription
from digest.cli.delivery import delivery_as_json
from digest.cli.output import as_dict, cut, json_option, print_json, write_moment
from digest.cli.query import read_paper_id
from digest.inspect.explain import Verdict, explain_paper
from digest.model.announcements import Kind
from digest.model.messages import TERMINAL_STATES
from digest.render.papers import PaperView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.cli.context import Installation
    from digest.inspect.explain import ChangeTrail, DigestTrail, Trail
    from digest.store.views import Attempt, StoredDelivery

_LABEL = 11
_WIDEST = 100


@click.command()
@click.argument("paper_id", metavar="PAPER")
@click.argument("name", metavar="SUBSCRIPTION")
@json_option
@click.pass_context
def command(ctx: click.Context, paper_id: str, name: str, *, as_json: bool) -> None:
    """Say what became of PAPER on its way to SUBSCRIPTION, step by step.

    When it was announced and stored, which saved query it met or which clause failed, the digest it went
    into, and every attempt to deliver that. PAPER is an id or an address; nothing is asked of arXiv.

    \b
    digest explain 2611.15012 perf-team
    """  # noqa: D301 - click reads the backspace, which must be one
    id_ = read_paper_id(paper_id, name, "digest explain PAPER SUBSCRIPTION")
    with opened_store(ctx) as here, here.store.read() as conn:
        due = require_subscription(here.config, conn, name, include_ended=True)
        trail = explain_paper(conn, id_, due, here.config.arxiv.source)
    if as_json:
        print_json(_as_json(trail))
        return
    for label, lines in _describe(here, trail):
        for number, line in enumerate(lines):
            click.echo(click.style(f"{'' if number else label:<{_LABEL}}", bold=True) + line)


def _describe(here: Installation, trail: Trail) -> Iterator[tuple[str, list[str]]]:
    name = trail.due.subscription.name
    if trail.judged is None:
        yield f"{trail.id} ", [click.style(f"never met here, so {name} was not told of it", bold=True)]
        yield "announced", [_describe_absence(here, trail)]
        return
    paper = trail.changes[-1].change.paper
    yield f"{trail.id}v{paper.version}  ", [cut(tex.to_plain(paper.title), _WIDEST - len(str(trail.id)))]
    verdict = click.style(f"{name}: {trail.judged.verdict}", bold=True)
    yield "", [f"{verdict} – {trail.judged.why}{_sum_up(here, trail)}"]
    yield "announced", [_describe_mailing(trail)]
    for one in trail.changes:
        change = one.change
        found = f"v{change.paper.version}, {change.kind}, found {write_moment(change.found_at, here.zone)}"
        yield "stored", [f"{found} by look {change.run_id}"]
        yield "matched", list(_describe_match(here, one))
    for place, why_not in trail.feeds:
        shows = f"{here.show(place)} does not show it: {why_not}" if why_not else f"{here.show(place)} shows it"
        yield "feed", [shows]
    for told in trail.digests:
        yield "digest", list(_describe_digest(here, told))
        for stored, attempts in told.deliveries:
            yield "delivery", list(_describe_delivery(here, stored, attempts))
    for gone in trail.left:
        since = write_moment(gone.since, here.zone)
        yield "left", [f"{here.show(gone.destination)} since {since}: {gone.reason}; nothing is sent there"]


def _sum_up(here: Installation, trail: Trail) -> str:
    """Say how far the deliveries of the digest that is meant have come, who left, and that a feed shows it."""
    shown = ", shown by the feed" if any(not why_not for _, why_not in trail.feeds) else ""
    told = trail.deciding
    if told is not None and told.digest.occasion == "already sent":
        return f", by the database before this one was restored{shown}"
    states: dict[str, list[str]] = {}
    for delivery in told.telling if told else ():
        where = here.show(delivery.destination)
        if where not in states.setdefault(str(delivery.state), []):
            states[str(delivery.state)].append(where)
    reached = {where for places in states.values() for where in places}
    left = [where for where in (here.show(place.destination) for place in trail.left) if where not in reached]
    sent = "".join(f", {state} to {', '.join(places)}" for state, places in states.items())
    return sent + shown + (f"; {', '.join(left)} left" if left else "")


def _describe_mailing(trail: Trail) -> str:
    if trail.mailing:
        return f"with the mailing of {trail.mailing:%a %-d %b %Y}"
    if trail.changes[0].change.kind is Kind.KNOWN:
        return "before it was first looked for here"
    return "with which mailing, is not known"


def _describe_absence(here: Installation, trail: Trail) -> str:
    if here.config.arxiv.source == "query":
        return (
            "only what saved queries bring is stored; `digest query explain QUERY "
            f"{trail.id}` asks arXiv and says which clause fails"
        )
    if trail.newest is None:
        return "arXiv has not been looked at yet: `digest run`"
    if trail.newest < trail.id:
        return f"not yet, as far as was looked: the newest paper here is {trail.newest}"
    return "before this installation watched, or missed: `digest coverage` says which"


def _describe_match(here: Installation, one: ChangeTrail) -> Iterator[str]:
    moment = f"{write_moment(one.matched_at, here.zone)}, " if one.matched_at else ""
    is_said_below = one.judged.verdict is Verdict.UNMET and bool(one.asked)
    yield f"{moment}{one.judged.verdict}{'' if is_said_below else f': {one.judged.why}'}"
    for asked in one.asked:
        if asked.would_meet:
            yield f"  {click.style('✓', fg='green')} {asked.name}: {' · '.join(asked.clauses)}"
        else:
            yield f"  {click.style('✗', fg='red')} {asked.name}: it {asked.failing}"


def _describe_digest(here: Installation, told: DigestTrail) -> Iterator[str]:
    digest = told.digest
    place = f"paper {told.place} of {len(digest.entries)}"
    places = ", ".join(map(here.show, told.hiding))
    shown = f", beyond the cap: counted and linked at {places}, not shown" if places else ""
    planned = write_moment(digest.planned_at, here.zone)
    yield f"{digest.id}, slot {digest.slot}, planned {planned}: {place}{shown}"
    change = PaperView(digest.entries[told.place - 1], told.place).change
    if change:
        yield f"  {change}"


def _describe_delivery(here: Installation, stored: StoredDelivery, attempts: tuple[Attempt, ...]) -> Iterator[str]:
    delivery = stored.delivery
    is_one_of_some = delivery.parts > 1 and delivery.part < delivery.parts
    part = f" part {delivery.part + 1} of {delivery.parts}" if is_one_of_some else ""
    ended = f" {write_moment(stored.ended_at, here.zone)}" if stored.ended_at else ""
    waits = ""
    if delivery.state not in TERMINAL_STATES:
        waits = f", not before {write_moment(delivery.not_before, here.zone)}"
    error = f": {delivery.last_error}" if delivery.last_error else ""
    receipt = f", receipt {delivery.remote_id}" if delivery.remote_id else ""
    yield f"{delivery.id} {here.show(delivery.destination)}{part}: {delivery.state}{ended}{waits}{receipt}{error}"
    for attempt in attempts:
        began = write_moment(attempt.started_at, here.zone)
        detail = f": {attempt.detail}" if attempt.detail else ""
        yield f"  attempt {attempt.number}, {began}, {attempt.outcome}{detail}"


def _as_json(trail: Trail) -> dict[str, object]:
    """Return the trail by field; of papers and digests what the screen shows."""
    return {
        **as_dict(trail, "due"),
        "subscription": trail.due.subscription.name,
        "state": trail.due.state,
        "changes": [
            {
                **as_dict(one, "change"),
                "kind": one.change.kind,
                "version": one.change.paper.version,
                "found_at": one.change.found_at,
                "run": one.change.run_id,
            }
            for one in trail.changes
        ],
        "digests": [
            {
                "id": told.digest.id,
                "slot": told.digest.slot,
                "planned_at": told.digest.planned_at,
                "place": told.place,
                "papers": len(told.digest.entries),
                "hiding": told.hiding,
                "deliveries": [
                    {**delivery_as_json(stored), "attempts": attempts} for stored, attempts in told.deliveries
                ],
            }
            for told in trail.digests
        ],
    }
