import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.papers import Field, Paper, Reason, Span
from digest.query import Query, analyse, find_reasons, matches, parse_query
from digest.query.evaluation import AnalysedPaper
from digest.query.words import PLACE_HOLDERS, STOP_WORDS, fold_word, split_words, stem
from digest.tex import to_plain, to_segments
from tests.unit.query.conftest import MakePaper


def shown(paper: Paper, span: Span) -> str:
    """Return the raw text a span points to."""
    values = {
        Field.AUTHORS: [author.name for author in paper.authors],
        Field.CATEGORIES: list(paper.categories),
        Field.DOIS: list(paper.dois),
        Field.ID: [str(paper.id)],
    }
    value = values[span.field][span.index] if span.field in values else getattr(paper, span.field)
    return str(value)[span.start : span.end]


def list_places(query: Query, paper: Paper | AnalysedPaper) -> list[Span]:
    places: list[Span] = []
    for reason in find_reasons(query, paper):
        places += reason.spans
    return places


def explain(query: str, paper: Paper) -> list[tuple[str, list[str]]]:
    explained = []
    for reason in find_reasons(parse_query(query), paper):
        words = [shown(paper, span) for span in reason.spans]
        explained.append((reason.clause, words))
    return explained


@pytest.fixture(scope="module")
def paper(make_paper: MakePaper) -> Paper:
    return make_paper(
        title=r"Tail latency of \textbf{GPU}s and $\mu$path",
        abstract="The tail latency, and its TAIL-LATENCIES.\nSchr\\\"odinger's state of the art.",
        authors=["Pınar Tözün", r"Fr\'ed\'eric Serre", "John K. Smith"],
        categories=("cs.PF", "math.NA"),
        comment="3 figures",
        dois=("10.1000/First", "10.1000/Second"),
    )


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        ("ti:latency", [("ti:latency", ["latency"])]),
        ('abs:"tail latency"', [('abs:"tail latency"', ["tail latency", "TAIL-LATENCIES"])]),
        ('abs:"state of the art"', [('abs:"state of the art"', ["state of the art"])]),
        ("abs:=latencies", [("abs:=latencies", ["LATENCIES"])]),
        ('abs:="The Tail"', [('abs:="the tail"', ["The tail"])]),
        ("=latency", [("all:=latency", ["latency", "latency"])]),
        ("abs:schrodinger", [("abs:schrodinger", ["Schr\\\"odinger's"])]),
        ("abs:tail-state", [("abs:tail-state", ["tail", "TAIL", "state"])]),
        ("abs:laten*", [("abs:laten*", ["latency", "LATENCIES"])]),
        ("au:tozun", [("au:tozun", ["Tözün"])]),
        ('au:"pinar tozun"', [('au:"pinar tozun"', ["Pınar Tözün"])]),
        ("au:Toezuen", [("au:toezuen", ["Tözün"])]),
        ('author:"P. Toezuen"', [('author:"p toezuen"', ["Pınar Tözün"])]),
        ("au:frederic", [("au:frederic", [r"Fr\'ed\'eric"])]),
        ('au:"Smith, J"', [('au:"smith, j"', ["John", "Smith"])]),
        ("cat:cs.NA", [("cat:math.NA", ["math.NA"])]),
        ("cat:cs", [("cat:cs", ["cs.PF", "math.NA"])]),
        ("cat:cs.P*", [("cat:cs.P*", ["cs.PF"])]),
        ("id:2603.10026v1", [("id:2603.10026v1", ["2603.10026"])]),
        ("doi:10.1000/second", [("doi:10.1000/second", ["10.1000/Second"])]),
        ("submittedDate:[2026 TO *]", [("submittedDate:[202601010000 TO *]", [])]),
        ("tail", [("all:tail", ["Tail", "tail", "TAIL"])]),
        ("cs.pf", [("all:cs.PF", ["cs.PF"])]),
    ],
)
def test_a_reason_names_the_clause_and_the_raw_places(
    query: str, reasons: list[tuple[str, list[str]]], paper: Paper
) -> None:
    assert explain(query, paper) == reasons


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("cat:cs.PF AND ti:latency", ["cat:cs.PF", "ti:latency"]),
        ("ti:head OR ti:tail OR abs:tail", ["ti:tail", "abs:tail"]),
        ("ti:tail ANDNOT abs:gpu", ["ti:tail", "NOT abs:gpu"]),
        ("NOT (ti:head OR abs:gpu)", ["NOT ti:head", "NOT abs:gpu"]),
        ("NOT (ti:tail AND abs:gpu)", ["NOT abs:gpu"]),
        ("ti:tail AND NOT NOT (ti:latency OR ti:head)", ["ti:tail", "ti:latency"]),
        ("(ti:tail AND cat:cs.PF) OR (ti:tail AND cat:cs.DC)", ["ti:tail", "cat:cs.PF"]),
    ],
)
def test_only_clauses_that_contributed_are_reasons_each_once(
    query: str, clauses: list[str], paper: Paper
) -> None:
    assert [clause for clause, _ in explain(query, paper)] == clauses


def test_a_paper_that_does_not_match_has_no_reasons(paper: Paper) -> None:
    assert find_reasons(parse_query("ti:tail AND ti:head"), paper) == ()


def test_spans_say_which_author_category_or_doi(paper: Paper) -> None:
    (reason,) = find_reasons(parse_query("au:smith"), paper)
    assert reason == Reason("au:smith", (Span(Field.AUTHORS, 8, 13, index=2),))


