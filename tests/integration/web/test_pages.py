from __future__ import annotations

import logging

import pytest

from digest.model.said import Said
from digest.serve.telemetry import Metrics, Pulse
from digest.store import alarms
from digest.store.alarms import Alarm, AlarmName
from digest.web import create_metrics_app
from digest.web.endpoints import find_failures
from tests.harness.serving import serve_app, serve_site, wait_until
from tests.integration.web.conftest import ServedSite
from tests.integration.web.world import EVENING, PAPERS


def test_a_page_of_a_digest_has_every_paper_and_is_made_once(served: ServedSite) -> None:
    page = served.http.get(f"/d/{served.links.web_token('perf-team', 'run:2')}")
    assert all(paper.id in page.text for paper in PAPERS)
    assert "example.org" not in page.text
    with served.site.store.begin() as conn:
        conn.exec_driver_sql("UPDATE digests SET content = 'spoilt'")
    assert served.http.get(page.request.url).content == page.content


def test_an_error_of_ours_is_told_to_nobody_but_the_log(
    served: ServedSite, caplog: pytest.LogCaptureFixture
) -> None:
    with served.site.store.begin() as conn:
        conn.exec_driver_sql("UPDATE digests SET content = 'spoilt'")
    answer = served.http.get(f"/d/{served.links.web_token('perf-team', 'run:2')}")
    assert answer.status_code == 500
    assert "Something went wrong here." in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    wait_until(
        lambda: any(record.exc_info for record in caplog.records if record.levelno == logging.ERROR)
    )


def test_a_process_whose_scheduler_never_ticked_is_not_ready(shared: ServedSite) -> None:
    assert shared.http.get("/readyz").status_code == 503
    assert find_failures(shared.site, Pulse()) == ["the scheduler has not ticked yet"]


def readiness(served: ServedSite, pulse: Pulse) -> tuple[int, str]:
    with serve_site(served.site, pulse=pulse) as url:
        answer = served.http.get(f"{url}/readyz")
    assert answer.json() == {"ready": answer.status_code == 200}, (
        "why is nobody's business but the operator's"
    )
    return answer.status_code, " ".join(find_failures(served.site, pulse))


def test_readiness_turns_red_where_a_job_failed(served: ServedSite) -> None:
    pulse = Pulse(troubles={"plan": "ValueError"})
    pulse.beat()
    pulse.note_write()
    status, reasons = readiness(served, pulse)
    assert status == 503
    assert reasons == "the job plan failed last time (ValueError)"


def test_readiness_turns_red_where_the_database_does_not_answer(served: ServedSite) -> None:
    pulse = Pulse()
    pulse.beat()
    with served.site.store.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE alarms RENAME TO lost")
    assert readiness(served, pulse) == (503, "the database does not answer")


def test_what_was_counted_is_told_in_prometheus_format(served: ServedSite) -> None:
    metrics = Metrics()
    metrics.deliveries.labels("mailto", "sent").inc(2)
    with served.site.store.begin() as conn:
        conn.exec_driver_sql("UPDATE deliveries SET state = 'ready' WHERE id = 1")
    with serve_app(create_metrics_app(served.site, Pulse(), metrics)) as url:
        answer = served.http.get(f"{url}/metrics")
        assert served.http.get(f"{url}/").status_code == 404
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    lines = answer.text.splitlines()
    assert 'digest_deliveries_total{state="sent",transport="mailto"} 2.0' in lines
    assert 'digest_outbox{state="ready"} 1.0' in lines
    assert "digest_ready 0.0" in lines
    (looked,) = [
        line for line in lines if line.startswith("digest_last_complete_poll_timestamp_seconds ")
    ]
    assert float(looked.split()[1]) == pytest.approx(EVENING.timestamp(), abs=1)


def test_readiness_turns_red_while_an_alarm_says_that_no_work_is_done(served: ServedSite) -> None:
    pulse = Pulse()
    pulse.beat()
    pulse.note_write()
    for name, is_ready in ((AlarmName.ANNOUNCEMENT, True), (AlarmName.OUTBOX, False)):
        with served.site.store.begin() as conn:
            alarm = Alarm(name, Said.plain("it waits"), Said.plain("Look."))
            alarms.save_alarms(conn, [alarm], served.world.clock.now())
        assert find_failures(served.site, pulse) == ([] if is_ready else ["it waits. Look."])
