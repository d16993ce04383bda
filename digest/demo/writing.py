"""Draws made-up papers from word lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.demo.manuscripts import Manuscript
from digest.demo.people import CAMPAIGNS, FAMILY, GIVEN, PLACES
from digest.demo.phrases import COMMENTS, ENDINGS, MIDDLES, OPENINGS, REVISIONS, TITLES
from digest.demo.topics import NEIGHBOURS, TOPICS, Topic
from digest.papers import Author

if TYPE_CHECKING:
    import random

_SHARE_CROSS_LISTED = 0.35
_SHARE_WITH_PLACE = 0.3
_SHARE_COLLABORATION = 0.02
_AUTHOR_COUNTS = (1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8)


class Writer:
    """Writes one manuscript after the other, no title twice. The same generator gives the same papers."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._titles: set[str] = set()
        self._weights = [topic.weight for topic in TOPICS]

    def write(self) -> Manuscript:
        """Return a paper about something."""
        topic = self._pick_topic()
        words = self._pick_words(topic)
        while (title := self._draw.choice(TITLES).format(**words)) in self._titles:
            topic = self._pick_topic()
            words = self._pick_words(topic)
        self._titles.add(title)
        categories = topic.categories
        if self._draw.random() < _SHARE_CROSS_LISTED:
            categories = (*categories, self.pick_category(categories))
        return Manuscript(title, self._write_abstract(words), self._sign(), categories, self._write_comment())

    def write_revision(self) -> str:
        """Return the comment a second version comes with."""
        return self._draw.choice(REVISIONS).format(pages=self._draw.randint(8, 40))

    def pick_category(self, taken: tuple[str, ...]) -> str:
        """Return a category close to the first one taken, and not among them."""
        near = NEIGHBOURS[taken[0].partition(".")[0]]
        return self._draw.choice([category for category in near if category not in taken])

    def _pick_topic(self) -> Topic:
        return self._draw.choices(TOPICS, self._weights)[0]

    def _pick_words(self, topic: Topic) -> dict[str, str]:
        things = self._draw.choice(topic.things)
        return {
            "things": things,
            "Things": things[0].upper() + things[1:],
            "setting": self._draw.choice(topic.settings),
            "quantity": self._draw.choice(topic.quantities),
        }

    def _write_abstract(self, words: dict[str, str]) -> str:
        sentences = [self._draw.choice(OPENINGS), *self._draw.sample(MIDDLES, 2), self._draw.choice(ENDINGS)]
        return " ".join(sentence.format(number=self._draw.randint(3, 48), **words) for sentence in sentences)

    def _write_comment(self) -> str:
        pages, figures = self._draw.randint(6, 44), self._draw.randint(2, 12)
        return self._draw.choice(COMMENTS).format(pages=pages, figures=figures)

    def _sign(self) -> tuple[Author, ...]:
        names = list(zip(self._shuffle(GIVEN), self._shuffle(FAMILY), strict=True))
        place = (self._draw.choice(PLACES),) if self._draw.random() < _SHARE_WITH_PLACE else ()
        authors = [
            Author(f"{given} {family}", place) for given, family in names[: self._draw.choice(_AUTHOR_COUNTS)]
        ]
        if self._draw.random() < _SHARE_COLLABORATION:
            authors.append(Author(f"{self._draw.choice(CAMPAIGNS)} Collaboration"))
        return tuple(authors)

    def _shuffle(self, names: tuple[str, ...]) -> list[str]:
        return self._draw.sample(names, len(names))
