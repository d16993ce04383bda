"""`digest explain`: why a paper came or did not, for every subscription, for one of them, or for a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from digest.arxiv.pages import fetch_papers
from digest.cli.context import Workbench, opened_store, opened_workbench, require_subscription
from digest.cli.output import (
    MARKS,
    Part,
    answers,
    find_width,
    labelled,
    mark_ours,
    shows_colors,
    style,
    table,
)
from digest.config.addresses import read_destination
from digest.inspect.explain import (
    ChangeHistory,
    Clause,
    DigestHistory,
    MatchHistory,
    PaperHistory,
    Verdict,
    explain_match,
    explain_order,
    explain_paper,
)
from digest.inspect.here import Here
from digest.inspect.status import STATE_WORDS
from digest.model.announcements import Kind
from digest.model.clock import write_day
from digest.model.destinations import Destination
from digest.model.errors import UnknownName
from digest.model.messages import TERMINAL_STATES, Occasion
from digest.model.papers import ArxivId, Paper
from digest.render.terminal import quote_places
from digest.render.text import apply_styles, show_plain
from digest.store.attempts import Attempt, StoredDelivery
from digest.store.papers import load_paper
from digest.store.subscribers import destination_key, load_statuses
from digest.store.subscriptions import load_subscriptions
from digest.tex import to_plain

_MOST_PLACES = 3
_NARROWEST = 40
_AGAINST = frozenset({Verdict.DROPPED, Verdict.EXCLUDED, Verdict.OTHER_KIND, Verdict.EARLIER})


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a paper: its whole way to the one subscription that was asked for, or to each.

    `source` is how arXiv is checked; `reader` is whose subscriptions these are, "" for all.
    """

    here: Here
    paper: ArxivId
    source: str
    subscriptions: tuple[PaperHistory, ...]
    is_whole: bool
    reader: str


def _show(answer: Explanation | MatchHistory) -> Iterator[Part]:
    if isinstance(answer, MatchHistory):
        yield from _show_match(answer)
    elif answer.is_whole:
        yield _name_paper(answer, answer.subscriptions[0])
        yield labelled(_list_steps(answer, answer.subscriptions[0]), width=9)
    else:
        yield from _show_all(answer)


def _show_all(answer: Explanation) -> Iterator[Part]:
    histories = answer.subscriptions
    stored = [(one, one.judged) for one in histories if one.judged is not None]
    if not stored:
        why = (
            _describe_absence(answer, histories[0])
            if histories
            else "there are no subscriptions yet: `digest run`"
        )
        yield labelled([(str(answer.paper), f"not stored here: {why}")])
        return
    yield _name_paper(answer, stored[0][0])
    others = [one for one, judged in stored if judged.verdict is Verdict.UNMET]
    rows = []
    for one, judged in stored:
        met = [
            asked
            for asked in one.changes[-1].asked
            if asked.would_meet and judged.verdict not in _AGAINST
        ]
        why = "; ".join(f"{asked.name}: {' · '.join(asked.clauses)}" for asked in met)
        rows += [(one.subscription, judged.verdict, why or judged.why)] if one not in others else []
    if rows:
        yield table(("SUBSCRIPTION", "RESULT", "WHY"), rows, empty="")
        yield f"`digest explain {answer.paper} {rows[0][0]}` shows its whole way."
    if others:
        named = dict.fromkeys(
            "their own saved queries" if one.is_personal else one.subscription for one in others
        )
        why = f"`digest explain {answer.paper} {others[0].subscription}` says why."
        yield f"No match for {', '.join(named)}. {why}"
    for name, gone in (
        (one.subscription, gone) for one in histories if answer.reader for gone in one.unsubscribed
    ):
        yield f"{name}: unsubscribed {answer.here.write_day(gone.since)}"


def _name_paper(answer: Explanation, history: PaperHistory) -> Part:
    if history.paper is None:
        return labelled(
            [(str(answer.paper), f"not stored here, so it was not sent to {history.subscription}")]
        )
    return _write_title(history.paper)


def _write_title(paper: Paper, remark: str = "") -> Part:
    return labelled(
        [(f"{paper.id}v{paper.version}", f"{to_plain(paper.title)}\n{remark}".rstrip())]
    )


def _list_steps(answer: Explanation, history: PaperHistory) -> Iterator[tuple[str, str]]:
    here = answer.here
    if history.judged is None:
        yield "announced", _describe_absence(answer, history)
        return
    yield (
        history.subscription,
        f"{history.judged.verdict} – {history.judged.why}{_sum_up(here, history)}",
    )
    yield "announced", _describe_announcement(here, history)
    for one in history.changes:
        on = (
            ""
            if one.kind in (Kind.KNOWN, Kind.METADATA)
            else f" on {write_day(one.announced, here.now)}"
        )
        yield (
            "stored",
            f"v{one.version}, {one.kind}{on}, found {here.write(one.found_at)} by check {one.run_id}",
        )
        yield "matched", "\n".join(_describe_match(here, one))
    for place, why_not in history.feeds:
        yield (
            "feed",
            f"{here.show(place)} " + (f"does not show it: {why_not}" if why_not else "shows it"),
        )
    for found in history.digests:
        yield "digest", _describe_digest(here, found)
        for stored, attempts in found.deliveries:
            yield "delivery", "\n".join(_describe_delivery(here, stored, attempts))
    for gone in history.unsubscribed:
        yield (
            "reader",
            f"{here.show(gone.destination)} unsubscribed {here.write(gone.since)} ({gone.reason})",
        )
    if order := "\n".join(_describe_order(history)):
        yield "order", order


