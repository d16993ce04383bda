"""What one pass asked arXiv, and what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.counting import count

if TYPE_CHECKING:
    from datetime import date

_KIND_WORDS = {
    Kind.NEW: "new",
    Kind.CROSS_LIST: "cross-listed",
    Kind.REPLACEMENT: "replaced",
    Kind.WITHDRAWAL: "withdrawn",
    Kind.METADATA: "edited",
    Kind.KNOWN: "known from before",
}


@dataclass
class PollReport:
    """What one pass asked arXiv, for people and for `--json`.

    Attributes:
        was_due: whether anything was asked at all.
        why_not: why nothing was asked, in words; "" where something was.
        is_bootstrap: whether this was the very first look: nothing it found is news.
        runs: looks that ended complete.
        pages: pages stored.
        papers: papers compared.
        kinds: changes found, by kind.
        quarantined: entries set aside because they could not be read.
        failures: what went wrong, one sentence each.
        is_cut_short: arXiv was away or asked for a pause: what is missing will be there another time.
        faulted: searches for single saved queries that arXiv failed at inside.
        requests: made to arXiv.
        awaiting: canonical queries whose first look waits until there is a request to spare.
        mailings: how many papers announced for the first time each mailing brought, by Eastern date.
    """

    was_due: bool = False
    why_not: str = ""
    is_bootstrap: bool = False
    runs: int = 0
    pages: int = 0
    papers: int = 0
    kinds: dict[Kind, int] = field(default_factory=dict)
    quarantined: int = 0
    failures: list[str] = field(default_factory=list)
    is_cut_short: bool = False
    faulted: int = 0
    requests: int = 0
    awaiting: frozenset[str] = frozenset()
    mailings: Counter[date] = field(default_factory=Counter)

    @property
    def caught_up(self) -> list[date]:
        """The mailings that came out while nobody looked, and the last one, in order; [] in everyday life."""
        return sorted(self.mailings) if len(self.mailings) > 1 else []

    def describe_changes(self) -> str:
        """Say how many changes of each kind, in the order a digest shows them; of a first look how much it met."""
        if self.is_bootstrap and self.kinds.keys() <= {Kind.KNOWN}:
            return f"{count(self.kinds.get(Kind.KNOWN, 0), 'paper')}, known from here on"
        found = [f"{self.kinds[kind]:,} {word}" for kind, word in _KIND_WORDS.items() if self.kinds.get(kind)]
        return " · ".join(found) or "nothing changed"
