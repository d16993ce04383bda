"""`digest library`: what the libraries hold, how well they tell papers apart, and what a reader likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from operator import itemgetter
from pathlib import Path

import click

from digest.cli.commands import CommandGroup
from digest.cli.context import (
    Installation,
    Workbench,
    opened_store,
    opened_workbench,
    require_subscription,
)
from digest.cli.output import Part, answers, say, style
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
from digest.interest.tables import (
    StoredLibrary,
    StoredLibraryPaper,
    delete_like,
    load_likes,
    save_like,
)
from digest.model.errors import ConfigurationError, OutsideError, UnknownName
from digest.model.libraries import ZOTERO, LibraryPaper, Opinion
from digest.model.numbers import count
from digest.model.papers import ArxivId
from digest.model.subscriptions import Subscription
from digest.store.subscriptions import load_subscriptions
from digest.tex import to_plain

_NONE = "`digest subscription edit NAME library=lab.bib` gives a subscription a library."
_SHOWN = 10
"""Papers that are named; the others are counted."""


@click.group(cls=CommandGroup)
def command() -> None:
    """Libraries: the papers by which digests are put in order."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Libraries, what they are called, why some can't be read in words, by source; likes, by subscription."""

    libraries: tuple[StoredLibrary, ...]
    names: Mapping[str, str]
    said: Mapping[str, str]
    likes: Mapping[str, tuple[StoredLibraryPaper, ...]]

    @property
    def exit_code(self) -> int:
        """3 if a file can't be read, 4 if Zotero can't."""
        return max(
            (
                (OutsideError if one.source.startswith(ZOTERO) else ConfigurationError).exit_code
                for one in self.libraries
                if one.trouble
            ),
            default=0,
        )


def _show(held: Holdings) -> Iterator[Part]:
    if not (held.libraries or held.likes):
        yield f"No subscription has a library. {_NONE}"
    for library in held.libraries:
        yield style(held.names[library.source], bold=True)
        yield from (f"  {line}" for line in _describe_library(library, held.said[library.source]))
    for subscription, liked in held.likes.items():
        yield style(f"likes of {subscription}", bold=True)
        for one in liked:
            yield f"  {one.opinion} like {one.paper.arxiv_id}: {to_plain(one.paper.title)}"


def _describe_library(library: StoredLibrary, trouble: str) -> Iterator[str]:
    if trouble:
        yield trouble
    without = [one for one in library.papers if not one.paper.abstract]
    if number := len(library.papers):
        said = f"{count(number, 'paper')}, {number - len(without):,} with an abstract."
        asked = sum(one.is_unasked for one in without)
        said += f" The next check asks arXiv for {asked:,} more." if asked else ""
        nameless = sum(not (one.paper.title or one.is_unasked) for one in without)
        yield said + (f" {nameless:,} without a title can't be compared." if nameless else "")
    collections = sorted(Counter(one.paper.collection for one in library.papers).items())
    for collection, number in (
        collections if len(collections) > 1 or any(map(itemgetter(0), collections)) else ()
    ):
        yield f"{number:>6,}  {collection or 'in no collection'}"
    yield from _list_first([f"no abstract: {_name_paper(one.paper)}" for one in without])
    yield from (f"not read: {trouble}" for trouble in library.troubles)


def _name_paper(paper: LibraryPaper) -> str:
    return f"“{to_plain(paper.title)}”" if paper.title else str(paper.arxiv_id or paper.doi)


def _list_first(lines: Sequence[str], more: str = "") -> Iterator[str]:
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"and {len(lines) - _SHOWN:,} more{more}"


@command.command()
@click.argument("name", metavar="[SUBSCRIPTION|SOURCE]", required=False)
@answers(_show)
@click.pass_context
def show(ctx: click.Context, name: str | None) -> Holdings:
    """Show what libraries hold, and what readers like.

    Files are read as they are now. SOURCE may be a file that no subscription has yet. Nothing is stored.
    Exit code 3 if a file can't be read, 4 if Zotero can't.
    """
    with opened_workbench(ctx) as bench:
        config, sources = bench.config, _choose_sources(bench.config, name)
        held = [read_anew(config, bench.clock, bench.store, source) for source in sources]
        return Holdings(
            libraries=tuple(held),
            names={one.source: name_source(config, one.source) for one in held},
            said={
                one.source: describe_trouble(config, one, bench.here.now) if one.trouble else ""
                for one in held
            },
            likes=_load_likes(bench, name),
        )


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


