"""`digest library`: what the libraries hold, how well they tell papers apart, and what a reader likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import click

from digest import tex
from digest.cli.commands import CommandGroup
from digest.cli.context import Workbench, opened_store, opened_workbench, require_subscription
from digest.cli.output import json_option, print_json, print_wrapped, say
from digest.config import Config
from digest.config.addresses import resolve_sources
from digest.config.values import read_sources, suggest
from digest.interest.libraries import (
    check_library,
    complete,
    describe_trouble,
    fetch_texts,
    name_source,
    read_anew,
)
from digest.interest.tables import StoredLibrary, StoredLibraryPaper, delete_like, load_likes, save_like
from digest.model.clock import write_day
from digest.model.errors import ConfigurationError, OutsideError, UnknownName, count
from digest.model.libraries import ZOTERO, LibraryPaper, Opinion
from digest.model.papers import ArxivId
from digest.store.subscriptions import load_subscriptions

_NONE = "`digest subscription edit NAME library=lab.bib` gives a subscription a library."
_SHOWN = 10
"""So many papers are named; the others are counted."""


@click.group(cls=CommandGroup)
def command() -> None:
    """Libraries: the papers by which digests are put in order."""


@command.command()
@click.argument("name", metavar="[SUBSCRIPTION|SOURCE]", required=False)
@json_option
@click.pass_context
def show(ctx: click.Context, name: str | None, *, as_json: bool) -> None:
    """Show what libraries hold, and what readers like.

    Files are read as they are now. SOURCE may be a file that no subscription has yet. Nothing is stored.
    Exit code 3 if a file can't be read, 4 if Zotero can't.
    """
    with opened_workbench(ctx) as bench:
        sources = _choose_sources(bench.config, name)
        held = [read_anew(bench.config, bench.clock, bench.store, source) for source in sources]
        likes = _load_likes(bench, name)
    failures = [
        OutsideError if one.source.startswith(ZOTERO) else ConfigurationError for one in held if one.trouble
    ]
    code = max((failure.exit_code for failure in failures), default=0)
    if as_json:
        print_json({"libraries": list(map(_as_json, held)), "likes": likes})
        ctx.exit(code)
    if not (held or likes):
        say(f"No subscription has a library. {_NONE}")
    for library in held:
        _print_library(bench, library)
    for subscription, liked in likes.items():
        click.secho(f"likes of {subscription}", bold=True)
        for one in liked:
            print_wrapped("  ", f"{one.opinion} like {one.paper.arxiv_id}: {tex.to_plain(one.paper.title)}")
    ctx.exit(code)


def _choose_sources(config: Config, name: str | None) -> list[str]:
    """Return the sources of a subscription, or of all; or the one source that is named, as it is typed here."""
    named = {one.name: (*one.library, *one.not_like) for one in config.subscriptions}
    if name is None or name in named:
        return list(dict.fromkeys(named[name] if name else chain.from_iterable(named.values())))
    (source,) = resolve_sources(read_sources(name), Path.cwd())
    if source.startswith(ZOTERO) or Path(source).exists():
        return [source]
    hint = suggest(name, named, "") or "Check the path of the file."
    raise UnknownName(f"there is no subscription and no file {name!r}", hint=hint)


def _load_likes(bench: Workbench, name: str | None) -> Mapping[str, Sequence[StoredLibraryPaper]]:
    if bench.store is None:
        return {}
    with bench.store.read() as conn:
        dues = [due for due in load_subscriptions(conn) if not due.is_personal]
        likes = {due.subscription.name: load_likes(conn, due.id) for due in dues}
        return {one: liked for one, liked in likes.items() if liked and name in (None, one)}


def _count_collections(library: StoredLibrary) -> dict[str, int]:
    return dict(sorted(Counter(one.paper.collection for one in library.papers).items()))


def _as_json(library: StoredLibrary) -> dict[str, object]:
    return {
        "source": library.source,
        "read_at": library.read_at,
        "papers": len(library.papers),
        "with_abstract": sum(bool(one.paper.abstract) for one in library.papers),
        "collections": _count_collections(library),
        "trouble": library.trouble,
        "troubles": library.troubles,
    }


def _print_library(bench: Workbench, library: StoredLibrary) -> None:
    click.secho(name_source(bench.config, library.source), bold=True)
    if library.trouble:
        print_wrapped("  ", describe_trouble(bench.config, library, bench.now))
    without = [one for one in library.papers if not one.paper.abstract]
    if library.papers:
        number = len(library.papers)
        said = f"{count(number, 'paper')}, {number - len(without):,} with an abstract."
        asked = sum(one.is_unasked for one in without)
        said += f" The next check asks arXiv for {asked:,} more." if asked else ""
        nameless = sum(not (one.paper.title or one.is_unasked) for one in without)
        said += f" {nameless:,} without a title can't be compared." if nameless else ""
        print_wrapped("  ", said)
    collections = _count_collections(library)
    for collection, number in collections.items() if len(collections) > 1 or any(collections) else ():
        print_wrapped(f"  {number:>6,}  ", collection or "in no collection")
    _print_first("  no abstract: ", [_name_paper(one.paper) for one in without])
    for trouble in library.troubles:
        print_wrapped("  not read: ", trouble)


def _name_paper(paper: LibraryPaper) -> str:
    return f"“{tex.to_plain(paper.title)}”" if paper.title else str(paper.arxiv_id or paper.doi)


def _print_first(start: str, lines: Sequence[str], more: str = "") -> None:
    for line in lines[:_SHOWN]:
        print_wrapped(start, line)
    if len(lines) > _SHOWN:
        print_wrapped("  ", f"and {len(lines) - _SHOWN:,} more{more}")


@command.command()
@click.argument("name", metavar="[SUBSCRIPTION]", required=False)
@json_option
@click.pass_context
def check(ctx: click.Context, name: str | None, *, as_json: bool) -> None:
    """Leave each paper out in turn: do the others bring it to the top?

    The top is the top tenth of the newest day with enough stored papers. A library that finds most of its own
    papers again will find new ones like them.
    """
    with opened_store(ctx) as here:
        wanted = [one for one in here.config.subscriptions if one.library and name in (None, one.name)]
        if not wanted:
            raise UnknownName(f"{name or 'no subscription'} has {'no' if name else 'a'} library", hint=_NONE)
        checked = []
        for one in wanted:
            libraries = [read_anew(here.config, here.clock, here.store, source) for source in one.library]
            papers = [each.paper for library in libraries for each in library.papers if each.paper.title]
            held = {(paper.title, paper.abstract): paper for paper in papers}
            with here.store.read() as conn:
                day, found = check_library(conn, list(held.values()))
            checked.append((one.name, day, len(held), [paper for paper, is_near in found if not is_near]))
    if as_json:
        print_json([dict(zip(("subscription", "day", "papers", "far"), one, strict=True)) for one in checked])
        return
    for subscription, day, number, far in checked:
        which = write_day(day, here.now) if day else "the newest stored papers"
        near = f"{number - len(far):,} of {count(number, 'paper')}"
        say(f"{subscription}: {near} would have been in the top tenth of {which}.")
        why = {True: "is unlike the others", False: "has no abstract: add its arXiv id or DOI"}
        lines = [f"{_name_paper(paper)}: it {why[bool(paper.abstract)]}." for paper in far]
        _print_first("  not ", lines, " (--json lists all)")


@command.command()
@click.argument("name", metavar="SUBSCRIPTION")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--less", is_flag=True, help="What is like them comes later.")
@click.pass_context
def add(ctx: click.Context, name: str, ids: tuple[str, ...], *, less: bool) -> None:
    """Show more like the papers ID in SUBSCRIPTION, or less."""
    wanted = list(map(ArxivId.parse, ids))
    opinion = Opinion.LESS if less else Opinion.MORE
    with opened_store(ctx) as here:
        with here.store.read() as conn:
            due = require_subscription(here.config, conn, name)
            stored = complete(conn, [LibraryPaper("", arxiv_id=id_) for id_ in wanted])
        papers = {id_: paper for id_, paper in zip(wanted, stored, strict=True) if paper.title}
        if unknown := [id_ for id_ in wanted if id_ not in papers]:
            with Workbench(here.config, here.clock, here.now, here.zone, here.store).asking() as client:
                papers |= fetch_texts(client, unknown)
        if missing := [str(id_) for id_ in wanted if id_ not in papers]:
            hint = "Nothing was added. Check the id."
            raise UnknownName(f"arXiv knows no paper {', '.join(missing)}", hint=hint)
        with here.store.begin() as conn:
            new = {id_: save_like(conn, due.id, papers[id_], opinion, here.now) for id_ in wanted}
    for id_, is_new in new.items():
        say(f"{name}: {opinion} like “{tex.to_plain(papers[id_].title)}”{'' if is_new else ', as before'}.")
    if any(new.values()):
        say(f"That counts from the next digest on: `digest preview {name} --next`.")


@command.command()
@click.argument("name", metavar="SUBSCRIPTION")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.pass_context
def remove(ctx: click.Context, name: str, ids: tuple[str, ...]) -> None:
    """Undo what was said of the papers ID in SUBSCRIPTION."""
    wanted = list(map(ArxivId.parse, ids))
    with opened_store(ctx) as here, here.store.begin() as conn:
        due = require_subscription(here.config, conn, name)
        removed = {id_: delete_like(conn, due.id, id_) for id_ in wanted}
    for id_, was_there in removed.items():
        say(f"{name}: {id_} counts no more." if was_there else f"{name}: nothing was said of {id_}.")
