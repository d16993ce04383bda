"""The arXiv a month is lived beside: the stand-in with its real papers, as bad-tempered as wanted."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.acceptance.worlds import StandIn
from tests.battery.month_faults import plan_faults
from tests.battery.month_oracle import AGENT

PAPERS = "data/papers_2016-08_09.jsonl.gz"
OAI_PAGE = 250
"""Papers on a page: with a tenth of today's papers a look takes as many pages as today's would."""

OAI_LAG = timedelta(hours=2, minutes=30)
"""How long after an announcement OAI-PMH shows it, as arXiv's manual says."""


@dataclass(frozen=True)
class Asked:
    """One request of the product as arXiv saw it.

    Attributes:
        at: when it was made (UTC).
        kind: of the fault that spoiled it, "" for none.
        violation: how it broke the pace, "" where it did not.
        url: what was asked for.
    """

    at: datetime
    kind: str
    violation: str
    url: str

    @property
    def is_later_page(self) -> bool:
        """Whether it asked a harvest for more than its first page."""
        return "resumptionToken" in self.url


def list_cut(asked: Sequence[Asked]) -> list[datetime]:
    """Return when a harvest's last page came with half of its papers: arXiv's protocol has no sign of that."""
    harvests = [one for one in asked if "/oai?" in one.url]
    following = [*(one.is_later_page for one in harvests[1:]), False]
    return [
        one.at
        for one, goes_on in zip(harvests, following, strict=True)
        if one.kind == "short_page" and not goes_on
    ]


class MonthArxiv(StandIn):
    """The large stand-in on real papers, with simulated time, faults and changes on order.

    Args:
        folder: has `standin/` and `data/`.
        scratch: a folder for what is left of the papers where only a share is wanted.
        now: when it begins (UTC).
        share: the part of the papers that is served.
    """

    lag = OAI_LAG
    """How long after an announcement OAI-PMH shows it."""

    def __init__(self, folder: Path, scratch: Path, now: datetime, *, share: float = 1.0) -> None:
        self._papers = _load_papers(folder / PAPERS, share)
        served = scratch / "papers.jsonl"
        served.write_text("".join(f"{json.dumps(paper)}\n" for paper in self._papers.values()), encoding="utf-8")
        self._settled = {
            paper_id
            for paper_id, paper in self._papers.items()
            if paper["updated"] == paper["published"] and "withdraw" not in (paper["comment"] or "").lower()
        }
        options = {"--pace": 3.0, "--oai-page": OAI_PAGE, "--oai-lag": OAI_LAG / timedelta(hours=1)}
        super().__init__(folder, [served], _write(now), options, scratch / "standin.log")

    @property
    def short_ids(self) -> int:
        """How many of the ids it serves have lost a zero at their end."""
        return sum(len(paper_id) == len("1608.0123") for paper_id in self._papers)

    @property
    def papers(self) -> int:
        """How many papers it serves in all, public or not yet."""
        return len(self._papers)

    def now(self) -> datetime:
        """Return the simulated moment (UTC)."""
        return datetime.fromisoformat(self.control("now")["now"])

    def advance(self, seconds: float) -> object:
        """Move the clock on."""
        return self.control(f"now?advance={seconds}", method="POST")

    def arm(self, seed: int) -> None:
        """Let one request in five go wrong from now on."""
        self.disarm()
        planned = plan_faults(random.Random(seed))  # noqa: S311 - the same faults for the same seed
        self.control("faults", {"seed": seed, "faults": planned}, method="POST")

    def disarm(self) -> None:
        """Let nothing go wrong any more."""
        self.control("faults", method="DELETE")

    def count_requests(self) -> int:
        """Return how many requests there were so far, those of the oracle included."""
        return int(self.control("now")["requests"])

    def list_asked(self) -> list[Asked]:
        """Return the product's requests so far."""
        return [
            Asked(
                datetime.fromisoformat(entry["now"]), entry["fault"] or "", entry["violation"] or "", entry["url"]
            )
            for entry in self.control("requests")
            if entry["user_agent"] != AGENT
        ]

    def wait_idle(self) -> None:
        """Wait until no request is under way: one of a dead process may still be answered."""
        first = max(self.count_requests() - 5, 0)
        while any(entry["end"] is None for entry in self.control(f"requests?since={first}")):
            time.sleep(0.02)

    def is_settled(self, paper_id: str) -> bool:
        """Whether nothing but what the driver orders will still happen to a paper."""
        return paper_id in self._settled

    def cross_list(self, paper_id: str, category: str) -> None:
        """List a paper in one more category, publicly at once."""
        self._change(paper_id, categories=[*self._papers[paper_id]["categories"], category])

    def edit(self, paper_id: str, journal_ref: str) -> None:
        """Give a paper a journal reference, publicly at once."""
        self._change(paper_id, journal_ref=journal_ref)

    def withdraw(self, paper_id: str, *, by_version: bool) -> None:
        """Withdraw a paper: with a version that the next announcement brings, or by the mark alone at once."""
        self._settled.discard(paper_id)
        changes: dict[str, Any] = {"withdrawn": True}
        if by_version:
            version = (self._papers[paper_id].get("version") or 1) + 1
            changes |= {"version": version, "updated": _write(self.now()), "comment": "Withdrawn by the authors"}
        self._change(paper_id, **changes)

    def _change(self, paper_id: str, **changes: Any) -> None:  # noqa: ANN401 - fields of a paper, each of its own type
        paper = self._papers[paper_id]
        paper |= {"version": paper.get("version") or 1, **changes}
        self.add(paper)


def _load_papers(path: Path, share: float) -> dict[str, dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        papers = [json.loads(line) for line in lines]
    return {
        paper["id"]: paper
        for number, paper in enumerate(papers)
        if int(number * share) != int((number - 1) * share)
    }


def _write(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
