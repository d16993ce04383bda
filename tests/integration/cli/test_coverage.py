"""`digest coverage` shows what each look can prove, and never more."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from digest.model.papers import ArxivId
from digest.store import gaps, runs
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import NOW, World


@pytest.mark.usefixtures("world")
def test_the_same_is_had_as_json(digest: Shell) -> None:
    told = digest("coverage", "--days", "2", "--json").json["ledger"]
    assert [(line["announcement"], line["state"]) for line in told["announcements"]] == [
        ("2026-11-19", "complete"),
        ("2026-11-18", "complete"),
    ]
    assert told["announcements"][0]["new"] > 0


@pytest.mark.usefixtures("world")
def test_every_check_can_be_read_with_what_it_asked_and_found(digest: Shell) -> None:
    first = digest("coverage", "--checks", "--json").json["entries"][-1]
    assert (first["source"], first["is_bootstrap"], first["outcome"]) == (
        "harvest",
        True,
        "complete",
    )


@pytest.mark.usefixtures("world")
def test_every_request_can_be_read_with_its_status_time_and_bytes(digest: Shell) -> None:
    asked = digest("coverage", "--requests", "--limit", "3", "--json").json["entries"]
    assert (len(asked), asked[0]["status"], asked[0]["outcome"]) == (3, 200, "ok")


def test_a_missing_id_is_listed_with_how_often_it_was_asked_for(
    world: World, digest: Shell
) -> None:
    with closing(world.open_store()) as store, store.begin() as conn:
        gaps.save(conn, [ArxivId.parse("2611.14001")], NOW - timedelta(days=8))
        gaps.mark_asked(conn, gaps.load_open(conn), NOW)
    told = digest("coverage", "--missing", "--json").json["entries"][0]
    assert (told["gap"]["id"], told["state"], told["gap"]["asks"]) == ("2611.14001", "open", 1)


def test_what_could_not_be_read_is_shown_with_its_bytes_and_no_terminal_obeys_them(
    world: World, digest: Shell
) -> None:
    with closing(world.open_store()) as store, store.begin() as conn:
        entry = (16, "it has no id", b"<entry>\x1b[2J\xff</entry>")
        runs.quarantine_entries(conn, 1, 2, [entry], datetime(2026, 11, 20, 8, 0, tzinfo=UTC))
    *_, snippet, _ = digest("coverage", "--unreadable").lines
    assert snippet.strip() == r"<entry>\x1b[2J\xff</entry>"
    assert (
        digest("coverage", "--unreadable", "--json").json["entries"][0]["error"] == "it has no id"
    )
