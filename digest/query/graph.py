"""Many boolean queries as one graph: equal conditions and equal expressions are one node each.

A node is a number. What points to a node is a reference: twice the number, plus one where the node is
wanted absent. So NOT is no node, and two of them cancel. Nodes lie in flat arrays: a hundred thousand
queries have half a million of them.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Kind(IntEnum):
    """What a node is.

    `LEAF`: one thing to detect in a paper. `AND`, `OR`: of its operands. `SPREAD`: the OR that one `all:`
    condition amounts to; it stays a node of its own within other ORs, since many queries share it.
    """

    LEAF = 0
    AND = 1
    OR = 2
    SPREAD = 3


_LEAF, _AND, _SPREAD = (
    Kind.LEAF,
    Kind.AND,
    Kind.SPREAD,
)  # naming a member takes Python 3.11 as long as joining two nodes
_KEYS = [kind.to_bytes() for kind in Kind]

ALWAYS = 0
"""The reference that every paper meets; `negate(ALWAYS)` none does."""


def negate(reference: int) -> int:
    """Return the reference that is met where this one is not."""
    return reference ^ 1


class Graph:
    """Nodes, each after its operands.

    Attributes:
        kinds: node -> its `Kind`.
        levels: node -> 0 for leaves, else one more than the highest of its operands.
        starts: node -> where its operands begin in `operands`; one more at the end.
        operands: references, in growing order within a node.
    """

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.levels = array("H")
        self.starts = array("I", (0,))
        self.operands = array("I")
        self._nodes: dict[int | bytes, int] = {}
        self.add_leaf()  # ALWAYS

    def __len__(self) -> int:
        return len(self.kinds)

    def add_leaf(self) -> int:
        """Return a new leaf."""
        node = len(self.kinds)
        self.kinds.append(_LEAF)
        self.levels.append(0)
        self.starts.append(len(self.operands))
        return node

    def join(self, kind: Kind, references: Iterable[int]) -> int:
        """Return a reference to the node that joins these; the same one for the same operands in any order.

        An operand that is a node of the same kind is taken apart, but for a `SPREAD`.
        """
        distinct, kinds = set(references), self.kinds
        if kind is not _SPREAD:
            for reference in [one for one in distinct if kinds[one >> 1] == kind and not one & 1]:
                distinct.remove(reference)
                distinct.update(self.list_operands(reference >> 1))
        if kind is _AND:
            distinct.discard(ALWAYS)
        if len(distinct) < 2:  # noqa: PLR2004  # there is nothing to join
            return distinct.pop() if distinct else ALWAYS if kind is _AND else negate(ALWAYS)
        ordered = sorted(distinct)
        key: int | bytes
        if len(ordered) == 2:  # noqa: PLR2004  # as most are: one number is found sooner, and takes less
            key = (ordered[0] << 32 | ordered[1]) << 2 | kind
        else:
            key = _KEYS[kind] + array("I", ordered).tobytes()
        node = self._nodes.get(key)
        if node is None:
            levels = self.levels
            level = 1 + max([levels[reference >> 1] for reference in ordered])
            node = self._nodes[key] = len(kinds)
            kinds.append(kind)
            levels.append(level)
            self.operands.extend(ordered)
            self.starts.append(len(self.operands))
        return node << 1

    def list_operands(self, node: int) -> array[int]:
        """Return the references a node joins."""
        return self.operands[self.starts[node] : self.starts[node + 1]]