def test_a_letter_made_by_tex_is_pointed_to_with_its_tex(make_paper: MakePaper) -> None:
    paper = make_paper(title=r"Na{\"\i}ve B\'ezier curves")
    assert explain('ti:"naive bezier"', paper) == [('ti:"naive bezier"', [r"Na{\"\i}ve B\'ezier"])]
    assert explain("ti:szegő", make_paper(title=r"On Szeg\H{o} kernels")) == [
        ("ti:szegő", [r"Szeg\H{o}"])
    ]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("ti:cdm", ["CDM"]),
        ("ti:lambda*", [r"\Lambda$CDM"]),
        ('ti:"λcdm model"', [r"\Lambda$CDM model"]),
        ('ti:"cdm model"', ["CDM model"]),
        ("ti:h_0", ["H_{0}"]),
        ("ti:0", ["_{0}"]),
        ("ti:model", ["model"]),
        ("ti:σ_8", [r"\sigma_8"]),
    ],
)
def test_what_two_readings_of_a_text_meet_is_one_place(
    query: str, places: list[str], make_paper: MakePaper
) -> None:
    paper = make_paper(title=r"The $\Lambda$CDM model, $H_{0}$ and f$\sigma_8$")
    spans = list_places(parse_query(query), paper)
    assert [shown(paper, span) for span in spans] == places


def test_an_analysed_paper_has_the_same_reasons(paper: Paper) -> None:
    query = parse_query("tail AND cat:cs.PF")
    reasons = find_reasons(query, paper)
    assert find_reasons(query.tree, paper) == reasons
    assert find_reasons(query, analyse(paper)) == reasons


TEXTS = st.text(st.sampled_from("abAB é'-.\\{}$\"^_μ\n1İß"), max_size=40)


def fold(word: str) -> str:
    """Return what a word is compared by."""
    return stem(fold_word(word))


@given(title=TEXTS, abstract=TEXTS, author=TEXTS, data=st.data())
def test_spans_cover_words_that_the_clause_means(
    title: str, abstract: str, author: str, data: st.DataObject, make_paper: MakePaper
) -> None:
    """Without TeX in the way, every span cut from the raw text holds the word asked for."""
    paper = make_paper(title=title, abstract=abstract, authors=[author])
    ready = analyse(paper)
    known = {*ready.title.surfaces, *ready.abstract.surfaces, "ab"} - STOP_WORDS - PLACE_HOLDERS
    word = data.draw(st.sampled_from(sorted(known)))
    query = parse_query(f'ti:"{word}" OR abs:"{word}"')
    reasons = find_reasons(query, ready)
    assert bool(reasons) is matches(query, ready)
    # In formulas blanks go, and words grow together.
    has_tex = bool(set(title + abstract) & set('\\{}$"^_'))
    for span in list_places(query, ready):
        raw = shown(paper, span)
        assert raw
        if not has_tex:
            marked = {fold(found.text) for found in split_words(raw)}
            assert fold(word) in marked


@given(
    title=st.lists(
        st.sampled_from(["GPU", "Größe", "größe,", "the", "tail-gpu", "x"]), max_size=8
    ).map(" ".join),
    text=st.sampled_from(
        ["ti:gpu", "ti:grosse", 'ti:"gpu grosse"', 'ti:"tail gpu"', "ti:gpu-grosse", "ti:gro*"]
    ),
)
def test_a_condition_is_met_exactly_where_it_has_a_place(
    title: str, text: str, make_paper: MakePaper
) -> None:
    paper = make_paper(title=title)
    query = parse_query(text)
    places = list_places(query, paper)
    assert bool(places) is matches(query, paper)
    assert places == sorted(places)


PIECES = st.sampled_from(
    (
        *("tail", "latency", "GPU", "the", r"Schr\"odinger", r"\textbf{GPU}", r"{\'E}tale"),
        *(r"na{\"\i}ve", r"$\mu$-law"),
        *(r"\emph{tail latency}", r"$10^{-3}$", r"Erd\H{o}s", "self-supervised", r"$k$-means"),
        *(r"\%", r"{\bf GPU}s"),
    )
)
GAPS = st.sampled_from([" ", "  ", "\n", "\n  ", "~", r"\ ", ", ", " -- "])


def read_words(text: str) -> list[str]:
    return [word.text for word in split_words(text)]


@given(pieces=st.lists(st.tuples(PIECES, GAPS), min_size=1, max_size=8), data=st.data())
def test_spans_survive_tex_and_folded_blanks(
    pieces: list[tuple[str, str]], data: st.DataObject, make_paper: MakePaper
) -> None:
    """What is marked in the title as people see it is what was looked for: no more, no less."""
    title = "".join(piece + gap for piece, gap in pieces)
    paper = make_paper(title=title)
    plain = read_words(to_plain(title))
    first = data.draw(st.integers(0, len(plain)))
    count = data.draw(st.integers(1, 3))
    wanted = [word for word in plain[first : first + count] if word]
    if not wanted or wanted[0] in STOP_WORDS or wanted[-1] in STOP_WORDS:
        return
    phrase = " ".join(wanted)
    (reason,) = find_reasons(parse_query(f'ti:"{phrase}"'), paper)
    assert reason.spans
    for span in reason.spans:
        segments = to_segments(paper.title, [(span.start, span.end)])
        marked = "".join(part.text for part in segments if part.is_marked)
        for found, word in zip(read_words(marked), wanted, strict=True):
            # Any word may stand in the place of a stop word.
            if word not in STOP_WORDS:
                assert fold(found) == fold(word)
