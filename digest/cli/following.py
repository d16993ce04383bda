"""`digest query author`: who bears a name among the stored papers, and the query that follows one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from digest.cli.storing import opened_store
from digest.cli.telling import json_option, print_json
from digest.counting import count
from digest.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from digest.papers import Paper
    from digest.query import Condition, Node, Query
    from digest.query.namesakes import Namesake, Namesakes
    from digest.query.telling_apart import Narrowing

_LABEL = 12
_MOST_NAMED = 4
_MOST_UNCLEAR = 6
_WIDEST = 84
_HELD = "\u00a0"
"""A blank at which no line ends: lists are broken between names alone."""

_LONGEST_KEY = 24
"""Letters of a name that become part of a saved query's name."""


class _Found(NamedTuple):
    """What is known of a name.

    Attributes:
        person: the condition on the name.
        query: the query as far as the caller chose it.
        stored: how many papers are stored.
        namesakes: who bears the name, on the papers the query brings.
        near: those of them with a paper in the categories of the saved queries.
        narrowings: a query for each, in the order of `namesakes.people`.
        categories: those of the saved queries, as clauses.
        saved: the saved queries by name, each in its one form, "" where it can't be read.
    """

    person: Condition
    query: Node
    stored: int
    namesakes: Namesakes
    near: tuple[Namesake, ...]
    narrowings: tuple[Narrowing, ...]
    categories: tuple[str, ...]
    saved: Mapping[str, str]


@click.command("author")
@click.argument("name", metavar="NAME")
@click.option("--with", "co_authors", metavar="NAME", multiple=True, help="Only papers with this co-author.")
@click.option("--category", "categories", metavar="CATEGORY", multiple=True, help="Only papers of this category.")
@click.option("--all", "shows_all", is_flag=True, help="Also people outside the categories of your saved queries.")
@json_option
@click.pass_context
def author(
    ctx: click.Context,
    name: str,
    co_authors: tuple[str, ...],
    categories: tuple[str, ...],
    *,
    shows_all: bool,
    as_json: bool,
) -> None:
    """Say who bears NAME among stored papers, and how to follow one.

    NAME is a full name. Several conditions are alternatives: one of them must be met.

    \b
    digest query author "Keiko Lindquell"
    digest query author "Lindquell, K." --with "Ada Müller" --category cs.PF
    """  # noqa: D301 - click reads the backspace, which must be one
    person = _read_person(name)
    clauses = [*map(_read_category, categories), *map(_read_person, co_authors)]
    with opened_store(ctx) as here, here.store.read() as conn:
        found = _look_up(conn, person, clauses, {query.name: query.text for query in here.config.queries})
    if as_json:
        print_json(_as_json(found))
    else:
        _print(found, shows_all=shows_all or bool(clauses))


def _read_person(name: str) -> Condition:
    """Return the condition on a name.

    Raises:
        UsageError: it is no full name.
    """
    from digest.query import Prefix, Shape  # noqa: PLC0415 - the stack is loaded by the command that needs it
    from digest.query.people import Person, UnclearPerson, has_no_blanks  # noqa: PLC0415 - the same
    from digest.query.tree import intern_condition  # noqa: PLC0415 - the same

    hint = 'Write given and last name: digest query author "Keiko Lindquell".'
    if has_no_blanks(name):
        latin = 'Papers print names in Latin letters as a rule: digest query author "Wei Wang".'
        hint = f"{latin} What prints it as it stands: digest query check 'au:{name.strip()}'."
    try:
        return intern_condition(Prefix.PERSON, Shape.PHRASE, Person.parse(name).text)
    except UnclearPerson as error:
        raise UsageError(str(error), hint=hint) from error


def _read_category(name: str) -> Condition:
    """Return the condition on a category; remarks on it go to standard error.

    Raises:
        UsageError: it can't be one.
    """
    from digest.query import Condition, parse_query  # noqa: PLC0415 - the same

    query = parse_query(f"cat:{name}")
    if not isinstance(query.tree, Condition):
        raise UsageError(f"{name!r} can't be the name of a category", hint="Write one, such as cs.PF.")
    for note in query.notes:
        click.echo(f"note: {note.message}", err=True)
    return query.tree


