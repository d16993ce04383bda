"""`digest replay`: one line where all comes out as recorded, and every difference named where not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World


def edit(folder: Path, statement: str) -> None:
    database = sqlite3.connect(folder / "digest.db")
    assert database.execute(statement).rowcount > 0
    database.commit()
    database.close()


def count(path: Path, table: str) -> int:
    database = sqlite3.connect(path)
    (number,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    database.close()
    return int(number)


@pytest.mark.usefixtures("world")
def test_where_all_comes_out_as_recorded_one_line_says_so(digest: Shell) -> None:
    said = digest("replay")
    (line,) = said.lines
    assert line.startswith("replayed 13 runs, 13 pages, 1,")
    assert line.endswith(" changes, all as recorded")
    assert said.err.split()[:2] == ["replay", "looks"]


def test_a_replay_writes_nothing_into_the_installation(digest: Shell, world: World) -> None:
    before = (world.folder / "digest.db").read_bytes()
    digest("replay", "--json")
    assert (world.folder / "digest.db").read_bytes() == before


def test_json_has_the_figures_and_nothing_else_is_printed(digest: Shell, world: World) -> None:
    said = digest("replay", "--from", "2026-11-12", "--to", "2026-11-16", "--json")
    assert said.err == ""
    assert said.json["is_equal"] is True
    assert [said.json[name] for name in ("differences", "untold", "unsure", "not_replayed", "kept")] == [
        *([],) * 4,
        None,
    ]
    assert 0 < said.json["changes"] < count(world.folder / "digest.db", "changes")


def test_every_difference_is_named_with_both_sides_and_the_exit_code_is_1(digest: Shell, world: World) -> None:
    edit(world.folder, "UPDATE changes SET kind = 'metadata' WHERE id = (SELECT max(id) FROM changes)")
    said = digest("replay", expect=1)
    first, second = said.lines
    assert first.endswith(" changes, 1 difference")
    run, _, rest = second.partition(", change ")
    paper, _, words = rest.partition(": ")
    recorded, _, replayed = words.partition("; ")
    assert run.startswith("run ")
    assert paper.startswith("2611.")
    assert recorded.startswith("recorded metadata v1")
    assert replayed.startswith("comes out new v1")
    assert "error: 1 difference between what was recorded and what comes out now" in said.err
    as_json = digest("replay", "--json", expect=1).json
    (difference,) = as_json["differences"]
    assert (f"run {difference['run']}", difference["name"], difference["what"]) == (run, paper, "change")
    assert (as_json["is_equal"], as_json["untold"]) == (False, [])


def test_what_proves_nothing_is_told_apart_from_what_differs(digest: Shell, world: World) -> None:
    first_news = "SELECT run_id FROM changes WHERE kind = 'new' ORDER BY id LIMIT 1"
    edit(world.folder, f"DELETE FROM raw_pages WHERE run_id = ({first_news})")
    lines = digest("replay", expect=1).lines
    assert "1 difference, " in lines[0]
    assert lines[0].endswith(" can't be told")
    assert lines[1].endswith(", its pages: recorded 1; comes out page 1 of 1 is missing")
    assert all(line.startswith("can't be told: run ") for line in lines[2:-1])
    assert len(lines) > 3


def test_looks_whose_pages_were_given_up_are_named_and_taken_as_known(digest: Shell, world: World) -> None:
    edit(world.folder, "DELETE FROM raw_pages WHERE id <= 3")
    line, note = digest("replay", "--from", "2026-11-01").lines
    assert line.endswith("all as recorded")
    assert note.startswith("not replayed: runs 1 to ")
    assert note.endswith(" (its pages are no longer kept); what they brought is taken as known")


def test_days_without_kept_pages_leave_nothing_to_replay(digest: Shell, world: World) -> None:
    assert digest("replay", "--to", "2026-10-01").lines == [
        "nothing to replay: no page of a look in these days is kept"
    ]
    edit(world.folder, "DELETE FROM raw_pages")
    first, second = digest("replay", "--from", "2026-11-01").lines
    assert first.startswith("nothing to replay")
    assert second.startswith("not replayed: runs 1 to ")


def test_what_came_out_is_kept_in_a_file_where_one_is_named(digest: Shell, world: World) -> None:
    said = digest("replay", "--keep", "again.db")
    assert said.lines[-1] == "what came out is in again.db"
    for table in ("papers", "versions", "changes"):
        assert count(world.folder / "again.db", table) == count(world.folder / "digest.db", table)
    assert count(world.folder / "again.db", "deliveries") == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--keep", "digest.db"), "digest.db is there already"),
        (("--keep", "nowhere/again.db"), "there is no folder"),
        (("--from", "2026-11-12", "--to", "2026-11-11"), "2026-11-12 is later than 2026-11-11"),
        (("--from", "yesterday"), "is no day: write year, month and day"),
    ],
)
@pytest.mark.usefixtures("world")
def test_what_can_not_be_meant_is_refused(arguments: tuple[str, ...], error: str, digest: Shell) -> None:
    assert error in digest("replay", *arguments, expect=2).err


@pytest.mark.usefixtures("empty")
def test_without_a_database_there_is_nothing_to_read(digest: Shell) -> None:
    assert "there is no database" in digest("replay", expect=3).err
