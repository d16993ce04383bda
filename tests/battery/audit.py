"""Audits many queries over real papers: `python -m tests.battery.audit`.

The stand-in for arXiv serves 19,319 real papers of two months; an installation harvests them all, and what it
matches is held against the stand-in's answer, which is built without a line of ours. Every difference must be in
a class that is shown to be its cause. Exit code 1 where one is not, or where a class that these queries are made
to meet is never met.

What the stand-in does otherwise than arXiv itself: its texts still have TeX accents (arXiv's are resolved), so
that most accents are told as TeX here; Müller is not Mueller to it; `all:` is the union of the fields; it knows no
submitters or owners of these papers; `id:` with a version knows versions still to come, and is not asked.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from digest.arxiv.atom import parse_atom
from digest.arxiv.pages import EARLIEST, Window, fetch_papers, walk_search
from digest.config import load_config
from digest.model.clock import RemoteClock
from digest.query import parse_query, to_arxiv
from digest.query.index.reverse_index import hold_papers
from digest.serve.installation import open_site
from digest.serve.steps import run_pass
from digest.store import papers
from tests.acceptance.worlds import StandIn
from tests.battery.audit_classes import DifferenceClass, classify_difference
from tests.battery.audit_rules import Rule
from tests.fakes.config_file import write_config

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from digest.arxiv.atom import AtomPage
    from digest.arxiv.client import Fetched
    from digest.model.papers import ArxivId, Paper
    from digest.poll.installation import Site
    from digest.query import Query

PAPERS: Final = "data/papers_2016-08_09.jsonl.gz"
DAYS: Final = 70
PAGE: Final = 500

LOOKS: Final = ("2016-08-02T12:00:00", "2016-09-12T12:00:00", "2016-10-05T12:00:00")
"""When the installation looks; the last moment is that of the audits."""

_CONTROLS = re.compile(rb"\x7f|\xc2[\x80-\x9f]")
"""Control characters that XML allows, in UTF-8: DEL and the second set."""

QUERIES: Final = tuple(
    r"""
cat:cs.PF
cat:cs.DC AND abs:GPU
cat:math
cat:hep-th ANDNOT cat:gr-qc
cat:math.NA AND abs:"finite element" ANDNOT ti:discontinuous
cat:stat.ML ANDNOT (abs:deep OR abs:neural)
submittedDate:[20160901 TO 20160915] AND cat:quant-ph
NOT cat:cs AND ti:learning
ti:"neural network"
ti:generative*
ti:quantiz* OR ti:quantis*
ti:the AND ti:matter
ti:"k-means"
ti:"p-adic"
ti:alpha
ti:"$\Lambda$CDM"
ti:"Schrodinger equation"
ti:(graph AND (coloring OR colouring))
ti:"black holes" AND co:figures
cat:cs.LG ANDNOT au:"Li, L*"
(ti:galaxy OR ti:galaxies) AND (abs:redshift ANDNOT abs:quasar)
abs:"dark matter" AND cat:astro-ph.CO
abs:"tail latency" OR ti:latency
abs:self-supervised OR abs:"semi-supervised"
abs:transform* AND cat:cs.CV
abs:schrodinger
abs:Schrödinger
abs:"Erdős"
abs:erdos OR abs:renyi
abs:"10^{-3}"
abs:mathcal
abs:"signal to noise"
abs:"state of the art" AND cat:cs.CL
abs:universe ANDNOT abs:universal
abs:"C++"
abs:COVID
abs:CO2 OR abs:"CO$_2$"
abs:Λ OR abs:lambda
abs:"ATLAS detector" ANDNOT cat:hep-ex
au:wang
au:"li wei"
au:"Zhang, Y"
au:"Wang, Wei"
au:smith_j
au:müller
au:muller AND cat:hep-ph
au:"van den Berg"
au:"O'Neill"
au:gonz*
author:"Yann LeCun"
author:"Wei Wang"
co:withdrawn
co:"accepted at"
co:"12 pages" AND cat:math.AG
jr:"Phys. Rev. Lett."
doi:10.1103/PHYSREVD.94.104006 OR doi:10.1103/PhysRevD.94.125018
id:1608.00001 OR id:1608.00002
all:gpu
all:"machine learning" AND cat:cs.LG
all:schrodinger
deep learning
all:einstein ANDNOT cat:gr-qc
"graph neural network" OR "convolutional network"
all:cs.LG
all:"Wei Wang"
""".strip().splitlines()
)

MET: Final = {"asked for more", "TeX", "colons", "names", "umlauts", "DOI", "control characters"}
"""Classes that real papers have cases of under these queries: each is met, or the audits have gone blind."""


def open_installation(folder: Path, arxiv: StandIn) -> Site:
    """Open an installation in a folder, under the stand-in's clock."""
    file = folder / "digest.toml"
    file.write_text(write_config(arxiv.url, {}), encoding="utf-8")
    config = load_config(file, {"DIGEST_TEST_CLOCK": arxiv.clock_url})
    return open_site(config, RemoteClock(arxiv.clock_url), owner="audit", jitter=lambda: 0.5)


