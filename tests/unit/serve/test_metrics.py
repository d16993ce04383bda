from datetime import UTC, datetime

import pytest

from digest.serve.telemetry import Metrics, Verb


def sample(metrics: Metrics, line: str) -> float:
    """Return the value behind a name and its labels."""
    found = [row for row in metrics.render().decode().splitlines() if row.startswith(f"{line} ")]
    assert len(found) == 1
    return float(found[0].rpartition(" ")[2])


def test_what_is_counted_can_be_read_in_prometheus_format() -> None:
    metrics = Metrics()
    metrics.papers.labels("new").inc(298)
    metrics.matches.inc(9)
    metrics.deliveries.labels("mailto", "sent").inc()
    metrics.deliveries.labels("slack", "dead").inc(2)
    assert sample(metrics, 'digest_papers_total{kind="new"}') == 298
    assert sample(metrics, "digest_matches_total") == 9
    assert sample(metrics, 'digest_deliveries_total{state="dead",transport="slack"}') == 2
    assert metrics.content_type.startswith("text/plain")


def test_gauges_say_how_things_stand_now() -> None:
    metrics = Metrics()
    metrics.set_outbox({"ready": 3, "held": 1}, 12.5)
    metrics.set_outbox({"ready": 0, "held": 1}, 0)
    metrics.last_poll.set(datetime(2026, 11, 20, tzinfo=UTC).timestamp())
    metrics.ready.set(1)
    assert sample(metrics, 'digest_outbox{state="ready"}') == 0
    assert sample(metrics, 'digest_outbox{state="held"}') == 1
    assert sample(metrics, "digest_outbox_oldest_due_seconds") == 0
    assert sample(metrics, "digest_last_complete_poll_timestamp_seconds") == 1_795_132_800
    assert sample(metrics, "digest_ready") == 1


def test_a_verb_is_timed_also_where_it_fails() -> None:
    metrics = Metrics()
    with metrics.time_verb(Verb.POLL):
        pass
    with pytest.raises(OSError, match="away"), metrics.time_verb(Verb.POLL):
        raise OSError("away")
    assert sample(metrics, 'digest_verb_seconds_count{verb="poll"}') == 2
    assert 0 <= sample(metrics, 'digest_verb_seconds_sum{verb="poll"}') < 5


def test_two_processes_parts_count_apart() -> None:
    first = Metrics()
    second = Metrics()
    first.matches.inc(5)
    assert sample(first, "digest_matches_total") == 5
    assert sample(second, "digest_matches_total") == 0
