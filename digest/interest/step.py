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
    load_words,
    write_likes_source,
)
from digest.model.announcements import StoredChange
from digest.model.libraries import LibraryPaper, Near, Opinion
from digest.model.messages import DigestEntry
from digest.model.papers import ArxivId, Paper
from digest.model.subscriptions import DueSubscription
from digest.query.words import cut_words, read_word
from digest.store import papers, subscriptions
from digest.tex import to_plain

if TYPE_CHECKING:
    from digest.interest.nearness import Interest, PaperText, Texts, Weights
    from digest.query import PaperIndex

FULL_DAY = 30
"""An announcement of fewer stored papers has no top tenth of its own: the newest papers stand in
for it."""

STAND_INS = 1_000
"""How many of the newest papers stand in for an announcement that is not a `FULL_DAY`."""


def fold_title(title: str) -> str:
    """Return a title's words, the same however it is typed."""
    words = cut_words(to_plain(title))
    return " ".join(map(read_word, words))


def load_weights(conn: Connection) -> Weights:
    """Return what words weigh by the last count; before the first one all weigh the same."""
    from digest.interest.nearness import Weights  # noqa: PLC0415 - only libraries need numpy

    row = load_counts(conn)
    return Weights.from_bytes(row.counts) if row else Weights()


@dataclass(frozen=True, slots=True)
class _Profile:
    """What one or more subscriptions keep and like.

    Attributes:
        titles: of the papers that are kept or liked, as `interest` numbers them.
        held: these papers by id, by folded title, and by title with abstract.
    """

    titles: tuple[str, ...]
    held: frozenset[ArxivId | PaperText | str | None]
    interest: Interest

    def name_nearest(self, paper: PaperText) -> str:
        """Return the title of the library's paper that is nearest to a paper; "" for none."""
        nearest = self.interest.find_nearest(paper)
        return "" if nearest is None else self.titles[nearest]

    def list_words(self, paper: PaperText) -> tuple[tuple[str, int], ...]:
        """Return the words that carry the nearness of a paper, with their shares in percent."""
        words = []
        for word, share in self.interest.explain(paper):
            percent = round(100 * share)
            words.append((word, percent))
        return tuple(words)

    def contains(self, paper: Paper) -> bool:
        """Whether a paper is kept or liked already, by its id or title."""
        if paper.id in self.held:
            return True
        return fold_title(paper.title) in self.held


