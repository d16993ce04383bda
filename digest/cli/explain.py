"""`digest explain`: why a paper came or did not, for every subscription, for one of them, or for a query."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import click

from digest import tex
from digest.arxiv.pages import fetch_papers
from digest.cli.context import (
    Installation,
    NamedQuery,
    Workbench,
    opened_store,
    opened_workbench,
    require_subscription,
)
from digest.cli.delivery import delivery_as_json
from digest.cli.output import (
    as_dict,
    find_width,
    json_option,
    print_json,
    print_table,
    print_wrapped,
    say,
    shows_colors,
)
from digest.cli.subscription import find_excluders
from digest.config.addresses import read_destination
from digest.inspect.explain import ChangeHistory, DigestHistory, PaperHistory, Verdict, explain_paper
from digest.inspect.query_volume import find_why_not
from digest.inspect.status import STATE_WORDS
from digest.interest.step import Interests
from digest.interest.tables import load_ordered
from digest.match.rules import list_met
from digest.model.announcements import Kind
from digest.model.clock import write_day
from digest.model.errors import UnknownName, UsageError
from digest.model.messages import TERMINAL_STATES, Occasion
from digest.model.papers import ArxivId, Paper
from digest.model.subscriptions import Destination
from digest.query import AnalysedPaper, And, Condition, Node, Not, Or, analyse, find_reasons, matches
from digest.query.canonical import print_tree
from digest.query.queries import find_spans
from digest.render.papers import PaperView
from digest.render.terminal import quote_places
from digest.render.text import apply_styles, show_plain
from digest.store.attempts import Attempt, StoredDelivery
from digest.store.papers import load_paper
from digest.store.subscribers import destination_key, load_statuses
from digest.store.subscriptions import load_subscriptions

_LABEL = 11
_MOST_PLACES = 3
_NARROWEST = 40
_AGAINST = frozenset({Verdict.DROPPED, Verdict.EXCLUDED, Verdict.OTHER_KIND, Verdict.EARLIER})


@click.command()
@click.argument("paper_id", metavar="PAPER")
@click.argument("asked", metavar="[SUBSCRIPTION|ADDRESS|QUERY]", required=False)
@click.option("--offline", is_flag=True, help="Only papers that are stored; ask arXiv for none.")
@json_option
@click.pass_context
def command(ctx: click.Context, paper_id: str, asked: str | None, *, offline: bool, as_json: bool) -> None:
    """Say why PAPER came, or why it did not.

    PAPER is an id or an address of arXiv's. Alone, it gets one line for each subscription that it matched; with
    a reader's mail ADDRESS, for each that goes there.

    With a SUBSCRIPTION you see its whole way there: announced, stored, matched, sent. With a QUERY, a saved
    one's name or a text, you see each part that it meets or fails. Only then is arXiv asked for a paper that
    is not stored.
    """
    id_ = read_paper_id(paper_id, asked or "")
    with opened_workbench(ctx) as bench:
        names = {one.name for one in bench.config.subscriptions}
        if bench.store is not None:
            with bench.store.read() as conn:
                stored = load_subscriptions(conn, include_ended=True)
                names |= {due.subscription.name for due in stored}
        reader = asked if asked and asked not in names and "@" in asked and not {*asked} & {*' :"'} else None
        asked = None if reader else asked
        if asked is not None and asked not in names:
            named = bench.find_query(asked, others=names)
            _explain_match(bench, id_, named, offline=offline, as_json=as_json)
            return
    with opened_store(ctx) as here:
        histories = _follow(here, id_, asked, reader=reader)
    if as_json:
        every = [{"subscription": one.due.subscription.name, "judged": one.judged} for one in histories]
        found = {**_as_json(histories[0]), "order": _explain_order(here, histories[0])} if asked else {}
        print_json(found or {"paper": id_, "subscriptions": every})
    elif asked:
        width = max(_LABEL, len(asked) + 2)
        for label, lines in (*_describe(here, histories[0]), ("order", list(_describe_order(here, histories[0])))):
            if lines:
                print_wrapped(label, "\n".join(lines), width=width, bold=True)
    else:
        _print_all(here, id_, histories)
        for name, gone in (
            (one.due.subscription.name, gone) for one in histories if reader for gone in one.unsubscribed
        ):
            say(f"{name}: unsubscribed {write_day(gone.since.astimezone(here.zone), here.now)}")


def read_paper_id(text: str, other: str) -> ArxivId:
    """Return the id of the paper that is meant.

    Args:
        text: what was given as the paper.
        other: what was given beside it, "" for nothing.

    Raises:
        UsageError: it is no id.
        UnknownName: its number can't be.
    """
    try:
        id_ = ArxivId.parse(text)
    except UsageError as error:
        try:
            ArxivId.parse(other)
        except UsageError:
            raise error from None
        raise UsageError(
            error.message, hint=f"The paper comes first: `digest explain {other} {shlex.quote(text)}`"
        ) from None
    if not id_.is_possible:
        raise UnknownName(
            f"there is no such id: {id_}",
            hint="Since 2015 numbers have five digits (2603.10026), from April 2007 on four (0706.1234). Before,"
            " ids began with an archive (hep-th/9901001).",
        )
    return id_


def _follow(here: Installation, id_: ArxivId, name: str | None, *, reader: str | None) -> list[PaperHistory]:
    """Return the trails of a paper to one subscription, also an ended one, or to all in force, or a reader's."""
    source, only = here.config.arxiv.source, None
    with here.store.read() as conn:
        if name is not None:
            dues = [require_subscription(here.config, conn, name, include_ended=True)]
        else:
            dues = load_subscriptions(conn)
        if reader is not None:
            only = Destination.parse(destination_key(read_destination(reader)))
            dues = [due for due in dues if only in [place.destination for place in load_statuses(conn, due.id)]]
            if not dues:
                raise UnknownName(f"no subscription goes to {reader}", hint="`digest subscription list` has all.")
        return [explain_paper(conn, id_, due, source, only) for due in dues]