def _describe_order(history: PaperHistory) -> Iterator[str]:
    if history.order is None:
        return
    if near := history.order.near:
        words = ", ".join(f"{word} {share} %" for word, share in near.words)
        said = (
            f": nearest is “{show_plain(near.title)}”; words that carry it: {words}"
            if words
            else ""
        )
        yield f"{'' if near.is_top else 'not '}near your library{said}"
        if near.place:
            yield f"place {near.place:,} of {near.papers:,} by nearness in its announcement"
    yield from (f"put first by {text}" for text in history.order.read_first)
    yield from (f"put last by {text}" for text in history.order.read_last)


def _sum_up(here: Here, history: PaperHistory) -> str:
    """Say how far the deliveries of the digest that is meant have come, who left, and that a feed shows it."""
    shown = ", shown by the feed" if any(not why_not for _, why_not in history.feeds) else ""
    found = history.deciding
    if found is not None and found.occasion == Occasion.ALREADY_SENT:
        return f", taken as sent before the database was restored{shown}"
    states: dict[str, dict[str, None]] = {}
    for delivery in found.showing if found else ():
        states.setdefault(STATE_WORDS[delivery.state], {})[here.show(delivery.destination)] = None
    reached = {where for places in states.values() for where in places}
    left = [
        where
        for where in (here.show(place.destination) for place in history.unsubscribed)
        if where not in reached
    ]
    sent = "".join(f", {state}: {', '.join(places)}" for state, places in states.items())
    return sent + shown + (f"; unsubscribed: {', '.join(left)}" if left else "")


def _describe_announcement(here: Here, history: PaperHistory) -> str:
    if history.announcement:
        return write_day(history.announcement, here.now)
    if history.changes[0].kind is Kind.KNOWN:
        return "before the first check here"
    return f"before it was first seen here, as v{history.changes[0].version}"


def _describe_absence(answer: Explanation, history: PaperHistory) -> str:
    if history.is_forgotten:
        on = f" on {answer.here.write_day(history.forgotten_at)}" if history.forgotten_at else ""
        return f"known, matched nothing, forgotten{on}"
    if answer.source == "query":
        return f"only what saved queries bring is stored; `digest explain {answer.paper} QUERY` asks arXiv"
    if history.newest is None:
        return "arXiv was not checked yet: `digest run`"
    if history.newest < answer.paper:
        return f"not announced by the last check: the newest paper here is {history.newest}"
    return "announced before this installation watched, or missed: `digest coverage` says which"


def _describe_match(here: Here, one: ChangeHistory) -> Iterator[str]:
    moment = f"{here.write(one.matched_at)}, " if one.matched_at else ""
    is_said_below = one.judged.verdict is Verdict.UNMET and bool(one.asked)
    yield f"{moment}{one.judged.verdict}{'' if is_said_below else f': {one.judged.why}'}"
    for asked in one.asked:
        why = " · ".join(asked.clauses) if asked.would_meet else f"it {asked.failing}"
        yield f"  {MARKS[asked.would_meet]} {asked.name}: {why}"


def _describe_digest(here: Here, found: DigestHistory) -> str:
    places = ", ".join(map(here.show, found.hiding))
    shown = f", not shown at {places}: it is counted there" if places else ""
    said = f"{found.id}, planned {here.write(found.planned_at)}: paper {found.place} of {found.papers}{shown}"
    return f"{said}\n  {found.change}" if found.change else said


def _describe_delivery(
    here: Here, stored: StoredDelivery, attempts: tuple[Attempt, ...]
) -> Iterator[str]:
    delivery = stored.delivery
    part = (
        f" part {delivery.part + 1} of {delivery.parts}"
        if delivery.part < delivery.parts > 1
        else ""
    )
    ended = f" {here.write(stored.ended_at)}" if stored.ended_at else ""
    waits = (
        f", not before {here.write(delivery.not_before)}"
        if delivery.state not in TERMINAL_STATES
        else ""
    )
    error = f": {delivery.last_error}" if delivery.last_error else ""
    receipt = f", receipt {delivery.remote_id}" if delivery.remote_id else ""
    state = f"{STATE_WORDS[delivery.state]}{ended}{waits}{receipt}{error}"
    yield f"{delivery.id} {here.show(delivery.destination)}{part}: {state}"
    for attempt in attempts:
        outcome = STATE_WORDS.get(attempt.outcome, attempt.outcome)
        detail = f": {attempt.detail}" if attempt.detail else ""
        yield f"  attempt {attempt.number}, {here.write(attempt.started_at)}, {outcome}{detail}"


