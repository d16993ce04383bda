"""Saved queries: how they are read, what they brought, why a paper matches."""

from __future__ import annotations

import pytest

from tests.integration.cli.conftest import Shell


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
