"""Reads queries by the million, most of them broken.

Run it by `python -m tests.battery.fuzz_queries --inputs 1000000`.

Each text is read, printed, read again, brought to its canonical form, written for arXiv, held
against made-up papers and explained. A reader gives a query or a `QueryError` at a place within the
text. Anything else is a crash, more than `HANG` seconds a hang, and `assess` says what is wrong.
Input N of a seed is always the same text: `--input N` reads that one alone. Findings make the exit
code 1.
"""

from __future__ import annotations

import os
import random
import re
import traceback
from datetime import UTC, datetime
from functools import cache

import click

from digest.model.errors import QueryError
from digest.model.papers import ArxivId, Author, Paper
from digest.query import AnalysedPaper, Query, analyse, find_reasons, matches, parse_query
from digest.query.arxiv_syntax import to_arxiv
from digest.query.canonical import canonicalise, print_outline, print_tree
from digest.query.tree import walk_conditions
from tests.battery.fuzz_frame import Read, read_all
from tests.battery.fuzz_query_words import (
    ADDRESSES,
    CATEGORIES,
    DATES,
    IDS,
    LISTS,
    NAMES,
    OPERATORS,
    PREFIXES,
    SIGNS,
    WORDS,
)

_SAFE_TERM = re.compile(
    r'(?:ti|abs|au|co|jr|cat|rn|id|doi|all):(?:"[^"\\\[\]\r\n]+"|\w[^\s"()\[\]]*)'
    r"|submittedDate:\[\d{12} TO \d{12}\]"
)


_REPEATED = (
    *("(", "NOT ", "-", "x OR NOT (", "(a AND (b OR ", "x ", "x AND y OR ", "ti:("),
    *('"', "*", "a.", "a'", "x\u0301", "%20"),
)
"""What a large text repeats."""


class ContradictionError(Exception):
    """What came of a text contradicts itself."""


def require(truth: object, why: str = "") -> None:
    """Insist on what must always be so."""
    if not truth:
        raise ContradictionError(why)


def make_input(seed: int, number: int) -> str:
    """Return the text that input `number` of a seed is."""
    draw = random.Random(f"queries {seed} {number}")  # noqa: S311 - the same text for the same seed
    kind = draw.random()
    if kind < 0.78:
        text = _make_query(draw, depth=0)
    elif kind < 0.85:
        text = draw.choice(ADDRESSES)
    elif kind < 0.90:
        text = draw.choice(LISTS)
    elif kind < 0.999:
        text = "".join(draw.choice(SIGNS + WORDS + PREFIXES) for _ in range(draw.randint(0, 30)))
    else:
        text = _make_large(draw)
    for _ in range(draw.choice((0, 0, 0, 0, 1, 1, 2, 5))):
        text = _damage(draw, text)
    return text


def _make_query(draw: random.Random, depth: int) -> str:
    parts = [_make_operand(draw, depth)]
    for _ in range(draw.choice((0, 1, 1, 2, 3, 6))):
        parts += [draw.choice(OPERATORS[:4] * 4 + OPERATORS), _make_operand(draw, depth)]
    return "".join(parts)


def _make_operand(draw: random.Random, depth: int) -> str:
    if depth < 6 and draw.random() < 0.25:
        before = draw.choice(("", "", "NOT ", "-", "ti:", "au:", "cat:"))
        return f"{before}({_make_query(draw, depth + 1)})"
    choices: tuple[tuple[str, tuple[str, ...], int], ...] = (
        (_pick(draw, PREFIXES, 4), WORDS, 12),
        (draw.choice(("au:", "author:")), NAMES, 9),
        ("cat:", CATEGORIES, 10),
        (draw.choice(("id:", "", "all:")), IDS, 3),
        ("submittedDate:", DATES, 4),
    )
    prefix, words, sound = draw.choices(choices, (6, 2, 2, 1, 1))[0]
    if words is WORDS and draw.random() < 0.3:
        phrase = [_pick(draw, WORDS, sound) for _ in range(draw.randint(1, 4))]
        return f'{prefix}"{" ".join(phrase)}"'
    word = _pick(draw, words, sound)
    is_quoted = words is NAMES and draw.random() < 0.9
    return f'{prefix}"{word}"' if is_quoted else f"{prefix}{word}"


def _pick(draw: random.Random, words: tuple[str, ...], sound: int) -> str:
    """Return a word, as a rule one of the first, which can be read."""
    return draw.choice(words[:sound] if draw.random() < 0.8 else words)


def _make_large(draw: random.Random) -> str:
    size = draw.choice((50, 64, 65, 70, 200, 500, 501, 2_000, 5_000))
    piece = draw.choice(_REPEATED)
    closing = "".ljust(size * piece.count("("), ")")
    return piece * size + draw.choice(("", "x", f"x{closing}"))


