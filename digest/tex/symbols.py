"""Names of TeX symbols and alphabets, and the Unicode characters they print.

Each table is a list of `name character` pairs. Names follow LaTeX and the AMS packages, with a few
of the AASTeX names for astronomy and the doubled letters many authors define for number sets.
"""

from __future__ import annotations

import unicodedata
from itertools import product

from digest.tex.tokens import Role

# ruff: noqa: RUF001 - mathematical letters are look-alikes by design

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()
_DIGITS = "0123456789"
_GREEK_UPPER = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡϴΣΤΥΦΧΨΩ∇"
_GREEK_LOWER = "αβγδεζηθικλμνξοπρςστυφχψω∂ϵϑϰϕϱϖ"

RAISED_BY_NATURE = {"*": "*", "∗": "*", "′": "′", "∘": "°", "°": "°", "†": "†", "‡": "‡", "″": "″"}
"""Signs that are high already: `C^*` is `C*`, `90^\\circ` is `90°`."""

LOWERED_BY_CUSTOM = frozenset("⊙⊕☉")
"""Sun and Earth, which are read as an index without being lowered: `M⊙`."""

_TEXT_ACCENTS = """
` \u0300 ' \u0301 ^ \u0302 ~ \u0303 = \u0304 u \u0306 . \u0307 " \u0308 r \u030a H \u030b v \u030c
d \u0323 c \u0327 k \u0328 b \u0331 t \u0361
"""

_MATH_ACCENTS = """
grave \u0300 acute \u0301 hat \u0302 widehat \u0302 Hat \u0302 tilde \u0303 widetilde \u0303
bar \u0304 overline \u0305 breve \u0306 dot \u0307 ddot \u0308 mathring \u030a check \u030c
widecheck \u030c underline \u0332 underbar \u0332 not \u0338 vec \u20d7 overrightarrow \u20d7
overleftarrow \u20d6 dddot \u20db overleftrightarrow \u20e1
"""

_BELOW = frozenset("\u0323\u0327\u0328\u0331\u0332")
_WITH_DOT = str.maketrans("ıȷ", "ij")

GREEK = """
alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι
kappa κ varkappa ϰ lambda λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς
tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω digamma ϝ Alpha Α Beta Β Gamma Γ Delta Δ
Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ Sigma Σ
Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω varGamma Γ varDelta Δ varTheta Θ varLambda Λ varXi Ξ
varPi Π varSigma Σ varUpsilon Υ varPhi Φ varPsi Ψ varOmega Ω upalpha α upbeta β upgamma γ updelta δ
upepsilon ε uplambda λ upmu μ upnu ν uppi π uprho ρ upsigma σ uptau τ upphi φ upchi χ uppsi ψ
upomega ω
"""

ORDINARY = """
infty ∞ partial ∂ nabla ∇ hbar ℏ hslash ℏ ell ℓ wp ℘ Re ℜ Im ℑ aleph ℵ beth ℶ gimel ℷ daleth ℸ
emptyset ∅ varnothing ∅ forall ∀ exists ∃ nexists ∄ neg ¬ lnot ¬ top ⊤ bot ⊥ angle ∠
measuredangle ∡ prime ′ backprime ‵ triangle △ triangledown ▽ square □ Box □ blacksquare ■
Diamond ◇ lozenge ◊ diamondsuit ♢ heartsuit ♡ clubsuit ♣ spadesuit ♠ flat ♭ natural ♮ sharp ♯
surd √ mho ℧ eth ð Finv Ⅎ complement ∁ bigstar ★ checkmark ✓ imath ı jmath ȷ degree ° degr °
celsius ℃ sun ☉ earth ⊕ leftmoon ☾ ohm Ω micro µ micron μm permil ‰ arcsec ″ arcmin ′ Bbbk 𝕜
blacktriangle ▲ circledR ® lambdabar ƛ angstrom Å farcs ″. farcm ′. fdg °. mum μm lya Lyα Lya Lyα
Lyalpha Lyα msun M⊙ Msun M⊙ lsun L⊙ Lsun L⊙ rsun R⊙ Rsun R⊙ zsun Z⊙ Zsun Z⊙ mearth M⊕ Mearth M⊕
rearth R⊕ Rearth R⊕ Ha Hα Halpha Hα Hb Hβ Hbeta Hβ Hgamma Hγ Hdelta Hδ LCDM ΛCDM lcdm ΛCDM R ℝ Z ℤ
N ℕ Q ℚ C ℂ RR ℝ ZZ ℤ NN ℕ QQ ℚ CC ℂ FF 𝔽 uparrow ↑ downarrow ↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓
Updownarrow ⇕ upuparrows ⇈ downdownarrows ⇊ ldots … dots … dotsc … dotso … cdots ⋯ dotsb ⋯ dotsm ⋯
dotsi ⋯ vdots ⋮ ddots ⋱ cdotp ·
"""

