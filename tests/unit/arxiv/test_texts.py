from __future__ import annotations

import unicodedata
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.arxiv.documents import (
    fold_line,
    fold_paragraphs,
    is_withdrawal_comment,
    read_iso_date,
    split_dois,
)
from digest.model.clock import read_rfc_date


def test_a_line_has_no_breaks_no_double_blanks_and_no_control_characters() -> None:
    assert (
        fold_line(" Slow \n  papers\x7f\x9f and\u00a0more\u2028still ")
        == "Slow papers and more still"
    )


def test_text_is_composed_and_cannot_turn_the_line_around() -> None:
    assert fold_line("To\u0308zu\u0308n \u202eevil\u202c") == "Tözün evil"


def test_tex_is_kept_as_it_was_written() -> None:
    text = r"$\mu$path with $10^{-3}$ and Erd\H{o}s, {\it x} \& y"
    assert fold_line(text) == fold_paragraphs(text) == text


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        ("  One line.", "One line."),
        ("wrapped at\neighty columns\nas of old", "wrapped at eighty columns as of old"),
        ("First.\n  Second, and\nwrapped.\n  Third.\n", "First.\nSecond, and wrapped.\nThird."),
        ("First.\r\n\r\nSecond.\n\n\n  Third.", "First.\nSecond.\nThird."),
        *(("\n  \n", ""), ("", "")),
    ],
)
def test_indented_or_empty_lines_begin_a_paragraph_and_other_breaks_are_blanks(
    raw: str, folded: str
) -> None:
    assert fold_paragraphs(raw) == folded


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    line = fold_line(text)
    paragraphs = fold_paragraphs(text)
    assert fold_line(line) == line
    assert all(fold_line(part) == part for part in paragraphs.split("\n"))
    assert unicodedata.is_normalized("NFC", line)
    assert not any(unicodedata.category(character) == "Cc" for character in line)


@pytest.mark.parametrize(
    ("texts", "dois"),
    [
        (
            ["10.1002/andp.201000099;", "10.1002/andp.201200739"],
            ("10.1002/andp.201000099", "10.1002/andp.201200739"),
        ),
        (["10.1/a; 10.1/b"], ("10.1/a", "10.1/b")),
        (["10.1/a, 10.1/b,"], ("10.1/a", "10.1/b")),
        (
            ["doi:10.1/a https://doi.org/10.1/B http://dx.doi.org/10.1/c"],
            ("10.1/a", "10.1/B", "10.1/c"),
        ),
        (["10.1007/JHEP12(2010)070"], ("10.1007/JHEP12(2010)070",)),
        (["10.1/a", "10.1/a"], ("10.1/a",)),
        (["; ", ""], ()),
    ],
)
def test_every_doi_is_found_without_what_stands_around_it(
    texts: list[str], dois: tuple[str, ...]
) -> None:
    assert split_dois(*texts) == dois


@pytest.mark.parametrize(
    "comment",
    [
        *(
            "This paper has been withdrawn",
            "This paper has been withdrawn by the author due to a crucial error",
        ),
        *(
            "9 pages, 3 figures This paper was submitted by mistake and has now been withdrawn",
            "Withdrawn",
        ),
        *("withdrawn: Theorem 2 is wrong", "Withdrawn by arXiv administrators"),
        "The submission has been temporarily withdrawn",
        "The cooperation between the authors goes wrong. So this paper is withdrawn from arXiv",
        "This submission has been withdrawn by arXiv admins",
        "This submission has been removed by arXiv administrators due to an authorship dispute",
        "This has been withdrawn by the submitter because not all authors agreed",
        "This paper is being withdrawn for now due to an error in Proposition 5.1",
        "This manuscript has been withdrawn by the authors. See the updated text",
        (
            "This paper is withdrawn because it should have replaced 1506.01565. This "
            "version will be a new one"
        ),
        *(
            "Paper has been withdrawn for major repairs",
            "Paper withdrawn",
            "12 pages, withdrawn by the author",
        ),
        "Withdrawn by the authors. Corrected versions of the material will be posted",
        "Withdrawn pending data use agreement clarification",
        "withdraw due to some gaps. We will post another paper",
        "We withdraw this paper because of an error in the proof",
        "The authors have therefore decided to withdraw the paper at this point",
        (
            "There is no way to correct Theorem 1. Therefore, we would like to "
            "immediately withdraw the paper"
        ),
        *(
            "This paper has been withdrawn by the author(s) from the arXiv",
            "This paper has been retracted",
        ),
    ],
)
def test_a_comment_that_withdraws_the_paper_is_recognised(comment: str) -> None:
    assert is_withdrawal_comment(comment)


