r"""TeX-flavoured text made readable: what people type into titles, as Unicode and as HTML.

    raw text --tokens--> tokens --reader--> pieces --writer--> plain Unicode, segments, HTML

`Λ` for `$\Lambda$`, `10⁻³` for `$10^{-3}$`, `^(3/2)` if Unicode has no raised form, Erdős for
`Erd\H{o}s`. `$5 and $6` stay money, and what is not understood stays as typed. Every piece knows
which raw text it was made from, so highlights found there survive. `parse_words` is for searches:
it parts words from formulas beside them. No string makes anything here raise, and time grows with
length alone.
"""

from digest.tex.reader import parse_tex, parse_words
from digest.tex.tokens import PieceKind, Role, Segment, TexPiece
from digest.tex.writer import show_plain, to_html, to_plain, to_segments

__all__ = [
    "PieceKind",
    "Role",
    "Segment",
    "TexPiece",
    "parse_tex",
    "parse_words",
    "show_plain",
    "to_html",
    "to_plain",
    "to_segments",
]