def _show_match(match: MatchHistory) -> Iterator[Part]:
    yield _write_title(
        match.paper, "" if match.is_stored else "(not stored here: as arXiv has it now)"
    )
    name = f"{match.name}: " if match.name else ""
    text = " ".join(match.query.split())
    yield labelled([("matches" if match.matches else "does not match", name + text)])
    if not match.matches:
        yield f"it {match.failing}"
    for clause in match.clauses:
        yield labelled(_list_places(match.paper, clause), gap=1, is_bold=False)
    for subscription, cause in match.excluded_by.items():
        yield f"The subscription {subscription} excludes it: {cause}."


def _list_places(paper: Paper, clause: Clause) -> Iterator[tuple[str, str]]:
    indent = "  " * (clause.depth + 1)
    yield f"{indent}{MARKS[clause.is_met]}", clause.clause
    width = max(find_width() - len(indent) - 20, _NARROWEST)
    quotes = list(quote_places(paper, clause.spans, width))
    for field, quote in quotes[:_MOST_PLACES]:
        yield (
            "",
            style(f"{field}: {mark_ours(apply_styles(quote, color=shows_colors()))}", dim=True),
        )
    if len(quotes) > _MOST_PLACES:
        yield "", style(f"and {len(quotes) - _MOST_PLACES} more", dim=True)


@click.command()
@click.argument("paper_id", metavar="PAPER")
@click.argument("asked", metavar="[SUBSCRIPTION|ADDRESS|QUERY]", required=False)
@click.option("--offline", is_flag=True, help="Only papers that are stored; ask arXiv for none.")
@answers(_show)
@click.pass_context
def command(
    ctx: click.Context, paper_id: str, asked: str | None, *, offline: bool
) -> Explanation | MatchHistory:
    """Say why PAPER came, or why it did not.

    PAPER is an id or an address of arXiv's. Alone, it gets one line for each subscription that it matched; with
    a reader's mail ADDRESS, for each that goes there.

    With a SUBSCRIPTION you see its whole way there: announced, stored, matched, sent. With a QUERY, a saved
    one's name or a text, you see each part that it meets or fails. Only then is arXiv asked for a paper that
    is not stored.
    """
    id_ = ArxivId.parse(paper_id)
    if not id_.is_possible:
        raise UnknownName(
            f"there is no such id: {id_}",
            hint="Since 2015 numbers have five digits (2603.10026), from April 2007 on four (0706.1234). Before,"
            " ids began with an archive (hep-th/9901001).",
        )
    with opened_workbench(ctx) as bench:
        names = {one.name for one in bench.config.subscriptions}
        if bench.store is not None:
            with bench.store.read() as conn:
                names |= {
                    due.subscription.name for due in load_subscriptions(conn, include_ended=True)
                }
        is_reader = (
            asked is not None and "@" in asked and asked not in names and not {*asked} & {*' :"'}
        )
        if asked is not None and asked not in names and not is_reader:
            name, query = bench.find_query(asked, others=names)
            paper, is_stored = _find_paper(bench, id_, offline=offline)
            return explain_match(bench.config, name, query, paper, is_stored=is_stored)
    return _follow(ctx, id_, asked, is_reader=is_reader)


def _follow(ctx: click.Context, id_: ArxivId, asked: str | None, *, is_reader: bool) -> Explanation:
    """Follow a paper to one subscription, also an ended one, or to all in force, or to a reader's."""
    with opened_store(ctx) as bench, bench.store.read() as conn:
        config, only = bench.config, None
        dues = load_subscriptions(conn)
        is_whole = asked is not None and not is_reader
        if asked is not None and is_whole:
            dues = [require_subscription(config, conn, asked, include_ended=True)]
        elif asked is not None:
            only = Destination.parse(destination_key(read_destination(asked)))
            dues = [
                due
                for due in dues
                if only in [place.destination for place in load_statuses(conn, due.id)]
            ]
            if not dues:
                raise UnknownName(
                    f"no subscription goes to {asked}", hint="`digest subscription list` has all."
                )
        histories = [explain_paper(conn, id_, due, config.arxiv.source, only) for due in dues]
        if is_whole:
            histories = [explain_order(conn, config, dues[0], histories[0])]
        return Explanation(
            bench.here,
            id_,
            config.arxiv.source,
            tuple(histories),
            is_whole,
            reader=asked if asked and is_reader else "",
        )


def _find_paper(bench: Workbench, id_: ArxivId, *, offline: bool) -> tuple[Paper, bool]:
    """Return a paper and whether it is stored; arXiv is asked for one that is not."""
    if bench.store is not None:
        with bench.store.read() as conn:
            known = load_paper(conn, id_)
        if known is not None:
            return known.paper, True
    if offline:
        raise UnknownName(
            f"{id_} is not stored here", hint="Without --offline arXiv is asked for it."
        )
    with bench.asking() as client:
        found = [paper for fetched in fetch_papers(client, [id_]) for paper in fetched.page.papers]
    if not found:
        raise UnknownName(f"arXiv knows no paper {id_}", hint=f"Open {id_.url} in a browser.")
    return found[0], False