def _load_likes(bench: Workbench, name: str | None) -> Mapping[str, tuple[StoredLibraryPaper, ...]]:
    if bench.store is None:
        return {}
    with bench.store.read() as conn:
        dues = [due for due in load_subscriptions(conn) if not due.is_personal]
        likes = {due.subscription.name: load_likes(conn, due.id) for due in dues}
        return {one: liked for one, liked in likes.items() if liked and name in (None, one)}


@dataclass(frozen=True, slots=True)
class LibraryCheck:
    """How well a library finds its own papers: which are far from the top of a day, None for the newest papers."""

    subscription: str
    day: date | None
    papers: int
    far: tuple[LibraryPaper, ...]


def _show_checks(checked: Sequence[LibraryCheck]) -> Iterator[Part]:
    for one in checked:
        which = f"{one.day:%a %-d %b}" if one.day else "the newest stored papers"
        near = f"{one.papers - len(one.far):,} of {count(one.papers, 'paper')}"
        yield f"{one.subscription}: {near} would have been in the top tenth of {which}."
        why = {True: "is unlike the others", False: "has no abstract: add its arXiv id or DOI"}
        lines = [f"not {_name_paper(paper)}: it {why[bool(paper.abstract)]}." for paper in one.far]
        yield from (f"  {line}" for line in _list_first(lines, " (--json lists all)"))


@command.command()
@click.argument("name", metavar="[SUBSCRIPTION]", required=False)
@answers(_show_checks)
@click.pass_context
def check(ctx: click.Context, name: str | None) -> tuple[LibraryCheck, ...]:
    """Leave each paper out in turn: do the others bring it to the top?

    The top is the top tenth of the newest day with enough stored papers. A library that finds most of its own
    papers again will find new ones like them.
    """
    with opened_store(ctx) as bench:
        wanted = [
            one for one in bench.config.subscriptions if one.library and name in (None, one.name)
        ]
        if not wanted:
            raise UnknownName(
                f"{name or 'no subscription'} has {'no' if name else 'a'} library", hint=_NONE
            )
        return tuple(_check(bench, one) for one in wanted)


def _check(bench: Installation, wanted: Subscription) -> LibraryCheck:
    libraries = [
        read_anew(bench.config, bench.clock, bench.store, source) for source in wanted.library
    ]
    papers = [each.paper for library in libraries for each in library.papers if each.paper.title]
    held = {(paper.title, paper.abstract): paper for paper in papers}
    with bench.store.read() as conn:
        day, found = check_library(conn, list(held.values()))
    return LibraryCheck(
        wanted.name, day, len(held), tuple(paper for paper, is_near in found if not is_near)
    )


@command.command()
@click.argument("name", metavar="SUBSCRIPTION")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--less", is_flag=True, help="What is like them comes later.")
@click.pass_context
def add(ctx: click.Context, name: str, ids: tuple[str, ...], *, less: bool) -> None:
    """Show more like the papers ID in SUBSCRIPTION, or less."""
    wanted = list(map(ArxivId.parse, ids))
    opinion = Opinion.LESS if less else Opinion.MORE
    with opened_store(ctx) as bench:
        with bench.store.read() as conn:
            due = require_subscription(bench.config, conn, name)
            stored = complete(conn, [LibraryPaper("", arxiv_id=id_) for id_ in wanted])
        papers = {id_: paper for id_, paper in zip(wanted, stored, strict=True) if paper.title}
        if unknown := [id_ for id_ in wanted if id_ not in papers]:
            with bench.asking() as client:
                papers |= fetch_texts(client, unknown)
        if missing := [str(id_) for id_ in wanted if id_ not in papers]:
            hint = "Nothing was added. Check the id."
            raise UnknownName(f"arXiv knows no paper {', '.join(missing)}", hint=hint)
        with bench.store.begin() as conn:
            new = {
                id_: save_like(conn, due.id, papers[id_], opinion, bench.here.now) for id_ in wanted
            }
    for id_, is_new in new.items():
        say(
            f"{name}: {opinion} like “{to_plain(papers[id_].title)}”{'' if is_new else ', as before'}."
        )
    if any(new.values()):
        say(f"That counts from the next digest on: `digest preview {name} --next`.")


@command.command()
@click.argument("name", metavar="SUBSCRIPTION")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.pass_context
def remove(ctx: click.Context, name: str, ids: tuple[str, ...]) -> None:
    """Undo what was said of the papers ID in SUBSCRIPTION."""
    wanted = list(map(ArxivId.parse, ids))
    with opened_store(ctx) as bench, bench.store.begin() as conn:
        due = require_subscription(bench.config, conn, name)
        removed = {id_: delete_like(conn, due.id, id_) for id_ in wanted}
    for id_, was_there in removed.items():
        say(
            f"{name}: {id_} counts no more." if was_there else f"{name}: nothing was said of {id_}."
        )
