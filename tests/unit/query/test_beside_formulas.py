"""Words beside formulas are found by themselves and together with them, whole or parted."""

import pytest

from digest.query import matches, parse_query
from tests.unit.query.conftest import MakePaper

IN_FORMULAS = [
    (
        "abs:CDM abs:LambdaCDM abs:ΛCDM",
        ["$\\Lambda$CDM", "ΛCDM", "{\\Lambda}CDM", "\\Lambda CDM", "$\\Lambda CDM$"],
    ),
    (
        "abs:CDM abs:LambdaCDM abs:ΛCDM",
        ["$\\Lambda{\\rm CDM}$", "$\\rm\\Lambda CDM$", r"\(\Lambda\)CDM", "𝛬CDM"],
    ),
    ("abs:LambdaCDM abs:Λ-CDM", ["Λ-CDM", r"$\Lambda$-CDM", "Lambda CDM"]),
    ('abs:"H_0" abs:H_0 abs:H0 abs:"H 0"', ["$H_0$", "$H_{\\rm 0}$", "H_0", "H$_0$", "H₀"]),
    ("abs:sigma_8 abs:σ_8 abs:σ₈", [r"$f\sigma_8$", r"$\sigma_{8}h$", "fσ₈", "sigma_8"]),
    ('abs:decay abs:"beta decay" abs:βdecay', [r"$\beta$decay", "βdecay", r"\beta decay"]),
    (
        'abs:body abs:"N body" abs:Nbody abs:"$N$body"',
        ["$N$body", r"$N\mathrm{body}$", r"\(N\)body"],
    ),
    (
        'abs:Ly abs:"Ly alpha" abs:"Lyα"',
        [r"Ly$\alpha$", "Lyα", r"${\rm Ly}\alpha$", r"Ly\,$\alpha$"],
    ),
    ("abs:eff abs:N_eff abs:N_{eff} abs:Neff", [r"$N_{\rm eff}$", "N_eff", r"N$_{\mathrm{eff}}$"]),
    ("abs:GeV abs:13", [r"$13{\rm GeV}$", "13$GeV$", r"10$^{13}$GeV", "10¹³GeV"]),
    ("abs:supersymmetry", [r"$\mathcal{N}$supersymmetry", r"\mathcal{N}supersymmetry"]),
]


@pytest.mark.parametrize(("queries", "texts"), IN_FORMULAS)
def test_words_beside_formulas_are_found_by_themselves_and_together(
    queries: str, texts: list[str], make_paper: MakePaper
) -> None:
    """Each query means each text, in the midst of others; blanks and prefixes part the queries."""
    papers = [make_paper(abstract=f"in the {text} model") for text in texts]
    for part in queries.split("abs:")[1:]:
        asked = f"abs:{part.strip()}"
        query = parse_query(asked)
        not_met = [paper.abstract for paper in papers if not matches(query, paper)]
        assert not_met == [], asked


@pytest.mark.parametrize(
    ("query", "text"),
    [
        *(("abs:bod", "$N$body"), ("abs:Lambda", "LambdaCDM"), ('abs:"H model"', "$H_0$ model")),
        ('abs:"0 model"', "the H₀ of a model"),
        *(
            ("abs:α_s", r"the $\alpha$ decay"),
            ("abs:alpha_s", "two alphas"),
            ("abs:x_a", "one x of many"),
        ),
        ('abs:"ly forest"', r"Ly$\alpha$ forest"),
        ("abs:schr", r"Schr\"odinger"),
    ],
)
def test_parts_of_words_are_met_as_wholes_and_in_their_order(
    query: str, text: str, make_paper: MakePaper
) -> None:
    paper = make_paper(abstract=text)
    assert not matches(parse_query(query), paper)


def test_a_phrase_does_not_go_from_one_reading_of_a_text_to_the_other(
    make_paper: MakePaper,
) -> None:
    paper = make_paper(abstract="first words about ΛCDM and last")
    near = parse_query('abs:"last first"')
    assert not matches(near, paper)
    stop_words = " ".join(["the"] * 50)
    far = parse_query(f'abs:"last {stop_words} first"')
    assert not matches(far, paper)
