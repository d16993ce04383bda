"""What reads well as plain Unicode: pairs checked by hand, in groups."""

from __future__ import annotations

import pytest

from digest.tex import to_plain

SCRIPTS = [
    (r"Latency below $10^{-3}$ s", "Latency below 10⁻³ s"),
    *((r"$\mu$path", "μpath"), (r"$μ$path", "μpath")),
    (r"La$_{2-x}$Sr$_x$CuO$_4$", "La₂₋ₓSrₓCuO₄"),
    (r"$^{136}$Xe and $^4$He", "¹³⁶Xe and ⁴He"),
    (r"Scheduling in $\mathcal{O}(n^2)$", "Scheduling in 𝒪(n²)"),
    (r"$n^{3/2}$", "n^(3/2)"),
    (r"$\overline{\mathcal{M}}_{g,n}$", "ℳ̅_(g,n)"),
    (r"$x_i^2$ and $K_{r+1}$", "xᵢ² and Kᵣ₊₁"),
    (r"high-$T_c$ and $B_{c2}$", "high-T_c and B_(c2)"),
    (r"$T_{\rm eff}$ stars, $v_{\mathrm{sin}}$", "T_eff stars, vₛᵢₙ"),
    (r"$m_DV$, $m_D V$", "m_(D)V, m_(D)V"),
    *((r"$\Lambda_b^0$", "Λ_b⁰"), (r"$e^{x^2}$", "e^(x²)")),
    (r"$K^\pm$ and $K^{*\mp}$", "K^± and K^(*∓)"),
    (r"$C^*$-algebras, $K^*(892)$", "C*-algebras, K*(892)"),
    (r"a 32-M$_\oplus$ planet of $2 M_\odot$", "a 32-M⊕ planet of 2 M⊙"),
    (r"$27^\circ$C, $f'$, $g''$, $h^{\prime\prime}$", "27°C, f′, g″, h″"),
    *((r"$x^{}y_{}$", "xy"), (r"$^1S_0 - ^1P_1$", "¹S₀ − ¹P₁"), (r"$x^2_3^4$ $x^^2$", "x²₃⁴ x^²")),
]

LETTERS = [
    (r"$\alpha\beta\gamma$-decay, $\Lambda$CDM", "αβγ-decay, ΛCDM"),
    (r"$\epsilon$ $\varepsilon$ $\phi$ $\varphi$", "ϵ ε ϕ φ"),
    (r"$\mathbb{R}^n$, ${\mathbb Z}_2$, $\mathbb{1}$", "ℝⁿ, ℤ₂, 𝟙"),
    (r"$\R^d$, $\ZZ$", "ℝᵈ, ℤ"),
    (r"${\cal N}=4$ and {\cal N}=2", "𝒩=4 and 𝒩=2"),
    (r"$\mathfrak{sl}_2$, $\frak{g}$", "𝔰𝔩₂, 𝔤"),
    (r"$\mathbf{x}$, $\boldsymbol{\sigma}$, $\mathbf{PR}_1$", "𝐱, 𝛔, PR₁"),
    (r"$\mathscr{L}(H)$", "ℒ(H)"),
    (r"$\hbar$, $\ell$, $\aleph_0$, $\infty$, $\partial_t$, $\nabla$", "ℏ, ℓ, ℵ₀, ∞, ∂ₜ, ∇"),
    (r"$\mathrm{SU}(2)$, $\operatorname{Aut}(G)$", "SU(2), Aut(G)"),
    (r"{\alpha}-titanium and \sigma-meson", "α-titanium and σ-meson"),
    *((r"\b{eta} plasma", "β plasma"), (r"$\λ$ and \é", "λ and é")),
]

