"""A replay: the kept pages of a month make the changes that were recorded, and where not, it is named."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

import digest.pipeline.searching
from digest.clock import ManualClock
from digest.pipeline.replaying import ReplayReport, replay
from digest.planning.differences import Difference, Subject
from tests.integration.replay_worlds import (
    FOUND_LATE,
    START,
    TAKEN_BACK,
    LaggingArxiv,
    list_past,
    live_a_month,
    open_installation,
)

BEGINNINGS = [3, 5, 10, 12, 17, 18, 20, 24] if os.environ.get("DIGEST_NIGHTLY") else [5, 17]


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Call it for the folder of an installation that has lived through the month with a source."""
    lived: dict[str, Path] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.lower().endswith("_proxy"):
                patch.delenv(name)
        patch.setattr(digest.pipeline.searching, "PAGE", 10)
        patch.setattr(digest.pipeline.searching, "JOINT_PAGE", 15)

        def live(source: str) -> Path:
            if source not in lived:
                lived[source] = tmp_path_factory.mktemp(source)
                with LaggingArxiv(list_past(), ManualClock(START), page_size=15) as arxiv:
                    live_a_month(lived[source], arxiv, source=source)
            return lived[source]

        yield live


@pytest.fixture
def here(months: Callable[[str], Path], tmp_path: Path) -> Path:
    """Return a copy of the installation that harvests."""
    return Path(shutil.copytree(months("harvest"), tmp_path / "copy"))


def replay_in(folder: Path, since: date | None = None, until: date | None = None) -> ReplayReport:
    store = open_installation(folder)
    try:
        return replay(store, since=since, until=until)
    finally:
        store.close()