class Interests:
    """What subscriptions keep and like, read once for a pass."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._with_profile: frozenset[int] | None = None  # keys of subscriptions
        self._weights: Weights | None = None
        self._libraries: dict[str, StoredLibrary | None] = {}
        self._profiles: dict[object, _Profile | None] = {}
        self._days: dict[date, Texts | None] = {}

    def find_profile(self, conn: Connection, due: DueSubscription) -> _Profile | None:
        """Return what a subscription's reader keeps and likes; None for nothing, as for most."""
        if self._with_profile is None:
            self._with_profile = frozenset(load_ordered(conn))
        if due.id not in self._with_profile:
            return None
        subscription = due.subscription
        only_reader = self._config.find_reader(subscription)
        likers = {"", only_reader or ""}  # "" is the operator, whose likes count for everybody
        sources = sorted([write_likes_source(due.id, liker) for liker in likers])
        self._load_libraries(conn, {*subscription.library, *subscription.not_like, *sources})
        likes = tuple([source for source in sources if self._libraries[source]])
        key = subscription.library, subscription.not_like, likes
        if key not in self._profiles:
            near = self._list_papers(subscription.library)
            near += self._list_papers(likes, Opinion.MORE)
            unlike = self._list_papers(subscription.not_like)
            unlike += self._list_papers(likes, Opinion.LESS)
            profile = self._make_profile(conn, near, unlike) if near or unlike else None
            self._profiles[key] = profile
        return self._profiles[key]

    def _load_libraries(self, conn: Connection, sources: set[str]) -> None:
        """Read libraries that were not read yet; None stands for one that is not stored."""
        unknown = sources - self._libraries.keys()
        self._libraries |= dict.fromkeys(unknown)
        self._libraries |= load_libraries(conn, unknown)

    def _list_papers(
        self, sources: Collection[str], opinion: Opinion | None = None
    ) -> list[LibraryPaper]:
        """Return the papers with a title of some libraries; of likes those with an opinion."""
        papers: list[LibraryPaper] = []
        for source in sources:
            library = self._libraries[source]
            held = library.papers if library else ()
            papers += [one.paper for one in held if one.opinion is opinion and one.paper.title]
        return papers

    def _make_profile(
        self, conn: Connection, near: Sequence[LibraryPaper], unlike: Sequence[LibraryPaper]
    ) -> _Profile:
        """Return what is kept and liked as one value, with its words weighed."""
        from digest.interest.nearness import Interest  # noqa: PLC0415 - as above

        self._weights = self._weights or load_weights(conn)
        near_texts = [_get_text(paper) for paper in near]
        unlike_texts = [_get_text(paper) for paper in unlike]
        ids = [paper.arxiv_id for paper in near]
        titles = [paper.title for paper in near]
        held = frozenset([*ids, *map(fold_title, titles), *near_texts])
        return _Profile(tuple(titles), held, Interest(self._weights, near_texts, unlike_texts))

    def sort(
        self, conn: Connection, due: DueSubscription, changes: Sequence[StoredChange]
    ) -> list[list[StoredChange]]:
        """Return one list of the changes, the nearest first; no list without library and likes.

        What the reader has comes last. Elsewhere there is a list for each query, so this is a list
        of lists, too.
        """
        profile = self.find_profile(conn, due)
        if profile is None:
            return []
        measured = profile.interest.measure([_get_text(change.paper) for change in changes])

        def find_place(number: int) -> tuple[bool, int]:
            return profile.contains(changes[number].paper), -measured[number]

        order = sorted(range(len(changes)), key=find_place)
        nearest_first = [changes[number] for number in order]
        return [nearest_first]

    def judge(
        self, conn: Connection, due: DueSubscription, entries: Sequence[DigestEntry]
    ) -> dict[ArxivId, Near]:
        """Say how near the papers of a digest are to what its reader keeps and likes.

        {} if the reader keeps and likes nothing. Papers that the reader has are left out: such a
        paper is nearest to itself.
        """
        profile = self.find_profile(conn, due)
        if profile is None:
            return {}
        days = {entry.announced for entry in entries}
        least_near = {day: self._load_least(conn, due, profile, day) for day in days}
        texts = [_get_text(entry.paper) for entry in entries]
        measured = profile.interest.measure(texts)
        found = {}
        for entry, text, nearness in zip(entries, texts, measured, strict=True):
            if profile.contains(entry.paper):
                continue
            is_top = nearness >= least_near[entry.announced]
            title = profile.name_nearest(text) if is_top else ""
            found[entry.paper.id] = Near(nearness, is_top, title)
        return found

    def explain(
        self, conn: Connection, due: DueSubscription, paper: Paper, day: date, *, is_new: bool
    ) -> Near | None:
        """Say how near a paper of an announcement is, by which words, and at which place.

        None if nothing is kept or liked, or if this paper is.
        """
        profile = self.find_profile(conn, due)
        if profile is None or profile.contains(paper):
            return None
        from digest.interest.nearness import Texts  # noqa: PLC0415 - only libraries need numpy

        text = _get_text(paper)
        (nearness,) = profile.interest.measure([text])
        read = Texts(load_words(conn, day=day) if is_new else ())
        others = profile.interest.measure(read)
        nearer = [other for other in others if other > nearness]
        title = profile.name_nearest(text)
        return Near(
            nearness=nearness,
            is_top=nearness >= self._load_least(conn, due, profile, day),
            title=title,
            words=profile.list_words(text) if title else (),
            place=1 + len(nearer) if others else 0,
            papers=len(others),
        )

    def _load_least(
        self, conn: Connection, due: DueSubscription, profile: _Profile, day: date
    ) -> int:
        """Return the smallest nearness in the top tenth of a day, measured if it is not stored."""
        stored = subscriptions.load_least(conn, due.id, day)
        return self._measure_least(conn, profile, day) if stored is None else stored

    def _measure_least(self, conn: Connection, profile: _Profile, day: date) -> int:
        """Measure the papers of a day; return the smallest nearness in their top tenth."""
        from digest.interest.nearness import Texts, find_least  # noqa: PLC0415 - as above

        if day not in self._days:
            stored = Texts(load_words(conn, day=day))
            self._days[day] = stored if stored.size >= FULL_DAY else None
        compared = self._days[day]
        if compared is None:
            newest = papers.load_versions(conn, papers.list_newest(conn, limit=STAND_INS))
            texts = map(_get_text, newest.values())
            # Where few papers are stored, many are the library's own: they would raise the least.
            compared = Texts.read([text for text in texts if text not in profile.held])
        return find_least(profile.interest.measure(compared))

    def measure_least(
        self, conn: Connection, days: Mapping[date, Sequence[int]], index: PaperIndex
    ) -> dict[date, Mapping[int, int]]:
        """Return for announcements the smallest nearness in their top tenth, by subscription.

        `days` has the new papers of each, as numbers of papers in the index.
        """
        profiles = self._find_profiles(conn) if days else {}
        if not profiles:
            return {}
        from digest.interest.nearness import Texts  # noqa: PLC0415 - as above

        leasts: dict[date, Mapping[int, int]] = {}
        texts = list(index.list_texts())
        for day, numbers in days.items():
            is_whole = papers.count_announced(conn, day, day).get(day) == len(numbers)
            if is_whole and len(numbers) >= FULL_DAY:
                self._days[day] = Texts(texts[number] for number in numbers)
            by_profile: dict[int, int] = {}  # several subscriptions may share one profile
            for profile in profiles.values():
                if id(profile) not in by_profile:
                    by_profile[id(profile)] = self._measure_least(conn, profile, day)
            leasts[day] = {key: by_profile[id(profile)] for key, profile in profiles.items()}
        return leasts

    def _find_profiles(self, conn: Connection) -> dict[int, _Profile]:
        """Return what the readers of each subscription keep and like, where that is anything."""
        profiles = {}
        for due in subscriptions.load(conn, load_ordered(conn)):
            profile = self.find_profile(conn, due)
            if profile:
                profiles[due.id] = profile
        return profiles


def _get_text(paper: Paper | LibraryPaper) -> PaperText:
    return paper.title, paper.abstract
