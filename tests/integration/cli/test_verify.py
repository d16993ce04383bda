"""`digest verify`: a mailing as arXiv lists it and as it is stored, ids named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from digest.announcements import mailing_moment
from digest.demo.archive import DemoPaper
from digest.demo.library import MAILING
from digest.papers import ArxivId, Author
from digest.planning.slices import SLICES
from digest.store import gaps as gap_store
from digest.store import hold_worker
from digest.store.gaps import GapState
from tests.command_line import run_digest
from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import NOW, World

MISSED = "2611.15099"
"""The number behind the last one of the mailing."""


def late_paper(id_: str = MISSED, *categories: str) -> DemoPaper:
    """Return a paper of the mailing that nobody stored."""
    return DemoPaper(
        id=id_,
        announced=mailing_moment(MAILING),
        submitted=(datetime(2026, 11, 19, 15, tzinfo=UTC),),
        title="Made-up paper that was lost on its way",
        abstract="We count what came.",
        authors=(Author("Ada Sample"),),
        categories=categories or ("cs.PF", "math.PR"),
    )


def asked_listings(world: World) -> list[str]:
    return [visit.path.removeprefix("/rss/") for visit in world.arxiv.requests if visit.path.startswith("/rss/")]


def gaps_of(world: World) -> dict[str, GapState]:
    store = world.open_store()
    with store.read() as conn:
        lines = gap_store.list_gaps(conn)
    store.close()
    return {str(line.gap.id): line.state for line in lines}


def test_a_mailing_that_is_all_there_takes_seven_requests_once(world: World, digest: Shell) -> None:
    said = digest("verify")
    assert said.out == "mailing of Thu 19 Nov: 298 listed as new, all stored.\n"
    assert [line.split(":")[0].strip() for line in said.err.splitlines()] == [
        f"poll     arXiv's own listing of {one.name}" for one in SLICES
    ]
    assert asked_listings(world) == [one.key for one in SLICES]
    again = digest("verify", "--date", "2026-11-19")
    assert (again.out, again.err) == (said.out, "")
    assert len(asked_listings(world)) == len(SLICES)


def test_what_is_missing_is_named_and_the_next_run_asks_for_it(world: World, digest: Shell) -> None:
    world.arxiv.add(late_paper())
    said = digest("verify", expect=1)
    assert said.lines == [
        "mailing of Thu 19 Nov: 299 listed as new; 1 of them NOT stored.",
        "",
        "missing, the next run asks arXiv for them (1):",
        f"  {MISSED}",
    ]
    assert gaps_of(world) == {MISSED: GapState.OPEN}
    digest("verify", expect=1)
    digest("run", "--now")
    assert gaps_of(world) == {MISSED: GapState.FOUND}
    assert digest("verify").out == "mailing of Thu 19 Nov: 299 listed as new, all stored.\n"


def test_every_kind_of_difference_is_named_in_a_group_of_its_own(world: World, digest: Shell) -> None:
    brought = [paper for paper in world.arxiv._archive.list_public(NOW) if paper.id == "2611.15010"]
    world.arxiv.add(
        late_paper(),
        late_paper("2610.00017", "physics.optics", "cs.OS"),
    )
    world.arxiv.replace("2611.14801", announced=mailing_moment(MAILING) + timedelta(minutes=1))
    world.arxiv._archive._states.pop(brought[0].id)
    verdict = (
        "mailing of Thu 19 Nov: 298 listed as new; 2 of them NOT stored; 1 stored but not listed; "
        "1 listed in a newer version"
    )
    said = digest("verify", expect=1)
    assert said.lines == [
        f"{verdict}.",
        "",
        "missing, the next run asks arXiv for them (2):",
        f"  2610.00017 {MISSED}",
        "",
        "stored but not listed (1):",
        "  2611.15010",
        "",
        "listed in a newer version than stored (1):",
        "  2611.14801v2 (stored: v1)",
    ]
    found = digest("verify", "--json", expect=1).json
    assert [one["id"] for one in found["missing"]] == ["2610.00017", MISSED]
    assert found["missing"][0] == {"id": "2610.00017", "type": "new", "primary_category": "physics.optics"}
    assert (found["unlisted"], found["behind"]) == (
        ["2611.15010"],
        [{"id": "2611.14801", "listed": 2, "stored": 1}],
    )
    assert (found["mailing"], found["is_verified"], found["handed_over"]) == ("2026-11-19", False, 2)
    assert [one["state"] for one in found["slices"]] == ["read"] * len(SLICES)


def test_an_older_mailing_without_a_kept_listing_cannot_be_verified_and_says_what_to_do(
    world: World, digest: Shell
) -> None:
    said = digest("verify", "--date", "2026-11-18", expect=1)
    assert said.out == (
        "mailing of Wed 18 Nov: not verified, no listing of that mailing is kept, and arXiv lists only its "
        "latest; `witness = true` under [arxiv] keeps one each day.\n"
    )
    assert asked_listings(world) == []
    world.edit_config("[mail]", "witness = true\n\n[mail]")
    assert "witness" not in digest("verify", "--date", "2026-11-18", expect=1).out


def test_a_mailing_verified_once_can_be_verified_for_ever(world: World, digest: Shell) -> None:
    digest("verify")
    world.clock.set(datetime(2026, 11, 24, 14, tzinfo=UTC))
    said = digest("verify", "--date", "2026-11-19")
    assert said.out == "mailing of Thu 19 Nov: 298 listed as new, all stored.\n"
    assert len(asked_listings(world)) == len(SLICES)


def test_a_mailing_that_was_not_looked_for_yet_asks_for_a_run_first(world: World, digest: Shell) -> None:
    world.clock.set(datetime(2026, 11, 23, 14, tzinfo=UTC))
    said = digest("verify", expect=1)
    assert said.out == (
        "mailing of Sun 22 Nov: not verified, arXiv has not been looked at since that mailing: "
        "`digest run` does, then verify again.\n"
    )
    assert asked_listings(world) == []


def test_a_mailing_most_of_which_has_not_come_is_no_list_of_lost_papers(world: World, digest: Shell) -> None:
    store = world.open_store()
    with store.begin() as conn:
        conn.exec_driver_sql(
            "UPDATE papers SET arxiv_id = '2712.' || substr(arxiv_id, 6) WHERE mailing = '2026-11-19'"
        )
    store.close()
    said = digest("verify", expect=1)
    assert said.lines[0] == (
        "mailing of Thu 19 Nov: 298 listed as new, 298 not stored: it has not come here yet, "
        "`digest run --now` asks for it."
    )
    assert gaps_of(world) == {}


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2026-11-20", "arXiv sent no mailing on the evening of Fri 20 Nov; the one before is of Thu 19 Nov"),
        ("2026-11-26", "arXiv sent no mailing on the evening of Thu 26 Nov; the one before is of Wed 25 Nov"),
        ("2026-11-22", "arXiv has not listed the mailing of Sun 22 Nov yet; the last one is that of Thu 19 Nov"),
    ],
)
def test_a_day_without_a_mailing_is_a_wrong_call(world: World, digest: Shell, day: str, words: str) -> None:
    said = digest("verify", "--date", day, expect=2)
    assert words in said.err
    assert "Eastern date of its evening" in said.err
    assert asked_listings(world) == []


@pytest.mark.usefixtures("world")
def test_what_is_no_date_is_a_wrong_call(digest: Shell) -> None:
    assert "'yesterday' is no day" in digest("verify", "--date", "yesterday", expect=2).err


@pytest.mark.parametrize(("kind", "times"), [("503", 1), ("rate_200", 1), ("malformed", 3), ("reset", 3)])
def test_where_arxiv_fails_that_is_said_and_what_was_read_is_kept(
    world: World, digest: Shell, kind: str, times: int
) -> None:
    world.arxiv.faults.add(kind, skip=2, times=times, path="/rss")
    said = digest("verify", expect=4)
    assert said.lines[:3] == [
        "mailing of Thu 19 Nov: 59 listed as new, all stored; 2 of 7 slices compared.",
        "",
        "not compared:",
    ]
    assert said.lines[3].startswith("  cs 3 of 3: not read, Fri 03:20 ET: ")
    assert said.lines[4:] == [f"  {one.name}: not read" for one in SLICES[3:]]
    assert "error: the listing of cs.AR+" in said.err
    world.clock.set(NOW + timedelta(minutes=10))
    assert digest("verify").out == "mailing of Thu 19 Nov: 298 listed as new, all stored.\n"
    assert asked_listings(world)[2 + times :] == [one.key for one in SLICES[2:]]


def test_missing_ids_are_told_even_where_arxiv_fails_half_way(world: World, digest: Shell) -> None:
    world.arxiv.add(late_paper(MISSED, "cs.LG"))
    world.arxiv.faults.add("503", skip=1, path="/rss")
    said = digest("verify", expect=1)
    assert f"  {MISSED}" in said.lines
    assert "error: the listing of cs.AI+" in said.err


def test_a_store_of_what_saved_queries_bring_cannot_be_held_against_a_listing_of_everything(
    world: World, digest: Shell
) -> None:
    world.edit_config("[mail]", 'source = "query"\n\n[mail]')
    said = digest("verify", expect=3)
    assert 'with source = "query" the store holds only what the saved queries bring' in said.err
    assert 'needs source = "harvest"' in said.err


def test_verifying_works_beside_a_running_worker(world: World, digest: Shell) -> None:
    store = world.open_store()
    with hold_worker(store):
        digest("verify")
    store.close()


def test_without_a_database_it_says_what_makes_one_and_makes_none(empty: World, digest: Shell) -> None:
    said = digest("verify", expect=3)
    assert "there is no database" in said.err
    assert not list(empty.folder.glob("digest.db*"))


@pytest.mark.usefixtures("empty")
def test_a_store_that_never_looked_at_arxiv_says_so(digest: Shell) -> None:
    digest("migrate")
    assert "arXiv has not been looked at since" in digest("verify", expect=1).out
    found = digest("verify", "--json", expect=1).json
    assert (found["slices"], found["listed_new"], found["is_verified"]) == ([], 0, False)


def test_it_stores_listings_and_ledger_rows_and_nothing_else(world: World, digest: Shell) -> None:
    def count_rows() -> dict[str, int]:
        store = world.open_store()
        with store.read() as conn:
            tables = conn.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
            counts = {name: conn.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one() for name in tables}
        store.close()
        return counts

    world.arxiv.add(late_paper())
    before = count_rows()
    digest("verify", expect=1)
    after = count_rows()
    assert {name: after[name] - before[name] for name in before if after[name] != before[name]} == {
        "listings": 7,
        "poll_runs": 7,
        "raw_pages": 7,
        "requests": 7,
        "gaps": 1,
    }


def test_it_explains_itself(digest: Shell) -> None:
    said = digest("verify", "--help")
    for words in ("--date YYYY-MM-DD", "--json", "witness = true", "Exit codes: 0"):
        assert words in said.out


def test_it_is_a_real_process_too(world: World) -> None:
    world.arxiv.add(late_paper())
    done = run_digest(world.folder, world.environ, "verify")
    assert done.returncode == 1
    assert str(ArxivId.parse(MISSED)) in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