def edit(folder: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(folder / "digest.db") as database:
        assert database.execute(statement, values).rowcount > 0
    database.close()


def ask(folder: Path, question: str, *values: object) -> list[tuple[object, ...]]:
    database = sqlite3.connect(folder / "digest.db")
    rows = database.execute(question, values).fetchall()
    database.close()
    return rows


def edit_page(folder: Path, page: int, before: bytes, after: bytes, *, like_arxiv: bool = True) -> None:
    """Let a page say something else, as a parser that has changed would have it."""
    ((packed,),) = ask(folder, "SELECT body FROM raw_pages WHERE id = ?", page)
    assert isinstance(packed, bytes)
    body = zlib.decompress(packed)
    assert before in body
    body = body.replace(before, after)
    edit(folder, "UPDATE raw_pages SET body = ? WHERE id = ?", zlib.compress(body), page)
    if like_arxiv:
        edit(folder, "UPDATE raw_pages SET sha256 = ? WHERE id = ?", hashlib.sha256(body).hexdigest(), page)


def pages_of(folder: Path, run: int) -> list[int]:
    rows = ask(folder, "SELECT id FROM raw_pages WHERE run_id = ? ORDER BY number", run)
    return [int(str(row[0])) for row in rows]


def find_run(folder: Path, kind: str) -> tuple[int, str]:
    """Return the first run that found a change of a kind, and the paper."""
    found = "SELECT run_id, arxiv_id FROM changes JOIN papers ON papers.id = paper_id WHERE kind = ?"
    run, paper = ask(folder, f"{found} ORDER BY changes.id", kind)[0]
    return int(str(run)), str(paper)


def find_look(folder: Path, condition: str) -> int:
    """Return the first run that meets a condition."""
    return int(str(ask(folder, f"SELECT min(id) FROM poll_runs WHERE {condition}")[0][0]))


def subjects(differences: list[Difference]) -> list[tuple[int, str, str]]:
    return [(difference.run_id, difference.subject, difference.name) for difference in differences]


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_the_pages_of_a_month_make_the_changes_that_were_recorded(
    source: str, months: Callable[[str], Path]
) -> None:
    folder = months(source)
    report = replay_in(folder)
    assert (report.differences, report.untold, report.unsure) == ([], [], {})
    recorded = [
        ask(folder, "SELECT count(*) FROM changes"),
        ask(folder, "SELECT sum(pages) FROM poll_runs WHERE source != 'listing'"),
        ask(folder, "SELECT sum(papers) FROM poll_runs WHERE source != 'listing'"),
        ask(folder, "SELECT count(*) FROM poll_runs WHERE source != 'listing' AND pages > 0"),
    ]
    assert recorded == [[(report.changes,)], [(report.pages,)], [(report.papers,)], [(report.runs,)]]


def test_the_month_holds_what_makes_a_replay_hard(months: Callable[[str], Path]) -> None:
    harvested, searched = months("harvest"), months("query")
    for folder in (harvested, searched):
        kinds = {kind for (kind,) in ask(folder, "SELECT DISTINCT kind FROM changes")}
        assert kinds == {"known", "new", "cross-list", "replacement", "withdrawal", "metadata"}
        assert ask(folder, "SELECT count(*) > 0 FROM quarantine") == [(1,)]
    with_pages = "SELECT DISTINCT source, query_key = '' FROM poll_runs WHERE source != 'listing' AND papers > 0"
    assert sorted(ask(harvested, with_pages)) == [("fallback", 1), ("first-look", 0), ("gaps", 1), ("harvest", 1)]
    assert sorted(ask(searched, with_pages)) == [("first-look", 0), ("query", 0), ("query", 1)]
    assert ask(harvested, "SELECT count(*) >= 3 FROM poll_runs WHERE outcome = 'partial' AND pages > 0") == [(1,)]
    resumed_in_vain = "SELECT count(*) FROM poll_runs WHERE outcome = 'failed' AND pages = 0 AND highest_id != ''"
    assert ask(harvested, resumed_in_vain) == [(1,)]
    met_by = "SELECT source FROM poll_runs JOIN papers ON first_run_id = poll_runs.id WHERE arxiv_id = ?"
    assert ask(harvested, met_by, f"2603.{FOUND_LATE:05d}") == [("gaps",)]
    assert ask(harvested, met_by, "2501.00001") == [("first-look",)]
    overlapping = "SELECT count(*) > 20 FROM raw_pages JOIN poll_runs p ON p.id = run_id WHERE number > 0"
    assert ask(searched, overlapping) == [(1,)]


@pytest.mark.parametrize("day", BEGINNINGS)
@pytest.mark.parametrize("source", ["harvest", "query"])
def test_a_replay_may_begin_on_any_day_with_what_was_known_before_it(
    source: str, day: int, months: Callable[[str], Path]
) -> None:
    report = replay_in(months(source), date(2026, 3, day))
    assert (report.differences, report.untold) == ([], [])
    assert set(report.unsure) <= {TAKEN_BACK}


@pytest.mark.parametrize(("first", "last"), [(4, 6), (9, 17), (18, 24)])
@pytest.mark.parametrize("source", ["harvest", "query"])
def test_a_replay_may_end_on_any_day_whatever_came_later(
    source: str, first: int, last: int, months: Callable[[str], Path]
) -> None:
    report = replay_in(months(source), date(2026, 3, first), date(2026, 3, last))
    assert (report.differences, report.untold) == ([], [])
    assert report.pages > 0


def test_a_paper_that_was_in_one_of_two_states_is_named_rather_than_guessed(here: Path) -> None:
    report = replay_in(here, date(2026, 3, 16))
    assert list(report.unsure) == [TAKEN_BACK]
    assert replay_in(here, date(2026, 3, 19)).unsure == {}


def test_an_answer_older_than_the_looks_it_came_with_leaves_a_state_unsure(here: Path) -> None:
    taken_back = "SELECT run_id FROM changes JOIN papers ON papers.id = paper_id WHERE arxiv_id = ? AND kind = ?"
    ((run,),) = ask(here, taken_back, TAKEN_BACK, "metadata")
    for page in pages_of(here, int(str(run))):
        edit_page(here, page, b"<responseDate>2026-03-18", b"<responseDate>2026-03-15")
    moved = "UPDATE papers SET as_of = '2026-03-15' || substr(as_of, 11) WHERE as_of LIKE '2026-03-18%'"
    edit(here, f"{moved} AND arxiv_id != '2501.00001'")  # which its own search found
    report = replay_in(here, date(2026, 3, 18))
    assert report.differences == []
    assert [difference.name for difference in report.untold if difference.run_id == run] == [TAKEN_BACK, "changed"]
    assert list(report.unsure) == [TAKEN_BACK]


def test_nothing_is_written_to_the_installation(here: Path) -> None:
    before = (here / "digest.db").read_bytes()
    replay_in(here)
    assert (here / "digest.db").read_bytes() == before
    assert not list(here.glob("digest.db-*"))


def test_a_change_that_was_edited_is_named_with_what_comes_out(here: Path) -> None:
    run, paper = find_run(here, "withdrawal")
    edit(here, "UPDATE changes SET kind = 'replacement' WHERE run_id = ? AND kind = 'withdrawal'", run)
    (difference,) = replay_in(here).differences
    assert (difference.run_id, difference.name, difference.subject) == (run, paper, Subject.CHANGE)
    assert difference.recorded.startswith("replacement v2 (")
    assert difference.replayed.startswith("withdrawal v2 (")


def test_a_change_that_was_taken_out_is_named(here: Path) -> None:
    run, paper = find_run(here, "cross-list")
    edit(here, "DELETE FROM changes WHERE run_id = ? AND kind = 'cross-list'", run)
    (difference,) = replay_in(here).differences
    assert (difference.run_id, difference.name, difference.recorded) == (run, paper, "nothing")


def test_a_page_that_reads_otherwise_now_is_told_by_its_papers(here: Path) -> None:
    run, _ = find_run(here, "new")
    edit_page(here, pages_of(here, run)[0], b"Made-up paper 106 on latency", b"Made-up paper 106 on lateness")
    report = replay_in(here)
    named = {difference.name for difference in report.differences}
    assert named == {"2603.00106", "changed"}  # the pages after it show the old title, which is a change now
    assert report.differences[0].recorded.startswith("new v1, text ")
    assert report.untold == []


def test_bytes_that_are_not_those_that_came_are_named_even_where_nothing_comes_of_it(here: Path) -> None:
    run = find_look(here, "outcome = 'complete' AND pages = 3")
    edit_page(here, pages_of(here, run)[1], b"<OAI-PMH", b"<OAI-PMH ", like_arxiv=False)
    assert subjects(replay_in(here).differences) == [(run, "page", "page 2")]


def test_a_page_that_is_lost_is_named_and_what_hangs_on_it_proves_nothing(here: Path) -> None:
    run, paper = find_run(here, "withdrawal")
    edit(here, "DELETE FROM raw_pages WHERE run_id = ?", run)
    report = replay_in(here)
    assert subjects(report.differences) == [(run, "page", "its pages")]
    assert report.differences[0].replayed == "page 1 of 1 is missing"
    told = [difference for difference in report.untold if difference.name == paper]
    assert [(difference.run_id, difference.recorded[:10]) for difference in told[:1]] == [(run, "withdrawal")]
    assert all(f"run {run}: page 1 of 1 is missing" in difference.doubt for difference in report.untold)


def test_of_a_run_that_lacks_one_page_the_others_are_replayed(here: Path) -> None:
    run = find_look(here, "outcome = 'complete' AND pages = 3")
    first, second, _ = pages_of(here, run)
    edit(here, "DELETE FROM raw_pages WHERE id = ?", second)
    report = replay_in(here)
    assert subjects(report.differences) == [(run, "page", "its pages")]
    assert (run, "count", "papers") in subjects(report.untold)
    assert first in {page.id for page in report.plan.pages}


def test_a_page_that_cannot_be_read_any_more_is_named_with_the_reason(here: Path) -> None:
    run, _ = find_run(here, "new")
    (page, *_) = pages_of(here, run)
    edit_page(here, page, b"</OAI-PMH>", b"")
    report = replay_in(here)
    assert subjects(report.differences) == [(run, "page", "page 1")]
    assert "breaks off" in report.differences[0].replayed
    edit(here, "UPDATE raw_pages SET body = x'00' WHERE id = ?", page)
    assert "can't be unpacked" in replay_in(here).differences[0].replayed


def test_pages_given_up_for_their_age_leave_a_replay_of_those_after_them(here: Path) -> None:
    edit(here, "DELETE FROM raw_pages WHERE fetched_at < '2026-03-12'")
    report = replay_in(here)
    assert (report.differences, report.untold) == ([], [])
    assert report.plan.forgotten == ()  # by default it begins where pages are kept
    wide = replay_in(here, date(2026, 3, 1))
    assert (wide.differences, wide.runs, wide.changes) == ([], report.runs, report.changes)
    assert {reason for _, reason in wide.plan.forgotten} == {"its pages are no longer kept"}
    assert wide.plan.forgotten[-1][0].id + 1 == wide.plan.runs[0].id


def test_a_run_whose_first_pages_were_given_up_is_left_out(here: Path) -> None:
    run = find_look(here, "pages > 1 AND started_at > '2026-03-05'")
    edit(here, "DELETE FROM raw_pages WHERE id <= ?", pages_of(here, run)[0])
    report = replay_in(here)
    assert (report.differences, report.untold) == ([], [])
    assert [(left.id, reason) for left, reason in report.plan.forgotten] == [
        (run, "its first pages are no longer kept")
    ]


@pytest.mark.parametrize("horizon", ["", '{"own": [true, 0, 0], "watched": []}'])
def test_runs_of_a_release_that_kept_no_horizon_or_another_are_left_out(horizon: str, here: Path) -> None:
    edit(here, "UPDATE poll_runs SET horizon = ? WHERE id <= 10", horizon)
    report = replay_in(here)
    assert (report.differences, report.untold) == ([], [])
    reasons = {reason for _, reason in report.plan.forgotten}
    assert reasons == {"what it judged news by was not kept, or not as this release writes it"}


def test_a_run_whose_horizon_is_damaged_in_what_others_watch_for_is_named(here: Path) -> None:
    damage = """UPDATE poll_runs SET horizon = replace(horizon, '"watched": []', '"watched": [[1]]')"""
    run = find_look(here, "source = 'first-look' AND papers > 0")
    edit(here, f"{damage} WHERE id = ?", run)
    report = replay_in(here)
    assert subjects(report.differences) == [(run, "page", "page 1")]
    assert "what it judged news by" in report.differences[0].replayed


def test_a_run_whose_horizon_was_damaged_is_named(here: Path) -> None:
    run, _ = find_run(here, "withdrawal")
    edit(here, "UPDATE poll_runs SET horizon = '{}' WHERE id = ?", run)
    report = replay_in(here)
    assert {difference.run_id for difference in report.differences} == {run}
    assert all("what it judged news by" in difference.replayed for difference in report.differences)


def test_an_entry_that_was_set_aside_and_is_read_now_is_named(here: Path) -> None:
    ((run, error),) = ask(here, "SELECT run_id, error FROM quarantine")
    edit(here, "DELETE FROM quarantine")
    (difference,) = replay_in(here).differences
    assert (difference.run_id, difference.subject) == (run, Subject.SET_ASIDE)
    assert (difference.recorded, difference.replayed) == ("nothing", error)


@pytest.mark.parametrize("figure", ["papers", "new", "changed"])
def test_a_figure_of_a_run_that_does_not_come_out_is_named(figure: str, here: Path) -> None:
    run, _ = find_run(here, "withdrawal")
    edit(here, f"UPDATE poll_runs SET {figure} = {figure} + 1 WHERE id = ?", run)
    assert subjects(replay_in(here).differences) == [(run, "count", figure)]


def test_a_text_and_a_state_that_were_edited_are_named_field_by_field(here: Path) -> None:
    key = "(SELECT id FROM papers WHERE arxiv_id = ?)"
    edit(here, f"UPDATE versions SET license = 'ours' WHERE paper_id = {key}", "2603.00106")
    edit(here, "UPDATE papers SET as_of = NULL WHERE arxiv_id = ?", "2603.00107")
    report = replay_in(here)
    assert {(difference.subject, difference.name) for difference in report.differences} == {
        (Subject.TEXT, "2603.00106"),
        (Subject.PAPER, "2603.00107"),
    }
    texts = [difference for difference in report.differences if difference.subject is Subject.TEXT]
    assert {difference.recorded for difference in texts} == {"license 'ours'"}


def test_a_listing_that_was_read_is_no_part_of_a_replay(here: Path) -> None:
    run = find_look(here, "source = 'listing'")
    entry = "INSERT INTO quarantine (run_id, page, position, error, snippet, seen_at) VALUES (?, 0, 0, '', '', '')"
    edit(here, entry, run)
    report = replay_in(here)
    assert (report.differences, report.untold) == ([], [])
    assert run not in {one.id for one in report.plan.runs}


def test_a_look_under_way_is_left_alone_with_all_after_it(here: Path) -> None:
    run = find_look(here, "source = 'first-look'")
    edit(here, "UPDATE poll_runs SET outcome = 'running', finished_at = NULL WHERE id = ?", run)
    report = replay_in(here)
    assert report.differences == []
    assert report.plan.runs[-1].id == run - 1


def test_without_pages_there_is_nothing_to_replay(here: Path) -> None:
    edit(here, "DELETE FROM raw_pages")
    report = replay_in(here)
    assert (report.pages, report.differences, report.plan.runs) == (0, [], ())
