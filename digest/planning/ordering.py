"""In which order a digest tells its papers: the same whatever order they came in.

The newest mailing comes first where a digest stands for several; then the groups: kinds of announcement in
`KIND_ORDER`, or saved queries in the subscription's order, of which a paper stands under the first it matches.
Inside a group:

1. papers by somebody a query names in full (`author:"Keiko Lindquell"`, `au:"lindquell, k"`), then those by
   somebody it names in part (`au:lindquell`);
2. papers in whose title a phrase of several words was met, then those in whose title one word was;
3. papers that meet more distinct clauses;
4. the newest id.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from digest.announcements import Kind
from digest.papers import Field
from digest.subscriptions import Grouping

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from digest.messages import DigestEntry
    from digest.papers import ArxivId

    _Telling: TypeAlias = tuple[int, int, int, int, int, ArxivId]

KIND_ORDER = (Kind.NEW, Kind.KNOWN, Kind.CROSS_LIST, Kind.REPLACEMENT, Kind.METADATA, Kind.WITHDRAWAL)
"""Kinds as a digest tells them; of a paper with several changes the first one counts."""

_SEVERAL_WORDS = re.compile(r'\w+:"[^"]*\s[^"]*"')
"""A clause on a phrase, or on a name of several parts, as canonical text."""

_NAMES = ("au:", "author:")
_AUTHORS, _TITLE = Field.AUTHORS, Field.TITLE  # each mention of an enumeration's member is a call
_PLACES = {kind: place for place, kind in enumerate(KIND_ORDER)}


def order_entries(
    entries: Iterable[DigestEntry], group_by: Grouping, queries: Sequence[str]
) -> tuple[DigestEntry, ...]:
    """Return the entries of a digest in the order it tells them.

    Args:
        entries: one of each paper, in any order.
        group_by: what its groups are.
        queries: names of the saved queries in the subscription's order.
    """
    places = {name: place for place, name in enumerate(queries)}
    is_by_kind = group_by is Grouping.KIND

    def find_place(entry: DigestEntry) -> tuple[int, int, _Telling]:
        mailing = -entry.mailing.toordinal() if entry.mailing else 0
        if is_by_kind:
            return mailing, _PLACES[entry.kind], rank_entry(entry)
        first = entry.queries[0] if entry.queries else ""
        return mailing, places.get(first, len(places)), rank_entry(entry)

    return tuple(sorted(entries, key=find_place))


def rank_entry(entry: DigestEntry) -> _Telling:
    """Return an entry's place inside its group, the smallest first; no two papers have the same."""
    names = words = 0
    for reason in entry.reasons:
        fields = [span.field for span in reason.spans]
        if _AUTHORS in fields:
            names = max(names, 1 + _names_somebody_whole(reason.clause))
        if _TITLE in fields:
            words = max(words, 1 + _has_several_words(reason.clause))
    id_ = entry.paper.id
    month, number = id_.announcement_order
    return -names, -words, -count_clauses(entry), -month, -number, id_


def count_clauses(entry: DigestEntry) -> int:
    """Return how many distinct clauses a paper meets, in all its saved queries together."""
    return len({reason.clause for reason in entry.reasons})


@lru_cache(maxsize=2**14)
def _has_several_words(clause: str) -> bool:
    return _SEVERAL_WORDS.fullmatch(clause) is not None


@lru_cache(maxsize=2**14)
def _names_somebody_whole(clause: str) -> bool:
    return clause.startswith(_NAMES) and _has_several_words(clause)
