"""Papers to match with: real ones from the folder of `DIGEST_REAL_DATA`, else made-up ones."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

from digest.model.papers import Paper
from tests.bench.pages import REAL, made_up_papers, read_kept
from tests.fakes.archive import show

MADE_UP = 6_000
DAY = 2_500
"""Papers of the day: the first ones."""


@cache
def load_papers() -> tuple[str, list[Paper]]:
    """Return what they are, and the papers in the order of their ids."""
    if not REAL:
        return "made-up papers", [show(paper) for paper in made_up_papers(MADE_UP)]
    file = Path(REAL, "data", "papers_2016-08_09.jsonl.gz")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        papers = [read_kept(json.loads(line)) for line in lines if line.strip()]
    return "real papers of 2016", papers


def load_day() -> tuple[str, list[Paper], list[Paper]]:
    """Return what the papers are, those of the day, and others that saved queries are drawn of."""
    made_of, papers = load_papers()
    return made_of, papers[:DAY], papers[DAY:]
