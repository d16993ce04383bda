"""`digest library`: what libraries hold, how well they tell papers apart, what a reader likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
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
from digest.cli.output import Part, answers, echo_folded, style
from digest.config import Config
from digest.config.addresses import resolve_sources
from digest.config.values import read_sources, suggest
from digest.interest.libraries import (
    check_library,
    complete_papers,
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
from digest.store import subscriptions
from digest.tex import to_plain

_HOW_TO_GIVE = "`digest subscription edit NAME library=lab.bib` gives a subscription a library."
_SHOWN = 10
"""Papers that are named; the others are counted."""


@click.group(cls=CommandGroup)
def command() -> None:
    """Libraries: the papers by which digests are put in order."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Libraries and likes.

    `names` says by source what a library is called, `said` by source why it can't be read, "" if
    it can. `likes` are by subscription.
    """

    libraries: tuple[StoredLibrary, ...]
    names: Mapping[str, str]
    said: Mapping[str, str]
    likes: Mapping[str, tuple[StoredLibraryPaper, ...]]

    @property
    def exit_code(self) -> int:
        """3 if a file can't be read, 4 if Zotero can't."""
        codes = [0]
        for one in self.libraries:
            if one.trouble:
                is_zotero = one.source.startswith(ZOTERO)
                error = OutsideError if is_zotero else ConfigurationError
                codes.append(error.exit_code)
        return max(codes)


def _show(held: Holdings) -> Iterator[Part]:
    if not (held.libraries or held.likes):
        yield f"No subscription has a library. {_HOW_TO_GIVE}"
    for library in held.libraries:
        yield style(held.names[library.source], bold=True)
        for line in _describe_library(library, held.said[library.source]):
            yield f"  {line}"
    for subscription, liked in held.likes.items():
        yield style(f"likes of {subscription}", bold=True)
        for one in liked:
            yield f"  {one.opinion} like {one.paper.arxiv_id}: {to_plain(one.paper.title)}"


def _describe_library(library: StoredLibrary, trouble: str) -> Iterator[str]:
    if trouble:
        yield trouble
    if library.papers:
        yield _count_abstracts(library.papers)
    yield from _count_by_collection(library.papers)
    bare = [one.paper for one in library.papers if not one.paper.abstract]
    yield from _list_first([f"no abstract: {_name_paper(paper)}" for paper in bare])
    for reason in library.troubles:
        yield f"not read: {reason}"


def _count_abstracts(papers: Sequence[StoredLibraryPaper]) -> str:
    """Say how many papers have an abstract, and what becomes of the others."""
    bare = [one for one in papers if not one.paper.abstract]
    unasked = 0
    nameless = 0
    for one in bare:
        if one.is_unasked:
            unasked += 1
        elif not one.paper.title:
            nameless += 1
    said = f"{count(len(papers), 'paper')}, {len(papers) - len(bare):,} with an abstract."
    if unasked:
        said += f" The next check asks arXiv for {unasked:,} more."
    if nameless:
        said += f" {nameless:,} without a title can't be compared."
    return said


def _count_by_collection(papers: Sequence[StoredLibraryPaper]) -> Iterator[str]:
    """Yield how many papers each collection has, if there are collections."""
    counts = Counter(one.paper.collection for one in papers)
    if not any(counts):
        return
    for collection, number in sorted(counts.items()):
        yield f"{number:>6,}  {collection or 'in no collection'}"


def _name_paper(paper: LibraryPaper) -> str:
    if paper.title:
        return f"“{to_plain(paper.title)}”"
    return str(paper.arxiv_id or paper.doi)


def _list_first(lines: Sequence[str], where_all: str = "") -> Iterator[str]:
    """Yield the first lines, then how many there are beside them, and where all are shown."""
    yield from lines[:_SHOWN]
    others = len(lines) - _SHOWN
    if others > 0:
        yield f"and {others:,} more{where_all}"


@command.command()
@click.argument("name", metavar="[SUBSCRIPTION|SOURCE]", required=False)
@answers(_show)
@click.pass_context
def show(ctx: click.Context, name: str | None) -> Holdings:
    """Show what libraries hold, and what readers like.

    Files are read as they are now. SOURCE may be a file that no subscription has yet.
    Nothing is stored.
    Exit code 3 if a file can't be read, 4 if Zotero can't.
    """
    with opened_workbench(ctx) as bench:
        config = bench.config
        names = {}
        said = {}
        held = []
        for source in _choose_sources(config, name):
            library = read_anew(config, bench.clock, bench.store, source)
            held.append(library)
            names[library.source] = name_source(config, library.source)
            said[library.source] = ""
            if library.trouble:
                said[library.source] = describe_trouble(config, library, bench.here.now)
        return Holdings(tuple(held), names, said, likes=_load_likes(bench, name))


def _choose_sources(config: Config, name: str | None) -> list[str]:
    """Return the sources of the named subscription, of all for None, or the source named itself."""
    named = {one.name: (*one.library, *one.not_like) for one in config.subscriptions}
    if name is None:
        return list(dict.fromkeys(chain.from_iterable(named.values())))
    if name in named:
        return list(dict.fromkeys(named[name]))
    (source,) = resolve_sources(read_sources(name), Path.cwd())
    if source.startswith(ZOTERO) or Path(source).exists():
        return [source]
    hint = suggest(name, named, "") or "Check the path of the file."
    raise UnknownName(f"there is no subscription and no file {name!r}", hint=hint)


def _load_likes(bench: Workbench, name: str | None) -> Mapping[str, tuple[StoredLibraryPaper, ...]]:
    if bench.store is None:
        return {}
    likes = {}
    with bench.store.read() as conn:
        for due in subscriptions.load(conn):
            is_asked = name in (None, due.subscription.name)
            if due.is_personal or not is_asked:
                continue
            liked = load_likes(conn, due.id)
            if liked:
                likes[due.subscription.name] = liked
    return likes


@dataclass(frozen=True, slots=True)
class LibraryCheck:
    """How well a library finds its own papers.

    `far` are its papers that would not have been in the top tenth of the day. Without a day, it is
    the top tenth of the newest papers.
    """

    subscription: str
    day: date | None
    papers: int
    far: tuple[LibraryPaper, ...]


def _show_checks(checked: Sequence[LibraryCheck]) -> Iterator[Part]:
    for one in checked:
        which = f"{one.day:%a %-d %b}" if one.day else "the newest stored papers"
        near = one.papers - len(one.far)
        of_all = f"{near:,} of {count(one.papers, 'paper')}"
        yield f"{one.subscription}: {of_all} would have been in the top tenth of {which}."
        lines = [_explain_far(paper) for paper in one.far]
        for line in _list_first(lines, " (--json lists all)"):
            yield f"  {line}"


def _explain_far(paper: LibraryPaper) -> str:
    name = _name_paper(paper)
    if not paper.abstract:
        return f"not {name}: it has no abstract: add its arXiv id or DOI."
    return f"not {name}: it is unlike the others."


@command.command()
@click.argument("name", metavar="[SUBSCRIPTION]", required=False)
@answers(_show_checks)
@click.pass_context
def check(ctx: click.Context, name: str | None) -> tuple[LibraryCheck, ...]:
    """Leave each paper out in turn: do the others bring it to the top?

    The top is the top tenth of the newest day with enough stored papers. A library that finds
    most of its own papers again will find new ones like them.
    """
    with opened_store(ctx) as bench:
        wanted = [
            one for one in bench.config.subscriptions if one.library and name in (None, one.name)
        ]
        if not wanted:
            what = f"{name} has no library" if name else "no subscription has a library"
            raise UnknownName(what, hint=_HOW_TO_GIVE)
        return tuple(_check_library(bench, one) for one in wanted)


def _check_library(bench: Installation, wanted: Subscription) -> LibraryCheck:
    by_text = {}  # a paper in two libraries counts once, or it would bring itself to the top
    for source in wanted.library:
        library = read_anew(bench.config, bench.clock, bench.store, source)
        for held in library.papers:
            if held.paper.title:
                by_text[held.paper.title, held.paper.abstract] = held.paper
    with bench.store.read() as conn:
        day, found = check_library(conn, list(by_text.values()))
    far = tuple(paper for paper, is_near in found if not is_near)
    return LibraryCheck(wanted.name, day, len(by_text), far)


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
            stored = complete_papers(conn, [LibraryPaper("", arxiv_id=id_) for id_ in wanted])
        papers = _fetch_missing(bench, wanted, stored)
        now = bench.here.now
        with bench.store.begin() as conn:
            new = {id_: save_like(conn, due.id, papers[id_], opinion, now) for id_ in wanted}
    for id_, is_new in new.items():
        title = to_plain(papers[id_].title)
        before = "" if is_new else ", as before"
        echo_folded(f"{name}: {opinion} like “{title}”{before}.")
    if any(new.values()):
        echo_folded(f"That counts from the next digest on: `digest preview {name} --next`.")


def _fetch_missing(
    bench: Installation, wanted: Sequence[ArxivId], stored: Sequence[LibraryPaper]
) -> dict[ArxivId, LibraryPaper]:
    """Return papers with their texts: what is not stored comes from arXiv."""
    papers = {id_: paper for id_, paper in zip(wanted, stored, strict=True) if paper.title}
    unknown = [id_ for id_ in wanted if id_ not in papers]
    if unknown:
        with bench.asking() as client:
            papers |= fetch_texts(client, unknown)
    missing = ", ".join(str(id_) for id_ in wanted if id_ not in papers)
    if missing:
        raise UnknownName(
            f"arXiv knows no paper {missing}", hint="Nothing was added. Check the id."
        )
    return papers


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
        if was_there:
            echo_folded(f"{name}: {id_} counts no more.")
        else:
            echo_folded(f"{name}: nothing was said of {id_}.")
