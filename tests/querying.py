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
        self._draw = random.Random(seed)  # noqa: S311 - the same queries every time
        self._papers = papers

    def write_realistic(self) -> str:
        """Return a query such as people save."""
        kinds, shares = zip(*_REALISTIC, strict=True)
        write: Callable[[QueryWriter], str] = self._draw.choices(kinds, shares)[0]
        return write(self)

    def write_any(self, depth: int = 0) -> str:
        """Return a query of any conditions, up to a few levels of AND, OR and NOT above them."""
        luck = self._draw.random()
        is_top = depth == 0
        most_of_conditions = 0.3 if is_top else 0.5
        if depth > _MOST_NESTED or luck < most_of_conditions:
            return self._write_condition()
        if luck < most_of_conditions + 0.1:
            negated = self.write_any(depth + 1)
            return f"NOT ({negated})"
        operator = self._draw.choice((" AND ", " OR ", " ANDNOT ", " "))
        count = self._draw.choice((2, 2, 3, 4))
        operands = [self.write_any(depth + 1) for _ in range(count)]
        return f"({operator.join(operands)})"

    def write_categories(self) -> str:
        """Return one to three categories, any of which will do."""
        count = self._draw.choice((1, 1, 1, 2, 2, 3))
        names = [self._pick_category() for _ in range(count)]
        return self._join(" OR ", [f"cat:{name}" for name in names])

    def write_keywords(self) -> str:
        """Return one to three words or phrases."""
        operator = self._draw.choice((" AND ", " AND ", " OR "))
        count = self._draw.choice((1, 1, 2, 2, 3))
        keywords = [self._write_keyword() for _ in range(count)]
        return self._join(operator, keywords)

    def write_keywords_within_categories(self) -> str:
        """Return words or phrases looked for in some categories only."""
        categories = self.write_categories()
        keywords = self.write_keywords()
        return f"{categories} AND {keywords}"

    def write_authors(self) -> str:
        """Return up to forty authors, any of whom will do."""
        longest = self._draw.choice((1, 3, 10, 40))
        count = self._draw.randint(1, longest)
        authors = [self.write_author() for _ in range(count)]
        return " OR ".join(authors)

    def write_nested(self) -> str:
        """Return groups of keywords, joined or excluded, within categories or not."""
        groups = []
        for _ in range(self._draw.randint(1, 3)):
            keywords = self.write_keywords()
            keyword = self._write_keyword()
            groups.append(f"({keywords} OR {keyword})")
        if self._is_lucky(0.5):
            categories = self.write_categories()
            groups.append(f"({categories})")
        written = " AND ".join(groups)
        if self._is_lucky(0.6):
            excluded = self.write_keywords()
            written += f" ANDNOT ({excluded})"
        return written

    def write_beginning(self) -> str:
        """Return the beginning of a word, within categories or not."""
        prefix = self._draw.choice(("ti:", "abs:", ""))
        word = self._pick_word()
        length = self._draw.randint(4, 8)
        beginning = f"{prefix}{_begin(word, length)}"
        if self._is_lucky(0.5):
            categories = self.write_categories()
            return f"{categories} AND {beginning}"
        return beginning

    def write_author(self) -> str:
        """Return one author in one of the ways people write them."""
        parts = _cut(self._pick_name(), "Nobody")
        name = " ".join(parts)
        first = parts[0]
        last = parts[-1]
        return self._draw.choice((f"au:{last}_{first[0]}", f'au:"{name}"', f'au:"{last}"'))

    def _is_lucky(self, share: float) -> bool:
        return self._draw.random() < share

    def _join(self, operator: str, parts: list[str]) -> str:
        if len(parts) == 1:
            return parts[0]
        return f"({operator.join(parts)})"

    def _write_keyword(self) -> str:
        prefix = self._draw.choice(("ti:", "abs:", "abs:", "", "all:"))
        if self._is_lucky(0.4):
            phrase = self._pick_phrase()
            return f'{prefix}"{phrase}"'
        word = self._pick_word()
        return f"{prefix}{word}"

    def _pick_paper(self) -> Paper:
        return self._draw.choice(self._papers)

    def _pick_name(self) -> str:
        paper = self._pick_paper()
        if not paper.authors:
            return "Nobody"
        author = self._draw.choice(paper.authors)
        return author.name

    def _pick_category(self) -> str:
        paper = self._pick_paper()
        return self._draw.choice(paper.categories or ("cs.PF",))

    def _pick_word(self) -> str:
        """Return a word worth looking for: of a title, not of the commonest ones."""
        for _ in range(20):
            title = self._pick_paper().title
            words: list[str] = [word for word in _WORD.findall(title) if not _is_stop_word(word)]
            if words:
                return self._draw.choice(words)
        return "nothing"

    def _pick_phrase(self) -> str:
        """Return two or three words in a row, which begin and end with no stop word."""
        for _ in range(20):
            paper = self._pick_paper()
            text = self._draw.choice((paper.title, paper.abstract))
            words = _WORD.findall(text)
            start = self._draw.randrange(max(1, len(words) - 2))
            length = self._draw.choice((2, 2, 3))
            phrase = words[start : start + length]
            if len(phrase) < 2 or _is_stop_word(phrase[0]) or _is_stop_word(phrase[-1]):
                continue
            return " ".join(phrase)
        return self._pick_word()

    def _write_condition(self) -> str:
        write = self._draw.choice(_ANY)
        return write(self)

    def _write_raw_words(self) -> str:
        """Return neighbouring words of a text as they stand there.

        TeX, signs, stop words and all.
        """
        paper = self._pick_paper()
        texts = (
            ("ti", paper.title),
            ("abs", paper.abstract),
            ("co", paper.comment),
            ("jr", paper.journal_ref),
            ("rn", paper.report_no),
            ("all", paper.abstract),
            ("all", paper.comment),
        )
        prefix, text = self._draw.choice(texts)
        words = _cut(text, "nothing")
        start = self._draw.randrange(len(words))
        length = self._draw.randint(1, 5)
        phrase = " ".join(words[start : start + length])
        return f'{prefix}:"{phrase}"'

    def _write_raw_beginning(self) -> str:
        paper = self._pick_paper()
        texts = (
            ("ti", paper.title),
            ("abs", paper.abstract),
            ("co", paper.comment),
            ("all", paper.abstract),
        )
        prefix, text = self._draw.choice(texts)
        words = re.findall(r"[^\W_]+(?:-[^\W_]+)?", text)
        word = self._draw.choice(words or ["x"])
        length = self._draw.randint(1, 9)
        return f"{prefix}:{_begin(word, length)}"

    def _write_name(self) -> str:
        name = _UNQUOTABLE.sub(" ", self._pick_name())
        parts = _cut(name, "Nobody")
        first = parts[0]
        last = parts[-1]
        initials = " ".join(part[0] for part in parts[:-1])
        last_two = " ".join(parts[-2:])
        forms = (
            f'au:"{name}"',
            f'au:"{last}, {first}"',
            f'au:"{last}, {first[0]}"',
            f'au:"{last}, {initials}"',
            f'au:"{last_two}, {first[:2]}*"',
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
        forms = (f"cat:{name}", f"cat:{archive}", f"cat:{name[:length]}*", f"all:{name}")
        return self._draw.choice(forms)

    def _write_identifier(self) -> str:
        paper = self._pick_paper()
        version = self._draw.randint(1, 3)
        forms = [f"id:{paper.id}", f"id:{paper.id}v{version}", f"all:{paper.id}"]
        for doi in paper.dois:
            forms += [f'doi:"{doi}"', f'all:"{doi}"']
        return self._draw.choice(forms)

    def _write_range(self) -> str:
        moments = sorted(self._pick_paper().published for _ in range(2))
        spelled = []
        for moment in moments:
            length = self._draw.choice((4, 6, 8, 12))
            spelled.append(f"{moment:%Y%m%d%H%M}"[:length])
        start, end = spelled
        first, last = self._draw.choice(((start, end), (start, "*"), ("*", end)))
        return f"submittedDate:[{first} TO {last}]"


def _begin(word: str, length: int) -> str:
    """Write the condition that a word begins with the first letters of this one."""
    letters = word[:length].rstrip("-")
    return f"{letters}*"


def _cut(text: str, if_none: str) -> list[str]:
    """Return the words of a text as they may stand within quotes."""
    words = _UNQUOTABLE.sub(" ", text).split()
    return words or [if_none]


def _is_stop_word(word: str) -> bool:
    return is_stop_word(word.lower())


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
