"""What a template names and does not have, told to whoever writes templates: in its words, not in Python's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import jinja2
from jinja2 import nodes
from jinja2.runtime import StrictUndefined, Undefined
from jinja2.utils import missing

from digest.render.nearness import suggest_near

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_NAMES = 60
"""A hint names so many at most."""


class MissingName(jinja2.UndefinedError):
    """A template asks for a name, or for what a value does not have.

    Args:
        message: Jinja's own words.
        owner: the value that has no such member; Jinja's `missing` for a name on its own.
        name: what was asked for; a number for a place in a list.
        is_told: Jinja's own words say more than the name.
    """

    def __init__(self, message: str, *, owner: object, name: object, is_told: bool) -> None:
        super().__init__(message)
        self.owner = owner
        self.name = name
        self.is_told = is_told


class StrictName(StrictUndefined):
    """Jinja's strict undefined value, whose error knows what was asked for."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: object = missing,
        name: str | None = None,
        exc: type[jinja2.TemplateRuntimeError] = jinja2.UndefinedError,
    ) -> None:
        if exc is jinja2.UndefinedError:
            exc = cast("Any", partial(MissingName, owner=obj, name=name, is_told=hint is not None))
        Undefined.__init__(self, hint, obj, name, exc)


def describe_missing(error: MissingName, tree: nodes.Template, line: int, seen: Iterable[str]) -> tuple[str, str]:
    """Say what a template asked for in vain, and what to write instead.

    Args:
        error: what Jinja found.
        tree: the template.
        line: where it asked.
        seen: the names it may use.

    Returns:
        What is wrong, and what to do.
    """
    name, owner = error.name, error.owner
    if error.is_told or name is None:
        return str(error), ""
    if owner is missing:
        given = {one.name for one in tree.find_all(nodes.Name) if one.ctx == "store"}
        return f"there is no `{name}`", suggest_near(str(name), [*seen, *sorted(given)])
    return _describe_member(name, owner, _find_owner(tree, name, line))


def _describe_member(name: object, owner: object, whose: str) -> tuple[str, str]:
    """Say what a value does not have; whose name in the template is given, "" where that cannot be told."""
    if owner is None:
        asked = f"Ask for it first: {{% if {whose} %}}…{{% endif %}}." if whose else ""
        return f"there is no `{name}` in {_quote(whose)}, which is empty here", asked
    if isinstance(owner, str):
        return f"there is no `{name}` in {_quote(whose)}, which is text: it has no parts", ""
    if isinstance(owner, Mapping) or (isinstance(owner, Sequence) and isinstance(name, int)):
        return f"there is no [{name}] in {_quote(whose)}, which holds {len(owner)}", ""
    if isinstance(owner, Sequence):
        looped = f"Write {{% for one in {whose} %}}{{{{ one.{name} }}}}{{% endfor %}}." if whose else ""
        return f"there is no `{name}` in {_quote(whose)}, which is a list", looped
    members = list_members(type(owner))
    there = f"There are {', '.join(members[:_MOST_NAMES])}." if members else ""
    hints = filter(None, (suggest_near(str(name), members), there))
    return f"there is no `{name}` in {_quote(whose)}", " ".join(hints)


def describe_seen(name: str, seen: Iterable[str]) -> str:
    """Say which names a template may use, and where more is said of them; "" for none."""
    names = ", ".join(sorted(seen))
    return f"This template sees {names}: `digest templates show {name}` says what each is." if names else ""


def list_members(kind: type) -> tuple[str, ...]:
    """Return the names a template may use of a value of a class, sorted."""
    return tuple(sorted(name for name in dir(kind) if not name.startswith("_")))


def _quote(whose: str) -> str:
    return f"`{whose}`" if whose else "what it is asked of"


def _find_owner(tree: nodes.Template, name: object, line: int) -> str:
    """Return what a template asks for a member, as it is written there; "" where that cannot be told."""
    asked: dict[str, None] = {}
    members: list[nodes.Getattr | nodes.Getitem] = [*tree.find_all(nodes.Getattr), *tree.find_all(nodes.Getitem)]
    for one in members:
        if one.lineno == line and _write(one).endswith((f".{name}", f"[{name!r}]")):
            asked[_write(one.node)] = None
    return next(iter(asked)) if len(asked) == 1 else ""


def _write(node: nodes.Node) -> str:
    """Write an expression as a template has it; "…" for what is more than names and members."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Getattr():
            return f"{_write(node.node)}.{node.attr}"
        case nodes.Getitem(node=owner, arg=nodes.Const(value=place)):
            return f"{_write(owner)}[{place!r}]"
        case _:
            return "…"
