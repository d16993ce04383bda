"""What TeX becomes in HTML: few elements, everything else escaped."""

from __future__ import annotations

import pytest

from digest.tex import to_html

PAIRS = [
    (r"$10^{-3}$", "10<sup>−3</sup>"),
    (r"$n^{3/2}$", "<i>n</i><sup>3/2</sup>"),
    (r"$K_{g,n}$", "<i>K</i><sub><i>g</i>,<i>n</i></sub>"),
    (r"Fe$_{1-x}$Se", "Fe<sub>1−<i>x</i></sub>Se"),
    (r"$x_{a_1}^2$", "<i>x</i><sub><i>a</i><sub>1</sub></sub><sup>2</sup>"),
    (r"$\alpha x$", "α<i>x</i>"),
    (r"$\mathrm{GeV}$", "GeV"),
    (r"\emph{ab initio}", "<i>ab initio</i>"),
    (r"\textbf{a} \texttt{b} {\bf c}", "<b>a</b> <code>b</code> <b>c</b>"),
    (r"\emph{a \textbf{b} c}", "<i>a </i><i><b>b</b></i><i> c</i>"),
    (r"$\mathbf{Ni}$", "<b>Ni</b>"),
    ("<b> & \"x\" 'y' &#263;", "&lt;b&gt; &amp; &quot;x&quot; &#x27;y&#x27; &amp;#263;"),
    (r"$a<b$ $x \& y$", "<i>a</i>&lt;<i>b</i> <i>x</i> &amp; <i>y</i>"),
    (r"\textless{}script\textgreater", "&lt;script&gt;"),
    (r"$x^{<b>}$", "<i>x</i><sup>&lt;<i>b</i>&gt;</sup>"),
    (r"\foo{<i>}", r"\foo{&lt;i&gt;}"),
    (r"\url{http://a.example/?x=1&y=<2>}", "http://a.example/?x=1&amp;y=&lt;2&gt;"),
    (r"10~km", "10\u00a0km"),
    ("one\n two", "one\n two"),
    ("a\u202eb\x00", "ab"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "html"), PAIRS, ids=lambda text: ascii(text)[:40])
def test_tex_reads_well_as_html(text: str, html: str) -> None:
    assert to_html(text) == html.replace("\n ", "\n")


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