def _look_up(
    conn: Connection, person: Condition, clauses: Sequence[Condition], configured: Mapping[str, str]
) -> _Found:
    from digest.query import analyse, matches  # noqa: PLC0415 - the same
    from digest.query.namesakes import find_namesakes  # noqa: PLC0415 - the same
    from digest.query.people import PersonPattern  # noqa: PLC0415 - the same
    from digest.query.printing import print_condition  # noqa: PLC0415 - the same
    from digest.query.telling_apart import narrow, tell_apart  # noqa: PLC0415 - the same
    from digest.store import overview  # noqa: PLC0415 - the same
    from digest.store.authors import load_papers_naming  # noqa: PLC0415 - the same

    query = narrow(person, clauses)
    pattern = PersonPattern.parse(person.text)
    words = {ending.rpartition("-")[2] for ending in pattern.endings}
    papers = [analyse(paper) for paper in load_papers_naming(conn, words)]
    namesakes = find_namesakes(pattern, [paper for paper in papers if matches(query, paper)])
    saved = _read_saved(conn, configured)
    yours = [clause for query in saved.values() if query for clause in _walk_categories(query.tree)]
    near = tuple(
        one for one in namesakes.people if any(matches(clause, paper) for clause in yours for paper in one.papers)
    )
    narrowings = tell_apart(person, namesakes.people, namesakes.unclear)
    named = tuple(dict.fromkeys(map(print_condition, yours)))
    forms = {name: one.canonical if one else "" for name, one in saved.items()}
    return _Found(person, query, overview.count_papers(conn), namesakes, near, narrowings, named, forms)


def _read_saved(conn: Connection, configured: Mapping[str, str]) -> dict[str, Query | None]:
    """Return the saved queries of the store and of the file by name; None for one that can't be read."""
    from digest.errors import QueryError  # noqa: PLC0415 - the same
    from digest.query import parse_query  # noqa: PLC0415 - the same
    from digest.store import queries as query_store  # noqa: PLC0415 - the same

    texts = {saved.name: saved.text for saved in query_store.load_queries(conn)} | dict(configured)
    found: dict[str, Query | None] = {}
    for name, text in texts.items():
        try:
            found[name] = parse_query(text)
        except QueryError:
            found[name] = None  # shown by `digest query list` until mended
    return found


def _walk_categories(node: Node) -> Iterator[Condition]:
    """Yield the conditions on categories, those that exclude left out."""
    from digest.query import And, Condition, Or, Prefix  # noqa: PLC0415 - the same

    match node:
        case Condition(prefix=Prefix.CATEGORY):
            yield node
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _walk_categories(operand)
        case _:
            return


def _print(found: _Found, *, shows_all: bool) -> None:
    from digest.query.printing import print_tree  # noqa: PLC0415 - the same

    people = found.namesakes.people
    if not people and not found.namesakes.unclear:
        _print_nobody(found)
        return
    click.echo(f"{click.style(print_tree(found.query), bold=True)} among {count(found.stored, 'stored paper')}")
    _print_line("met as", " · ".join(f"{name} {papers}" for name, papers in found.namesakes.names), indent=0)
    shown = people if shows_all or not found.near else found.near
    click.echo(f"\n{_describe_ambiguity(found)}")
    for number, one in enumerate(shown, 1):
        _print_person(number, one, found.narrowings[people.index(one)], is_chosen=found.query is not found.person)
    hidden = len(people) - len(shown)
    if hidden:
        click.echo(f"\n{hidden:,} more outside your categories: --all shows {'them' if hidden > 1 else 'who'}.")
    _print_unclear(found.namesakes.unclear)
    _print_paste(found, shown)


def _print_nobody(found: _Found) -> None:
    from digest.query.printing import print_tree  # noqa: PLC0415 - the same

    if not found.stored:
        click.echo("No papers are stored yet: `digest run` begins to store what arXiv announces.")
    else:
        click.echo(f"None of {count(found.stored, 'stored paper')} meets {print_tree(found.query)}.")
    click.echo(f"arXiv may know more: digest try '{print_tree(found.query)}'")


def _describe_ambiguity(found: _Found) -> str:

    people, near = len(found.namesakes.people), len(found.near)
    if found.query is not found.person:
        verb = "meets" if people == 1 else "meet"
        return f"{count(people, 'person', 'people')} of this name {verb} it, as far as the papers tell."
    if people == 1:
        return "One person bears this name, as far as the papers tell."
    if not near or near == people:
        where = " in your categories" if near else ""
        return f"{people} people share this name{where}, as far as the papers tell."
    verb = "person has" if near == 1 else "people share"
    return f"{near} {verb} this name in your categories, {people - near:,} more elsewhere."


def _print_person(number: int, one: Namesake, narrowing: Narrowing, *, is_chosen: bool) -> None:
    from digest import tex  # noqa: PLC0415 - the same
    from digest.cli.wording import cut  # noqa: PLC0415 - the same

    first, last = one.years
    years = str(first) if first == last else f"{first}–{last}"
    fullest, *forms = sorted((name for name, _ in one.names), key=len, reverse=True)
    others = f" ({', '.join(forms[: _MOST_NAMED - 1])})" if forms else ""
    head = f"{number}  {click.style(fullest, bold=True)}{others}"
    click.echo(f"\n{head}, {count(len(one.papers), 'paper')}, {years}")
    _print_line("categories", _join(one.categories))
    _print_line("with", _join(one.co_authors) or "nobody")
    _print_line("at", "; ".join(one.affiliations[:2]))
    latest = one.papers[0]
    _print_line("latest", cut(f"{latest.id}  {tex.to_plain(latest.title)}", _WIDEST))
    if not is_chosen:
        _print_line("to follow", narrowing.query)
        foreign = [f"{narrowing.wrong:,} of others"] * bool(narrowing.wrong)
        foreign += [f"{narrowing.unclear:,} that may be anybody's"] * bool(narrowing.unclear)
        more = f", and {' and '.join(foreign)}" if foreign else ""
        _print_line("", f"brings {narrowing.found:,} of {count(len(one.papers), 'paper')}{more}")