FORMULAS = [
    (r"$\gamma N \to K^* \Lambda$", "γN → K*Λ"),
    (r"$h\rightarrow\phi\phi\rightarrow 4b$", "h → ϕϕ → 4b"),
    (r"z$\sim$5, $\gtrsim 10$, $\pm 3$", "z∼5, ≳10, ±3"),
    (r"$x\in\mathbb{R}$, $1\leq k < n$", "x ∈ ℝ, 1 ≤ k < n"),
    (r"$3\times3$ and $3 \times 3$", "3×3 and 3 × 3"),
    (r"$x = -1$, $(-1)$, $a-b$", "x = −1, (−1), a−b"),
    (r"$n\log n$, $\log^2 n$, $\sin(x)$", "n log n, log² n, sin(x)"),
    (r"$\lim_{n\to\infty} a_n$, $\sum_{k=1}^n k$", "lim_(n→∞) aₙ, ∑ₖ₌₁ⁿ k"),
    (r"$\frac{1}{2}$, $\frac{a+b}{c}$, $\frac{1}{2\pi}$", "1/2, (a+b)/c, 1/(2π)"),
    (r"$\frac{1}{2}x$, $\frac{dx}{dt}$, $e^{\frac12}$", "(1/2)x, dx/dt, e^(1/2)"),
    (r"${a \over b}$, ${n \choose k}$, $\binom{n}{k}$", "a/b, (n choose k), (n choose k)"),
    (r"$\sqrt{2}$, $\sqrt{8/3}$, $\sqrt[3]{x}$, $\sqrt{s_{NN}}=13$", "√2, √(8/3), ∛x, √s_NN=13"),
    (r"$\hat{H}$, $\bar\psi\psi$, $\vec{x}$, $\tilde n$, $\dot{M}$", "Ĥ, ψ̄ψ, x⃗, ñ, Ṁ"),
    (r"$\bar{\nu}_e$, $\bar{D^0}$, $\widetilde{SL}_2$", "ν̄ₑ, D̄⁰, S̃L̃₂"),
    (r"$\widehat{f*g}$, $\overline{x^2}$", "hat(f∗g), overline(x²)"),
    (r"$x \not= y$, $a\not\in B$, $\not\!\! E_T$", "x ≠ y, a ∉ B, E̸_T"),
    (r"$\left\{ x : x > 0 \right.$ $\left<a\right>$", "{x : x > 0 ⟨a⟩"),
    (r"$|\phi\rangle$, $\|f\|_p$", "|ϕ⟩, ‖f‖ₚ"),
    (r"$\{1, \ldots, n\}$", "{1, …, n}"),
    (r"$n \text{ is odd}$", "n is odd"),
    (r"$a \equiv b \pmod{p}$, $a \bmod p$", "a ≡ b (mod p), a mod p"),
    (r"$\begin{bmatrix}1&1\\0&1\end{bmatrix}$", "[1 1; 0 1]"),
    (r"$f=\begin{cases} 1 & x>0\\ 0 & x\le 0\end{cases}$", "f={1 x>0; 0 x ≤ 0"),
    (r"we solve \[ u_t = \Delta u \] and \(x^2\)", "we solve uₜ = Δu and x²"),
    (r"so \begin{equation*} a = b \end{equation*} holds", "so a = b holds"),
    (r"$\stackrel{<}{\sim}$, $\overset{d}{=}$, $a \xrightarrow{f} b$", "≲, =ᵈ, a →ᶠ b"),
    (r"$10^6\,\mathrm{M}_\odot$ at $15\,\mu$m", "10⁶ M⊙ at 15 μm"),
    *((r"$pp -> X$", "pp → X"), (r"$$E = mc^2$$", "E = mc²")),
]

