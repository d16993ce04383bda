"""What packages and authors' own commands print.

In titles, for matching, and if they are not what they seem.
"""

import pytest

from digest.query import matches, parse_query
from digest.tex import to_html, to_plain
from tests.unit.query.conftest import build_paper

PRINTED = [
    # chemistry
    (r"\ce{H2O} and \ce{Fe^3+}", "H₂O and Fe³⁺"),
    (r"\ce{SO4^{2-}}, \ce{NH4+}, \ce{Na+}", "SO₄²⁻, NH₄⁺, Na⁺"),
    (r"\ce{CO2 + H2O -> H2CO3}", "CO₂ + H₂O → H₂CO₃"),
    (r"\ce{N2 <=> 2N}", "N₂ ⇌ 2N"),
    (r"\ce{^{87}Rb}, \ce{$\alpha$-Fe2O3}", "⁸⁷Rb, α-Fe₂O₃"),
    (r"\isotope[12]{C}, \isotope[235][92]{U}, \isotope{C}", "¹²C, ²³⁵U, C"),
    # units and numbers
    (r"\SI{3}{\km} and \SI{1.5e3}{\kilo\meter\per\second}", "3 km and 1.5×10³ km/s"),
    (r"\qty{5}{\micro\second}, \qty{30}{\degree}, \ang{45}", "5 µs, 30°, 45°"),
    (r"\unit{\giga\electronvolt}, \si{\m\s^{-1}}, \si{\metre\squared}", "GeV, m s⁻¹, m²"),
    (r"\num{1e5}, \num{2.5e-3}, \num{3+-1}, \num{-2}", "1×10⁵, 2.5×10⁻³, 3 ± 1, −2"),
    (r"\SIrange{1}{3}{\GeV}, $\SI{3}{km}$", "1–3 GeV, 3 km"),
    # ions and other names of astronomers
    (r"\ion{Fe}{xxv}, \ion{H}{2}, \ion{C}{IV}", "Fe XXV, H II, C IV"),
    (r"\HI, \HII regions, \CIV and \ion{O}{iii}", "H I, H II regions, C IV and O III"),
    (r"H\,{\sc ii} and H\,\textsc{ii}", "H ii and H ii"),
    (r"\Ha\ and \Hbeta, \Lya forest", "Hα and Hβ, Lyα forest"),
    (r"10 \msun, $5\,\Lsun$, \Rsun", "10 M⊙, 5 L⊙, R⊙"),
    (r"5\farcs3, 30\arcsec, 1\fdg2, 3\deg", "5″.3, 30″, 1°.2, 3°"),
    (r"\kms, $a \lesssim b$, \lsim 3", "km s⁻¹, a ≲ b, ≲ 3"),
    # states, norms
    (r"\ket{0}, $\ket{\psi}$, \bra{\phi}", "|0⟩, |ψ⟩, ⟨ϕ|"),
    (
        r"$\braket{\phi|\psi}$, $\braket{a}{b}$, $\ketbra{0}{1}$, $\expval{H}$",
        "⟨ϕ|ψ⟩, ⟨a|b⟩, |0⟩⟨1|, ⟨H⟩",
    ),
    (r"\abs{x}, $\norm{x}$", "|x|, ‖x‖"),
    # acronyms, code, abbreviations
    (r"\ac{CNN}, \acp{GNN}, \gls{dm}, \acrshort{gan}", "CNN, GNNs, dm, gan"),
    (r"\verb|x_i|, \verb+a b+, \lstinline|y|", "x_i, a b, y"),
    (r"\eg this, \ie that, Foo \etal\ 2016", "e.g. this, i.e. that, Foo et al. 2016"),
    (r"\ensuremath{\alpha}, foo\xspace bar", "α, foo bar"),
    # declarations taken for commands
    (r"\rm{Fe}, \bf{x}, \it{in vivo}", "Fe, x, in vivo"),
    (r"\frak{g}, \frak g-modules, \cal N=4, \cal{N}", "𝔤, 𝔤-modules, 𝒩=4, 𝒩"),
    (r"{\rm{Fe} II} and {\frak g}", "Fe II and 𝔤"),
    # umlauts apart, and quotation marks
    (r"Schr\" odinger, G\" odel, K\" ahler", "Schrödinger, Gödel, Kähler"),
    (r"plane\" potential, Planck\" era", r"plane\" potential, Planck\" era"),
    # what is not followed by what it takes stays as typed
    (r"\ce foo, \SI{3} foo, \ion{C} IV", r"\ce foo, \SI{3} foo, \ion{C} IV"),
    (r"\abs foo, \ket foo, {\verb|x|}, \verb|foo", r"\abs foo, \ket foo, \verb|x|, \verb|foo"),
]

FOUND = [
    ('abs:"Fe XXV"', r"the \ion{Fe}{xxv} line"),
    ("abs:H2O", r"maps of \ce{H2O} ice"),
    ("abs:CNN", r"an \ac{CNN} is"),
    ('abs:"H II regions"', r"\HII regions"),
    ('abs:"H II"', r"H\,{\sc ii} regions"),
    ('abs:"3 km"', r"\SI{3}{\km} long"),
    ("abs:GeV", r"\unit{\giga\electronvolt} scale"),
    ("abs:Schrodinger", r"Schr\" odinger equation"),
    ("abs:LambdaCDM", r"in \LCDM models"),
    ("abs:psi", r"the state \ket{\psi} is"),
    ("abs:x_i", r"with \verb|x_i| in"),
    ("abs:Fe", r"of \rm{Fe} and"),
]


@pytest.mark.parametrize(("text", "plain"), PRINTED, ids=lambda text: ascii(text)[:40])
def test_it_reads_as_it_prints(text: str, plain: str) -> None:
    assert to_plain(text) == plain


@pytest.mark.parametrize(("query", "abstract"), FOUND)
def test_it_is_found_as_it_reads(query: str, abstract: str) -> None:
    assert matches(parse_query(query), build_paper(abstract=f"We see {abstract} here."))


def test_code_is_set_as_code_and_a_highlight_marks_a_formula_as_a_whole() -> None:
    assert to_html(r"\verb|x<y|") == "<code>x&lt;y</code>"
    assert to_html(r"\ce{H2O} ice", [(4, 6)]) == "<mark>H₂O</mark> ice"