def _print_all(here: Installation, id_: ArxivId, histories: Sequence[PaperHistory]) -> None:
    stored = [(one.due.subscription.name, one.judged) for one in histories if one.judged is not None]
    if not stored:
        why = (
            _describe_absence(here, histories[0]) if histories else "there are no subscriptions yet: `digest run`"
        )
        print_wrapped(f"{id_}  ", f"not stored here: {why}", bold=True)
        return
    _print_title(histories[0].changes[-1].change.paper)
    others = [name for name, judged in stored if judged.verdict is Verdict.UNMET]
    met = {
        one.due.subscription.name: "; ".join(
            f"{asked.name}: {' · '.join(asked.clauses)}" for asked in one.changes[-1].asked if asked.would_meet
        )
        for one in histories
        if one.judged and one.judged.verdict not in _AGAINST
    }
    rows = [[name, judged.verdict, met.get(name) or judged.why] for name, judged in stored if name not in others]
    with here.store.read() as conn:
        ordered = {*load_ordered(conn)}.difference(one.due.id for one in histories if one.due.is_personal)
    near = {
        one.due.subscription.name: ", and how near to the library" for one in histories if one.due.id in ordered
    }
    if rows:
        print_table(["SUBSCRIPTION", "RESULT", "WHY"], rows, empty="")
        name = max((row[0] for row in rows), key=near.__contains__)
        say(f"`digest explain {id_} {name}` shows its whole way{near.get(name, '')}.")
    if others:
        own = {one.due.subscription.name for one in histories if one.due.is_personal}
        named = ", ".join("their own saved queries" if name in own else name for name in others)
        name = max(others, key=near.__contains__)
        say(f"No match for {named}. `digest explain {id_} {name}` says why{near.get(name, '')}.")


def _print_title(paper: Paper, remark: str = "") -> None:
    print_wrapped(f"{paper.id}v{paper.version}  ", f"{tex.to_plain(paper.title)}\n{remark}".rstrip(), bold=True)