RELATIONS = """
leq ≤ le ≤ geq ≥ ge ≥ lsim ≲ gsim ≳ leqslant ⩽ geqslant ⩾ leqq ≦ geqq ≧ ll ≪ gg ≫ lll ⋘ ggg ⋙
lesssim ≲ gtrsim ≳ la ≲ ga ≳ lessapprox ⪅ gtrapprox ⪆ lessgtr ≶ gtrless ≷ lt < gt > neq ≠ ne ≠
sim ∼ thicksim ∼ simeq ≃ approx ≈ thickapprox ≈ approxeq ≊ cong ≅ equiv ≡ asymp ≍ propto ∝
varpropto ∝ doteq ≐ triangleq ≜ coloneqq ≔ eqqcolon ≕ in ∈ notin ∉ ni ∋ owns ∋ subset ⊂ supset ⊃
subseteq ⊆ supseteq ⊇ subsetneq ⊊ supsetneq ⊋ nsubseteq ⊈ nsupseteq ⊉ Subset ⋐ Supset ⋑ sqsubset ⊏
sqsubseteq ⊑ sqsupset ⊐ sqsupseteq ⊒ prec ≺ succ ≻ preceq ⪯ succeq ⪰ preccurlyeq ≼ succcurlyeq ≽
mid ∣ nmid ∤ parallel ∥ nparallel ∦ perp ⊥ vdash ⊢ dashv ⊣ models ⊨ vDash ⊨ Vdash ⊩ bowtie ⋈
smile ⌣ frown ⌢ between ≬ nleq ≰ ngeq ≱ nless ≮ ngtr ≯ nsim ≁ ncong ≇ lhd ⊲ rhd ⊳ unlhd ⊴ unrhd ⊵
trianglelefteq ⊴ trianglerighteq ⊵ therefore ∴ because ∵ to → rightarrow → leftarrow ← gets ←
leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ iff ⇔ implies ⇒ impliedby ⇐
longrightarrow ⟶ longleftarrow ⟵ longleftrightarrow ⟷ Longrightarrow ⟹ Longleftarrow ⟸
Longleftrightarrow ⟺ mapsto ↦ longmapsto ⟼ hookrightarrow ↪ hookleftarrow ↩ rightharpoonup ⇀
rightharpoondown ⇁ leftharpoonup ↼ leftharpoondown ↽ rightleftharpoons ⇌ rightleftarrows ⇄
rightrightarrows ⇉ twoheadrightarrow ↠ rightarrowtail ↣ rightsquigarrow ⇝ leadsto ⇝ nearrow ↗
searrow ↘ swarrow ↙ nwarrow ↖ curvearrowright ↷ curvearrowleft ↶ nrightarrow ↛ nleftarrow ↚
multimap ⊸ restriction ↾ upharpoonright ↾ upharpoonleft ↿ downharpoonright ⇂ dashrightarrow ⇢
"""

OPERATORS = """
pm ± mp ∓ times × div ÷ cdot · ast ∗ star ⋆ circ ∘ bullet • oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘
odot ⊙ circledast ⊛ circledcirc ⊚ boxplus ⊞ boxminus ⊟ boxtimes ⊠ boxdot ⊡ cap ∩ cup ∪ Cap ⋒ Cup ⋓
uplus ⊎ sqcap ⊓ sqcup ⊔ wedge ∧ land ∧ vee ∨ lor ∨ veebar ⊻ barwedge ⊼ setminus ∖ smallsetminus ∖
wr ≀ amalg ⨿ diamond ⋄ bigcirc ◯ bigtriangleup △ bigtriangledown ▽ triangleleft ◁ triangleright ▷
ltimes ⋉ rtimes ⋊ leftthreetimes ⋋ rightthreetimes ⋌ dotplus ∔ intercal ⊺ divideontimes ⋇
curlywedge ⋏ curlyvee ⋎
"""

