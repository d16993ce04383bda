"""Saved queries by the thousand, made of the words, names and categories of given papers; seeded.

`write_realistic` writes what people save, in the shares of `_REALISTIC`; `write_any` whatever the
language has, nested and negated, short beginnings and stop words in phrases among it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

from digest.model.errors import QueryError
from digest.model.papers import Paper
from digest.query import Query, parse_query
from digest.query.words import is_stop_word

_UNQUOTABLE = re.compile(r'["\r\n]')
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]+")
_MOST_NESTED = 3


class QueryWriter:
    """Writes queries about what some papers are about.

    The same seed and papers give the same queries.
    """

    def __init__(self, papers: Sequence[Paper], seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - the same queries every time, and nothing secret
        self._papers = papers

    def write_realistic(self) -> str:
        """Return a query such as people save."""
        kinds, shares = zip(*_REALISTIC, strict=True)
        write: Callable[[QueryWriter], str] = self._draw.choices(kinds, shares)[0]
        return write(self)

    def write_any(self, depth: int = 0) -> str:
        """Return a query of any conditions, up to a few levels of AND, OR and NOT above them."""
        luck = self._draw.random()
        if depth > _MOST_NESTED or luck < (0.3 if depth == 0 else 0.5):
            return self._write_condition()
        if luck < (0.4 if depth == 0 else 0.6):
            return f"NOT ({self.write_any(depth + 1)})"
        operator = self._draw.choice((" AND ", " OR ", " ANDNOT ", " "))
        operands = [self.write_any(depth + 1) for _ in range(self._draw.choice((2, 2, 3, 4)))]
        return f"({operator.join(operands)})"

    def write_categories(self) -> str:
        """Return one to three categories, any of which will do."""
        names = [self._pick_category() for _ in range(self._draw.choice((1, 1, 1, 2, 2, 3)))]
        return self._join(" OR ", [f"cat:{name}" for name in names])

    def write_keywords(self) -> str:
        """Return one to three words or phrases."""
        operator = self._draw.choice((" AND ", " AND ", " OR "))
        keywords = [self._write_keyword() for _ in range(self._draw.choice((1, 1, 2, 2, 3)))]
        return self._join(operator, keywords)

    def write_keywords_within_categories(self) -> str:
        """Return words or phrases looked for in some categories only."""
        return f"{self.write_categories()} AND {self.write_keywords()}"

    def write_authors(self) -> str:
        """Return up to forty authors, any of whom will do."""
        longest = self._draw.choice((1, 3, 10, 40))
        return " OR ".join(self.write_author() for _ in range(self._draw.randint(1, longest)))

    def write_nested(self) -> str:
        """Return groups of keywords, joined or excluded, within categories or not."""
        groups = [
            f"({self.write_keywords()} OR {self._write_keyword()})"
            for _ in range(self._draw.randint(1, 3))
        ]
        if self._draw.random() < 0.5:
            groups.append(f"({self.write_categories()})")
        excluded = f" ANDNOT ({self.write_keywords()})" if self._draw.random() < 0.6 else ""
        return " AND ".join(groups) + excluded

    def write_beginning(self) -> str:
        """Return the beginning of a word, within categories or not."""
        prefix = self._draw.choice(("ti:", "abs:", ""))
        word = self._pick_word()
        beginning = f"{prefix}{word[: self._draw.randint(4, 8)].rstrip('-')}*"
        return (
            f"{self.write_categories()} AND {beginning}" if self._draw.random() < 0.5 else beginning
        )

    def write_author(self) -> str:
        """Return one author in one of the ways people write them."""
        parts = _UNQUOTABLE.sub(" ", self._pick_name()).split() or ["Nobody"]
        first = parts[0]
        last = parts[-1]
        forms = (f"au:{last}_{first[0]}", f'au:"{" ".join(parts)}"', f'au:"{last}"')
        return self._draw.choice(forms)

    def _join(self, operator: str, parts: list[str]) -> str:
        return parts[0] if len(parts) == 1 else f"({operator.join(parts)})"

    def _write_keyword(self) -> str:
        prefix = self._draw.choice(("ti:", "abs:", "abs:", "", "all:"))
        return (
            f'{prefix}"{self._pick_phrase()}"'
            if self._draw.random() < 0.4
            else f"{prefix}{self._pick_word()}"
        )

    def _pick_paper(self) -> Paper:
        return self._draw.choice(self._papers)

    def _pick_name(self) -> str:
        authors = self._pick_paper().authors
        return self._draw.choice(authors).name if authors else "Nobody"

    def _pick_category(self) -> str:
        return self._draw.choice(self._pick_paper().categories or ("cs.PF",))

    def _pick_word(self) -> str:
        """Return a word worth looking for: of a title, not of the commonest ones."""
        for _ in range(20):
            words: list[str] = [
                word
                for word in _WORD.findall(self._pick_paper().title)
                if not is_stop_word(word.lower())
            ]
            if words:
                return self._draw.choice(words)
        return "nothing"

    def _pick_phrase(self) -> str:
        """Return two or three neighbouring words, of which neither the first nor the last is a stop word."""
        for _ in range(20):
            paper = self._pick_paper()
            words = _WORD.findall(self._draw.choice((paper.title, paper.abstract)))
            start = self._draw.randrange(max(1, len(words) - 2))
            phrase = words[start : start + self._draw.choice((2, 2, 3))]
            if (
                len(phrase) > 1
                and not is_stop_word(phrase[0].lower())
                and not is_stop_word(phrase[-1].lower())
            ):
                return " ".join(phrase)
        return self._pick_word()

    def _write_condition(self) -> str:
        return self._draw.choice(_ANY)(self)

    def _write_raw_words(self) -> str:
        """Return neighbouring words of a text as they stand there.

        TeX, signs, stop words and all.
        """
        paper = self._pick_paper()
        prefix, text = self._draw.choice(
            (
                ("ti", paper.title),
                ("abs", paper.abstract),
                ("co", paper.comment),
                ("jr", paper.journal_ref),
                ("rn", paper.report_no),
                ("all", paper.abstract),
                ("all", paper.comment),
            )
        )
        words = _UNQUOTABLE.sub(" ", text).split() or ["nothing"]
        start = self._draw.randrange(len(words))
        return f'{prefix}:"{" ".join(words[start : start + self._draw.randint(1, 5)])}"'

    def _write_raw_beginning(self) -> str:
        paper = self._pick_paper()
        texts = (
            ("ti", paper.title),
            ("abs", paper.abstract),
            ("co", paper.comment),
            ("all", paper.abstract),
        )
        prefix, text = self._draw.choice(texts)
        word = self._draw.choice(re.findall(r"[^\W_]+(?:-[^\W_]+)?", text) or ["x"])
        return f"{prefix}:{word[: self._draw.randint(1, 9)].rstrip('-')}*"

    def _write_name(self) -> str:
        name = _UNQUOTABLE.sub(" ", self._pick_name())
        parts = name.split() or ["Nobody"]
        first = parts[0]
        last = parts[-1]
        forms = (
            f'au:"{name}"',
            f'au:"{last}, {first}"',
            f'au:"{last}, {first[0]}"',
            f'au:"{last}, {" ".join(part[0] for part in parts[:-1])}"',
            f'au:"{" ".join(parts[-2:])}, {first[:2]}*"',
            f'au:"{last[:3]}* {first[:2]}*"',
            f'au:"{last} {first[0]}*"',
            f"au:{last[:4]}*",
            f'all:"{name}"',
            f'author:"{name}"',
            f'author:"{first[0]}. {last}"',
            f'author:"{last}, {first}"',
        )
        return self._draw.choice(forms)

    def _write_category(self) -> str:
        name = self._pick_category()
        archive = name.partition(".")[0]
        length = self._draw.randint(1, len(name))
        return self._draw.choice(
            (f"cat:{name}", f"cat:{archive}", f"cat:{name[:length]}*", f"all:{name}")
        )

    def _write_identifier(self) -> str:
        paper = self._pick_paper()
        ids = [f"id:{paper.id}", f"id:{paper.id}v{self._draw.randint(1, 3)}", f"all:{paper.id}"]
        return self._draw.choice(
            ids + [form for doi in paper.dois for form in (f'doi:"{doi}"', f'all:"{doi}"')]
        )

    def _write_range(self) -> str:
        moments = sorted(self._pick_paper().published for _ in range(2))
        spelled = [f"{moment:%Y%m%d%H%M}"[: self._draw.choice((4, 6, 8, 12))] for moment in moments]
        first, last = self._draw.choice(
            ((spelled[0], spelled[1]), (spelled[0], "*"), ("*", spelled[1]))
        )
        return f"submittedDate:[{first} TO {last}]"


_REALISTIC: tuple[tuple[Callable[[QueryWriter], str], float], ...] = (
    (QueryWriter.write_categories, 0.10),
    (QueryWriter.write_keywords_within_categories, 0.40),
    (QueryWriter.write_keywords, 0.20),
    (QueryWriter.write_authors, 0.15),
    (QueryWriter.write_nested, 0.10),
    (QueryWriter.write_beginning, 0.05),
)
_ANY = (
    QueryWriter._write_raw_words,
    QueryWriter._write_raw_words,
    QueryWriter._write_raw_words,
    QueryWriter._write_raw_beginning,
    QueryWriter._write_name,
    QueryWriter._write_name,
    QueryWriter._write_category,
    QueryWriter._write_identifier,
    QueryWriter._write_range,
    QueryWriter._write_keyword,
)


def read_queries(write: Callable[[], str]) -> Iterator[Query]:
    """Yield one readable query after the other.

    What is refused (a name that is none) is written anew.
    """
    while True:
        try:
            yield parse_query(write())
        except QueryError:
            continue
