"""Says how near papers are to the libraries and likes of subscriptions, as they are stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from digest.config import Config
from digest.interest.tables import (
    StoredLibrary,
    load_counts,
    load_libraries,
    load_ordered,
    load_texts,
    write_likes_source,
)
from digest.model.announcements import StoredChange
from digest.model.libraries import LibraryPaper, Near, Opinion
from digest.model.messages import DigestEntry
from digest.model.papers import ArxivId, Paper
from digest.model.subscriptions import DueSubscription
from digest.query.words import cut_words, read_word
from digest.store.papers import count_announced
from digest.store.subscriptions import load_least, load_subscriptions
from digest.tex import to_plain

if TYPE_CHECKING:
    from digest.interest.nearness import Interest, PaperText, Texts, Weights
    from digest.query import PaperIndex

FEW = 30
"""An announcement of fewer stored papers has no top tenth of its own: the newest papers stand in for it."""

YARDSTICK = 1_000
"""How many of the newest papers then decide what the top tenth is."""


def fold_title(title: str) -> str:
    """Return a title's words, the same however it is typed."""
    return " ".join(map(read_word, cut_words(to_plain(title))))


def load_weights(conn: Connection) -> Weights:
    """Return what words weigh by what was counted last; all the same before that."""
    from digest.interest.nearness import Weights  # noqa: PLC0415 - only who has a library pays for numpy

    row = load_counts(conn)
    return Weights.from_bytes(row.counts) if row else Weights()


@dataclass(frozen=True, slots=True)
class _Profile:
    """What one or more subscriptions keep and like."""

    titles: tuple[str, ...]
    held: frozenset[ArxivId | PaperText | str | None]
    interest: Interest

    def name_nearest(self, paper: tuple[str, str]) -> str:
        """Return the title of the library's paper that is nearest to a title and abstract; "" for none."""
        nearest = self.interest.find_nearest(paper)
        return "" if nearest is None else self.titles[nearest]

    def contains(self, paper: Paper) -> bool:
        """Whether a paper is one of them, by its id or title: it is near to itself alone."""
        return paper.id in self.held or fold_title(paper.title) in self.held


