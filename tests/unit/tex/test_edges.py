"""Edges of formulas, marked for those who look for words."""

from __future__ import annotations

import pytest
from hypothesis import given

from digest.tex import parse_tex, parse_words
from tests.unit.tex.test_properties import texts


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        *(("$N$body", "N_body"), ("two$N$", "two_N")),
        ("$5$GeV, $x$-axis, ($y$)", "5_GeV, x-axis, (y)"),
        (r"$\mathcal{N}x$, $2x$, $p\bar{p}p$", "𝒩_x, 2_x, p_p̄_p"),
        (r"$\mathrm{Ly}\alpha$ and $H_0t$", "Lyα and H₀t"),
        (r"$\Lambda$CDM", "ΛCDM"),
        (r"\(N\)body, \mathcal{N}body", "N_body, 𝒩_body"),
        (r"$N_{cell}x$", "N_(cell)x"),
        (r"$\rho_{\mathrm{crit}0}$, $x^{2{\rm BH}, y}$", "ρ_(crit_0), x^(2_BH,y)"),
        *((r"9$\,$TeV", "9 TeV"), (r"$\text{for $n$x}$", "for n_x")),
        (
            r"\Lambda CDM, \ell p, \Lambda\ CDM, {\Lambda} CDM, \log x",
            "Λ_CDM, ℓ_p, Λ CDM, Λ CDM, log x",
        ),
        (r"Caf\'e au \emph{lai}t, Erd\H os, G{\"o}del", "Café au lait, Erdős, Gödel"),
        ("x_1 and $5 or $6", "x_1 and $5 or $6"),
    ],
)
def test_an_edge_stands_where_letters_or_digits_meet_a_formula(text: str, marked: str) -> None:
    assert "".join(piece.text for piece in parse_words(text)) == marked


@given(texts)
def test_but_for_edges_and_the_blanks_they_replace_words_are_those_that_show(text: str) -> None:
    marked = parse_words(text)
    kept = "".join(piece.text for piece in marked if piece.start < piece.end or piece.text != "_")
    assert "".join(kept.split()) == "".join(
        "".join(piece.text for piece in parse_tex(text)).split()
    )
