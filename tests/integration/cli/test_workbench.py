"""The workbench around a query.

How much it brings, what another wording changes, and why a paper matches.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.archive import DemoPaper, read_demo_papers
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World


@pytest.fixture(autouse=True)
def _a_desk_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(
        "XDG_STATE_HOME", str(tmp_path / "state")
    )  # where a pace is kept without a store


def count_requests(world: World) -> int:
    return len(world.arxiv.requests)


def test_a_difference_comes_from_the_store_where_it_reaches_back(
    world: World, digest: Shell
) -> None:
    said = digest("try", "gpu", "--against", "perf", "--days", "9", "--json").json
    assert len(said["span"]["whole"]) == 9
    assert said["checked_at"]
    assert count_requests(world) == 0


@pytest.mark.usefixtures("world")
def test_a_name_that_is_nearly_a_saved_querys_is_read_as_a_query_with_a_note(digest: Shell) -> None:
    said = digest("try", "perv", "--json")
    assert "No saved query is called 'perv' (there is 'perf')." in said.err
    assert said.json["digest"]["entries"] == []
    assert "Did you mean 'perf'?" in digest("query", "show", "perv", expect=2).err


def test_a_difference_asks_arxiv_once_where_the_store_does_not_reach(
    world: World, digest: Shell
) -> None:
    said = digest("try", "gpu", "--against", "perf", "--days", "60", "--json").json
    assert said["checked_at"] is None
    gained = {one["paper"]["id"] for one in said["papers"]["gained"]}
    lost = {one["paper"]["id"] for one in said["papers"]["lost"]}
    assert gained.isdisjoint(lost)
    assert count_requests(world) == 1


def test_a_paper_that_is_not_stored_is_asked_of_arxiv_by_its_id(
    empty: World, digest: Shell
) -> None:
    said = digest("explain", "2611.15012", "perf")
    assert said.lines[1].strip() == "(not stored here: as arXiv has it now)"
    assert said.lines[2] == "matches  perf: cat:cs.PF"
    assert count_requests(empty) == 1


def test_nothing_has_to_be_installed_for_any_of_it(
    world: World, tmp_path: Path, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIGEST_ARXIV_API_URL", world.arxiv.api_url)
    monkeypatch.setenv("DIGEST_ARXIV_OAI_URL", world.arxiv.oai_url)
    monkeypatch.setenv("DIGEST_SLACK_URL", world.slack.url)
    assert "6 papers gained" in digest("try", "cat:cs.PF", "--against", "cat:cs.PF AND abs:GPU").out
    assert digest("explain", "2611.15012", "cat:cs.PF", "--json").json["matches"] is True
    assert "there is no digest.toml" in digest("explain", "2611.15012", expect=3).err
    assert not list(tmp_path.glob("*.db"))


@pytest.mark.usefixtures("empty")
def test_offline_nobody_is_asked(digest: Shell) -> None:
    said = digest("explain", "2611.15012", "perf", "--offline", expect=2)
    assert "2611.15012 is not stored here" in said.err


@pytest.mark.usefixtures("world")
def test_a_paper_nobody_knows_is_named(digest: Shell) -> None:
    assert (
        "arXiv knows no paper 2601.00001" in digest("explain", "2601.00001", "perf", expect=2).err
    )


def test_a_database_of_another_release_is_not_used(world: World, digest: Shell) -> None:
    import sqlite3  # noqa: PLC0415 - this test alone

    with sqlite3.connect(world.folder / "digest.db") as conn:
        conn.execute("UPDATE alembic_version SET version_num = '9999'")
    conn.close()
    said = digest("try", "perf", "--against", "gpu", "--days", "7")
    assert "it is not used" in said.err
    assert "From arXiv's search." in said.out


def test_a_trial_that_read_only_the_newest_says_so_and_what_there_is(
    world: World, digest: Shell
) -> None:
    for number in range(19_000, 19_060):
        world.arxiv.add(_announce(world, f"2611.{number}", f"Paper {number}"))
    said = digest("try", "ti:paper", "--days", "300", "--limit", "1").out
    assert "50 papers or more" in said
    assert "The newest 50 were checked." in " ".join(said.split())
    facts = digest("try", "cat:cs.PF", "--json").json
    assert facts["digest"]["coverage"]["total"] == 0
    assert len(facts["digest"]["entries"]) >= facts["digest"]["shown"]


def _announce(world: World, paper_id: str, title: str) -> DemoPaper:
    moment = world.clock.now() - timedelta(hours=14)
    last = read_demo_papers()[-1]
    return replace(last, id=paper_id, title=title, submitted=(moment,), announced=world.clock.now())
