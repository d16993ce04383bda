"""What a subscription's secret addresses are made from: names that stay with it, and are never another one's.

A subscription's addresses are made from the name it had at first, so that they stay as they are when it is
renamed. One that takes a name which another one's may be made from has its number beside it. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Row


def read_link_names(written: str, name: str) -> tuple[str, ...]:
    """Return what addresses are made from: new ones from the first; what was made from the others still works.

    Args:
        written: as stored, with blanks between; "" where an earlier release stored the subscription.
        name: the subscription's present name: an earlier release makes addresses from that.
    """
    return tuple(written.split()) or (name,)


def write_link_names(names: Sequence[str]) -> str:
    """Return names as they are stored."""
    return " ".join(names)


def choose_link_name(written: str, name: str) -> str:
    """Return what new addresses are made from, "" where that is the subscription's name."""
    first = read_link_names(written, name)[0]
    return "" if first == name else first


class LinkNames:
    """The names that addresses of stored subscriptions are made from.

    Args:
        stored: rows of all subscriptions.
    """

    def __init__(self, stored: Iterable[Row[Any]]) -> None:
        self._taken: set[str] = set()
        self._has_unknown = False
        for row in stored:
            self._taken.update(read_link_names(row.link_names, row.name))
            self._has_unknown = self._has_unknown or not row.link_names

    def may_begin(self, name: str) -> bool:
        """Whether a new subscription's addresses may be made from its bare name.

        Not where another one's are, nor where they may have been: nobody wrote down what a subscription that an
        earlier release stored was called before.
        """
        return name not in self._taken and not self._has_unknown

    def take(self, name: str) -> bool:
        """Take a name for one subscription; False where it is taken already."""
        if name in self._taken:
            return False
        self._taken.add(name)
        return True


def number_link_name(name: str, key: int) -> str:
    """Return what the addresses of a subscription with this key are made from where its name does not do."""
    return f"{name}#{key}"
