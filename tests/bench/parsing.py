"""How fast pages of arXiv are read, next to those who read them too.

    python -m tests.bench.parsing

runs all of it. It takes a minute or two, wants `pip install -e '.[check]'`, and exits with 1 where a goal is
missed; a machine that is busy otherwise changes the times, and the ratios by little.
Everything comes from this one run: each contestant reads the same bytes in turn, `ROUNDS` times over, and
what counts is the median of its processor time. Real papers are read where `DIGEST_REAL_DATA` names a
folder of them, made-up ones otherwise.

Contestants: feedparser and arxiv.py 4 do what they do in a real run, from bytes to their own objects. The
limit is expat without a single handler: it looks at each byte, finds the page well-formed, and tells nobody.

Fields are held against arxiv.py's on every real page of `atom_current` and `atom_legacy`. They may differ by

1. the id: ours is apart from its version and without the address around both;
2. white space: runs of it are one blank, and paragraphs of an abstract are separated by a line feed;
3. characters: composed (NFC), and without control characters and marks of direction;
4. names: "H. -W. One" is "H.-W. One", "and B. Two" is "B. Two"; nobody without a name, no
   affiliation without text or twice;
5. categories: the primary one first, each once, and arXiv's own alone (no ACM and MSC classes);
6. DOIs: ours are all of them, one by one and without stray punctuation; theirs are the first field as typed;
7. what is missing: "" for a comment or a journal reference, not None.

For a harvest's page there is no peer; it is held against the limit, with and without what takes most of the
time there: author lines, which are free text, and the TeX in them.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch
from xml.parsers import expat

import arxiv
import feedparser
from arxiv import _feed

from digest.arxiv import authors, oai
from digest.arxiv.atom import parse_atom
from digest.arxiv.oai import parse_oai
from digest.model.papers import Author
from tests.bench.agreement import compare
from tests.bench.installations import Verdict, measure_in_turns, say
from tests.bench.memory import LIMIT, is_measurable, measure_growth
from tests.bench.pages import ATOM_SIZE, OAI_SIZE, fixtures, load_atom_page, load_oai_page

ROUNDS: Final = 9
FEEDPARSER, ARXIV_PY = 12.0, 1.5
"""The goals: so many times faster."""


def parse_without_handlers(body: bytes) -> None:
    """Do the least that can be done with a page."""
    parser = expat.ParserCreate()
    parser.Parse(body, True)  # noqa: FBT003 - the parser's own way to say that this is all


def parse_without_authors(body: bytes) -> None:
    """Read a page of a harvest, but its author lines and submitters only as lines."""
    with (
        patch.object(oai, "parse_authors", lambda line: (Author(line),)),
        patch.object(oai, "read_name", lambda name: name),
    ):
        parse_oai(body)


def parse_without_tex(body: bytes) -> None:
    """Read a page of a harvest, but the TeX in names as it stands."""
    with patch.object(authors, "to_plain", lambda text: text):
        parse_oai(body)


def measure(contestants: dict[str, Callable[[bytes], object]], body: bytes) -> dict[str, float]:
    """Return milliseconds of processor time for each."""
    runs = {name: partial(read, body) for name, read in contestants.items()}
    return measure_in_turns(runs, ROUNDS, lambda _: gc.collect())


def report_atom(verdict: Verdict) -> None:
    """Print how a search page fares."""
    made_of, body = load_atom_page()
    assert len(parse_atom(body).papers) == ATOM_SIZE
    ours, peer = "digest, to papers", f"arxiv.py {arxiv_version()}, to results"
    times = measure(
        {
            "expat without handlers": parse_without_handlers,
            ours: parse_atom,
            peer: _feed.parse,
            f"feedparser {feedparser.__version__}": feedparser.parse,
        },
        body,
    )
    limit = times["expat without handlers"]
    say(f"\nA search page: {ATOM_SIZE:,} entries, {len(body):,} bytes, {made_of}\n")
    say(f"  {'':32}{'ms':>9}{'× limit':>9}{'× digest':>10}   goal")
    goals = {peer: ARXIV_PY, f"feedparser {feedparser.__version__}": FEEDPARSER}
    for name, taken in times.items():
        ratio = taken / times[ours]
        told = verdict.judge(ratio, goals[name], at_most=False) if name in goals else ""
        say(f"  {name:32}{taken:9.1f}{taken / limit:9.1f}{ratio:10.2f}{told}")


def report_oai() -> None:
    """Print how a page of a harvest fares."""
    made_of, body = load_oai_page()
    assert len(parse_oai(body).papers) == OAI_SIZE
    times = measure(
        {
            "expat without handlers": parse_without_handlers,
            "digest, to papers": parse_oai,
            "  the same without TeX in names": parse_without_tex,
            "  the same without author lines": parse_without_authors,
        },
        body,
    )
    limit = times["expat without handlers"]
    say(f"\nA page of a harvest: {OAI_SIZE:,} entries, {len(body):,} bytes, {made_of}\n")
    say(f"  {'':32}{'ms':>9}{'× limit':>9}{'ms a paper':>12}")
    for name, taken in times.items():
        say(f"  {name:32}{taken:9.1f}{taken / limit:9.1f}{taken / OAI_SIZE:12.3f}")


def report_fields(verdict: Verdict) -> None:
    """Print how often a field differs from arxiv.py's."""
    bodies = [*fixtures("atom_current/*http200.xml").values(), *fixtures("atom_current/arxivcode_*.xml").values()]
    bodies += fixtures("atom_legacy/*.xml").values()
    if not bodies:
        say("\nNo field was compared: DIGEST_REAL_DATA names no folder of real pages")
        return
    compared, differing = compare(bodies)
    told = ", ".join(f"{name} {count}×" for name, count in differing.most_common()) or "none"
    goal = verdict.judge(differing.total(), 0, at_most=True)
    say(f"\nFields that differ from arxiv.py's, of {compared:,} on {len(bodies)} real pages: {told}{goal}")


def report_memory(verdict: Verdict) -> None:
    """Print what reading takes over the page's own bytes."""
    if not is_measurable():
        say("\nMemory was not measured: this system does not tell a process's own peak")
        return
    say("")
    with tempfile.TemporaryDirectory() as folder:
        for interface, load in (("atom", load_atom_page), ("oai", load_oai_page)):
            page = Path(folder, f"{interface}.xml")
            page.write_bytes(load()[1])
            what = f"memory over the page's own bytes, {interface}, papers included"
            verdict.tell(what, measure_growth(interface, page) / 1e6, "MB", LIMIT / 1e6, at_most=True)


def arxiv_version() -> str:
    """Return the version of arxiv.py that takes part, which tells only its package."""
    from importlib.metadata import version  # noqa: PLC0415 - for this line alone

    assert arxiv.Client is not None
    return version("arxiv")


def main() -> int:
    """Measure everything; return the exit code."""
    say(f"Python {sys.version.split()[0]}, {expat.EXPAT_VERSION}, medians of {ROUNDS} rounds, processor time")
    verdict = Verdict()
    report_atom(verdict)
    report_oai()
    report_fields(verdict)
    report_memory(verdict)
    return 0 if verdict.is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
