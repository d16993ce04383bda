"""Names, filters and tests that a template uses and nothing gives it, found without rendering it.

What stands in a branch that no sample takes would else fail on the day that takes it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from jinja2 import nodes
from jinja2.meta import find_undeclared_variables

from digest.errors import TemplateError
from digest.render.missing_names import describe_seen
from digest.render.nearness import suggest_near

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from _typeshed import DataclassInstance

    from digest.render.environments import Templates, TemplateSource

_EXCUSED_TESTS = ("defined", "undefined")
_EXCUSED_FILTERS = ("default", "d")
"""Ways to ask for a name that may be missing."""

_SCOPES = (nodes.For, nodes.Block, nodes.Macro, nodes.CallBlock, nodes.With, nodes.FilterBlock)
"""What is set within one of these is not known behind it."""


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name that nothing gives a template: what it is used as, the name, and where it stands."""

    what: str
    name: str
    place: str


def check_names(templates: Templates, name: str, context: type[DataclassInstance]) -> None:
    """See that a template, and all it takes in, uses only names it has.

    Args:
        templates: all templates.
        name: the template's name.
        context: what it is rendered with.

    Raises:
        TemplateError: there is another name, filter or test; or a template is missing or cannot be read.
    """
    sources = list(templates.trace(name))
    environment = templates.find_environment(name)
    seen = [field.name for field in fields(context)]
    known = {*seen, *environment.globals}
    for source in sources:
        known |= _list_kept(source.tree)
    for source in sources:
        # What is taken in stands in the midst of another, whose loops' names it sees.
        inner = set().union(*(_list_bound(other.tree) for other in sources if other is not source))
        for unknown in _find_unknown(source, known | inner):
            raise TemplateError(
                f"{unknown.place}: there is no `{unknown.name}`",
                hint=f"{suggest_near(unknown.name, known)} {describe_seen(name, seen)}".lstrip(),
            )
        for unknown in _find_missing(source, environment.filters, environment.tests):
            choices = environment.filters if unknown.what == "filter" else environment.tests
            raise TemplateError(
                f"{unknown.place}: there is no {unknown.what} `{unknown.name}`",
                hint=f"{suggest_near(unknown.name, choices)} There are {', '.join(sorted(choices))}.".lstrip(),
            )


def _find_unknown(source: TemplateSource, known: Collection[str]) -> Iterator[UnknownName]:
    unknown = find_undeclared_variables(source.tree) - {*known} - _list_excused(source.tree)
    for one in source.tree.find_all(nodes.Name):
        if one.name in unknown and one.ctx == "load":
            yield UnknownName("name", one.name, f"{source.place}, line {one.lineno}")


def _find_missing(
    source: TemplateSource, filters: Collection[str], tests: Collection[str]
) -> Iterator[UnknownName]:
    for what, kind, choices in (("filter", nodes.Filter, filters), ("test", nodes.Test, tests)):
        for one in source.tree.find_all(kind):
            if one.name not in choices:
                yield UnknownName(what, one.name, f"{source.place}, line {one.lineno}")


def _list_excused(tree: nodes.Template) -> frozenset[str]:
    asked = [one for one in tree.find_all(nodes.Test) if one.name in _EXCUSED_TESTS]
    defaulted = [one for one in tree.find_all(nodes.Filter) if one.name in _EXCUSED_FILTERS]
    return frozenset(one.node.name for one in (*asked, *defaulted) if isinstance(one.node, nodes.Name))


def _list_kept(tree: nodes.Template) -> set[str]:
    """Return the names a template sets outside all loops and blocks: those that extend it see them too."""
    return {name for node in _walk_open(tree) for name in _list_set(node)}


def _list_bound(tree: nodes.Template) -> set[str]:
    """Return every name that a template sets anywhere: a loop's, a macro's, its own."""
    return {name for node in tree.find_all(nodes.Node) for name in _list_set(node)}


def _list_set(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Macro) or (isinstance(node, nodes.Name) and node.ctx in ("store", "param")):
        yield node.name
    elif isinstance(node, nodes.Import):
        yield node.target
    elif isinstance(node, nodes.FromImport):
        yield from (one if isinstance(one, str) else one[1] for one in node.names)


def _walk_open(node: nodes.Node) -> Iterator[nodes.Node]:
    for child in node.iter_child_nodes():
        yield child
        if not isinstance(child, _SCOPES):
            yield from _walk_open(child)