BIG_OPERATORS = """
sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ oiint ∯ bigcup ⋃ bigcap ⋂ bigvee ⋁ bigwedge ⋀
bigoplus ⨁ bigotimes ⨂ bigodot ⨀ biguplus ⨄ bigsqcup ⨆
"""

OPENING = """
langle ⟨ lfloor ⌊ lceil ⌈ lbrace { lbrack [ lparen ( lvert | lVert ‖ ulcorner ⌜ llbracket ⟦ lq ‘
"""

CLOSING = (
    "rangle ⟩ rfloor ⌋ rceil ⌉ rbrace } rbrack ] rparen ) rvert | rVert ‖ urcorner ⌝ rrbracket ⟧"
)

LETTERS = """
ss ß ae æ AE Æ oe œ OE Œ o ø O Ø l ł L Ł aa å AA Å i ı j ȷ dh ð DH Ð dj đ DJ Đ th þ TH Þ ng ŋ NG Ŋ
SS ẞ
"""

TEXT_SYMBOLS = """
S § P ¶ dag † ddag ‡ dagger † ddagger ‡ copyright © textcopyright © textregistered ®
texttrademark ™ pounds £ textsterling £ euro € texteuro € yen ¥ textyen ¥ textdegree ° textmu µ
textohm Ω textmho ℧ textbullet • textperiodcentered · textellipsis … textendash – textemdash —
textquoteleft ‘ textquoteright ’ textquotedblleft “ textquotedblright ” textquotesingle '
textquotedbl " rq ’ guillemotleft « guillemotright » quotesinglbase ‚ quotedblbase „ textless <
textgreater > textbar | textbackslash \\ backslash \\ textasciitilde ~ textasciicircum ^
textunderscore _ textdollar $ textbraceleft { textbraceright } textexclamdown ¡ textquestiondown ¿
textordfeminine ª textordmasculine º texttimes × textdiv ÷ textpm ± textminus − textonehalf ½
textonequarter ¼ textthreequarters ¾ textonesuperior ¹ texttwosuperior ² textthreesuperior ³
textnumero № textperthousand ‰ textasteriskcentered ∗ textsection § textparagraph ¶ textcelsius ℃
textvisiblespace ␣ slash / TeX TeX LaTeX LaTeX LaTeXe LaTeX2ε BibTeX BibTeX
"""

NAMES = """
arccos arcsin arctan arccot arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lcm lg lim ln
log max min Pr sec sin sinh sup tan tanh tr Tr rank supp diag sgn id mod argmax argmin
injlim projlim
"""

NAMES_PRINTED_OTHERWISE = {
    "bmod": "mod",
    "liminf": "lim inf",
    "limsup": "lim sup",
    "varliminf": "lim inf",
    "varlimsup": "lim sup",
    "varinjlim": "lim→",
    "varprojlim": "lim←",
}

_ION_STAGES = ("II", "III", "IV")
IONS = {
    **{f"{element}I": f"{element} I" for element in ("H", "He")},
    **{
        "".join(ion): " ".join(ion)
        for ion in product(
            ("H", "He", "C", "N", "O", "Ne", "Mg", "Al", "Si", "S", "Ca", "Fe"), _ION_STAGES
        )
    },
    "NV": "N V",
    "OVI": "O VI",
}
"""Names that astronomers define for ions: `\\HI`, `\\CIV`."""

ABBREVIATIONS = {"eg": "e.g.", "ie": "i.e.", "etal": "et al.", "kms": "km s⁻¹"}
"""Names that print several words."""

ONLY_IN_FORMULAS = frozenset(
    {
        *("R", "Z", "N", "Q", "C", "RR", "ZZ", "NN", "QQ", "CC", "FF"),
        *("la", "ga", "tr", "Tr", "rank", "supp", "diag", "sgn", "id", "mod"),
    }
)
"""Outside formulas authors use these names for things of their own, which nobody can guess."""

BLANK_SWALLOWING = frozenset(LETTERS.split()[::2]) | {
    "textless",
    "textgreater",
    "textendash",
    "textemdash",
}
"""Outside formulas, a blank after these names only ends the name: `S\\o ren`.

After other names, authors mean it: `\\alpha particles`.
"""

RAISED = dict(
    zip(
        "0123456789+−-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδεϵθφϕχ",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᵋᵋᶿᵠᶲᵡ",
        strict=True,
    )
)
LOWERED = dict(
    zip(
        "0123456789+−-=()aehijklmnoprstuvxβγρφϕχ",
        "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵩᵪ",
        strict=True,
    )
)