MEANINGS = [
    (r"$\frac{1}{2}mv^2$, $\frac{8}{3} xy$, $\frac{1}{2}x$", "(1/2)mv², (8/3) xy, (1/2)x"),
    (r"$\frac{1}{n}\sum_i x_i$, $\frac{1}{T}\int_0^T f$", "(1/n)∑ᵢ xᵢ, (1/T)∫₀ᵀ f"),
    (r"$\frac{2}{r}\mathrm{rank}A$, $\frac32\,\mathrm{GeV}$", "(2/r)rankA, 3/2 GeV"),
    (r"$\frac12 \text{ if }x$, $\frac{1}{2}\%$, $e^{\frac12 mv}$", "1/2 if x, 1/2%, e^((1/2)mv)"),
    (r"$\sqrt{NK}$, $\sqrt{N}K$, $\sqrt[3]{ab_c}$", "√(NK), √NK, ∛(ab_c)"),
    (r"$\sqrt{s_{NN}}$, $\sqrt{\rm Hz}$, fT/$\sqrt{Hz}$", "√s_NN, √Hz, fT/√Hz"),
    (r"$x^{y^z}$, $2^{2^n}$, $\mathbb{F}_{q^n}$", "x^(yᶻ), 2^(2ⁿ), 𝔽_(qⁿ)"),
    (
        r"$\sqrt{s_{_{NN}}}$, $s_{_{NN}}$, $s_{_{\rm NN}}x$, $x_{ _1}$, $x^{^{b}}$",
        "√s_NN, s_NN, s_(NN)x, x₁, xᵇ",
    ),
    (r"$x_{i_j}$, $x_{ij}$, $e^{\mu_p}$, $x^{abcq}$", "x_(iⱼ), xᵢⱼ, e^(μₚ), x^abcq"),
]

BLANKS = [
    (r"$p_c\approx1~$GPa, $\sqrt{s}=8\,$TeV", "p_c ≈ 1 GPa, √s=8 TeV"),
    (r"12,000$\,$AU, RX$~$J1713.7, 30$\ $fs", "12,000 AU, RX J1713.7, 30 fs"),
    (r"$10^{-6} \,$mm$^{3}$, $2\; $kpc, $3 \:$K", "10⁻⁶ mm³, 2 kpc, 3 K"),
    (r"10$\,\pm\,$3$\,$Myr, M8$\,\gamma$", "10 ± 3 Myr, M8 γ"),
    (r"we$\quad a=b\quad$and", "we a=b and"),
    (r"$\sim $5, $x $y$ z$", "∼5, xyz"),
    (r"$x\,$, $y~$. ($\,z\,$) $p\,$-adic 1$\,$/2", "x, y. (z) p-adic 1/2"),
    (r"$5\,$ mm and $\,6$ mm, $7~$~mm, a $~$ b", "5 mm and 6 mm, 7 mm, a b"),
    (r"$\,x\,$", "x"),
    (r"$T_{\rm eff}~$K, $T_{\rm eff}$K", "T_eff K, T_(eff)K"),
    (r"$12\,000$, 12$\,$000, $12{,}000$", "12 000, 12 000, 12,000"),
    (r"$\text{if }$x", "if x"),
]

