"""tantivy, a search engine in Rust, asked the same queries over the same papers.

It is given words that were cut, folded and stemmed before, one field for each way to look at them, so that
it has to do nothing but search. What it can't ask as we do is asked the nearest way it has: several parts
of one name are looked for among all names of a paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.model import taxonomy
from digest.query import AnalysedPaper, And, Condition, Node, Not, Or, Prefix, Shape, analyse
from digest.query.evaluation import STEMMED, TEXTS, WordPattern, read_name
from digest.query.names import NamePattern, fold_umlauts
from digest.query.tree import spread_condition
from digest.query.words import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import tantivy

    from digest.model.papers import Paper
    from digest.query.evaluation import Run, WordText

_STOP = "\u2022"
"""Holds the place of a stop word."""

_WIDEST_GAP = 50
"""More places than any phrase leaves out."""


class SearchEngine:
    """An index of papers in memory, merged into one segment.

    Raises:
        ImportError: tantivy isn't installed.
    """

    def __init__(self, papers: Sequence[Paper]) -> None:
        import tantivy  # noqa: PLC0415 - the bench does without where it is missing

        self._engine = tantivy
        builder = tantivy.SchemaBuilder()
        for field in (*TEXTS, "name", "signature", "category"):
            builder.add_text_field(str(field), stored=False, tokenizer_name="whitespace")
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema)
        writer = self._index.writer(heap_size=200_000_000, num_threads=1)
        for paper in papers:
            writer.add_document(tantivy.Document(**_describe(analyse(paper))))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()
        self._most = len(papers)

    def search(self, query: tantivy.Query) -> int:
        """Return how many papers a query means."""
        return len(self._searcher.search(query, limit=self._most, count=False).hits)

    def translate(self, node: Node) -> tantivy.Query:
        """Return a tree as tantivy asks it."""
        occur = self._engine.Occur
        match node:
            case Condition():
                return self._any(map(self._translate_condition, spread_condition(node)))
            case Not(operand):
                return self._exclude([], [operand])
            case Or(operands):
                return self._any(map(self.translate, operands))
            case And(operands):
                excluded = [part.operand for part in operands if isinstance(part, Not)]
                wanted = [self.translate(part) for part in operands if not isinstance(part, Not)]
                if excluded:
                    return self._exclude(wanted, excluded)
                return self._engine.Query.boolean_query([(occur.Must, one) for one in wanted])

    def _exclude(self, wanted: list[tantivy.Query], excluded: Iterable[Node]) -> tantivy.Query:
        occur, query = self._engine.Occur, self._engine.Query
        clauses = [(occur.Must, one) for one in wanted or [query.all_query()]]
        clauses += [(occur.MustNot, self.translate(one)) for one in excluded]
        return query.boolean_query(clauses)

    def _any(self, queries: Iterable[tantivy.Query]) -> tantivy.Query:
        listed = list(queries)
        if len(listed) == 1:
            return listed[0]
        return self._engine.Query.boolean_query([(self._engine.Occur.Should, one) for one in listed])

    def _all(self, queries: Iterable[tantivy.Query]) -> tantivy.Query:
        listed = list(queries)
        if len(listed) == 1:
            return listed[0]
        return self._engine.Query.boolean_query([(self._engine.Occur.Must, one) for one in listed])

    def _term(self, field: str, term: str) -> tantivy.Query:
        return self._engine.Query.term_query(self._schema, field, term, index_option="basic")

    def _beginning(self, field: str, beginning: str) -> tantivy.Query:
        escaped = "".join(f"\\{sign}" if not sign.isalnum() else sign for sign in beginning)
        return self._engine.Query.regex_query(self._schema, field, f"{escaped}.*")

    def _translate_condition(self, condition: Condition) -> tantivy.Query:
        if condition.prefix in TEXTS:
            return self._translate_words(condition)
        if condition.prefix is Prefix.CATEGORY:
            return self._term("category", condition.text.casefold())
        if condition.prefix is Prefix.AUTHOR:
            return self._translate_author(condition)
        return self._engine.Query.empty_query()  # ids, DOIs and dates, which realistic queries don't ask for

    def _translate_words(self, condition: Condition) -> tantivy.Query:
        field = str(condition.prefix)
        pattern = WordPattern.compile(condition, is_stemmed=condition.prefix in STEMMED)
        parts = [self._any([self._translate_run(field, run) for run in runs]) for runs in pattern.clauses]
        if pattern.beginning:
            parts.append(self._beginning(field, pattern.beginning))
        return self._all(parts)

    def _translate_run(self, field: str, run: Run) -> tantivy.Query:
        if len(run.terms) == 1:
            return self._term(field, run.terms[0])
        words: list[str | tuple[int, str]] = list(zip(run.places, run.terms, strict=True))
        return self._engine.Query.phrase_query(self._schema, field, words)

    def _translate_author(self, condition: Condition) -> tantivy.Query:
        pattern = read_name(condition)
        if condition.shape is Shape.BEGINNING:
            return self._beginning("name", fold_umlauts(fold(condition.text)))
        assert isinstance(pattern, NamePattern)
        if pattern.given:
            return self._term("signature", f"{pattern.last[-1]}_{pattern.given[0][:1]}")
        return self._all(self._term("name", part) for part in pattern.anywhere)


def _describe(paper: AnalysedPaper) -> dict[str, str]:
    fields = {str(prefix): _spell(getattr(paper, name)) for prefix, name in TEXTS.items()}
    names = [tuple(map(fold_umlauts, name.parts)) for name in paper.names if name.parts]
    categories = {name for category in paper.paper.categories for name in taxonomy.names_of(category)}
    archives = set(map(taxonomy.archive_of, categories))
    return fields | {
        "name": f" {_STOP} ".join(" ".join(parts) for parts in names),
        "signature": " ".join(f"{parts[-1]}_{parts[0][:1]}" for parts in names),
        "category": " ".join(name.casefold() for name in categories | archives),
    }


def _spell(text: WordText) -> str:
    """Return the terms of a text in order, what is between them as signs that nobody looks for."""
    found = {number: term for term, numbers in text.numbers.items() for number in numbers}
    spelled: list[str] = []
    last = -1
    for number, term in sorted(found.items()):
        spelled += [_STOP] * min(number - last - 1, _WIDEST_GAP)
        spelled.append(term)
        last = number
    return " ".join(spelled)
