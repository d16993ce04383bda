"""`digest subscription exclude`: what a subscription never hears of, shown, changed, and looked up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from digest.cli.naming import require_subscription
from digest.cli.storing import opened_store
from digest.config.display import write_toml
from digest.excluding import read_exclusion
from digest.papers import ArxivId
from digest.query import parse_query
from digest.store import subscriptions as subscription_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from digest.cli.workbench import Workbench
    from digest.config import Config
    from digest.errors import QueryError
    from digest.papers import Paper
    from digest.subscriptions import Subscription

Excluded = TypeVar("Excluded")


@click.command()
@click.argument("name")
@click.argument("papers", nargs=-1, metavar="[PAPER]...")
@click.option("--query", "texts", metavar="QUERY", multiple=True, help="Exclude what a query brings.")
@click.option("--undo", is_flag=True, help="Tell of these again, from the next match on.")
@click.pass_context
def exclude(ctx: click.Context, name: str, papers: tuple[str, ...], texts: tuple[str, ...], *, undo: bool) -> None:
    """Never tell NAME of these papers; others are told as ever.

    With --query, of nothing that a query brings, such as papers of somebody of the same name. What waits
    for the next digest is let go, and feeds leave it out. Without papers and queries, what is excluded is shown.
    Of a subscription in digest.toml the lines to write there are shown, and nothing is changed: the file is yours.

    \b
    digest subscription exclude perf-team 2611.14886
    digest subscription exclude perf-team --query 'author:"Keiko Lindquell" AND cat:math.CO'
    """  # noqa: D301 - click reads the backspace, which must be one
    ids = tuple(map(ArxivId.parse, papers))
    for text in texts:
        parse_query(text)
    lines = tuple(" ".join(text.split()) for text in texts)
    with opened_store(ctx) as here, here.store.begin() as conn:
        due = require_subscription(here, conn, name)
        after = _change(due.subscription, ids, lines, undo=undo)
        if after != due.subscription:
            if subscription_store.is_from_file(conn, due.id):
                written = _find_written(here.config, name) or due.subscription
                _show_lines(_change(written, ids, lines, undo=undo))
                return
            subscription_store.set_exclusion(conn, due.id, after)
    if undo:
        present = {*due.subscription.exclude, *due.subscription.exclude_papers}
        for absent in dict.fromkeys(one for one in (*ids, *lines) if one not in present):
            click.echo(f"note: {absent} was not excluded", err=True)
    _tell(after)


def _change(
    subscription: Subscription, ids: Iterable[ArxivId], texts: Iterable[str], *, undo: bool
) -> Subscription:
    return replace(
        subscription,
        exclude=_merge(subscription.exclude, texts, undo=undo),
        exclude_papers=_merge(subscription.exclude_papers, ids, undo=undo),
    )


def _merge(present: Sequence[Excluded], asked: Iterable[Excluded], *, undo: bool) -> tuple[Excluded, ...]:
    if undo:
        gone = set(asked)
        return tuple(one for one in present if one not in gone)
    return tuple(dict.fromkeys((*present, *asked)))


def _find_written(config: Config, name: str) -> Subscription | None:
    return next((one for one in config.subscriptions if one.name == name), None)


def _show_lines(subscription: Subscription) -> None:
    """Say what to write so that a subscription is as given: the operator's file is theirs."""
    lines = list(write_exclusion(subscription))
    what = "Write there, below its name:" if lines else "Take exclude and exclude_papers out there."
    click.echo(f"{subscription.name} stands in digest.toml, which only you edit. {what}")
    for line in lines:
        click.echo(f"  {line}")
    click.echo("Nothing is changed yet: the next `digest run` after your edit takes it over.")


def write_exclusion(subscription: Subscription) -> Iterator[str]:
    """Yield the lines of `digest.toml` that say what a subscription excludes."""
    if subscription.exclude:
        texts = subscription.exclude
        yield f"exclude = {write_toml(texts[0] if len(texts) == 1 else texts)}"
    if subscription.exclude_papers:
        yield f"exclude_papers = {write_toml(list(map(str, subscription.exclude_papers)))}"


def describe_exclusion(subscription: Subscription) -> list[str]:
    """Return what a subscription excludes, a line each; queries that can't be read say so."""
    unreadable = {text: error.message for text, error in read_exclusion(subscription).problems}
    lines = [
        text + (f"   can't be read, excludes nothing: {unreadable[text]}" if text in unreadable else "")
        for text in subscription.exclude
    ]
    papers = ", ".join(map(str, subscription.exclude_papers))
    return [*lines, papers] if papers else lines


def _tell(subscription: Subscription) -> None:
    lines = describe_exclusion(subscription)
    if not lines:
        click.echo(f"{subscription.name} excludes nothing.")
        return
    click.echo(f"{subscription.name} is never told of")
    for line in lines:
        click.echo(f"  {line}")


def find_excluders(bench: Workbench, query_name: str, paper: Paper) -> list[tuple[str, str]]:
    """Return the subscriptions to a saved query that exclude a paper, each with what excludes it.

    What the file says counts, also before a run has taken it over.
    """
    known = {one.name: one for one in bench.config.subscriptions}
    if bench.store is not None:
        with bench.store.read() as conn:
            stored = {
                due.subscription.name: due.subscription for due in subscription_store.load_subscriptions(conn)
            }
        known = stored | known
    causes = (
        (name, read_exclusion(one).find_cause(paper))
        for name, one in sorted(known.items())
        if query_name in one.queries
    )
    return [(name, cause) for name, cause in causes if cause]


def check_exclusions(config: Config) -> Iterator[tuple[str, QueryError]]:
    """Yield every query of the file that a subscription excludes and that can't be read, with its place."""
    for subscription in config.subscriptions:
        key = f"subscriptions.{subscription.name}.exclude"
        for _, error in read_exclusion(subscription).problems:
            yield key, error


def list_remarks(config: Config) -> Iterator[str]:
    """Yield what is allowed in a query of the file that a subscription excludes, and still looks like a slip."""
    for subscription in config.subscriptions:
        key = f"subscriptions.{subscription.name}.exclude"
        for query in read_exclusion(subscription).queries:
            yield from (f"{key}: {note.message}" for note in query.notes)
