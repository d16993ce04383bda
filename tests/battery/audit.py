"""Audits many queries over real papers: `python -m tests.battery.audit`.

The stand-in for arXiv serves 19,319 real papers of two months; an installation harvests them all, and
`digest query audit` holds each query's answer against the stand-in's, which is built without a line of ours.
Every difference must be in a class that is shown to be its cause. Exit code 1 where one is not, where a class
that these queries are made to meet is never met, or one is met that can't be.

What the stand-in does otherwise than arXiv itself: its texts still have TeX accents (arXiv's are resolved), so
that most accents are told as TeX here; `all:` is the union of the fields, so nothing is joined or unseen; it knows
no submitters or owners of these papers; `id:` with a version knows versions still to come, and is not asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from digest.planning.auditing import DifferenceClass
from tests.acceptance.worlds import StandIn

ROOT: Final = Path(__file__).parents[2]
PAPERS: Final = "data/papers_2016-08_09.jsonl.gz"
DAYS: Final = 70
IMPOSSIBLE: Final = frozenset(
    {
        DifferenceClass.JOINED,
        DifferenceClass.UNSEEN,
        DifferenceClass.OWNERS,
        DifferenceClass.SUBMITTER,
        DifferenceClass.REPORT_NO,
        DifferenceClass.METADATA,
    }
)
"""Classes of what the stand-in does not have: met here, they would cover up a mistake of ours."""

LOOKS: Final = ("2016-08-02T12:00:00", "2016-09-12T12:00:00", "2016-10-05T12:00:00")
"""When the installation looks; the last moment is that of the audits."""

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

MET: Final = {"asked for more", "TeX", "colons", "names", "DOI", "control characters"}
"""Classes that real papers have cases of under these queries: each is met, or the audits have gone blind."""

_FILE = """
[arxiv]
contact = "ops@example.org"
api_url = "{url}/api/query"
oai_url = "{url}/oai"
"""


def run_digest(arguments: list[str], environ: dict[str, str], folder: Path) -> str:
    """Run the real command line as a process of its own; return what it prints."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "digest", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 1 or not done.stdout:
        raise click.ClickException(f"{' '.join(arguments)} failed: {done.stderr}")
    return done.stdout


def harvest(folder: Path, arxiv: StandIn) -> dict[str, str]:
    """Make an installation that has stored every paper; return the environment its commands need."""
    (folder / "digest.toml").write_text(_FILE.format(url=arxiv.url), encoding="utf-8")
    environ = {"DIGEST_TEST_CLOCK": arxiv.clock_url}
    for moment in LOOKS:
        arxiv.set_now(datetime.fromisoformat(moment).replace(tzinfo=UTC))
        run_digest(["run", "--now"], environ, folder)
    return environ


def audit(text: str, environ: dict[str, str], folder: Path) -> dict[str, Any]:
    """Run one audit; return what it says."""
    done = run_digest(["query", "audit", text, "--days", str(DAYS), "--json"], environ, folder)
    said: dict[str, Any] = json.loads(done)
    return said


@click.command()
@click.option("--only", multiple=True, metavar="QUERY", help="Audit these queries in place of the list.")
def main(only: tuple[str, ...]) -> None:
    """Audit the list, query by query, and sum up the differences by class."""
    data = os.environ.get("DIGEST_REAL_DATA")
    if not data:
        raise click.UsageError("DIGEST_REAL_DATA names no folder of real papers")
    classes: Counter[str] = Counter()
    with_all = matched = 0
    unclean: list[str] = []
    arxiv = StandIn(Path(data), [PAPERS], "2016-08-02T12:00:00Z")
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            environ = harvest(folder, arxiv)
            for text in only or QUERIES:
                began = time.monotonic()
                said = audit(text, environ, folder)
                found = {one["class"]: one["differences"] for one in said["classes"]}
                classes.update(found)
                matched += said["in_both"]
                with_all += "all:" in said["canonical"]
                if not said["is_clean"]:
                    unclean.append(text)
                    odd = [one for one in said["differences"] if one["class"] in ("missed", "unclassified")]
                    click.echo(json.dumps(odd[:5], ensure_ascii=False))
                counts = f"{said['matches_here']:>6,} {said['matches_at_arxiv']:>6,} {said['in_both']:>6,}"
                seconds = time.monotonic() - began
                click.echo(f"{text:<64} {counts}  {json.dumps(found, ensure_ascii=False)}  {seconds:.0f} s")
        violations = arxiv.violations
    finally:
        arxiv.close()
    asked = len(only or QUERIES)
    click.echo(f"\n{asked} queries, {asked - with_all} of them without all:; {matched:,} papers in both answers")
    for name, number in classes.most_common():
        click.echo(f"{number:>8,}  {name}")
    blind = set() if only else MET - classes.keys()
    covering = IMPOSSIBLE & classes.keys()
    for problem in (
        *(f"not clean: {text}" for text in unclean),
        *(f"never met: {name}" for name in sorted(blind)),
        *(f"can't be: {name}" for name in sorted(covering)),
        *([f"{violations} requests came too soon"] if violations else []),
    ):
        click.echo(problem)
    raise SystemExit(1 if unclean or blind or covering or violations else 0)


if __name__ == "__main__":
    main()
