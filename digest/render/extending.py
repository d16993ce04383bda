"""Templates that extend others: which of their blocks stand in vain, as nothing that they extend has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jinja2 import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class StrayBlock:
    """A block that is never shown.

    Attributes:
        name: its name.
        line: where it stands, from 1.
        extended: the template that has none of that name.
        known: the names of the blocks there are.
    """

    name: str
    line: int
    extended: str
    known: tuple[str, ...]


def find_stray_blocks(tree: nodes.Template, parse: Callable[[str], nodes.Template]) -> tuple[StrayBlock, ...]:
    """Return the blocks of a template that are in nothing which it extends, however long the chain.

    A new block within one that is there is none of them: it is shown with that.

    Args:
        tree: the template.
        parse: reads another by its name.

    Raises:
        TemplateError: what it extends is missing or cannot be read.
    """
    extended = _find_extended(tree)
    known = _list_shown(extended, parse) if extended else None
    if known is None:
        return ()
    return tuple(
        StrayBlock(block.name, block.lineno, extended, known)
        for block in _list_outer_blocks(tree)
        if block.name not in known
    )


def _list_shown(name: str, parse: Callable[[str], nodes.Template]) -> tuple[str, ...] | None:
    """Return the names of the blocks that a template shows; None where that is decided while rendering."""
    chain: list[nodes.Template] = []
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        chain.append(parse(name))
        if next(chain[-1].find_all(nodes.Extends), None) is None:
            break
        name = _find_extended(chain[-1])
        if not name:
            return None
    else:
        return None  # they extend one another: rendering fails on it
    shown = dict.fromkeys(block.name for block in chain.pop().find_all(nodes.Block))
    for tree in reversed(chain):
        for block in tree.find_all(nodes.Block):
            if block.name in shown:
                shown |= dict.fromkeys(inner.name for inner in block.find_all(nodes.Block))
    return tuple(shown)


def _find_extended(tree: nodes.Template) -> str:
    """Return the name of what a template extends; "" for nothing, or what is only known while rendering."""
    named = [one.template for one in tree.find_all(nodes.Extends)]
    if len(named) == 1 and isinstance(named[0], nodes.Const) and isinstance(named[0].value, str):
        return named[0].value
    return ""


def _list_outer_blocks(node: nodes.Node) -> Iterator[nodes.Block]:
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Block):
            yield child
        else:
            yield from _list_outer_blocks(child)
