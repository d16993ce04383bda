"""What TeX becomes in HTML: few elements, everything else escaped; pairs checked by hand."""

from __future__ import annotations

import re
import unicodedata

import pytest
from lxml.html import fragment_fromstring

from digest.tex import to_html
from tests.unit.tex.test_plain import PAIRS

MARKUP = [
    (r"$10^{-3}$", "10<sup>−3</sup>"),
    (r"$n^{3/2}$", "<i>n</i><sup>3/2</sup>"),
    (r"$K_{g,n}$", "<i>K</i><sub><i>g</i>,<i>n</i></sub>"),
    (r"Fe$_{1-x}$Se", "Fe<sub>1−<i>x</i></sub>Se"),
    (r"$x_{a_1}^2$", "<i>x</i><sub><i>a</i><sub>1</sub></sub><sup>2</sup>"),
    *((r"$\alpha x$", "α<i>x</i>"), (r"$\mathrm{GeV}$", "GeV")),
    (r"\emph{ab initio}", "<i>ab initio</i>"),
    (r"\textbf{a} \texttt{b} {\bf c}", "<b>a</b> <code>b</code> <b>c</b>"),
    (r"\emph{a \textbf{b} c}", "<i>a </i><i><b>b</b></i><i> c</i>"),
    (r"$\mathbf{Ni}$", "<b>Ni</b>"),
    ("<b> & \"x\" 'y' &#263;", "&lt;b&gt; &amp; &quot;x&quot; &#x27;y&#x27; &amp;#263;"),
    (r"$\mathbf{x}$, $\boldsymbol{\sigma}$, $\mathbf{PR}_1$", "𝐱, 𝛔, <b>PR</b><sub>1</sub>"),
    (r"$\hat{H}$, $\bar\psi\psi$, $\bar{D^0}$", "<i>Ĥ</i>, ψ̄ψ, <i>D̄</i><sup>0</sup>"),
    (r"$n\log n$, $\frac{1}{2}x$", "<i>n</i> log <i>n</i>, (1/2)<i>x</i>"),
    (r"$\overset{d}{=}$, MoS\textsubscript{2}", "=<sup><i>d</i></sup>, MoS<sub>2</sub>"),
    (r"\emph{we$\,x\,$and} $x $y$ z$", "<i>we x and</i> <i>x</i>y<i>z</i>"),
    (r"$a<b$ $x \& y$", "<i>a</i>&lt;<i>b</i> <i>x</i> &amp; <i>y</i>"),
    (r"\textless{}script\textgreater", "&lt;script&gt;"),
    (r"$x^{<b>}$", "<i>x</i><sup>&lt;<i>b</i>&gt;</sup>"),
    (r"\foo{<i>}", r"\foo{&lt;i&gt;}"),
    (r"\url{http://a.example/?x=1&y=<2>}", "http://a.example/?x=1&amp;y=&lt;2&gt;"),
    *((r"10~km", "10\u00a0km"), ("one\n two", "one\n two"), ("a\u202eb\x00", "ab"), ("", "")),
]