class Interests:
    """What subscriptions keep and like, read once for a pass."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._ordered: frozenset[int] | None = None
        self._weights: Weights | None = None
        self._libraries: dict[str, StoredLibrary | None] = {}
        self._profiles: dict[object, _Profile | None] = {}
        self._days: dict[date, Texts | None] = {}

    def find(self, conn: Connection, due: DueSubscription) -> _Profile | None:
        """Return what a subscription's reader keeps and likes; None for nothing, as for most."""
        if self._ordered is None:
            self._ordered = frozenset(load_ordered(conn))
        if due.id not in self._ordered:
            return None
        subscription = due.subscription
        readers = {
            "",
            self._config.find_reader(subscription) or "",
        }  # what a reader likes counts for them alone
        likes = sorted(write_likes_source(due.id, reader) for reader in readers)
        unknown = {*subscription.library, *subscription.not_like, *likes} - self._libraries.keys()
        self._libraries |= dict.fromkeys(unknown) | load_libraries(conn, unknown)
        said = tuple(source for source in likes if self._libraries[source])
        key = subscription.library, subscription.not_like, said
        if key not in self._profiles:
            near = [*self._list(subscription.library), *self._list(said, Opinion.MORE)]
            unlike = [*self._list(subscription.not_like), *self._list(said, Opinion.LESS)]
            self._profiles[key] = self._make(conn, near, unlike) if near or unlike else None
        return self._profiles[key]

    def _list(self, sources: Collection[str], opinion: Opinion | None = None) -> list[LibraryPaper]:
        held = [library for source in sources if (library := self._libraries[source])]
        return [
            one.paper
            for library in held
            for one in library.papers
            if one.opinion is opinion and one.paper.title
        ]

    def _make(
        self, conn: Connection, near: Sequence[LibraryPaper], unlike: Sequence[LibraryPaper]
    ) -> _Profile:
        from digest.interest.nearness import Interest  # noqa: PLC0415 - as above

        self._weights = self._weights or load_weights(conn)
        texts = [[(paper.title, paper.abstract) for paper in some] for some in (near, unlike)]
        names = [*(paper.arxiv_id for paper in near), *(fold_title(paper.title) for paper in near)]
        held = frozenset([*names, *texts[0]])
        return _Profile(tuple(paper.title for paper in near), held, Interest(self._weights, *texts))

    def sort(
        self, conn: Connection, due: DueSubscription, changes: Sequence[StoredChange]
    ) -> list[list[StoredChange]]:
        """Return in one list the changes of papers, the nearest first; no list without a library or likes."""
        profile = self.find(conn, due)
        if profile is None:
            return []
        measured = profile.interest.measure(
            [(one.paper.title, one.paper.abstract) for one in changes]
        )
        order = sorted(
            range(len(changes)), key=lambda n: (profile.contains(changes[n].paper), -measured[n])
        )
        return [[changes[n] for n in order]]

    def judge(
        self, conn: Connection, due: DueSubscription, entries: Sequence[DigestEntry]
    ) -> dict[ArxivId, Near]:
        """Say how near the papers of a digest are to what its reader keeps and likes; {} without any of that."""
        profile = self.find(conn, due)
        if profile is None:
            return {}
        texts = [(entry.paper.title, entry.paper.abstract) for entry in entries]
        least = {
            day: self._find_least(conn, due, profile, day)
            for day in {entry.announced for entry in entries}
        }
        found = {}
        for entry, text, nearness in zip(
            entries, texts, profile.interest.measure(texts), strict=True
        ):
            if not profile.contains(
                entry.paper
            ):  # else its reader has it, and it is near to itself alone
                is_top = nearness >= least[entry.announced]
                found[entry.paper.id] = Near(
                    nearness, is_top, profile.name_nearest(text) if is_top else ""
                )
        return found

    def explain(
        self, conn: Connection, due: DueSubscription, paper: Paper, day: date, *, is_new: bool
    ) -> Near | None:
        """Say how near a paper of an announcement is, with words, and its place; None if it is in the library."""
        profile = self.find(conn, due)
        if profile is None or profile.contains(paper):
            return None
        text, texts = (paper.title, paper.abstract), load_texts(conn, day=day) if is_new else []
        nearness, *others = profile.interest.measure([text, *texts])
        title = profile.name_nearest(text)
        words = tuple(
            (word, round(100 * share)) for word, share in profile.interest.explain(text) if title
        )
        place = (1 + sum(one > nearness for one in others)) * bool(others)
        is_top = nearness >= self._find_least(conn, due, profile, day)
        return Near(nearness, is_top, title, words, place, len(others))

    def _find_least(
        self, conn: Connection, due: DueSubscription, profile: _Profile, day: date
    ) -> int:
        stored = load_least(conn, due.id, day)
        return self._measure_day(conn, profile, day) if stored is None else stored

    def _measure_day(self, conn: Connection, profile: _Profile, day: date) -> int:
        from digest.interest.nearness import Texts, find_least  # noqa: PLC0415 - as above

        if day not in self._days:
            texts = load_texts(conn, day=day)
            self._days[day] = Texts.read(texts) if len(texts) >= FEW else None
        if (read := self._days[day]) is None:
            # If few papers are stored, those of the library are many of them.
            read = Texts.read(
                one for one in load_texts(conn, limit=YARDSTICK) if one not in profile.held
            )
        return find_least(profile.interest.measure(read))

    def measure_days(
        self, conn: Connection, days: Mapping[date, Sequence[int]], index: PaperIndex
    ) -> dict[date, Mapping[int, int]]:
        """Return for announcements the smallest nearness in their top tenth, by subscription."""
        dues = load_subscriptions(conn, load_ordered(conn)) if days else []
        profiles = [(due.id, profile) for due in dues if (profile := self.find(conn, due))]
        leasts: dict[date, Mapping[int, int]] = {}
        if not profiles:
            return leasts
        from digest.interest.nearness import Texts  # noqa: PLC0415 - as above

        read = list(index.list_texts())
        for day, numbers in days.items():
            if count_announced(conn, day, day).get(day) == len(numbers) >= FEW:
                self._days[day] = Texts(read[number] for number in numbers)
            of_profile = {
                id(profile): self._measure_day(conn, profile, day) for _, profile in profiles
            }
            leasts[day] = {key: of_profile[id(profile)] for key, profile in profiles}
        return leasts
