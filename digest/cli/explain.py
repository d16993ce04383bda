"""`digest explain`: why a paper came or did not, for all subscriptions, for one, or for a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import click
from sqlalchemy import Connection

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
    Judged,
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
from digest.model.subscriptions import DueSubscription
from digest.render.terminal import quote_places
from digest.render.text import apply_styles, show_plain
from digest.store import papers, subscribers, subscriptions
from digest.store.attempts import Attempt, StoredDelivery
from digest.tex import to_plain

_MOST_PLACES = 3
_NARROWEST = 40
_AGAINST = frozenset({Verdict.DROPPED, Verdict.EXCLUDED, Verdict.OTHER_KIND, Verdict.EARLIER})


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a paper: its whole way to the one subscription asked for, or to each.

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
        why = "there are no subscriptions yet: `digest run`"
        if histories:
            why = _describe_absence(answer, histories[0])
        yield labelled([(str(answer.paper), f"not stored here: {why}")])
        return
    first, _ = stored[0]
    yield _name_paper(answer, first)
    rows = []
    others = []
    for one, judged in stored:
        if judged.verdict is Verdict.UNMET:
            others.append(one)
        else:
            why = _name_met_queries(one, judged) or judged.why
            rows.append((one.subscription, judged.verdict, why))
    if rows:
        yield table(("SUBSCRIPTION", "RESULT", "WHY"), rows, empty="")
        yield f"`digest explain {answer.paper} {rows[0][0]}` shows its whole way."
    if others:
        why = f"`digest explain {answer.paper} {others[0].subscription}` says why."
        yield f"No match for {_name_subscriptions(others)}. {why}"
    if answer.reader:
        for one in histories:
            for gone in one.unsubscribed:
                since = answer.here.write_day(gone.since)
                yield f"{one.subscription}: unsubscribed {since}"


def _name_met_queries(history: PaperHistory, judged: Judged) -> str:
    """Write the saved queries that brought a paper, each with what it met; "" if none did."""
    if judged.verdict in _AGAINST:
        return ""
    met = [asked for asked in history.changes[-1].asked if asked.would_meet]
    return "; ".join(f"{asked.name}: {' · '.join(asked.clauses)}" for asked in met)


def _name_subscriptions(histories: Iterable[PaperHistory]) -> str:
    """Write subscriptions by their names; those of people stand together, without names."""
    names = []
    for one in histories:
        name = "their own saved queries" if one.is_personal else one.subscription
        if name not in names:
            names.append(name)
    return ", ".join(names)


def _name_paper(answer: Explanation, history: PaperHistory) -> Part:
    if history.paper is None:
        said = f"not stored here, so it was not sent to {history.subscription}"
        return labelled([(str(answer.paper), said)])
    return _write_title(history.paper)


def _write_title(paper: Paper, remark: str = "") -> Part:
    text = f"{to_plain(paper.title)}\n{remark}".rstrip()
    return labelled([(f"{paper.id}v{paper.version}", text)])


def _list_steps(answer: Explanation, history: PaperHistory) -> Iterator[tuple[str, str]]:
    here = answer.here
    judged = history.judged
    if judged is None:
        yield "announced", _describe_absence(answer, history)
        return
    yield history.subscription, f"{judged.verdict} – {judged.why}{_sum_up(here, history)}"
    yield "announced", _describe_announcement(here, history)
    for one in history.changes:
        yield "stored", _describe_change(here, one)
        yield "matched", "\n".join(_describe_match(here, one))
    for place, why_not in history.feeds:
        state = f"does not show it: {why_not}" if why_not else "shows it"
        yield "feed", f"{here.show(place)} {state}"
    for found in history.digests:
        yield "digest", _describe_digest(here, found)
        for stored, attempts in found.deliveries:
            yield "delivery", "\n".join(_describe_delivery(here, stored, attempts))
    for gone in history.unsubscribed:
        reader = here.show(gone.destination)
        yield "reader", f"{reader} unsubscribed {here.write(gone.since)} ({gone.reason})"
    order = "\n".join(_describe_order(history))
    if order:
        yield "order", order


def _describe_change(here: Here, one: ChangeHistory) -> str:
    on = ""
    if one.kind not in (Kind.KNOWN, Kind.METADATA):
        on = f" on {write_day(one.announced, here.now)}"
    found = here.write(one.found_at)
    return f"v{one.version}, {one.kind}{on}, found {found} by check {one.run_id}"


def _describe_order(history: PaperHistory) -> Iterator[str]:
    order = history.order
    if order is None:
        return
    near = order.near
    if near:
        said = "near your library" if near.is_top else "not near your library"
        words = ", ".join(f"{word} {share} %" for word, share in near.words)
        if words:
            title = show_plain(near.title)
            said += f": nearest is “{title}”; words that carry it: {words}"
        yield said
        if near.place:
            yield f"place {near.place:,} of {near.papers:,} by nearness in its announcement"
    for text in order.read_first:
        yield f"put first by {text}"
    for text in order.read_last:
        yield f"put last by {text}"


def _sum_up(here: Here, history: PaperHistory) -> str:
    """Say how far the deliveries of the digest have come, who left, and that a feed shows it."""
    is_in_feed = any(not why_not for _, why_not in history.feeds)
    shown = ", shown by the feed" if is_in_feed else ""
    found = history.deciding
    if found is not None and found.occasion == Occasion.ALREADY_SENT:
        return f", taken as sent before the database was restored{shown}"
    sent, reached = _name_reached(here, found)
    left = []
    for gone in history.unsubscribed:
        place = here.show(gone.destination)
        if place not in reached:
            left.append(place)
    unsubscribed = f"; unsubscribed: {', '.join(left)}" if left else ""
    return f"{sent}{shown}{unsubscribed}"


def _name_reached(here: Here, found: DigestHistory | None) -> tuple[str, set[str]]:
    """Write the destinations that a digest goes to, by state; and return them."""
    if found is None:
        return "", set()
    by_state: dict[str, list[str]] = {}
    for delivery in found.showing:
        places = by_state.setdefault(STATE_WORDS[delivery.state], [])
        place = here.show(delivery.destination)
        if place not in places:
            places.append(place)
    said = ""
    for state, places in by_state.items():
        said += f", {state}: {', '.join(places)}"
    return said, set(chain.from_iterable(by_state.values()))


def _describe_announcement(here: Here, history: PaperHistory) -> str:
    if history.announcement:
        return write_day(history.announcement, here.now)
    if history.changes[0].kind is Kind.KNOWN:
        return "before the first check here"
    return f"before it was first seen here, as v{history.changes[0].version}"


def _describe_absence(answer: Explanation, history: PaperHistory) -> str:
    if history.is_forgotten:
        on = ""
        if history.forgotten_at:
            on = f" on {answer.here.write_day(history.forgotten_at)}"
        return f"known, matched nothing, forgotten{on}"
    if answer.source == "query":
        asks = f"`digest explain {answer.paper} QUERY` asks arXiv"
        return f"only what saved queries bring is stored; {asks}"
    if history.newest is None:
        return "arXiv was not checked yet: `digest run`"
    if history.newest < answer.paper:
        return f"not announced by the last check: the newest paper here is {history.newest}"
    return "announced before this installation watched, or missed: `digest coverage` says which"


def _describe_match(here: Here, one: ChangeHistory) -> Iterator[str]:
    said = str(one.judged.verdict)
    if one.matched_at:
        said = f"{here.write(one.matched_at)}, {said}"
    is_said_below = one.judged.verdict is Verdict.UNMET and bool(one.asked)
    yield said if is_said_below else f"{said}: {one.judged.why}"
    for asked in one.asked:
        why = " · ".join(asked.clauses) if asked.would_meet else f"it {asked.failing}"
        yield f"  {MARKS[asked.would_meet]} {asked.name}: {why}"


def _describe_digest(here: Here, found: DigestHistory) -> str:
    planned = here.write(found.planned_at)
    said = f"{found.id}, planned {planned}: paper {found.place} of {found.papers}"
    places = ", ".join(map(here.show, found.hiding))
    if places:
        said += f", not shown at {places}: it is counted there"
    if found.change:
        said += f"\n  {found.change}"
    return said


def _describe_delivery(
    here: Here, stored: StoredDelivery, attempts: tuple[Attempt, ...]
) -> Iterator[str]:
    delivery = stored.delivery
    name = f"{delivery.id} {here.show(delivery.destination)}"
    if delivery.part < delivery.parts > 1:
        name += f" part {delivery.part + 1} of {delivery.parts}"
    state = STATE_WORDS[delivery.state]
    if stored.ended_at:
        state += f" {here.write(stored.ended_at)}"
    if delivery.state not in TERMINAL_STATES:
        state += f", not before {here.write(delivery.not_before)}"
    if delivery.remote_id:
        state += f", receipt {delivery.remote_id}"
    if delivery.last_error:
        state += f": {delivery.last_error}"
    yield f"{name}: {state}"
    for attempt in attempts:
        started = here.write(attempt.started_at)
        outcome = STATE_WORDS.get(attempt.outcome, attempt.outcome)
        detail = f": {attempt.detail}" if attempt.detail else ""
        yield f"  attempt {attempt.number}, {started}, {outcome}{detail}"


def _show_match(match: MatchHistory) -> Iterator[Part]:
    remark = "" if match.is_stored else "(not stored here: as arXiv has it now)"
    yield _write_title(match.paper, remark)
    text = " ".join(match.query.split())
    if match.name:
        text = f"{match.name}: {text}"
    yield labelled([("matches" if match.matches else "does not match", text)])
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
        text = mark_ours(apply_styles(quote, color=shows_colors()))
        yield "", style(f"{field}: {text}", dim=True)
    others = len(quotes) - _MOST_PLACES
    if others > 0:
        yield "", style(f"and {others} more", dim=True)


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

    PAPER is an id or an address of arXiv's. Alone, it gets one line for each subscription that it
    matched; with a reader's mail ADDRESS, for each that goes there.

    With a SUBSCRIPTION you see its whole way there: announced, stored, matched, sent. With a QUERY,
    a saved one's name or a text, you see each part that it meets or fails. Only then is arXiv asked
    for a paper that is not stored.
    """
    id_ = ArxivId.parse(paper_id)
    if not id_.is_possible:
        raise UnknownName(
            f"there is no such id: {id_}",
            hint="Since 2015 numbers have five digits (2603.10026), from April 2007 on four "
            "(0706.1234). Before, ids began with an archive (hep-th/9901001).",
        )
    with opened_workbench(ctx) as bench:
        names = _list_names(bench)
        is_name = asked is None or asked in names
        is_reader = asked is not None and not is_name and _is_address(asked)
        if asked is not None and not is_name and not is_reader:
            name, query = bench.find_query(asked, others=names)
            paper, is_stored = _find_paper(bench, id_, offline=offline)
            return explain_match(bench.config, name, query, paper, is_stored=is_stored)
    return _follow(ctx, id_, asked, is_reader=is_reader)


