"""Every difference between our answer and arXiv's in a class that is shown to be its cause."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from digest.papers import Author, Paper
from digest.planning import auditing
from digest.planning.auditing import (
    EXPLANATIONS,
    Covered,
    Difference,
    DifferenceClass,
    Dispute,
    Question,
    classify_difference,
)
from digest.query import parse_query
from tests.unit.made_up import make_paper

FIRST, LAST = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
GPU = make_paper("2611.00010", abstract="On a GPU, with poly(I:C).", authors=(Author("Weimar Wexcombe"),))


def ask(text: str, **fields: Any) -> Question:  # noqa: ANN401 - the fields of Question
    return Question(parse_query(text), FIRST, LAST, **{"covered": None, "is_stored": True, **fields})


def judge(
    question: Question,
    stored: Paper | None,
    theirs: Paper | None,
    *,
    is_found: bool,
    parted: Paper | None = None,
) -> DifferenceClass | None:
    paper = stored or theirs
    assert paper is not None
    found = classify_difference(question, Dispute(paper.id, stored, theirs, is_found, parted))
    return found.kind if found else None


def test_where_both_answers_agree_there_is_no_difference() -> None:
    assert judge(ask("abs:GPU"), GPU, GPU, is_found=True) is None
    assert judge(ask("abs:zebra"), GPU, GPU, is_found=False) is None


def test_what_nothing_explains_is_unclassified() -> None:
    assert judge(ask("abs:GPU"), GPU, GPU, is_found=False) is DifferenceClass.UNCLASSIFIED
    assert judge(ask("abs:zebra"), GPU, GPU, is_found=True) is DifferenceClass.UNCLASSIFIED


def test_only_what_was_lost_and_what_nobody_can_explain_is_alarming() -> None:
    alarming = {kind for kind in DifferenceClass if kind.is_alarming}
    assert alarming == {DifferenceClass.MISSED, DifferenceClass.UNCLASSIFIED}


def test_every_class_says_what_it_means_in_a_line() -> None:
    assert set(EXPLANATIONS) == set(DifferenceClass)
    assert max(map(len, EXPLANATIONS.values())) <= 90


@pytest.mark.parametrize(
    ("text", "changed", "is_found", "kind"),
    [
        ("abs:schrodinger", {"abstract": "After Schrödinger."}, False, DifferenceClass.ACCENTS),
        ("abs:schrodinger", {"abstract": r"After Schr\"odinger."}, False, DifferenceClass.TEX),
        ("ti:sim", {"title": r"The $\sim$ decay"}, True, DifferenceClass.TEX),
        ("abs:c", {"abstract": "We use poly(I:C)."}, False, DifferenceClass.COLONS),
        ('au:"Wexcombe, Wei"', {}, True, DifferenceClass.NAMES),
        ("au:corvane", {"submitter": "Sven Corvane"}, True, DifferenceClass.SUBMITTER),
        ("au:nobody", {}, True, DifferenceClass.OWNERS),
        ("abs:GPU ANDNOT rn:desy", {}, False, DifferenceClass.REPORT_NO),
        ('all:"GPU Wexcombe"', {}, True, DifferenceClass.JOINED),
        ("all:nobody", {}, True, DifferenceClass.UNSEEN),
        ("rn:desy", {}, True, DifferenceClass.REPORT_NO),
        ("doi:10.1000/abc", {"dois": ("10.1000/AbC",)}, False, DifferenceClass.DOI),
    ],
)
def test_a_rule_of_arxivs_is_named_where_it_is_the_cause(
    text: str,
    changed: dict[str, Any],
    is_found: bool,  # noqa: FBT001 - a table of what is expected
    kind: DifferenceClass,
) -> None:
    paper = replace(GPU, **changed)
    assert judge(ask(text), paper, paper, is_found=is_found) is kind


@pytest.mark.parametrize("text", ["abs:nobody", "cat:cs.LG", "ti:nobody AND au:wexcombe", "id:2611.00011"])
def test_what_arxiv_hands_out_in_full_is_never_explained_by_what_it_hides(text: str) -> None:
    assert judge(ask(text), GPU, GPU, is_found=True) is DifferenceClass.UNCLASSIFIED


def test_a_report_number_that_a_harvest_told_is_no_excuse() -> None:
    told = replace(GPU, report_no="CERN-1")
    assert judge(ask("rn:desy"), told, GPU, is_found=True) is DifferenceClass.UNCLASSIFIED


def test_what_was_asked_for_beyond_the_query_is_known_by_the_words_arxiv_was_asked_in() -> None:
    question = ask('author:"Wei Wexcombe"')
    somebody_else = replace(GPU, authors=(Author("Walter Wexcombe"),))
    assert judge(question, somebody_else, somebody_else, is_found=True) is DifferenceClass.ASKED_MORE


def test_a_query_that_is_asked_for_less_than_it_means_is_no_known_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auditing, "to_arxiv", lambda _: "(cat:cs.PF AND ti:nonsense)")
    assert judge(ask("cat:cs.PF"), GPU, GPU, is_found=False) is DifferenceClass.UNCLASSIFIED


def test_causes_that_only_act_together_are_both_named() -> None:
    paper = replace(GPU, title=r"$\sim$ decay", abstract="After Schrödinger.")
    dispute = Dispute(paper.id, paper, paper, is_found=True)
    found = classify_difference(ask("ti:sim ANDNOT abs:schrodinger"), dispute)
    assert found == Difference(
        paper.id,
        paper.title,
        is_found=True,
        kind=DifferenceClass.TEX,
        because=(DifferenceClass.TEX, DifferenceClass.ACCENTS),
    )


def test_another_version_at_arxiv_is_the_cause_where_it_decides_otherwise() -> None:
    newer = replace(GPU, version=2, abstract="On paper.")
    assert judge(ask("abs:GPU"), GPU, newer, is_found=False) is DifferenceClass.VERSION
    edited = replace(GPU, categories=("cs.PF", "cs.DC"))
    assert judge(ask("cat:cs.DC"), GPU, edited, is_found=True) is DifferenceClass.METADATA


def test_another_date_of_submission_at_arxiv_is_a_difference_of_metadata() -> None:
    earlier = replace(GPU, published=datetime(2026, 10, 1, tzinfo=UTC))
    assert judge(ask("abs:GPU"), GPU, earlier, is_found=False) is DifferenceClass.METADATA


def test_control_characters_are_the_cause_where_blanks_in_their_place_decide_otherwise() -> None:
    parted = replace(GPU, abstract="On a G PU.")
    assert judge(ask("abs:GPU"), GPU, GPU, is_found=False, parted=parted) is DifferenceClass.CONTROLS
    assert judge(ask("abs:poly"), GPU, GPU, is_found=False, parted=GPU) is DifferenceClass.UNCLASSIFIED


def test_control_characters_may_act_together_with_other_causes() -> None:
    paper = replace(GPU, title="Schrodinger", abstract=r"After Schr\"odinger.")
    parted = replace(paper, title="Schr odinger")
    kind = judge(ask("all:schrodinger"), paper, paper, is_found=False, parted=parted)
    assert kind is DifferenceClass.CONTROLS


def test_what_arxivs_search_does_not_know_is_not_in_its_index_yet() -> None:
    assert judge(ask("abs:GPU"), GPU, None, is_found=False) is DifferenceClass.NOT_INDEXED


@pytest.mark.parametrize(
    ("covered", "kind"),
    [
        (None, DifferenceClass.NOT_WATCHED),
        (Covered((202611, 10), (202611, 99)), DifferenceClass.BEFORE),
        (Covered((202611, 1), (202611, 9)), DifferenceClass.SINCE),
        (Covered((202611, 9), (202611, 10)), DifferenceClass.MISSED),
    ],
)
def test_a_paper_that_matches_and_is_not_stored_says_why(covered: Covered | None, kind: DifferenceClass) -> None:
    assert judge(ask("abs:GPU", covered=covered), None, GPU, is_found=True) is kind


def test_where_nothing_is_stored_nothing_can_be_missing_from_it() -> None:
    assert judge(ask("abs:GPU", is_stored=False), None, GPU, is_found=True) is None


def test_a_paper_that_is_not_stored_and_does_not_match_is_judged_by_its_meaning() -> None:
    question = ask("ti:sim", covered=Covered((202611, 9), (202611, 10)))
    assert judge(question, None, replace(GPU, title=r"$\sim$"), is_found=True) is DifferenceClass.TEX