def _describe(here: Installation, history: PaperHistory) -> Iterator[tuple[str, list[str]]]:
    name = history.due.subscription.name
    if history.judged is None:
        yield f"{history.id}  ", [f"not stored here, so it was not sent to {name}"]
        yield "announced", [_describe_absence(here, history)]
        return
    paper = history.changes[-1].change.paper
    yield f"{history.id}v{paper.version}  ", [tex.to_plain(paper.title)]
    yield name, [f"{history.judged.verdict} – {history.judged.why}{_sum_up(here, history)}"]
    yield "announced", [_describe_announcement(here, history)]
    for one in history.changes:
        change = one.change
        on = "" if change.kind in (Kind.KNOWN, Kind.METADATA) else f" on {write_day(change.announced, here.now)}"
        found = f"v{change.paper.version}, {change.kind}{on}, found {here.write(change.found_at)}"
        yield "stored", [f"{found} by check {change.run_id}"]
        yield "matched", list(_describe_match(here, one))
    for place, why_not in history.feeds:
        shows = f"{here.show(place)} does not show it: {why_not}" if why_not else f"{here.show(place)} shows it"
        yield "feed", [shows]
    for told in history.digests:
        yield "digest", list(_describe_digest(here, told))
        for stored, attempts in told.deliveries:
            yield "delivery", list(_describe_delivery(here, stored, attempts))
    for gone in history.unsubscribed:
        since = here.write(gone.since)
        yield "reader", [f"{here.show(gone.destination)} unsubscribed {since} ({gone.reason})"]


def _explain_order(here: Installation, history: PaperHistory) -> dict[str, Any]:
    """Return how near the paper is to the library, and which of the queries read first and last it matches."""
    if not history.changes:
        return {}
    change, due = history.changes[-1].change, history.due
    day = history.announcement or change.announced
    texts = {query.name: query.text for query in here.config.queries}
    with here.store.read() as conn:
        is_new = history.announcement is not None
        near = Interests(here.config).explain(conn, due, change.paper, day, is_new=is_new)
    found = history.deciding
    dots = [bool(entry.near) for entry in found.digest.entries] if found is not None and found.place else []
    if near and found is not None and any(dots):  # the dot is as it was sent, the words are as of now
        near = replace(near, is_top=dots[found.place - 1])
    if near and due.is_personal:  # what people like is theirs
        near = replace(near, title="", words=())
    listed = {"read_first": due.subscription.read_first, "read_last": due.subscription.read_last}
    ready = analyse(change.paper)
    return {"near": near, **{key: list_met(named, texts, ready) for key, named in listed.items()}}


def _describe_order(here: Installation, history: PaperHistory) -> Iterator[str]:
    found = _explain_order(here, history)
    if near := found.get("near"):
        words = ", ".join(f"{word} {share} %" for word, share in near.words)
        said = f": nearest is “{show_plain(near.title)}”; words that carry it: {words}" if words else ""
        yield f"{'' if near.is_top else 'not '}near your library{said}"
        if near.place:
            yield f"place {near.place:,} of {near.papers:,} by nearness in its announcement"
    yield from (f"put first by {text}" for text in found.get("read_first", ()))
    yield from (f"put last by {text}" for text in found.get("read_last", ()))


def _sum_up(here: Installation, history: PaperHistory) -> str:
    """Say how far the deliveries of the digest that is meant have come, who left, and that a feed shows it."""
    shown = ", shown by the feed" if any(not why_not for _, why_not in history.feeds) else ""
    found = history.deciding
    if found is not None and found.digest.occasion == Occasion.ALREADY_SENT:
        return f", taken as sent before the database was restored{shown}"
    states: dict[str, list[str]] = {}
    for delivery in found.showing if found else ():
        where = here.show(delivery.destination)
        if where not in states.setdefault(STATE_WORDS[delivery.state], []):
            states[STATE_WORDS[delivery.state]].append(where)
    reached = {where for places in states.values() for where in places}
    left = [
        where for where in (here.show(place.destination) for place in history.unsubscribed) if where not in reached
    ]
    sent = "".join(f", {state}: {', '.join(places)}" for state, places in states.items())
    return sent + shown + (f"; unsubscribed: {', '.join(left)}" if left else "")


def _describe_announcement(here: Installation, history: PaperHistory) -> str:
    if history.announcement:
        return write_day(history.announcement, here.now)
    if history.changes[0].change.kind is Kind.KNOWN:
        return "before the first check here"
    return f"before it was first seen here, as v{history.changes[0].change.paper.version}"


