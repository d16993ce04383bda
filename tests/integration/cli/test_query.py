"""Saved queries: how they are read, what they brought, why a paper matches."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import NOW, World


@pytest.mark.usefixtures("world")
def test_the_list_as_json_has_the_canonical_text_and_the_problem(digest: Shell) -> None:
    queries = {query["name"]: query for query in digest("query", "list", "--json").json["queries"]}
    assert queries["gpu"]["canonical"] == "abs:gpu OR ti:gpu"
    assert sum(day["papers"] for day in queries["gpu"]["days"]) == 4
    assert queries["perf"]["subscriptions"] == ["perf-mail", "perf-team"]
    assert queries["broken"]["problem"].startswith("OR has nothing after it")


def test_how_a_query_is_read_as_json_has_the_notes_with_their_places(digest: Shell) -> None:
    said = digest("query", "show", "--json", 'abs:"tail latency" cat:cs.PX').json
    kinds = [note["kind"] for note in said["notes"]]
    assert kinds == ["missing operator", "unknown category"]
    assert said["notes"][kinds.index("unknown category")]["position"] == 23


@pytest.mark.usefixtures("world")
def test_a_saved_query_shows_who_follows_it_and_what_it_brings(digest: Shell) -> None:
    said = digest("query", "show", "gpu", "--json").json
    assert (said["name"], said["canonical"]) == ("gpu", "abs:gpu OR ti:gpu")
    assert said["subscriptions"] == ["perf-team", "gpu-mail", "old-mail", "gpu-static"]
    assert len(said["papers"]) == 4


@pytest.mark.usefixtures("fresh")
def test_without_a_database_a_text_is_read_and_the_volume_not_known(digest: Shell) -> None:
    said = digest("query", "show", "cat:cs.PF AND abs:GPU", "--json").json
    assert (said["arxiv"], said["volume"], said["papers"]) == ("(abs:gpu AND cat:cs.PF)", None, [])


@pytest.mark.usefixtures("world")
def test_explaining_as_json_says_the_same(digest: Shell) -> None:
    said = digest("explain", "2611.15012", "perf", "--json").json
    assert said["matches"] is True
    spans = [{"field": "categories", "index": 0, "start": 0, "end": 5}]
    assert said["clauses"] == [{"clause": "cat:cs.PF", "depth": 0, "is_met": True, "spans": spans}]
    assert said["is_stored"] is True


@pytest.mark.usefixtures("world")
def test_a_saved_query_brings_as_much_as_the_list_says(digest: Shell) -> None:
    listed = {query["name"]: query for query in digest("query", "list", "--json").json["queries"]}
    for name in ("gpu", "perf", "follow"):
        said = digest("query", "show", name, "--json").json
        assert said["volume"] == listed[name]["volume"]
        assert said["saved_at"] == listed[name]["created_at"]
        assert (said["span"], bool(said["checked_at"])) == (None, True)


def test_what_a_saved_query_matched_is_counted_for_thirty_days_at_most(
    digest: Shell, world: World
) -> None:
    world.clock.set(NOW + timedelta(days=21))
    said = digest("query", "show", "gpu", "--json").json
    assert (said["saved_at"], said["span"], len(said["papers"])) == (None, None, 3)
    assert digest("query", "show", "gpu").out.count("Matched in the last 30 days.") == 1


@pytest.mark.usefixtures("world")
def test_a_query_saved_today_is_asked_of_stored_papers(digest: Shell) -> None:
    digest("add", "cat:cs.DC", "--to", "mailto:third@digest.example", "--yes")
    digest("run")
    said = digest("query", "show", "cat:cs.DC", "--json", "--limit", "20").json
    assert (said["saved_at"], bool(said["span"])) == (None, True)
    papers = [entry["paper"] for entry in said["papers"]]
    assert len(papers) > 1
    assert all("cs.DC" in paper["categories"] for paper in papers)


def test_a_query_that_was_edited_lately_is_asked_of_stored_papers(
    digest: Shell, world: World
) -> None:
    world.edit('gpu = "ti:GPU OR abs:GPU"', 'gpu = "cat:cs.PF"')
    said = digest("query", "show", "gpu", "--json").json
    assert (said["saved_at"], bool(said["span"]), bool(said["papers"])) == (None, True, True)
    digest("run")
    said = digest("query", "show", "gpu", "--json").json
    assert (said["saved_at"], bool(said["span"]), bool(said["papers"])) == (None, True, True)
    assert all("cs.PF" in entry["paper"]["categories"] for entry in said["papers"])
