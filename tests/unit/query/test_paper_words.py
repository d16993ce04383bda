"""The words of papers as they are packed and kept: what comes back is what was read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from digest.model.papers import Paper
from digest.query import PaperIndex, parse_query
from digest.query.paper_words import RULES, TEXTS, IndexedPaper, PaperWords, WordReader
from tests.fakes.odd_manuscripts import ODD
from tests.unit.query.conftest import MakePaper, build_paper

HOSTILE = (
    r"\emph{Un} $\Lambda$CDM: the \textbf{$N$-body} test of $f\sigma_8$ at $z\sim 10^{-3}$",
    r"\begin{equation} E = mc^2 \label{a} \end{equation} and $$ \frac{1}{2}",
    r"\cite{x}~\\ {{{ \unknown{a}{b} } \ensuremath{\mu}m, ${}^{13}$CO, H$_2$O, 5\%",
    "a\x00b \x0bc \x0cd \x1ee \ud800 \u202ef \ufeffg \u200dh",
    r"Poincar\'e, Schr\"odinger, \v{C}ech, Erd\H{o}s; G{\"o}del, \L{}ukasiewicz, e\u0301t\u00e9",
    "Ελληνικά και ΛCDM, λ, µm, ς; Σ_i x_i^2",
    "机器学习与量子计算 日本語 한국어 العربية עברית ไทย हिन्दी",
    "½ ﬁnite ℌ ﷺ x² H₀ 10⁻³ Ångström Straße İstanbul ŉ",
    "don't 1,2-dichloroethane 3.14 e.g. U.S.A. n_gram __init__ self-supervised C++ V·s k-means",
    "the of and a THE Of",
    "",
    " \t\n ",
)
"""Texts that each rule of reading has something to do with."""

HOSTILE_NAMES = (
    r"Fr\'ed\'eric Mot\"as",
    "J.-P. Serre",
    "Jean--Pierre Serre",
    "Jürg Rüegg",
    "P. Toezuen",
    "O'Neill, A.",
    "O`Neill",
    "李 明",
    "김철수",
    "Παπαδόπουλος Γ.",
    "Smith Jr.",
    "$\\beta$ Collaboration",
    "",
)


def list_kept() -> list[Paper]:
    papers = [
        build_paper(
            authors=[author.name for author in one.authors],
            title=one.title,
            abstract=one.abstract,
            comment=one.comment,
            journal_ref=one.journal_ref,
            report_no=one.report_no,
        )
        for one in ODD
    ]
    for text in HOSTILE:
        papers.append(build_paper(authors=HOSTILE_NAMES, **dict.fromkeys(TEXTS.values(), text)))
    return papers


def read(paper: Paper) -> PaperWords:
    return WordReader().read(paper)


def test_whoever_changes_how_words_are_read_raises_the_number_of_the_rules() -> None:
    """If this fails, add 1 to `RULES`, and write down both anew: stored words are read again."""
    hashed = hashlib.sha256()
    for paper in list_kept():
        hashed.update(ascii(read(paper)).encode())
    assert (RULES, hashed.hexdigest()) == (
        1,
        "8f422b36bc407b2b2d1b9e1c057e3fa8319dd82cca5db7bfbe814439373b64d9",
    )


ANY_TEXT = st.text(st.characters() | st.sampled_from("\t\n\v\f\r\x1c_.'$\\{}^aλ机é "), max_size=30)


@given(texts=st.tuples(*[ANY_TEXT] * len(TEXTS)), names=st.lists(ANY_TEXT, max_size=4))
@example(texts=("",) * len(TEXTS), names=[])
@example(texts=("",) * len(TEXTS), names=[""])
@example(texts=HOSTILE[: len(TEXTS)], names=list(HOSTILE_NAMES))
def test_what_is_unpacked_is_what_was_packed(texts: tuple[str, ...], names: list[str]) -> None:
    words = read(build_paper(authors=names, **dict(zip(TEXTS.values(), texts, strict=True))))
    assert PaperWords.unpack(words.pack()) == words


def test_papers_that_share_a_reader_are_read_as_each_by_itself() -> None:
    reader = WordReader()
    papers = list_kept()
    assert [reader.read(paper) for paper in papers] == list(map(read, papers))


def repack(paper: Paper) -> IndexedPaper:
    """Return a paper as the store gives it: its words were packed."""
    indexed = WordReader().index(paper)
    return IndexedPaper(
        indexed.id,
        indexed.version,
        indexed.categories,
        indexed.published,
        indexed.dois,
        indexed.license,
        PaperWords.unpack(indexed.words.pack()),
    )


def test_all_of_a_paper_can_be_asked_for_where_only_its_words_are_kept(
    make_paper: MakePaper,
) -> None:
    paper = make_paper(
        id="hep-th/9901001",
        authors=["Jürg Rüegg"],
        title="Tail latency",
        categories=("hep-th", "math.NA"),
        dois=("10.1000/Second",),
        license="http://creativecommons.org/licenses/by/4.0/",
    )
    asked = (
        "id:hep-th/9901001v1",
        "doi:10.1000/second",
        "cat:cs.NA",
        "cat:hep-th",
        "lic:cc-by",
        "au:Rueegg_J",
        'ti:"tail latencies"',
        "submittedDate:[202603020930 TO 202603020930]",
    )
    for text in asked:
        (found,) = PaperIndex([repack(paper), make_paper()]).find([parse_query(text)])
        assert 0 in found, text


def test_words_of_titles_and_abstracts_are_those_of_an_index_of_papers() -> None:
    papers = list_kept()
    listed: list[list[Sequence[str]]] = [read(paper).list_texts() for paper in papers]
    assert list(PaperIndex(papers).list_texts()) == listed
