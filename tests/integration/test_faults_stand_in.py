"""Every kind of fault the large stand-in for arXiv has, met by a whole pass over real papers.

Only where `DIGEST_REAL_DATA` names a folder that has one. What each fault may do is said in the other
modules; here all are held to the same few promises.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from digest.model.clock import ManualClock, RemoteClock
from tests.fakes.mail import MailSink
from tests.integration.faulty import FaultyArxiv, Found, World

FIRST = datetime(2026, 2, 20, 12, 40, tzinfo=UTC)
SECOND = datetime(2026, 3, 2, 12, 40, tzinfo=UTC)
"""Looks with ten days of papers between them, the last of which came out the evening before."""

FAULTS: list[dict[str, object]] = [
    {"kind": "429"},
    {"kind": "429", "retry_after": 900},
    {"kind": "rate_200"},
    {"kind": "503"},
    {"kind": "406"},
    {"kind": "403"},
    {"kind": "500"},
    {"kind": "reset"},
    {"kind": "hang", "seconds": 0.2},
    {"kind": "truncate", "keep": 0.9},
    {"kind": "drip", "seconds": 0.3},
    {"kind": "slow", "seconds": 0.2},
    {"kind": "empty_page"},
    {"kind": "empty_zero"},
    {"kind": "short_page", "keep": 2, "times": 2},
    {"kind": "shift", "by": 2},
    {"kind": "shift", "by": -3},
    {"kind": "unsorted", "seed": 5},
    {"kind": "malformed"},
    {"kind": "bomb"},
    {"kind": "xxe"},
    {"kind": "html"},
    {"kind": "content_type", "value": "text/html"},
    {"kind": "gzip"},
    {"kind": "stale", "hours": 48},
]


class StandIn:
    """The stand-in as a process of its own, under simulated time and judged pace, with small pages."""

    def __init__(self, folder: Path) -> None:
        home = folder / "standin"
        named = [part for name in ("seed", "fixture") for part in ("--papers", str(home / f"{name}_papers.jsonl"))]
        clock = ("--now", FIRST.strftime("%Y-%m-%dT%H:%M:%SZ"), "--pace-clock", "sim")
        self._process = subprocess.Popen(  # noqa: S603 - the path comes from the person running the tests
            [sys.executable, str(home / "arxiv_standin.py"), *named, *clock, "--port", "0", "--oai-page", "6"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", self._process.stdout.readline())
        assert found is not None
        self.url = found[0]
        self.clock_url = f"{self.url}/_control/now"

    def control(self, path: str, value: object = None, method: str = "POST") -> Any:  # noqa: ANN401 - JSON
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(f"{self.url}/_control/{path}", data=body, method=method)  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
            return json.load(answer)

    def set_now(self, moment: datetime) -> None:
        self.control(f"now?to={moment.strftime('%Y-%m-%dT%H:%M:%SZ')}")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    folder = os.environ.get("DIGEST_REAL_DATA")
    if not folder:
        pytest.skip("DIGEST_REAL_DATA names no folder of real papers")
    running = StandIn(Path(folder))
    yield running
    running.close()


_truths: dict[str, set[Found]] = {}
"""What a life without faults finds, by source."""

_pasts: dict[str, bytes] = {}
"""Databases after the first look, by source."""


def live(folder: Path, stand_in: StandIn, mail: MailSink, source: str) -> World:
    """Set up an installation that has taken its first look, at the time of the second."""
    stand_in.control("reset")
    clock = RemoteClock(stand_in.clock_url)
    # Of the arXiv a world lives beside, and of its clock, only what both kinds have is used here.
    world = World(cast("FaultyArxiv", stand_in), cast("ManualClock", clock), mail, folder, source)
    world.configure()
    if source not in _pasts:
        assert world.look().poll.failures == []
        world.close()
        _pasts[source] = (folder / "digest.db").read_bytes()
        stand_in.set_now(SECOND)
        assert world.look().poll.failures == []
        _truths[source] = set(world.list_changes())
        assert len(_truths[source]) > 8
        stand_in.control("reset")
        world.close()
        world.reports.clear()
        for kept in folder.glob("digest.db*"):
            kept.unlink()
    (folder / "digest.db").write_bytes(_pasts[source])
    stand_in.set_now(SECOND)
    return world


def name_fault(fault: dict[str, object]) -> str:
    return " ".join(str(value) for value in fault.values())


@pytest.mark.parametrize("fault", FAULTS, ids=name_fault)
@pytest.mark.parametrize("source", ["harvest", "query"])
def test_whatever_arxiv_does_nothing_wrong_is_stored_or_claimed_and_all_follows_once(
    source: str, fault: dict[str, object], tmp_path: Path, stand_in: StandIn
) -> None:
    with MailSink() as mail:
        world = live(tmp_path, stand_in, mail, source)
        truth, before, sent = _truths[source], world.cursors(), len(mail.mails)
        path = "/oai" if source == "harvest" else "/api"
        stand_in.control("faults", [{"times": 6, "skip": int(source == "harvest"), "path": path} | fault])
        report = world.look()
        assert set(world.list_changes()) <= truth
        if report.poll.failures:
            assert world.cursors() == before
            assert world.last_run().outcome in ("failed", "partial")
            assert not world.is_covered()
        if not world.is_covered():
            for text in world.read_mails()[sent:]:
                assert "no new papers" not in text.lower()
                assert ": complete" not in " ".join(text.split())
        stand_in.control("faults", method="DELETE")
        stand_in.set_now(SECOND + timedelta(hours=6))
        assert world.look().poll.failures == []
        assert sorted(world.list_changes()) == sorted(truth)
        assert world.breaker().seconds == 0
        world.close()
        assert stand_in.control("now", method="GET")["violations"] == 0