SCRIPTS = [
    ("Latency below $10^{-3}$ s", "Latency below 10<sup>−3</sup> s"),
    *((r"$\mu$path", "μpath"), ("$μ$path", "μpath")),
    ("La$_{2-x}$Sr$_x$CuO$_4$", "La<sub>2−<i>x</i></sub>Sr<sub><i>x</i></sub>CuO<sub>4</sub>"),
    ("$^{136}$Xe and $^4$He", "<sup>136</sup>Xe and <sup>4</sup>He"),
    (r"Scheduling in $\mathcal{O}(n^2)$", "Scheduling in 𝒪(<i>n</i><sup>2</sup>)"),
    (r"$\overline{\mathcal{M}}_{g,n}$", "ℳ̅<sub><i>g</i>,<i>n</i></sub>"),
    (
        "$x_i^2$ and $K_{r+1}$",
        "<i>x</i><sub><i>i</i></sub><sup>2</sup> and <i>K</i><sub><i>r</i>+1</sub>",
    ),
    (
        "high-$T_c$ and $B_{c2}$",
        "high-<i>T</i><sub><i>c</i></sub> and <i>B</i><sub><i>c</i>2</sub>",
    ),
    (
        r"$T_{\rm eff}$ stars, $v_{\mathrm{sin}}$",
        "<i>T</i><sub>eff</sub> stars, <i>v</i><sub>sin</sub>",
    ),
    ("$m_DV$, $m_D V$", "<i>m</i><sub><i>D</i></sub><i>V</i>, <i>m</i><sub><i>D</i></sub><i>V</i>"),
    (r"$\Lambda_b^0$", "Λ<sub><i>b</i></sub><sup>0</sup>"),
    ("$e^{x^2}$", "<i>e</i><sup><i>x</i><sup>2</sup></sup>"),
    (r"$K^\pm$ and $K^{*\mp}$", "<i>K</i><sup>±</sup> and <i>K</i><sup>∗∓</sup>"),
    ("$C^*$-algebras, $K^*(892)$", "<i>C</i>*-algebras, <i>K</i>*(892)"),
    (r"a 32-M$_\oplus$ planet of $2 M_\odot$", "a 32-M⊕ planet of 2 <i>M</i>⊙"),
    (r"$27^\circ$C, $f'$, $g''$, $h^{\prime\prime}$", "27°C, <i>f</i>′, <i>g</i>″, <i>h</i>″"),
    ("$x^{}y_{}$", "<i>xy</i>"),
    ("$^1S_0 - ^1P_1$", "<sup>1</sup><i>S</i><sub>0</sub> − <sup>1</sup><i>P</i><sub>1</sub>"),
    ("$x^2_3^4$ $x^^2$", "<i>x</i><sup>2</sup><sub>3</sub><sup>4</sup> <i>x</i>^<sup>2</sup>"),
]


@pytest.mark.parametrize(("text", "html"), [*MARKUP, *SCRIPTS], ids=lambda text: ascii(text)[:40])
def test_tex_reads_well_as_html(text: str, html: str) -> None:
    assert to_html(text) == html.replace("\n ", "\n")


SIGNS = re.compile(r"[\^_]\(((?:[^()]|\([^()]*\))*)\)|[\^_]")
"""How plain text marks a script that has no letters of its own."""


def list_letters(text: str) -> str:
    """Return the letters of a text without blanks, those of scripts as if on the line."""
    letters = "".join(
        unicodedata.normalize("NFKC", text).replace("-", "−").replace("∗", "*").split()
    )
    without = SIGNS.sub(lambda found: found[1] or "", letters)
    return letters if without == letters else list_letters(without)


@pytest.mark.parametrize(("text", "plain"), PAIRS, ids=lambda text: ascii(text)[:40])
def test_html_shows_the_letters_that_plain_text_shows(text: str, plain: str) -> None:
    shown = fragment_fromstring(to_html(text), create_parent="div").itertext()
    assert list_letters("".join(map(str, shown))) == list_letters(plain)


def test_a_highlight_is_wrapped_in_a_mark() -> None:
    assert to_html("tail latency of GPUs", [(0, 12)]) == "<mark>tail latency</mark> of GPUs"


def test_a_highlight_that_starts_within_an_element_stays_well_formed() -> None:
    assert to_html(r"\emph{tail latency} of GPUs", [(11, 22)]) == (
        "<i>tail </i><mark><i>latency</i> of</mark> GPUs"
    )


def test_a_highlight_on_a_part_of_a_script_marks_the_script() -> None:
    assert to_html(r"$x^{10}$ y", [(4, 5)]) == "<i>x</i><mark><sup>10</sup></mark> y"


def test_highlights_that_touch_or_overlap_are_one() -> None:
    assert to_html("abcdef", [(3, 5), (1, 3), (2, 4)]) == "a<mark>bcde</mark>f"


def test_a_highlight_of_markup_is_escaped_too() -> None:
    assert to_html("a <script> b", [(2, 10)]) == "a <mark>&lt;script&gt;</mark> b"