@pytest.mark.parametrize(
    "comment",
    [
        *(
            "",
            "12 pages",
            "An earlier version of this paper has been withdrawn; this one is corrected",
        ),
        *("v2 has been withdrawn by mistake", "Replaces 0811.0001 which has been withdrawn"),
        *(
            "supersedes the paper withdrawn by the author last year",
            "How money is withdrawn from banks",
        ),
        *("Not withdrawn", "This paper is not withdrawn"),
        "An erroneous claim of irrationality has been withdrawn, with apologies",
        (
            "The preceding paper on this subject [arXiv:0811.0001] was withdrawn; this "
            "is the second try"
        ),
        (
            'The paper "Separable determination" was withdrawn from arxiv, because it '
            "is contained here"
        ),
        *("Withdrawn from Phys. Lett. B; to be resubmitted", "Withdrawn from a journal"),
        *("Withdrawn (by the authors) from JHEP", "Withdrawn as a submission to a workshop"),
        *(
            "withdrawn from consideration at a conference",
            "This paper was withdrawn from the special issue",
        ),
        "The paper was withdrawn by the authors from Physical Review Letters",
        *(
            "This paper was submitted to a journal and was withdrawn",
            "The journal submission was withdrawn",
        ),
        *("We decided to withdraw the paper from a conference", "We do not withdraw this paper"),
        *("Still trying to withdraw another paper", "previously withdrawn"),
        *("Previously withdrawn by the author, now corrected", "The previous paper was withdrawn"),
        *("This paper has not been withdrawn", "This version replaces the withdrawn paper"),
        *(
            "This version replaces the paper withdrawn by the author",
            "Comment on a retracted paper",
        ),
        "This paper has been retracted by the journal",
    ],
)
def test_a_comment_that_speaks_of_something_else_is_no_withdrawal(comment: str) -> None:
    assert not is_withdrawal_comment(comment)


def test_dates_are_brought_to_utc() -> None:
    assert read_iso_date("2026-11-20T00:00:00-05:00") == datetime(2026, 11, 20, 5, tzinfo=UTC)
    assert read_iso_date(" 2026-11-20T00:00:00Z\n") == datetime(2026, 11, 20, tzinfo=UTC)
    assert read_rfc_date("Mon, 4 Jan 1999 12:00:01 GMT") == datetime(
        1999, 1, 4, 12, 0, 1, tzinfo=UTC
    )
    assert read_rfc_date("Fri, 20 Nov 2026 00:00:00 -0530") == datetime(
        2026, 11, 20, 5, 30, tzinfo=UTC
    )
    assert read_rfc_date("20 Nov 2026 00:00:00 +0100") == datetime(2026, 11, 19, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+23:00"]
)
def test_what_is_no_iso_date_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_iso_date(text)


@pytest.mark.parametrize("text", ["", "Mon, 4 Foo 1999 12:00:01 GMT", "31 Feb 2026 00:00:00 GMT"])
def test_what_is_no_mail_date_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_rfc_date(text)


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1900, 1, 1)))  # noqa: DTZ001
def test_iso_dates_are_read_as_they_were_written(moment: datetime) -> None:
    assert read_iso_date(moment.isoformat().replace("+00:00", "Z")) == moment


@given(st.text(max_size=60))
def test_dates_are_read_or_are_a_value_error(text: str) -> None:
    for read in (read_iso_date, read_rfc_date):
        with suppress(ValueError):
            assert read(text).tzinfo is UTC