def _describe_absence(here: Installation, history: PaperHistory) -> str:
    if history.forgotten_at is not None:
        day = write_day(history.forgotten_at.astimezone(here.zone), here.now)
        return f"known, matched nothing, forgotten on {day}"
    if here.config.arxiv.source == "query":
        return f"only what saved queries bring is stored; `digest explain {history.id} QUERY` asks arXiv"
    if history.newest is None:
        return "arXiv was not checked yet: `digest run`"
    if history.newest < history.id:
        return f"not announced by the last check: the newest paper here is {history.newest}"
    return "announced before this installation watched, or missed: `digest coverage` says which"


def _describe_match(here: Installation, one: ChangeHistory) -> Iterator[str]:
    moment = f"{here.write(one.matched_at)}, " if one.matched_at else ""
    is_said_below = one.judged.verdict is Verdict.UNMET and bool(one.asked)
    yield f"{moment}{one.judged.verdict}{'' if is_said_below else f': {one.judged.why}'}"
    for asked in one.asked:
        if asked.would_meet:
            yield f"  {click.style('✓', fg='green')} {asked.name}: {' · '.join(asked.clauses)}"
        else:
            yield f"  {click.style('✗', fg='red')} {asked.name}: it {asked.failing}"


def _describe_digest(here: Installation, found: DigestHistory) -> Iterator[str]:
    digest = found.digest
    place = f"paper {found.place} of {len(digest.entries)}"
    places = ", ".join(map(here.show, found.hiding))
    shown = f", not shown at {places}: it is counted there" if places else ""
    planned = here.write(digest.planned_at)
    yield f"{digest.id}, planned {planned}: {place}{shown}"
    change = PaperView(digest.entries[found.place - 1], found.place).change
    if change:
        yield f"  {change}"


def _describe_delivery(here: Installation, stored: StoredDelivery, attempts: tuple[Attempt, ...]) -> Iterator[str]:
    delivery = stored.delivery
    is_one_of_some = delivery.parts > 1 and delivery.part < delivery.parts
    part = f" part {delivery.part + 1} of {delivery.parts}" if is_one_of_some else ""
    ended = f" {here.write(stored.ended_at)}" if stored.ended_at else ""
    waits = ""
    if delivery.state not in TERMINAL_STATES:
        waits = f", not before {here.write(delivery.not_before)}"
    error = f": {delivery.last_error}" if delivery.last_error else ""
    receipt = f", receipt {delivery.remote_id}" if delivery.remote_id else ""
    state = f"{STATE_WORDS[delivery.state]}{ended}{waits}{receipt}{error}"
    yield f"{delivery.id} {here.show(delivery.destination)}{part}: {state}"
    for attempt in attempts:
        began = here.write(attempt.started_at)
        detail = f": {attempt.detail}" if attempt.detail else ""
        yield f"  attempt {attempt.number}, {began}, {STATE_WORDS.get(attempt.outcome, attempt.outcome)}{detail}"


def _as_json(history: PaperHistory) -> dict[str, object]:
    """Return the trail by field; of papers and digests what the screen shows."""
    return {
        **as_dict(history, "due"),
        "subscription": history.due.subscription.name,
        "state": history.due.state,
        "changes": [
            {
                **as_dict(one, "change"),
                "kind": one.change.kind,
                "version": one.change.paper.version,
                "announced": one.change.announced,
                "found_at": one.change.found_at,
                "run": one.change.run_id,
            }
            for one in history.changes
        ],
        "digests": [
            {
                "id": found.digest.id,
                "slot": found.digest.slot,
                "planned_at": found.digest.planned_at,
                "place": found.place,
                "papers": len(found.digest.entries),
                "hiding": found.hiding,
                "deliveries": [
                    {**delivery_as_json(stored), "attempts": attempts} for stored, attempts in found.deliveries
                ],
            }
            for found in history.digests
        ],
    }


