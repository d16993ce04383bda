r"""Which dollar signs enclose a formula, and which are money or slips of the pen.

Most texts have an even number of dollars and mean every pair. For the rest this is a choice with a price:
walking once from left to right, every `$` may open a formula, close one or be printed, formulas that read
like prose cost, `^` and `_` left outside of formulas cost, printed dollars cost unless a figure follows
them; the cheapest reading wins (Viterbi's algorithm over three states). Linear in the length of the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DOLLAR = re.compile(
    r"\\(?:text[a-z]*|[mhf]box|emph)\s*\{[^{}$]*\$[^{}]*\}"  # a formula within words within a formula
    r"|\\.|(\$\$?)",
    re.DOTALL,
)
_INNER_PAIR = re.compile(r"\$[^$]*\$")
_PROSE = re.compile(r"\s[a-z]{3,}(?=[\s,.;:])")
_SENTENCE_END = re.compile(r"[.;?!]\s+[A-Z][a-z]")
_SCRIPT = re.compile(r"[\^_]")
_TEX = re.compile(r"[\\^_{}=<>]")
_CURRENCY = re.compile(r"\s[A-Z]{1,3}\Z")
_AMOUNT = re.compile(r"\s?[0-9]")

_PRINTED, _PRINTED_BEFORE_FIGURE = 3.0, 1.0
_EMPTY_PAIR, _ADJACENT_FORMULAS = 2.0, 0.2
_MOST_DOLLARS = 500
"""More are all printed: real abstracts have up to 80 formulas."""
_WORST_FORMULA = 5.5
"""Less than two printed dollars: a pair around prose is still a pair unless figures make it money."""


class _Dollar(NamedTuple):
    start: int
    end: int


def find_formulas(text: str) -> dict[int, tuple[int, int]]:
    """Find the formulas between dollar signs.

    Returns:
        Under the offset of each opening `$` or `$$`: the offsets where its closing one starts and ends.
    """
    formulas: dict[int, tuple[int, int]] = {}
    dollars: list[_Dollar] = []
    for match in _DOLLAR.finditer(text):
        if match[1]:
            dollars.append(_Dollar(match.start(), match.end()))
        elif len(match[0]) > 2:  # noqa: PLR2004 - longer than an escape: words with dollars inside
            formulas |= _pair_inside(text, match.start(), match.end())
    if len(dollars) > _MOST_DOLLARS:
        return formulas
    if _is_plain_sailing(text, dollars):
        pairs = zip(dollars[::2], dollars[1::2], strict=True)
        return formulas | {opening.start: closing for opening, closing in pairs}
    return formulas | _choose(text, dollars)


def _pair_inside(text: str, start: int, end: int) -> dict[int, tuple[int, int]]:
    return {pair.start(): (pair.end() - 1, pair.end()) for pair in _INNER_PAIR.finditer(text, start, end)}


def _is_plain_sailing(text: str, dollars: list[_Dollar]) -> bool:
    if len(dollars) % 2 or any(dollar.end - dollar.start == 2 for dollar in dollars):  # noqa: PLR2004 - `$$`
        return False
    pairs = zip(dollars[::2], dollars[1::2], strict=True)
    return not any(_is_money(text, opening.end, closing.start) for opening, closing in pairs)


def _is_money(text: str, start: int, end: int) -> bool:
    """Tell `$5 and $6` and `$5-$10`: a figure behind both dollars, or words that run into the second."""
    if not _AMOUNT.match(text, start) or _TEX.search(text, start, end):
        return False
    if text[end - 1].isspace():
        return True
    if text[end + 1 : end + 2].isdigit():
        return True
    # `R$ 5 or R$ 6` names a currency before the second dollar; `$5$ 6` is a formula and a figure.
    return _CURRENCY.search(text[start:end]) is not None and _AMOUNT.match(text, end + 1) is not None


def _choose(text: str, dollars: list[_Dollar]) -> dict[int, tuple[int, int]]:
    """Take the cheapest reading; a state is outside (`T`), within `$` (`M`) or within `$$` (`D`)."""
    costs = {"T": 0.0}
    steps: list[dict[str, str]] = []
    for place, dollar in enumerate(dollars):
        following = dollars[place + 1].start if place + 1 < len(dollars) else len(text)
        best: dict[str, tuple[float, str]] = {}
        for before, after, price in _moves(text, dollar):
            if before in costs and (after not in best or costs[before] + price < best[after][0]):
                best[after] = (costs[before] + price, before)
        outside = min(len(_SCRIPT.findall(text, dollar.end, following)), 3)
        inside = _price_formula(text, dollar.end, following)
        costs = {after: price + (outside if after == "T" else inside) for after, (price, _) in best.items()}
        steps.append({after: before for after, (_, before) in best.items()})
    return _walk_back(dollars, steps)


def _moves(text: str, dollar: _Dollar) -> tuple[tuple[str, str, float], ...]:
    if dollar.end - dollar.start == 2:  # noqa: PLR2004 - `$$`
        return (
            ("T", "D", 0.0),
            ("D", "T", 0.0),
            ("M", "M", _ADJACENT_FORMULAS),
            ("T", "T", _EMPTY_PAIR),
        )
    printed = _PRINTED_BEFORE_FIGURE if _AMOUNT.match(text, dollar.end) else _PRINTED
    return (("M", "T", 0.0), ("T", "M", 0.0), ("T", "T", printed), ("D", "D", 2 * _PRINTED))


def _price_formula(text: str, start: int, end: int) -> float:
    content = text[start:end]
    price = 2.0 * len(_PROSE.findall(content)) + 3.0 * len(_SENTENCE_END.findall(content))
    price += 0.5 * (content[:1].isspace() != content[-1:].isspace())
    price += 2.0 * (not content.strip())
    price += 3.0 * _is_money(text, start, end)
    return min(price, _WORST_FORMULA)


def _walk_back(dollars: list[_Dollar], steps: list[dict[str, str]]) -> dict[int, tuple[int, int]]:
    formulas: dict[int, tuple[int, int]] = {}
    closing: tuple[int, int] | None = None
    state = "T"
    for dollar, step in zip(reversed(dollars), reversed(steps), strict=True):
        before = step[state]
        if (before, state) == ("M", "M"):
            formulas[dollar.start + 1] = closing or dollar
            closing = (dollar.start, dollar.start + 1)
        elif before == "T" and state != "T":
            formulas[dollar.start] = closing or dollar
        elif state == "T" and before != "T":
            closing = dollar
        state = before
    return formulas
