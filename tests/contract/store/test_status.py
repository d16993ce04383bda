"""The facts of the status screen are had from either database."""

from __future__ import annotations

from pathlib import Path

from digest.config import load_config
from digest.inspect.status import load_status
from digest.model.clock import ManualClock
from digest.store import Store
from digest.store.runs import finish_run, start_run
from tests.contract.store.made import DAY, MAIL, NOW, store_digest


def test_an_empty_store_has_a_screen_that_says_what_is_missing(store: Store, tmp_path: Path) -> None:
    status = load_status(load_config(None, {}, folder=tmp_path), store, ManualClock(NOW))
    assert [trouble.what for trouble in status.troubles] == ["arXiv was never checked completely"]
    assert status.intake.checked_at is None
    assert status.subscriptions == ()
    assert status.dialect == store.dialect
    assert status.size > 0


def test_what_was_stored_is_on_the_screen(store: Store, tmp_path: Path) -> None:
    store_digest(store, MAIL)
    with store.begin() as conn:
        run = start_run(conn, source="harvest", at=NOW)
        finish_run(conn, run, outcome="failed", at=NOW, pages=0, papers=0, new=0, changed=0, failure="no answer")
    status = load_status(load_config(None, {}, folder=tmp_path), store, ManualClock(NOW + 3 * DAY))
    told = {trouble.what: trouble.remedy for trouble in status.troubles}
    ((failed, remedy),) = ((what, todo) for what, todo in told.items() if "no answer" in what)
    assert failed.startswith("the last check of arXiv failed: no answer; the announcement of ")
    assert (failed.count("no answer"), remedy) == (1, "`digest run --now` tries again.")
    assert any(what.startswith(f"a delivery to {MAIL} has been waiting since ") for what in told)
    (line,) = status.subscriptions
    assert (line.name, line.destinations) == ("team", (MAIL,))
    assert status.outbox.counts