def _find_paper(bench: Workbench, id_: ArxivId, *, offline: bool) -> tuple[Paper, bool]:
    """Return a paper and whether it is stored; arXiv is asked for one that is not."""
    if bench.store is not None:
        with bench.store.read() as conn:
            known = load_paper(conn, id_)
        if known is not None:
            return known.paper, True
    if offline:
        raise UnknownName(f"{id_} is not stored here", hint="Without --offline arXiv is asked for it.")
    with bench.asking() as client:
        found = [paper for fetched in fetch_papers(client, [id_]) for paper in fetched.page.papers]
    if not found:
        raise UnknownName(f"arXiv knows no paper {id_}", hint=f"Open {id_.url} in a browser.")
    return found[0], False


class Clause(NamedTuple):
    """One node of a query as a line: its text, how deep it lies, whether it is met, and the condition in it."""

    text: str
    depth: int
    is_met: bool
    condition: Condition | None = None


def walk_clauses(node: Node, paper: AnalysedPaper, depth: int = 0) -> Iterator[Clause]:
    """Yield each node of a query; a condition and its negation are one."""
    is_met = matches(node, paper)
    match node:
        case (Condition() as condition) | Not(Condition() as condition):
            yield Clause(print_tree(node), depth, is_met, condition)
        case Not(operand):
            yield Clause("not", depth, is_met)
            yield from walk_clauses(operand, paper, depth + 1)
        case And(operands) | Or(operands):
            yield Clause("all of" if isinstance(node, And) else "any of", depth, is_met)
            for operand in operands:
                yield from walk_clauses(operand, paper, depth + 1)


def _explain_match(bench: Workbench, id_: ArxivId, asked: NamedQuery, *, offline: bool, as_json: bool) -> None:
    """Print which parts of a query a paper meets."""
    paper, is_stored = _find_paper(bench, id_, offline=offline)
    excluders = find_excluders(bench.config, asked.name, paper)
    if as_json:
        print_json({**_match_as_json(asked, paper, is_stored=is_stored), "excluded_by": dict(excluders)})
        return
    ready = analyse(paper)
    is_match = matches(asked.query, ready)
    _print_title(paper, "" if is_stored else "(not stored here: as arXiv has it now)")
    name, text = f"{asked.name}: " if asked.name else "", " ".join(asked.query.text.split())
    print_wrapped(f"{'matches' if is_match else 'does not match'}  ", name + text, bold=True)
    if not is_match:
        say(f"it {find_why_not(asked.query, ready)}")
    for clause in walk_clauses(asked.query.tree, ready):
        _print_clause(clause, ready)
    for subscription, cause in excluders:
        say(f"The subscription {subscription} excludes it: {cause}.")


def _print_clause(clause: Clause, ready: AnalysedPaper) -> None:
    indent = "  " * (clause.depth + 1)
    sign = click.style("✓", fg="green") if clause.is_met else click.style("✗", fg="red")
    print_wrapped(f"{indent}{sign} ", clause.text)
    spans = find_spans(clause.condition, ready) if clause.condition else ()
    width = find_width() - len(indent) - 20
    quotes = list(quote_places(ready.paper, spans, max(width, _NARROWEST)))
    for field, quote in quotes[:_MOST_PLACES]:
        print_wrapped(f"{indent}    {field}: ", apply_styles(quote, color=shows_colors()), dim=True)
    if len(quotes) > _MOST_PLACES:
        click.echo(f"{indent}    {click.style(f'and {len(quotes) - _MOST_PLACES} more', dim=True)}")


def _match_as_json(asked: NamedQuery, paper: Paper, *, is_stored: bool) -> dict[str, object]:
    ready = analyse(paper)
    why_not = find_why_not(asked.query, ready)
    return {
        "paper": f"{paper.id}v{paper.version}",
        "title": paper.title,
        "is_stored": is_stored,
        "name": asked.name or None,
        "query": asked.query.text,
        "matches": matches(asked.query, ready),
        "clauses": [
            {"clause": clause.text, "depth": clause.depth, "is_met": clause.is_met}
            for clause in walk_clauses(asked.query.tree, ready)
        ],
        "reasons": [
            {"clause": reason.clause, "spans": reason.spans} for reason in find_reasons(asked.query, ready)
        ],
        "lacks": why_not.lacks,
        "has_excluded": why_not.has,
    }