def harvest(site: Site, arxiv: StandIn) -> None:
    """Store every paper."""
    for moment in LOOKS:
        arxiv.set_now(datetime.fromisoformat(moment).replace(tzinfo=UTC))
        run_pass(site, poll_anyway=True)


class Audit:
    """Holds answers of ours against answers of arXiv's, over the papers submitted within some days.

    Attributes:
        window: the days.
        stored: the papers that are stored of these days.
        ours: which of them each query means.
    """

    def __init__(self, site: Site, queries: Sequence[Query]) -> None:
        now = site.clock.now().replace(second=0, microsecond=0)
        self._client = site.client
        self.window = Window(now - timedelta(days=DAYS), now)
        with site.store.read() as conn:
            last = self.window.last + timedelta(seconds=59)
            self.stored = {paper.id: paper for paper in papers.load_submitted(conn, self.window.first, last)}
        self.ours: dict[Query, set[ArxivId]] = {query: set() for query in queries}
        for paper, met in hold_papers(queries, self.stored.values()):
            for place in met:
                self.ours[queries[place]].add(paper.id)

    def compare(self, query: Query) -> tuple[int, int, int, list[tuple[ArxivId, Rule | DifferenceClass]]]:
        """Return how many papers are in our answer, in arXiv's and in both, and why each other one is not."""
        ours = self.ours[query]
        asked = self.window.confine(to_arxiv(query))
        answer, parted = collect(walk_search(self._client, asked, until=EARLIEST, size=PAGE, asks_twice=True))
        copies, more = collect(fetch_papers(self._client, sorted(ours - answer.keys())))
        shown, parted = (
            answer | copies,
            parted | more,
        )  # as arXiv's search shows them
        differences = [
            (id_, classify_difference(query, shown[id_], parted.get(id_), is_found=id_ in answer))
            for id_ in sorted(ours ^ answer.keys())
        ]
        return len(ours), len(answer), len(ours & answer.keys()), differences


def collect(pages: Iterable[Fetched[AtomPage]]) -> tuple[dict[ArxivId, Paper], dict[ArxivId, Paper]]:
    """Return the papers of some pages, and again those with control characters, parted at these."""
    found: dict[ArxivId, Paper] = {}
    parted: dict[ArxivId, Paper] = {}
    for fetched in pages:
        found |= {paper.id: paper for paper in fetched.page.papers}
        parted |= part_at_controls(fetched)
    return found, parted


def part_at_controls(fetched: Fetched[AtomPage]) -> dict[ArxivId, Paper]:
    """Read a page again with blanks for its control characters, which reading drops; return what differs."""
    if not _CONTROLS.search(fetched.body):
        return {}
    as_read = {paper.id: paper for paper in fetched.page.papers}
    again = parse_atom(_CONTROLS.sub(b" ", fetched.body)).papers
    return {paper.id: paper for paper in again if paper.id in as_read and paper != as_read[paper.id]}


@click.command()
@click.option("--only", multiple=True, metavar="QUERY", help="Audit these queries in place of the list.")
def main(only: tuple[str, ...]) -> None:
    """Audit the list, query by query, and sum up the differences by class."""
    data = os.environ.get("DIGEST_REAL_DATA")
    if not data:
        raise click.UsageError("DIGEST_REAL_DATA names no folder of real papers")
    classes: Counter[str] = Counter()
    matched = 0
    unclean: list[str] = []
    arxiv = StandIn(Path(data), [PAPERS], "2016-08-02T12:00:00Z")
    try:
        with (
            tempfile.TemporaryDirectory() as temporary,
            closing(open_installation(Path(temporary), arxiv)) as site,
        ):
            harvest(site, arxiv)
            audit = Audit(site, [parse_query(text) for text in only or QUERIES])
            click.echo(f"{len(audit.stored):,} papers are stored")
            for query in audit.ours:
                began = time.monotonic()
                ours, theirs, both, differences = audit.compare(query)
                found = Counter(kind.value for _, kind in differences)
                classes.update(found)
                matched += both
                odd = [str(id_) for id_, kind in differences if kind is DifferenceClass.UNCLASSIFIED]
                if odd:
                    unclean.append(f"{query.text} ({', '.join(odd[:5])})")
                seconds = time.monotonic() - began
                told = json.dumps(found, ensure_ascii=False)
                click.echo(f"{query.text:<64} {ours:>6,} {theirs:>6,} {both:>6,}  {told}  {seconds:.0f} s")
        violations = arxiv.violations
    finally:
        arxiv.close()
    click.echo(f"\n{len(only or QUERIES)} queries; {matched:,} papers in both answers")
    for name, number in classes.most_common():
        click.echo(f"{number:>8,}  {name}")
    problems = [f"not clean: {text}" for text in unclean]
    problems += [f"never met: {name}" for name in sorted(MET - classes.keys()) if not only]
    problems += [f"{violations} requests came too soon"] * (violations > 0)
    click.echo("\n".join(problems))
    raise SystemExit(1 if problems else 0)


if __name__ == "__main__":
    main()
