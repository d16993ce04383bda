"""What TeX becomes in HTML: few elements, everything else escaped; pairs checked by hand, in groups."""

from __future__ import annotations

import pytest

from digest.tex import to_html

MARKUP = [
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

SCRIPTS = [
    ("Latency below $10^{-3}$ s", "Latency below 10<sup>−3</sup> s"),
    (r"$\mu$path", "μpath"),
    ("$μ$path", "μpath"),
    ("La$_{2-x}$Sr$_x$CuO$_4$", "La<sub>2−<i>x</i></sub>Sr<sub><i>x</i></sub>CuO<sub>4</sub>"),
    ("$^{136}$Xe and $^4$He", "<sup>136</sup>Xe and <sup>4</sup>He"),
    (r"Scheduling in $\mathcal{O}(n^2)$", "Scheduling in 𝒪(<i>n</i><sup>2</sup>)"),
    (r"$\overline{\mathcal{M}}_{g,n}$", "ℳ̅<sub><i>g</i>,<i>n</i></sub>"),
    ("$x_i^2$ and $K_{r+1}$", "<i>x</i><sub><i>i</i></sub><sup>2</sup> and <i>K</i><sub><i>r</i>+1</sub>"),
    ("high-$T_c$ and $B_{c2}$", "high-<i>T</i><sub><i>c</i></sub> and <i>B</i><sub><i>c</i>2</sub>"),
    (r"$T_{\rm eff}$ stars, $v_{\mathrm{sin}}$", "<i>T</i><sub>eff</sub> stars, <i>v</i><sub>sin</sub>"),
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

LETTERS = [
    (r"$\alpha\beta\gamma$-decay, $\Lambda$CDM", "αβγ-decay, ΛCDM"),
    (r"$\epsilon$ $\varepsilon$ $\phi$ $\varphi$", "ϵ ε ϕ φ"),
    (r"$\mathbb{R}^n$, ${\mathbb Z}_2$, $\mathbb{1}$", "ℝ<sup><i>n</i></sup>, ℤ<sub>2</sub>, 𝟙"),
    (r"$\R^d$, $\ZZ$", "ℝ<sup><i>d</i></sup>, ℤ"),
    (r"${\cal N}=4$ and {\cal N}=2", "𝒩=4 and 𝒩=2"),
    (r"$\mathfrak{sl}_2$, $\frak{g}$", "𝔰𝔩<sub>2</sub>, 𝔤"),
    (r"$\mathbf{x}$, $\boldsymbol{\sigma}$, $\mathbf{PR}_1$", "𝐱, 𝛔, <b>PR</b><sub>1</sub>"),
    (r"$\mathscr{L}(H)$", "ℒ(<i>H</i>)"),
    (
        r"$\hbar$, $\ell$, $\aleph_0$, $\infty$, $\partial_t$, $\nabla$",
        "ℏ, ℓ, ℵ<sub>0</sub>, ∞, ∂<sub><i>t</i></sub>, ∇",
    ),
    (r"$\mathrm{SU}(2)$, $\operatorname{Aut}(G)$", "SU(2), Aut(<i>G</i>)"),
    (r"{\alpha}-titanium and \sigma-meson", "α-titanium and σ-meson"),
    (r"\b{eta} plasma", "β plasma"),
    (r"$\λ$ and \é", "λ and é"),
]

FORMULAS = [
    (r"$\gamma N \to K^* \Lambda$", "γ<i>N</i> → <i>K</i>*Λ"),
    (r"$h\rightarrow\phi\phi\rightarrow 4b$", "<i>h</i> → ϕϕ → 4<i>b</i>"),
    (r"z$\sim$5, $\gtrsim 10$, $\pm 3$", "z∼5, ≳10, ±3"),
    (r"$x\in\mathbb{R}$, $1\leq k < n$", "<i>x</i> ∈ ℝ, 1 ≤ <i>k</i> &lt; <i>n</i>"),
    (r"$3\times3$ and $3 \times 3$", "3×3 and 3 × 3"),
    ("$x = -1$, $(-1)$, $a-b$", "<i>x</i> = −1, (−1), <i>a</i>−<i>b</i>"),
    (r"$n\log n$, $\log^2 n$, $\sin(x)$", "<i>n</i> log <i>n</i>, log<sup>2</sup> <i>n</i>, sin(<i>x</i>)"),
    (
        r"$\lim_{n\to\infty} a_n$, $\sum_{k=1}^n k$",
        "lim<sub><i>n</i>→∞</sub> <i>a</i><sub><i>n</i></sub>, ∑<sub><i>k</i>=1</sub><sup><i>n</i></sup> <i>k</i>",
    ),
    (r"$\frac{1}{2}$, $\frac{a+b}{c}$, $\frac{1}{2\pi}$", "1/2, (<i>a</i>+<i>b</i>)/<i>c</i>, 1/(2π)"),
    (
        r"$\frac{1}{2}x$, $\frac{dx}{dt}$, $e^{\frac12}$",
        "(1/2)<i>x</i>, <i>dx</i>/<i>dt</i>, <i>e</i><sup>1/2</sup>",
    ),
    (
        r"${a \over b}$, ${n \choose k}$, $\binom{n}{k}$",
        "<i>a</i>/<i>b</i>, (<i>n</i> choose <i>k</i>), (<i>n</i> choose <i>k</i>)",
    ),
    (
        r"$\sqrt{2}$, $\sqrt{8/3}$, $\sqrt[3]{x}$, $\sqrt{s_{NN}}=13$",
        "√2, √(8/3), ∛<i>x</i>, √<i>s</i><sub><i>NN</i></sub>=13",
    ),
    (
        r"$\hat{H}$, $\bar\psi\psi$, $\vec{x}$, $\tilde n$, $\dot{M}$",
        "<i>Ĥ</i>, ψ̄ψ, <i>x⃗</i>, <i>ñ</i>, <i>Ṁ</i>",
    ),
    (
        r"$\bar{\nu}_e$, $\bar{D^0}$, $\widetilde{SL}_2$",
        "ν̄<sub><i>e</i></sub>, <i>D̄</i><sup>0</sup>, <i>S̃L̃</i><sub>2</sub>",
    ),
    (r"$\widehat{f*g}$, $\overline{x^2}$", "hat(<i>f</i>∗<i>g</i>), overline(<i>x</i><sup>2</sup>)"),
    (
        r"$x \not= y$, $a\not\in B$, $\not\!\! E_T$",
        "<i>x</i> ≠ <i>y</i>, <i>a</i> ∉ <i>B</i>, <i>E̸</i><sub><i>T</i></sub>",
    ),
    (r"$\left\{ x : x > 0 \right.$ $\left<a\right>$", "{<i>x</i> : <i>x</i> &gt; 0 ⟨<i>a</i>⟩"),
    (r"$|\phi\rangle$, $\|f\|_p$", "|ϕ⟩, ‖<i>f</i>‖<sub><i>p</i></sub>"),
    (r"$\{1, \ldots, n\}$", "{1, …, <i>n</i>}"),
    (r"$n \text{ is odd}$", "<i>n</i> is odd"),
    (r"$a \equiv b \pmod{p}$, $a \bmod p$", "<i>a</i> ≡ <i>b</i> (mod <i>p</i>), <i>a</i> mod <i>p</i>"),
    (r"$\begin{bmatrix}1&1\\0&1\end{bmatrix}$", "[1 1; 0 1]"),
    (r"$f=\begin{cases} 1 & x>0\\ 0 & x\le 0\end{cases}$", "<i>f</i>={1 <i>x</i>&gt;0; 0 <i>x</i> ≤ 0"),
    (
        r"we solve \[ u_t = \Delta u \] and \(x^2\)",
        "we solve <i>u</i><sub><i>t</i></sub> = Δ<i>u</i> and <i>x</i><sup>2</sup>",
    ),
    (r"so \begin{equation*} a = b \end{equation*} holds", "so <i>a</i> = <i>b</i> holds"),
    (
        r"$\stackrel{<}{\sim}$, $\overset{d}{=}$, $a \xrightarrow{f} b$",
        "≲, =<sup><i>d</i></sup>, <i>a</i> →<sup><i>f</i></sup> <i>b</i>",
    ),
    (r"$10^6\,\mathrm{M}_\odot$ at $15\,\mu$m", "10<sup>6</sup> M⊙ at 15 μm"),
    ("$pp -> X$", "<i>pp</i> → <i>X</i>"),
    ("$$E = mc^2$$", "<i>E</i> = <i>mc</i><sup>2</sup>"),
]

MEANINGS = [
    (
        r"$\frac{1}{2}mv^2$, $\frac{8}{3} xy$",
        "(1/2)<i>mv</i><sup>2</sup>, (8/3) <i>xy</i>",
    ),
    (
        r"$\frac{1}{n}\sum_i x$, $\frac32\,\mathrm{GeV}$",
        "(1/<i>n</i>)∑<sub><i>i</i></sub> <i>x</i>, 3/2 GeV",
    ),
    (r"$\frac{2}{r}\mathrm{rank}A$, $\frac12\%$", "(2/<i>r</i>)rank<i>A</i>, 1/2%"),
    (r"$\sqrt{NK}$, $\sqrt{N}K$, $\sqrt{\rm Hz}$", "√(<i>NK</i>), √<i>NK</i>, √Hz"),
    (
        "$x^{y^z}$, $x_{i_j}$",
        "<i>x</i><sup><i>y</i><sup><i>z</i></sup></sup>, <i>x</i><sub><i>i</i><sub><i>j</i></sub></sub>",
    ),
]

BLANKS = [
    (
        r"$p_c\approx1~$GPa, $\sqrt{s}=8\,$TeV",
        "<i>p</i><sub><i>c</i></sub> ≈ 1 GPa, √<i>s</i>=8 TeV",
    ),
    (r"12,000$\,$AU, RX$~$J1713.7, 30$\ $fs", "12,000 AU, RX J1713.7, 30 fs"),
    (r"$10^{-6} \,$mm$^{3}$, $2\; $kpc, $3 \:$K", "10<sup>−6</sup> mm<sup>3</sup>, 2 kpc, 3 K"),
    (r"10$\,\pm\,$3$\,$Myr, M8$\,\gamma$", "10 ± 3 Myr, M8 γ"),
    (r"we$\quad a=b\quad$and", "we <i>a</i>=<i>b</i> and"),
    (r"\emph{we$\,x\,$and}", "<i>we x and</i>"),
    (r"$\sim $5, $x $y$ z$", "∼5, <i>x</i>y<i>z</i>"),
    (
        r"$x\,$, $y~$. ($\,z\,$) $p\,$-adic 1$\,$/2",
        "<i>x</i>, <i>y</i>. (<i>z</i>) <i>p</i>-adic 1/2",
    ),
    (r"$5\,$ mm and $\,6$ mm, a $~$ b", "5 mm and 6 mm, a b"),
    (r"$\,x\,$", "<i>x</i>"),
    (r"$12\,000$, 12$\,$000, $12{,}000$", "12 000, 12 000, 12,000"),
]

WORDS = [
    (r"Schr\"odinger, K{\"a}hler, na\"{\i}ve", "Schrödinger, Kähler, naïve"),
    (r"Erd\H{o}s, Erd\H os, R\'enyi, R\' enyi", "Erdős, Erdős, Rényi, Rényi"),
    (r"\v{C}ech, Ne\v{s}et\v{r}il, Mustat\u{a}, Ra\c{s}a", "Čech, Nešetřil, Mustată, Raşa"),
    (r"\AA ngstr\"om, S\o ren, \L{}ojasiewicz, Stra\ss e", "Ångström, Søren, Łojasiewicz, Straße"),
    (r"\`a la, ma\~nana, \^ile, \=a, \.z, \'\i", "à la, mañana, île, ā, ż, í"),
    (r"\k{a} \r{u} \d{h}", "ą ů ḥ"),
    (
        r"\emph{ab initio}, {\it in vivo}, \textbf{bold}, {\em so}",
        "<i>ab initio</i>, <i>in vivo</i>, <b>bold</b>, <i>so</i>",
    ),
    (r"\texttt{malloc} and \textsc{Vertex Cover}", "<code>malloc</code> and Vertex Cover"),
    (r"see \url{http://a.example/~x_y--z} now", "see http://a.example/~x_y--z now"),
    (r"\href{http://a.example}{our page}", "our page"),
    (r"as in \cite{Doe99}, \citep[p.~3]{Roe}; \ref{fig} and \eqref{eq}", "as in [Doe99], [Roe]; [fig] and (eq)"),
    (r"MoS\textsubscript{2}, 10\textsuperscript{-3}", "MoS<sub>2</sub>, 10<sup>-3</sup>"),
    ("Navier--Stokes --- a survey, pages 3--4", "Navier–Stokes — a survey, pages 3–4"),
    ("``big'' data, it's", "“big” data, it&#x27;s"),
    ("a beam of 0.5''", "a beam of 0.5&#x27;&#x27;"),
    (r"Fig.~3, 10~km, in~\cite{A}, M.~Curie", "Fig.\xa03, 10\xa0km, in\xa0[A], M.\xa0Curie"),
    ("~10 K, z~2, (~5%), 3 ~ 4, O~(n)", "~10 K, z~2, (~5%), 3 ~ 4, O~(n)"),
    (r"super\-conductor, {\it Swift\/}, a\ b, a\\b", "superconductor, <i>Swift</i>, a b, a b"),
    (r"\begin{abstract} Text\footnote{a note}. \end{abstract}", "Text (a note)."),
]

AS_TYPED = [
    ("$5 and $6", "$5 and $6"),
    ("from $5-$10, US$3 or R$ 15 to R$ 20", "from $5-$10, US$3 or R$ 15 to R$ 20"),
    ("$5 million for $x$ units", "$5 million for <i>x</i> units"),
    ("an arbitrary $Q^2: resummed", "an arbitrary $Q^2: resummed"),
    ("of $m_t$, $m_b$ and $m_{c}", "of <i>m</i><sub><i>t</i></sub>, <i>m</i><sub><i>b</i></sub> and $m_{c}"),
    ("10^-3 and A_inf and H_2O", "10^-3 and A_inf and H_2O"),
    (r"50\% of R\&D, 50% of R&D, \#1, \$5, a\_b, \{x\}", "50% of R&amp;D, 50% of R&amp;D, #1, $5, a_b, {x}"),
    (r"\civ emission, \foo{\alpha}[x], \Aut(G)", r"\civ emission, \foo{\alpha}[x], \Aut(G)"),
    (r"$L^2(\GG^d)$", r"<i>L</i><sup>2</sup>(\GG<sup><i>d</i></sup>)"),
    ("the set {1,2,3}, {001} planes, K_{m,n}", "the set {1,2,3}, {001} planes, K_{m,n}"),
    ("an unmatched } or { or \\", "an unmatched } or { or \\"),
    ("<b>bold</b> &#263; <!channel> @here", "&lt;b&gt;bold&lt;/b&gt; &amp;#263; &lt;!channel&gt; @here"),
    (r"the plane\" potential", r"the plane\&quot; potential"),
    ("大数据 и данные עברית", "大数据 и данные עברית"),
]

PAIRS = [*MARKUP, *SCRIPTS, *LETTERS, *FORMULAS, *MEANINGS, *BLANKS, *WORDS, *AS_TYPED]


@pytest.mark.parametrize(("text", "html"), PAIRS, ids=lambda text: ascii(text)[:40])
def test_tex_reads_well_as_html(text: str, html: str) -> None:
    assert to_html(text) == html.replace("\n ", "\n")


def test_enough_pairs_were_checked_by_hand() -> None:
    assert len({text for text, _ in PAIRS}) >= 80


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
