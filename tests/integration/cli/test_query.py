"""Saved queries: how they are read, what they brought, why a paper matches."""

from __future__ import annotations

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World


def show_checks(digest: Shell, name: str, limit: int = 1) -> list[str]:
    """Return the lines that say check by check what came into a saved query."""
    lines = digest("query", "show", name, "--limit", str(limit)).lines
    return lines[next(number for number, line in enumerate(lines) if "   ~ " in line) :]


@pytest.mark.usefixtures("world")
def test_the_list_as_json_has_the_canonical_text_and_the_problem(digest: Shell) -> None:
    queries = {query["name"]: query for query in digest("query", "list", "--json").json}
    assert queries["gpu"]["canonical"] == "abs:gpu OR ti:gpu"
    assert sum(day["papers"] for day in queries["gpu"]["days"]) == 4
    assert queries["perf"]["subscriptions"] == ["perf-mail", "perf-team"]
    assert queries["broken"]["problem"].startswith("OR has nothing after it")


def test_how_a_query_is_read_as_json_has_the_notes_with_their_places(digest: Shell) -> None:
    said = digest("query", "show", "--json", 'abs:"tail latency" cat:cs.PX').json
    assert said["read_as"] == 'abs:"tail latency" AND cat:cs.PX'
    kinds = [note["kind"] for note in said["notes"]]
    assert kinds == ["missing operator", "unknown category"]
    assert said["notes"][kinds.index("unknown category")]["position"] == 23


@pytest.mark.usefixtures("world")
def test_a_saved_query_shows_who_follows_it_what_it_brings_and_what_came_lately(digest: Shell) -> None:
    said = digest("query", "show", "gpu", "--json").json
    assert (said["name"], said["canonical"]) == ("gpu", "abs:gpu OR ti:gpu")
    assert said["subscriptions"] == ["perf-team", "gpu-mail", "old-mail", "gpu-static"]
    assert said["source"] == "store"
    assert sum(said["papers_by_day"].values()) == len(said["papers"]) == 4
    submitted = [paper["published"][:10] for paper in said["papers"]]
    assert all(number == submitted.count(day) for day, number in said["papers_by_day"].items())
    assert len(said["checks"]) == 2


@pytest.mark.usefixtures("fresh")
def test_without_a_database_a_text_is_read_and_the_volume_not_known(digest: Shell) -> None:
    said = digest("query", "show", "cat:cs.PF AND abs:GPU", "--json").json
    assert (said["arxiv"], said["volume"], said["papers"]) == ("(abs:gpu AND cat:cs.PF)", None, [])


def test_new_changed_and_gone_are_shown_apart(world: World, digest: Shell) -> None:
    world.arxiv.replace("2611.15012", title="Tail latency below a second", announced=world.clock.now())
    world.arxiv.replace("2611.15008", announced=world.clock.now(), comment="now with code", abstract="Not on it.")
    digest("run", "--now")
    lines = show_checks(digest, "gpu")
    assert lines[0] == "Fri 20 Nov 09:20  + 0 came in   ~ 2 changed   − 0 left"
    assert {line.split()[0] for line in lines[1:]} == {"~"}
    assert lines[1].endswith("  v1 → v2")
    world.arxiv.replace("2611.15008", announced=world.clock.now(), title="Compiling attention")
    digest("run", "--now")
    lines = show_checks(digest, "gpu")
    assert lines[0] == "Fri 20 Nov 09:20  + 0 came in   ~ 0 changed   − 1 left"
    assert lines[1].startswith("  − 2611.15008v3   Compiling attention")


@pytest.mark.usefixtures("world")
def test_a_check_as_json_holds_every_paper(digest: Shell) -> None:
    newest, *_ = digest("query", "show", "perf", "--json").json["checks"]
    assert newest["matched_at"] == "2026-11-20T08:05:00+00:00"
    assert len(newest["new"]) == 6
    assert newest["new"][0]["kind"] == "new"
    assert newest["gone"] == []


def test_an_edited_query_keeps_its_history_and_says_which_revision_matched(world: World, digest: Shell) -> None:
    world.edit_config('perf = "cat:cs.PF"', 'perf = "cat:cs.PF OR cat:math.CO"')
    world.arxiv.replace("2611.15012", announced=world.clock.now(), comment="x")
    digest("run", "--now")
    lines = show_checks(digest, "perf", 2)
    assert lines[0] == "Fri 20 Nov 09:20  + 0 came in   ~ 1 changed   − 0 left   as of revision 2"
    assert "Fri 20 Nov 09:05  + 6 came in   ~ 0 changed   − 0 left" in lines


def test_a_query_that_cannot_be_read_any_more_goes_on_as_before(world: World, digest: Shell) -> None:
    world.edit_config('perf = "cat:cs.PF"', 'perf = "cat:cs.PF AND ("')
    world.arxiv.replace("2611.15012", announced=world.clock.now(), comment="x")
    assert "saved query perf can't be read" in digest("run", "--now").err
    assert "saved query perf can't be read: This parenthesis is never closed; the text" in digest("status").out
    assert digest("query", "list").out.endswith(
        "perf can't be read: This parenthesis is never closed\n"
        "cat:cs.PF AND (\n"
        "              ^\n"
        "Add a ) where its group ends.\n"
        "Until it is mended, perf goes on as: cat:cs.PF\n"
    )
    world.edit_config('perf = "cat:cs.PF AND ("', 'perf = "cat:cs.PF"')
    said = digest("run", "--now")
    assert "Edited" not in said.out
    assert "perf" not in said.err
    assert show_checks(digest, "perf")[0] == "Fri 20 Nov 09:20  + 0 came in   ~ 1 changed   − 0 left"


@pytest.mark.usefixtures("world")
def test_explaining_as_json_says_the_same(digest: Shell) -> None:
    said = digest("explain", "2611.15012", "perf", "--json").json
    assert said["matches"] is True
    assert said["clauses"] == [{"clause": "cat:cs.PF", "depth": 0, "is_met": True}]
    assert said["reasons"] == [
        {
            "clause": "cat:cs.PF",
            "spans": [{"field": "categories", "index": 0, "start": 0, "end": 5}],
        }
    ]
    assert said["is_stored"] is True