def _damage(draw: random.Random, text: str) -> str:
    at = draw.randint(0, len(text))
    other = draw.randint(0, len(text))
    start, end = sorted((at, other))
    match draw.randrange(6):
        case 0:
            return text[:start] + text[end:] if draw.random() < 0.3 else text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + draw.choice(SIGNS + PREFIXES) + text[at:]
        case 2:
            return text[:at] + draw.choice(WORDS + NAMES + DATES) + text[at:]
        case 3:
            return text[:at] + text[start:end][:200] + text[at:]
        case 4:
            return text[:start] + text[start:end].swapcase() + text[end:]
        case _:
            code = draw.choice((draw.randrange(0x250), draw.randrange(0x11_0000)))
            return text[:at] + chr(code) + text[at:]


@cache
def papers() -> tuple[AnalysedPaper, ...]:
    """Return made-up papers that many of the words occur in, and one that says nothing."""
    day = datetime(2024, 5, 1, tzinfo=UTC)
    full = Paper(
        ArxivId.parse("2603.10026"), 2,
        "Tail latency of self-supervised GPUs: $k$-means and Schr\\\"odinger's",
        "Generative transformers, the state of the art. 机器学习 größe $\\mu$path.",
        (
            Author("Keiko Lindquell"), Author("J. Smith"), Author("Adrian Del Maestro"),
            Author("Pınar Tözün"),
        ),
        ("cs.PF", "math.NA", "hep-th"), day, day,
        comment="3 figures, x and y1", journal_ref="Phys. Rev. z2", report_no="RN-x",
        dois=("10.1103/PhysRevLett.116.061102",),
    )  # fmt: skip
    bare = Paper(ArxivId.parse("hep-th/9901001"), 1, "", "", (), (), day, day)
    return analyse(full), analyse(bare)


def assess(text: str) -> tuple[str, Query | None]:
    """Read a text and do with it whatever can be done.

    Returns:
        "read" or "refused", and the query.

    Raises:
        ContradictionError: what came of it contradicts itself.
    """
    try:
        query = parse_query(text)
    except QueryError as error:
        require(
            0 <= error.position <= len(error.text), f"refused at {error.position} of {error.text}"
        )
        require(error.message)
        require(error.pointer())
        return "refused", None
    _check_forms(query)
    _check_arxiv(query)
    _check_notes(query)
    _check_papers(query)
    return "read", query


def _check_forms(query: Query) -> None:
    printed = print_tree(query.tree)
    require(parse_query(printed).tree == query.tree, f"printed as {printed}")
    again = parse_query(query.canonical)
    require(again.canonical == query.canonical, f"canonical twice: {again.canonical}")
    require(again.tree == canonicalise(query.tree))
    require(len(print_outline(query.tree)) >= len({*walk_conditions(query.tree)}))


def _check_notes(query: Query) -> None:
    for note in query.notes:
        require(0 <= note.position < len(query.expression), f"{note} stands outside")
        require(note.message)


def _check_arxiv(query: Query) -> None:
    sent = to_arxiv(query)
    bare = _SAFE_TERM.sub("x", sent)
    while (shorter := re.sub(r"\(x (?:AND|OR|ANDNOT) x\)", "x", bare)) != bare:
        bare = shorter
    require(bare == "x", f"sent as {sent}")


def _check_papers(query: Query) -> None:
    canonical = parse_query(query.canonical)
    for paper in papers():
        is_match = matches(query, paper)
        require(matches(canonical, paper) is is_match)
        reasons = find_reasons(query, paper)
        require(bool(reasons) is is_match)
        for reason in reasons:
            require(all(0 <= span.start < span.end for span in reason.spans))


def read_input(seed: int, number: int) -> Read:
    """Read one text; what is noted about it is remarked."""
    text = make_input(seed, number)
    try:
        verdict, query = assess(text)
    except ContradictionError as error:
        why = str(error) or traceback.format_exc()
        return Read("query", "contradicts itself", len(text), wrong=why)
    remarks = tuple(note.kind for note in query.notes) if query else ()
    return Read("query", verdict, len(text), remarks)


@click.command(help=__doc__.partition("\n\n")[0] if __doc__ else None)
@click.option("--inputs", type=click.IntRange(1), default=1_000_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option("--input", "number", type=click.IntRange(0), help="Read this one alone and show it.")
def main(inputs: int, seed: int, processes: int, number: int | None) -> None:
    """Make texts, read them, and say what came of it."""
    if number is not None:
        text = make_input(seed, number)
        click.echo(ascii(text))
        click.echo(str(assess(text)[0]))
        return
    tally = read_all(read_input, seed, inputs, processes)
    for found in sorted(tally.findings)[:50]:
        click.echo(f"  {found.number} {found.kind}: {found.why.strip().splitlines()[-1][:300]}")
    raise SystemExit(bool(tally.findings))


if __name__ == "__main__":
    main()
