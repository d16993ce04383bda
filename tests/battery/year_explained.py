"""What `digest explain` says of every paper and subscription of the year, held against what was told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from digest.inspect.explain import Verdict as Said
from digest.inspect.explain import explain_paper
from digest.model.papers import ArxivId
from digest.model.subscriptions import SubscriptionState
from digest.store import open_store
from digest.store.subscriptions import load_subscriptions
from tests.battery.year_oracle import YearVerdict
from tests.battery.year_papers import MadeUp
from tests.battery.year_plan import Diary

_UNTOLD = frozenset({Said.EARLIER, Said.OTHER_KIND, Said.NOT_NEW, Said.DROPPED})


def compare_explanations(
    database: Path,
    diary: Diary,
    papers: Mapping[str, MadeUp],
    verdict: YearVerdict,
    tell: Callable[[str], None],
    *,
    workers: int,
) -> None:
    """Ask of each pair what became of it; the oracle knows what was told, and which papers meet no query.

    Args:
        database: the SQLite file, which nobody writes any more.
        diary: which subscriptions there were.
        papers: all that came out, by id.
        verdict: knows what was told, and is added to.
        tell: is told of each subscription.
        workers: processes that ask side by side.
    """
    asked = {name: set(wanted[0][1].queries) for name, wanted in diary.wanted.items()}
    jobs = [(name, queries, frozenset(verdict.told[name])) for name, queries in sorted(asked.items())]
    explain = partial(_explain_all, database, list(papers.values()))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for (name, _, _), wrong in zip(jobs, pool.map(explain, *zip(*jobs, strict=True)), strict=True):
            verdict.counts["pairs explained"] += len(papers)
            for one in wrong:
                verdict.accuse("an explanation is wrong", one)
            tell(f"explained {name}: {len(wrong)} wrong")


def _explain_all(
    database: Path, papers: Collection[MadeUp], name: str, queries: set[str], told: frozenset[str]
) -> list[str]:
    """Return what is wrong about the explanations of all papers to one subscription."""
    wrong = []
    store = open_store(f"sqlite:///{database}")
    try:
        with store.read() as conn:
            (due,) = load_subscriptions(conn, names=[name], include_ended=True)
            for paper in papers:
                trail = explain_paper(conn, ArxivId.parse(paper.id), due, "harvest")
                said = trail.judged.verdict if trail.judged else None
                expected = _expect(
                    paper, queries, is_told=paper.id in told, has_ended=due.state == SubscriptionState.ENDED
                )
                if said not in expected:
                    wrong.append(f"{paper.id} to {name}: {said}, not {' or '.join(sorted(expected))}")
    finally:
        store.close()
    return wrong


def _expect(paper: MadeUp, queries: set[str], *, is_told: bool, has_ended: bool) -> frozenset[Said]:
    """Return the verdicts that are right: the year sends no digest, and an end keeps back for good what waits."""
    if is_told:
        return frozenset({Said.UNSENT if has_ended else Said.UNDERWAY})
    return _UNTOLD if paper.queries & queries else frozenset({Said.UNMET})
