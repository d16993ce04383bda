"""A batch of papers is read into the very words and names that each paper by itself is read into."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st

from digest.model.papers import Paper
from digest.query import analyse
from digest.query.evaluation import _BETWEEN_READINGS
from digest.query.index.batch import STOP_WORD, Batch, scan
from digest.query.words import cut_words, part_word

MakePaper = Callable[..., Paper]
FIELDS = ("title", "abstract", "comment", "journal_ref", "report_no")

PIECES = st.sampled_from(
    [
        *(
            "a",
            "GPU",
            "the",
            "GPUs",
            "k-means",
            "don't",
            "Bell's",
            "Bells'",
            "3.14",
            "3,000;5",
            "e.g.",
            "_x_",
            "__",
        ),
        *("n_gram", "AT&T", "cs.PF", "O'Neill", "x''y", "--", "``quoted''", "ﬁne", "½", "⑴", "10³", "groß", "İ"),
        *("e\u0301tale", "soft\u00adhyphen", "\u200dx", "a\x00b", "\x01\x1cb", "\u202eright", "\ud800", "a\ufeff"),
        *(
            "机器学习",
            "한국어",
            "हिन्दी",
            "ω",
            "’s",
            "l’été",
            "catalan·la",
            "x.y.z",
            ".5",
            "5.",
            "a.b",
            "’",
            "'",
            "·",
        ),
        *(
            "$k$-means",
            r"$10^{-3}$",
            r"$\mathcal{O}(n^2)$",
            "$5 and $6",
            r"Poincar\'e",
            r"\emph{very} odd",
            "{x}",
            "$",
        ),
        *(
            r"$x$\,K",
            r"RX$~$J1713.7",
            r"$1\,$",
            r"$\;2$",
            r"$\,$",
            r"\civ",
            r"\sigma-meson",
            r"{1, 2}",
            "$$x_1$$",
            r"\emph{a $x$ b}",
            r"\cite[p. 2]{x}",
            r"\footnote",
            r"\[ x \]",
            r"\begin{a} x \end{a}",
            r"\'",
            r"\frac",
            "{",
            "}",
        ),
        *(
            r"$\Lambda$CDM",
            "ΛCDM",
            r"\Lambda CDM",
            "$N$body",
            "$H_{0}$",
            "H$_0$",
            r"$N_{\rm eff}$s",
            "$k_BT$",
            r"$13{\rm TeV}$",
            r"$f\sigma_8$",
            r"x$\bar{p}$p",
            r"$\rm 5GeV$",
            r"\mathcal{N}x",
            r"$\text{a b}$c",
            "x_a",
            "xᵅ₁²",
            r"Erd\H{o}$s$",
            r"{\S}$x$",
            "V·s",
            "$a$$b$",
            "$机$x",
        ),
        *(
            "\\",
            r"{\it old}",
            "~",
            "Fig.~3",
            "^2",
            "x_1",
            "\n",
            "\u2028",
            "\u00a0",
            "ß",
            "Ö",
            "ö\u0308",
            "A.",
            "J.-P.",
        ),
    ]
)
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(["", " ", " ", "\n", "-", ",", ".", "/"])), max_size=8).map(
    lambda pairs: "".join(piece + sign for piece, sign in pairs)
)
ANY_TEXTS = st.one_of(TEXTS, st.text(max_size=30))


def words_of(batch: Batch, column: int, paper: int = 0, *, is_parted: bool = False) -> list[str | None]:
    text = (2 * column + is_parted) * len(batch.papers) + paper
    numbers = batch.words[batch.texts == text].tolist()
    return [None if number == STOP_WORD else batch.surfaces[number] for number in numbers]


@given(texts=st.lists(st.tuples(*[ANY_TEXTS] * len(FIELDS)), min_size=1, max_size=4))
def test_words_and_their_places_are_those_of_the_single_paper(
    texts: list[tuple[str, ...]], make_paper: MakePaper
) -> None:
    papers = [make_paper(**dict(zip(FIELDS, each, strict=True))) for each in texts]
    batch = scan(papers)
    for column, name in enumerate(FIELDS):
        for index, paper in enumerate(papers):
            text = getattr(analyse(paper), name)
            whole, parted = (words_of(batch, column, index, is_parted=is_parted) for is_parted in (False, True))
            placed = [*enumerate(whole), *enumerate(parted, len(whole) + _BETWEEN_READINGS)]
            numbers = {word: [place for place, other in placed if other == word] for _, word in placed if word}
            assert numbers == text.surfaces
            assert bool(parted) is any(map(part_word, cut_words(text.plain)))


@example(texts=[r"\frac{\it old} $\,$a"])
@given(texts=st.lists(ANY_TEXTS, min_size=1, max_size=5))
def test_stems_are_those_of_the_single_paper(texts: list[str], make_paper: MakePaper) -> None:
    papers = [make_paper(abstract=text, title="") for text in texts]
    batch = scan(papers)
    for index, paper in enumerate(papers):
        theirs = batch.texts % len(papers) == index
        found = {batch.stems[number] for number in batch.words[theirs] if number}
        assert found == set(analyse(paper).abstract.numbers)


@given(names=st.lists(st.lists(ANY_TEXTS, max_size=3), min_size=1, max_size=4))
def test_names_are_cut_as_those_of_the_single_paper(names: list[list[str]], make_paper: MakePaper) -> None:
    papers = [make_paper(authors=each) for each in names]
    batch = scan(papers)
    parts: list[list[tuple[str, ...]]] = [[] for _ in papers]
    for number, paper in zip(batch.names.numbers.tolist(), batch.names.papers.tolist(), strict=True):
        parts[paper].append(batch.list_parts(number))
    for paper, found in zip(papers, parts, strict=True):
        authors = analyse(paper).names
        written_out = [spelling for author in authors for spelling in author.spellings[1:]]
        assert found == [*(author.parts for author in authors), *written_out]


def test_categories_are_read_once_each_and_keep_their_papers(make_paper: MakePaper) -> None:
    found = scan([make_paper(categories=("cs.PF", "cs.DC")), make_paper(categories=("cs.DC",))]).categories
    assert (found.distinct, found.numbers.tolist(), found.papers.tolist()) == (
        ["cs.PF", "cs.DC"],
        [0, 1, 1],
        [0, 0, 1],
    )