def list_pairs(table: str) -> dict[str, str]:
    """Return a table of `name character` pairs as a mapping."""
    listed = table.split()
    return dict(zip(listed[::2], listed[1::2], strict=True))


def _block(characters: str, first: int, exceptions: str = "") -> dict[str, str]:
    regular = {character: chr(first + place) for place, character in enumerate(characters)}
    return regular | list_pairs(" ".join(exceptions))


def compose(text: str, accent: str) -> str:
    """Put a combining character on the first character of `text`; the result is in NFC.

    A dotless letter gets its dot back under an accent from above: Unicode expects it.
    """
    first = text[0] if accent in _BELOW else text[0].translate(_WITH_DOT)
    end = 1
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return unicodedata.normalize("NFC", first + text[1:end] + accent) + text[end:]


def set_in(text: str, alphabet: dict[str, str]) -> str:
    """Write `text` in the letters of an alphabet; what it does not have stays."""
    return "".join([alphabet.get(character, character) for character in text])


def shift(text: str, table: dict[str, str]) -> str | None:
    """Raise or lower `text`; None if a character of it has no such form."""
    shifted = [table.get(character, "") for character in text]
    return "".join(shifted) if all(shifted) else None


def _name_symbols() -> dict[str, tuple[str, Role]]:
    names = {name: name for name in NAMES.split()} | NAMES_PRINTED_OTHERWISE
    tables = (
        (Role.NAME, names),
        (Role.WORD, IONS | ABBREVIATIONS),
        (Role.VARIABLE, list_pairs(GREEK + ORDINARY + LETTERS + TEXT_SYMBOLS)),
        (Role.RELATION, list_pairs(RELATIONS)),
        (Role.INFIX, list_pairs(OPERATORS)),
        (Role.BIG, list_pairs(BIG_OPERATORS)),
        (Role.OPEN, list_pairs(OPENING)),
        (Role.CLOSE, list_pairs(CLOSING)),
        (Role.BAR, list_pairs("vert | Vert ‖")),
        (Role.PUNCTUATION, list_pairs("colon : ldotp .")),
    )
    symbols: dict[str, tuple[str, Role]] = {}
    for role, table in tables:
        symbols |= {name: (printed, role) for name, printed in table.items()}
    return symbols


CALLIGRAPHIC = _block(_UPPER, 0x1D49C, "BℬEℰFℱHℋIℐLℒMℳRℛ") | _block(_LOWER, 0x1D4B6, "eℯgℊoℴ")
FRAKTUR = _block(_UPPER, 0x1D504, "CℭHℌIℑRℜZℨ") | _block(_LOWER, 0x1D51E)
BLACKBOARD = (
    _block(_UPPER, 0x1D538, "CℂHℍNℕPℙQℚRℝZℤ") | _block(_LOWER, 0x1D552) | _block(_DIGITS, 0x1D7D8)
)
BOLD = (
    _block(_UPPER, 0x1D400)
    | _block(_LOWER, 0x1D41A)
    | _block(_DIGITS, 0x1D7CE)
    | _block(_GREEK_UPPER, 0x1D6A8)
    | _block(_GREEK_LOWER, 0x1D6C2)
)

TEXT_ACCENTS = list_pairs(_TEXT_ACCENTS)
"""Accents of text mode: the control sequence's name and the combining character."""

MATH_ACCENTS = list_pairs(_MATH_ACCENTS)
"""Accents of formulas."""

SYMBOLS = _name_symbols()
"""Every known name inside a formula: what it prints and what that does."""

SYMBOLS_IN_TEXT = {name: symbol for name, symbol in SYMBOLS.items() if name not in ONLY_IN_FORMULAS}
SYMBOLS_IN_TEXT["deg"] = ("°", Role.VARIABLE)
"""The same outside formulas."""

CHARACTER_ROLES = {
    symbol: role for symbol, role in SYMBOLS.values() if len(symbol) == 1 and not symbol.isalnum()
}
CHARACTER_ROLES |= dict.fromkeys("+-=<>*/−&", Role.INFIX) | dict.fromkeys("([{", Role.OPEN)
CHARACTER_ROLES |= dict.fromkeys(")]}!", Role.CLOSE) | dict.fromkeys(",;.?", Role.PUNCTUATION)
CHARACTER_ROLES |= {"|": Role.BAR, ":": Role.BAR, ":=": Role.INFIX}
"""What a character that is typed as such does in a formula."""