def _list_names(bench: Workbench) -> set[str]:
    """Return the names of all subscriptions, also of those that have ended."""
    names = {one.name for one in bench.config.subscriptions}
    if bench.store is not None:
        with bench.store.read() as conn:
            for due in subscriptions.load(conn, include_ended=True):
                names.add(due.subscription.name)
    return names


def _is_address(text: str) -> bool:
    """Whether a text is a mail address, and no query with an @ in it."""
    return "@" in text and not {*text} & {*' :"'}


def _follow(ctx: click.Context, id_: ArxivId, asked: str | None, *, is_reader: bool) -> Explanation:
    """Follow a paper to one subscription, also an ended one; or to all in force, or a reader's."""
    with opened_store(ctx) as bench, bench.store.read() as conn:
        config = bench.config
        source = config.arxiv.source
        reader = None
        is_whole = asked is not None and not is_reader
        if asked is None:
            dues = subscriptions.load(conn)
        elif is_reader:
            reader = Destination.parse(subscribers.destination_key(read_destination(asked)))
            dues = _load_read(conn, reader)
            if not dues:
                raise UnknownName(
                    f"no subscription goes to {asked}", hint="`digest subscription list` has all."
                )
        else:
            dues = [require_subscription(config, conn, asked, include_ended=True)]
        histories = [explain_paper(conn, id_, due, source, reader) for due in dues]
        if is_whole:
            histories = [explain_order(conn, config, dues[0], histories[0])]
        name = asked if asked and is_reader else ""
        return Explanation(bench.here, id_, source, tuple(histories), is_whole, reader=name)


def _load_read(conn: Connection, reader: Destination) -> list[DueSubscription]:
    """Return the subscriptions that go to a reader, or went there."""
    found = []
    for due in subscriptions.load(conn):
        places = [status.destination for status in subscribers.load_statuses(conn, due.id)]
        if reader in places:
            found.append(due)
    return found


def _find_paper(bench: Workbench, id_: ArxivId, *, offline: bool) -> tuple[Paper, bool]:
    """Return a paper and whether it is stored; arXiv is asked for one that is not."""
    if bench.store is not None:
        with bench.store.read() as conn:
            known = papers.load(conn, id_)
        if known is not None:
            return known.paper, True
    if offline:
        raise UnknownName(
            f"{id_} is not stored here", hint="Without --offline arXiv is asked for it."
        )
    with bench.asking() as client:
        for fetched in fetch_papers(client, [id_]):
            for paper in fetched.page.papers:
                return paper, False
    raise UnknownName(f"arXiv knows no paper {id_}", hint=f"Open {id_.url} in a browser.")
