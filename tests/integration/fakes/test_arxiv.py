"""The pace is held against every request: a fake that took no note of haste would hide it."""

from datetime import UTC, datetime

import httpx
import pytest

from digest.model.clock import ManualClock, SystemClock
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.spoiling import RATE_BODY

EVENING = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)


def greet(arxiv: DemoArxiv) -> httpx.Response:
    return httpx.get(arxiv.oai_url, params={"verb": "Identify"}, trust_env=False, timeout=10)


def test_who_comes_too_soon_is_refused_and_noted() -> None:
    clock = ManualClock(EVENING)
    with DemoArxiv([], clock, pace=3.0) as arxiv:
        greet(arxiv)
        clock.sleep(2.9)
        answer = greet(arxiv)
        clock.sleep(3)
        greet(arxiv)
    assert (answer.status_code, answer.content) == (429, RATE_BODY)
    assert [visit.violation for visit in arxiv.requests] == ["", "pace", ""]
    assert [visit.gap for visit in arxiv.requests] == [None, pytest.approx(2.9), pytest.approx(3)]


def test_a_lenient_server_only_notes_who_comes_too_soon() -> None:
    with DemoArxiv([], SystemClock(), pace=3.0, is_strict=False) as arxiv:
        answers = [greet(arxiv) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert len(arxiv.violations) == 1