WORDS = [
    (r"Schr\"odinger, K{\"a}hler, na\"{\i}ve", "Schrödinger, Kähler, naïve"),
    (r"Erd\H{o}s, Erd\H os, R\'enyi, R\' enyi", "Erdős, Erdős, Rényi, Rényi"),
    (r"\v{C}ech, Ne\v{s}et\v{r}il, Mustat\u{a}, Ra\c{s}a", "Čech, Nešetřil, Mustată, Raşa"),
    (r"\AA ngstr\"om, S\o ren, \L{}ojasiewicz, Stra\ss e", "Ångström, Søren, Łojasiewicz, Straße"),
    (r"\`a la, ma\~nana, \^ile, \=a, \.z, \'\i", "à la, mañana, île, ā, ż, í"),
    (r"\k{a} \r{u} \d{h}", "ą ů ḥ"),
    (r"\emph{ab initio}, {\it in vivo}, \textbf{bold}, {\em so}", "ab initio, in vivo, bold, so"),
    (r"\texttt{malloc} and \textsc{Vertex Cover}", "malloc and Vertex Cover"),
    (r"see \url{http://a.example/~x_y--z} now", "see http://a.example/~x_y--z now"),
    (r"\href{http://a.example}{our page}", "our page"),
    (
        r"as in \cite{Doe99}, \citep[p.~3]{Roe}; \ref{fig} and \eqref{eq}",
        "as in [Doe99], [Roe]; [fig] and (eq)",
    ),
    (r"MoS\textsubscript{2}, 10\textsuperscript{-3}", "MoS₂, 10⁻³"),
    (r"Navier--Stokes --- a survey, pages 3--4", "Navier–Stokes — a survey, pages 3–4"),
    (r"``big'' data, it's", "“big” data, it's"),
    (r"a beam of 0.5''", "a beam of 0.5''"),
    (r"Fig.~3, 10~km, in~\cite{A}, M.~Curie", "Fig. 3, 10 km, in [A], M. Curie"),
    (r"~10 K, z~2, (~5%), 3 ~ 4, O~(n)", "~10 K, z~2, (~5%), 3 ~ 4, O~(n)"),
    (r"super\-conductor, {\it Swift\/}, a\ b, a\\b", "superconductor, Swift, a b, a b"),
    (r"\begin{abstract} Text\footnote{a note}. \end{abstract}", "Text (a note)."),
]

AS_TYPED = [
    ("$5 and $6", "$5 and $6"),
    ("from $5-$10, US$3 or R$ 15 to R$ 20", "from $5-$10, US$3 or R$ 15 to R$ 20"),
    ("$5 million for $x$ units", "$5 million for x units"),
    ("an arbitrary $Q^2: resummed", "an arbitrary $Q^2: resummed"),
    (r"of $m_t$, $m_b$ and $m_{c}", "of mₜ, m_b and $m_{c}"),
    ("10^-3 and A_inf and H_2O", "10^-3 and A_inf and H_2O"),
    (
        r"50\% of R\&D, 50% of R&D, \#1, \$5, a\_b, \{x\}",
        "50% of R&D, 50% of R&D, #1, $5, a_b, {x}",
    ),
    (r"\civ emission, \foo{\alpha}[x], \Aut(G)", r"\civ emission, \foo{\alpha}[x], \Aut(G)"),
    (r"$L^2(\GG^d)$", r"L²(\GGᵈ)"),
    ("the set {1,2,3}, {001} planes, K_{m,n}", "the set {1,2,3}, {001} planes, K_{m,n}"),
    ("an unmatched } or { or \\", "an unmatched } or { or \\"),
    ("<b>bold</b> &#263; <!channel> @here", "<b>bold</b> &#263; <!channel> @here"),
    (r"the plane\" potential", r"the plane\" potential"),
    (r"\begin{foo} x \end{foo}", r"\begin{foo} x \end{foo}"),
    *(("0", "0"), ("", "")),
    ("大数据 и данные עברית", "大数据 и данные עברית"),
]

CLEANED = [
    ("  two\n words\t\u00a0here ", "two words here"),
    ("Gr\x7foebner \x00\x1b[31mred\x9f", "Groebner [31mred"),
    ("a\u202eb\u2066c\u2069d", "abcd"),
    ('Schr\x7f\\"odinger', "Schrödinger"),
    ("cafe\u0301", "café"),
    ("half \ud800 pair", "half \ufffd pair"),
]


PAIRS = [*SCRIPTS, *LETTERS, *FORMULAS, *MEANINGS, *BLANKS, *WORDS, *AS_TYPED, *CLEANED]


@pytest.mark.parametrize(("text", "plain"), PAIRS, ids=lambda text: ascii(text)[:40])
def test_tex_reads_well_as_plain_unicode(text: str, plain: str) -> None:
    assert to_plain(text) == plain


def test_plain_text_stays_plain_when_it_is_read_again() -> None:
    once = to_plain(r"Schr\"odinger in $\mathbb{R}^{3/2}$ with $\alpha \to 10^{-3}$")
    assert to_plain(once) == once
