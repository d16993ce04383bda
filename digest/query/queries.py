"""A query as read, and the one question it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from digest.query.analysis import AnalysedPaper, analyse
from digest.query.evaluation import Test, compile_tree
from digest.query.printing import print_canonical

if TYPE_CHECKING:
    from digest.papers import Paper
    from digest.query.notes import Note
    from digest.query.tree import Node


@dataclass(frozen=True)
class Query:
    """A saved query that could be read.

    Attributes:
        text: as written.
        tree: what it means, in the order written.
        notes: what its author should know: missing operators, words left out, unknown categories.
        pasted_as: the query made from the text, where that is a pasted address or a part of one; else "".
    """

    text: str
    tree: Node
    notes: tuple[Note, ...] = field(default=(), compare=False)
    pasted_as: str = field(default="", compare=False)

    @property
    def expression(self) -> str:
        """The query that was read: the text itself, or what was made of a pasted one."""
        return self.pasted_as or self.text

    @cached_property
    def canonical(self) -> str:
        """The one text all spellings of this query share; equal texts mean equal queries."""
        return print_canonical(self.tree)

    @cached_property
    def test(self) -> Test:
        """The query as a function of a paper made ready with `analyse`, compiled once."""
        return compile_tree(self.tree)


def matches(query: Query | Node, paper: Paper | AnalysedPaper) -> bool:
    """Tell whether a paper is meant by a query.

    Pass an `analyse`d paper where many queries look at it, and a Query rather than its tree where one
    looks at many papers: either is then prepared once.
    """
    test = query.test if isinstance(query, Query) else compile_tree(query)
    return test(analyse(paper))
