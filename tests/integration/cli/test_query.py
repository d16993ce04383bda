"""Saved queries: how they are read, what they brought, why a paper matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World


@pytest.mark.usefixtures("world")
def test_the_list_as_json_has_the_canonical_text_and_the_problem(digest: Shell) -> None:
    queries = {query["name"]: query for query in digest("query", "list", "--json").json}
    assert queries["gpu"]["canonical"] == "abs:gpu OR ti:gpu"
    assert queries["gpu"]["papers_30_days"] == 4
    assert queries["perf"]["subscriptions"] == ["perf-mail", "perf-team"]
    assert queries["broken"]["problem"].startswith("OR has nothing after it")


def test_checking_as_json_gives_the_notes_with_their_places(digest: Shell) -> None:
    said = digest("query", "check", "--json", 'abs:"tail latency" cat:cs.PX').json
    assert said["read_as"] == 'abs:"tail latency" AND cat:cs.PX'
    kinds = [note["kind"] for note in said["notes"]]
    assert kinds == ["missing operator", "unknown category"]
    assert said["notes"][kinds.index("unknown category")]["position"] == 23


@pytest.mark.usefixtures("world")
def test_checking_takes_a_saved_querys_name(digest: Shell) -> None:
    assert "in one form     abs:gpu OR ti:gpu" in digest("query", "check", "gpu").lines


def test_checking_reads_a_query_from_a_file(fresh: Path, digest: Shell) -> None:
    (fresh / "query.txt").write_text("\ufeffcat:cs.PF\n  AND abs:GPU\n", encoding="utf-8")
    assert "in one form     abs:gpu AND cat:cs.PF" in digest("query", "check", "--file", "query.txt").lines


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("arguments", [[], ["cat:cs.PF", "--file", "x"], ["--file", "missing"]])
def test_checking_nothing_or_two_things_or_no_file_is_a_mistake(digest: Shell, arguments: list[str]) -> None:
    assert digest("query", "check", *arguments, expect=2).err.startswith("error: ")


def test_the_history_tells_new_changed_and_gone_apart(world: World, digest: Shell) -> None:
    world.arxiv.replace("2611.15012", title="Tail latency below a second", announced=world.clock.now())
    world.arxiv.replace("2611.15008", announced=world.clock.now(), comment="now with code", abstract="Not on it.")
    digest("run", "--now")
    lines = digest("query", "history", "gpu", "--limit", "1").lines
    assert lines[0] == "Fri 20 Nov 09:20  + 0 new   ~ 2 changed   − 0 gone"
    assert {line.split()[0] for line in lines[1:]} == {"~"}
    assert lines[1].endswith("  v1 → v2")
    world.arxiv.replace("2611.15008", announced=world.clock.now(), title="Compiling attention")
    digest("run", "--now")
    lines = digest("query", "history", "gpu", "--limit", "1").lines
    assert lines[0] == "Fri 20 Nov 09:20  + 0 new   ~ 0 changed   − 1 gone"
    assert lines[1].startswith("  − 2611.15008v3     Compiling attention")


@pytest.mark.usefixtures("world")
def test_the_history_as_json_holds_every_paper(digest: Shell) -> None:
    newest, *_ = digest("query", "history", "perf", "--json").json
    assert newest["matched_at"] == "2026-11-20T08:05:00+00:00"
    assert len(newest["new"]) == 6
    assert newest["new"][0]["kind"] == "new"
    assert newest["gone"] == []


def test_an_edited_query_keeps_its_history_and_says_which_revision_matched(world: World, digest: Shell) -> None:
    world.edit_config('perf = "cat:cs.PF"', 'perf = "cat:cs.PF OR cat:math.CO"')
    world.arxiv.replace("2611.15012", announced=world.clock.now(), comment="x")
    digest("run", "--now")
    lines = digest("query", "history", "perf").lines
    assert lines[0] == "Fri 20 Nov 09:20  + 0 new   ~ 1 changed   − 0 gone   as of revision 2"
    assert "Fri 20 Nov 09:05  + 6 new   ~ 0 changed   − 0 gone" in lines


def test_a_query_that_cannot_be_read_any_more_goes_on_and_its_papers_are_told(world: World, digest: Shell) -> None:
    world.edit_config('perf = "cat:cs.PF"', 'perf = "cat:cs.PF AND ("')
    world.arxiv.replace("2611.15012", announced=world.clock.now(), comment="x")
    said = digest("run", "--now")
    assert "saved query perf can't be read and is still used as it was before:\nThis parenthesis is" in said.err
    instead = "saved query perf can't be read and goes on as it was read before: This parenthesis is never closed"
    assert instead in digest("status").out
    assert digest("query", "list").out.endswith(
        "perf can't be read: This parenthesis is never closed\n"
        "cat:cs.PF AND (\n"
        "              ^\n"
        "Until it is mended, perf goes on as: cat:cs.PF\n"
    )
    history = digest("query", "history", "perf").lines
    assert history[0] == "Fri 20 Nov 09:20  + 0 new   ~ 1 changed   − 0 gone"
    world.edit_config('perf = "cat:cs.PF AND ("', 'perf = "cat:cs.PF"')
    said = digest("run", "--now")
    assert "Edited" not in said.out
    assert "perf" not in said.err
    assert digest("query", "history", "perf").lines == history


@pytest.mark.usefixtures("world")
def test_explaining_as_json_says_the_same(digest: Shell) -> None:
    said = digest("query", "explain", "perf", "2611.15012", "--json").json
    assert said["matches"] is True
    assert said["clauses"] == [{"clause": "cat:cs.PF", "depth": 0, "is_met": True}]
    assert said["reasons"] == [
        {
            "clause": "cat:cs.PF",
            "spans": [{"field": "categories", "index": 0, "start": 0, "end": 5}],
        }
    ]
    assert said["is_stored"] is True