def _join(counted: Sequence[tuple[str, int]]) -> str:
    more = len(counted) - _MOST_NAMED
    named = " · ".join(f"{name} {papers}" for name, papers in counted[:_MOST_NAMED])
    return named + (f" · {more:,} more" if more > 0 else "")


def _print_line(label: str, text: str, *, indent: int = 3) -> None:
    from digest.cli.wording import wrap  # noqa: PLC0415 - the same

    held = text.replace(" ", _HELD).replace(f"{_HELD}·{_HELD}", f"{_HELD}· ") if " · " in text else text
    for number, line in enumerate(wrap(held, _WIDEST) if text else ()):
        name = f"{'' if number else label:<{_LABEL}}"
        click.echo(f"{' ' * indent}{click.style(name, dim=True)}{line.replace(_HELD, ' ')}")


def _print_unclear(unclear: Sequence[Paper]) -> None:

    if unclear:
        ids = ", ".join(str(paper.id) for paper in unclear[:_MOST_UNCLEAR])
        more = "" if len(unclear) <= _MOST_UNCLEAR else ", …"
        verb = "fits" if len(unclear) == 1 else "fit"
        click.echo(f"\n{count(len(unclear), 'paper')} {verb} several of them: {ids}{more}")


def _print_paste(found: _Found, shown: Iterable[Namesake]) -> None:
    from digest.config.writing import write_toml  # noqa: PLC0415 - the same
    from digest.query.printing import print_tree  # noqa: PLC0415 - the same

    people = found.namesakes.people
    is_chosen = found.query is not found.person
    first = next(iter(shown), None)
    text = print_tree(found.query) if is_chosen or first is None else found.narrowings[people.index(first)].query
    is_alone = is_chosen or len(people) <= 1
    it = "it" if is_alone else "the first"
    if name := _find_saved(text, found.saved):
        click.echo(f"\nThe query that follows {it} is saved already, as {name}.")
        return
    key = _choose_key(found.person, found.saved)
    how = (
        "To save it, write below [queries] in digest.toml:"
        if is_alone
        else "To save one of them, write what follows it below [queries] in digest.toml; the first would be:"
    )
    click.echo(f"\n{how}\n{key} = {write_toml(text)}")


def _find_saved(text: str, saved: Mapping[str, str]) -> str:
    """Return the name of the saved query that means the same, "" where there is none."""
    from digest.query import parse_query  # noqa: PLC0415 - the same

    wanted = parse_query(text).canonical
    return next((name for name, canonical in saved.items() if canonical == wanted), "")


def _choose_key(person: Condition, saved: Container[str]) -> str:
    """Return a name for a new saved query that none has: `lindquell`, `keiko-lindquell`, else `lindquell-2`."""
    from itertools import chain, count  # noqa: PLC0415 - the same

    from digest.query.people import Person  # noqa: PLC0415 - the same
    from digest.query.words import fold  # noqa: PLC0415 - the same

    parsed = Person.parse(person.text)
    given, last = (
        "".join(letter for letter in fold(name) if letter.isascii() and letter.isalnum())[:_LONGEST_KEY]
        for name in (parsed.given[0], parsed.last[-1])
    )
    last = last or "person"
    keys = (last, f"{given}-{last}") if given else (last,)
    numbered = (f"{last}-{number}" for number in count(2))
    return next(key for key in chain(keys, numbered) if key not in saved)


def _as_json(found: _Found) -> dict[str, object]:
    from digest.query.printing import print_tree  # noqa: PLC0415 - the same

    return {
        "query": print_tree(found.query),
        "papers_stored": found.stored,
        "names": dict(found.namesakes.names),
        "your_categories": found.categories,
        "people": [
            {
                "names": dict(one.names),
                "is_in_your_categories": one in found.near,
                "categories": dict(one.categories),
                "co_authors": dict(one.co_authors),
                "affiliations": one.affiliations,
                "years": one.years,
                "papers": [str(paper.id) for paper in one.papers],
                "latest": {"id": str(one.papers[0].id), "title": one.papers[0].title},
                "follow": {
                    "query": narrowing.query,
                    "papers": narrowing.found,
                    "papers_of_others": narrowing.wrong,
                    "papers_unclear": narrowing.unclear,
                },
            }
            for one, narrowing in zip(found.namesakes.people, found.narrowings, strict=True)
        ],
        "unclear": [str(paper.id) for paper in found.namesakes.unclear],
    }
