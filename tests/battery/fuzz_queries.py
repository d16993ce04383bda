"""Reads queries by the million, most of them broken: `python -m tests.battery.fuzz_queries --inputs 1000000`.

Each text is read, printed, read again, brought to its canonical form, written for arXiv, held against
made-up papers and explained. A reader gives a query or a `QueryError` at a
place within the text. Anything else is a crash, more than `HANG` seconds a hang, and `assess` says what is wrong.
Input N of a seed is always the same text: `--input N` reads that one alone. Findings make the exit code 1.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Final

import click

from digest.model.errors import QueryError
from digest.model.papers import ArxivId, Author, Paper
from digest.query import Query, analyse, find_reasons, matches, parse_query
from digest.query.arxiv_syntax import to_arxiv
from digest.query.canonical import canonicalise, print_outline, print_tree
from digest.query.tree import walk_conditions
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

if TYPE_CHECKING:
    from types import FrameType

    from digest.query import AnalysedPaper

HANG: Final = 10
"""Seconds of processor time after which a text is taken to hang; the longest have 40,000 characters."""

_BATCH = 2_000
_SAFE_TERM = re.compile(
    r'(?:ti|abs|au|co|jr|cat|rn|id|doi|all):(?:"[^"\\\[\]\r\n]+"|\w[^\s"()\[\]]*)'
    r"|submittedDate:\[\d{12} TO \d{12}\]"
)


class HungError(Exception):
    """A text took longer than `HANG` seconds."""


class ContradictionError(Exception):
    """What came of a text contradicts itself."""


def require(truth: object, why: str = "") -> None:
    """Insist on what must always be so."""
    if not truth:
        raise ContradictionError(why)


@dataclass
class Tally:
    """What came of a number of texts: verdicts, what is wrong as (number, kind, why), and the slowest one."""

    verdicts: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    size: int = 0

    def add(self, other: Tally) -> None:
        """Take in what came of other texts."""
        self.verdicts += other.verdicts
        self.remarks += other.remarks
        self.findings += other.findings
        self.slowest = max(self.slowest, other.slowest)
        self.size += other.size


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
        return f"{draw.choice(('', '', 'NOT ', '-', 'ti:', 'au:', 'cat:'))}({_make_query(draw, depth + 1)})"
    choices: tuple[tuple[str, tuple[str, ...], int], ...] = (
        (_pick(draw, PREFIXES, 4), WORDS, 12),
        (draw.choice(("au:", "author:")), NAMES, 9),
        ("cat:", CATEGORIES, 10),
        (draw.choice(("id:", "", "all:")), IDS, 3),
        ("submittedDate:", DATES, 4),
    )
    prefix, words, sound = draw.choices(choices, (6, 2, 2, 1, 1))[0]
    if words is WORDS and draw.random() < 0.3:
        return f'{prefix}"{" ".join(_pick(draw, WORDS, sound) for _ in range(draw.randint(1, 4)))}"'
    word = _pick(draw, words, sound)
    return f'{prefix}"{word}"' if words is NAMES and draw.random() < 0.9 else f"{prefix}{word}"


def _pick(draw: random.Random, words: tuple[str, ...], sound: int) -> str:
    """Return a word, as a rule one of the first, which can be read."""
    return draw.choice(words[:sound] if draw.random() < 0.8 else words)


def _make_large(draw: random.Random) -> str:
    size = draw.choice((50, 64, 65, 70, 200, 500, 501, 2_000, 5_000))
    piece = draw.choice(
        (
            "(",
            "NOT ",
            "-",
            "x OR NOT (",
            "(a AND (b OR ",
            "x ",
            "x AND y OR ",
            "ti:(",
            '"',
            "*",
            "a.",
            "a'",
            "x\u0301",
            "%20",
        )
    )
    return piece * size + draw.choice(("", "x", "x" + ")" * (size * piece.count("("))))


def _damage(draw: random.Random, text: str) -> str:
    at, other = draw.randint(0, len(text)), draw.randint(0, len(text))
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
            return text[:at] + chr(draw.choice((draw.randrange(0x250), draw.randrange(0x11_0000)))) + text[at:]


@cache
def papers() -> tuple[AnalysedPaper, ...]:
    """Return made-up papers that many of the words occur in, and one that says nothing."""
    day = datetime(2024, 5, 1, tzinfo=UTC)
    full = Paper(
        ArxivId.parse("2603.10026"), 2, "Tail latency of self-supervised GPUs: $k$-means and Schr\\\"odinger's",
        "Generative transformers, the state of the art. 机器学习 größe $\\mu$path.",
        (Author("Keiko Lindquell"), Author("J. Smith"), Author("Adrian Del Maestro"), Author("Pınar Tözün")),
        ("cs.PF", "math.NA", "hep-th"), day, day, comment="3 figures, x and y1", journal_ref="Phys. Rev. z2",
        report_no="RN-x", dois=("10.1103/PhysRevLett.116.061102",),
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
        require(0 <= error.position <= len(error.text), f"refused at {error.position} of {error.text}")
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
        for span in (span for reason in reasons for span in reason.spans):
            require(0 <= span.start < span.end)


def read_inputs(seed: int, first: int, count: int) -> Tally:
    """Read `count` texts from number `first` on, under a watch that ends a hang."""

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise HungError

    signal.signal(signal.SIGPROF, give_up)
    tally = Tally()
    for number in range(first, first + count):
        text = make_input(seed, number)
        tally.size += len(text)
        signal.setitimer(signal.ITIMER_PROF, HANG)
        begun = time.process_time()
        try:
            verdict, query = assess(text)
        except HungError:
            tally.findings.append((number, "hang", f"more than {HANG} seconds"))
        except ContradictionError:
            tally.findings.append((number, "wrong", traceback.format_exc()))
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            tally.findings.append((number, "crash", traceback.format_exc()))
        else:
            tally.verdicts[verdict] += 1
            tally.remarks.update(note.kind for note in query.notes) if query else None
        tally.slowest = max(tally.slowest, (time.process_time() - begun, number))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return tally


def read_all(seed: int, inputs: int, processes: int) -> Tally:
    """Read texts 0 to `inputs` in several processes, saying now and then how far it has come."""
    tally = Tally()
    begun = time.monotonic()
    with ProcessPoolExecutor(processes) as pool:
        starts = range(0, inputs, _BATCH)
        batches = [pool.submit(read_inputs, seed, first, min(_BATCH, inputs - first)) for first in starts]
        for done, batch in enumerate(as_completed(batches), start=1):
            part = batch.result()
            for number, kind, why in part.findings:
                click.echo(f"  {number} {kind}: {why.strip().splitlines()[-1][:300]}", err=True)
            tally.add(part)
            if done % max(1, len(batches) // 20) == 0:
                seconds = time.monotonic() - begun
                read = sum(tally.verdicts.values())
                click.echo(f"{read:>11,} inputs  {seconds:6.0f} s  {len(tally.findings)} findings", err=True)
    return tally


def tell(tally: Tally, seconds: float) -> None:
    """Print the counts, the slowest text and the findings."""
    click.echo(f"{sum(tally.verdicts.values()):,} inputs, {tally.size / 1e6:,.0f} MB, in {seconds:,.0f} s")
    for name, count in sorted(tally.verdicts.items()):
        click.echo(f"  {name:24}{count:12,}")
    for name, count in sorted(tally.remarks.items()):
        click.echo(f"  noted: {name:17}{count:12,}")
    kinds = Counter(kind for _, kind, _ in tally.findings)
    click.echo(f"slowest: {tally.slowest[0] * 1_000:,.0f} ms, input {tally.slowest[1]:,}")
    click.echo(f"{kinds['crash']} crashes, {kinds['hang']} hangs, {kinds['wrong']} that contradict themselves")
    for number, kind, why in sorted(tally.findings)[:50]:
        click.echo(f"  {number} {kind}: {why.strip().splitlines()[-1][:300]}")


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
    begun = time.monotonic()
    tally = read_all(seed, inputs, processes)
    tell(tally, time.monotonic() - begun)
    if tally.findings:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
