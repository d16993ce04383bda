"""The workbench around a query: how much it brings, what another wording changes, and why a paper matches."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from digest.config import load_config
from digest.demo.library import make_library
from digest.serve.installation import open_site
from digest.serve.steps import run_pass
from tests.fakes.archive import DemoPaper
from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World


@pytest.fixture(autouse=True)
def _a_desk_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # where a pace is kept without a store


@pytest.fixture
def first_day(empty: World) -> World:
    """Give an installation whose first look was just taken, in place of one that has lived for a while."""
    site = open_site(
        load_config(Path("digest.toml"), empty.environ), empty.clock, owner="test", jitter=lambda: 0.5
    )
    try:
        run_pass(site)
    finally:
        site.close()
    return empty


def count_requests(world: World) -> int:
    return len(world.arxiv.requests)


def test_a_preview_comes_from_the_store_where_it_reaches_back(world: World, digest: Shell) -> None:
    said = digest("query", "preview", "gpu", "--days", "11").out
    assert "9 mailings, Mon 9 Nov to Thu 19 Nov; from what is stored here" in said
    assert "about 1 paper in 2 mailings, none on 7 of 9; most on Thu 19 Nov: 3" in said
    assert "ti:gpu         2 alone          0 by nothing else" in said
    assert "2611.15012  Tail latency below 10⁻³ s on shared [GPUs]" in said
    assert count_requests(world) == 0


def test_a_preview_comes_from_arxiv_where_the_store_does_not_reach(world: World, digest: Shell) -> None:
    said = digest("query", "preview", "abs:GPU ANDNOT ti:latency", "--days", "30")
    assert "stored is what was submitted since Fri 30 Oct (--from store); asking arXiv instead" in said.err
    assert "30 days, Tue 20 Oct to Wed 18 Nov, and so far the 2 days since; from arXiv's search" in said.out
    assert "days are those of first submission (UTC)" in said.out
    assert "as arXiv counts" in said.out
    assert [visit.path for visit in world.arxiv.requests] == ["/api/query"] * 3


def test_what_is_stored_is_enough_where_it_is_asked_for(world: World, digest: Shell) -> None:
    said = digest("query", "preview", "gpu", "--from", "store")
    assert "20 days, Fri 30 Oct to Wed 18 Nov, and so far the 2 days since; from what is stored here" in said.out
    assert "known by mailing is what came since Mon 9 Nov (--days 11)" in said.out
    assert count_requests(world) == 0


@pytest.mark.usefixtures("world")
def test_the_figure_of_a_day_never_depends_on_how_many_others_are_looked_at(digest: Shell) -> None:
    figures: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for days in range(1, 25):
        said = digest("query", "preview", "NOT cat:cs.PF", "--days", str(days), "--from", "store", "--json").json
        assert said["unit"] == ("mailing" if days <= 11 else "day")  # nights without a mailing among them
        assert sum(day["papers"] for day in said["days"]) == said["total"]
        for day in said["days"]:
            figures.setdefault((said["unit"], day["date"]), set()).add((day["papers"], day["of"]))
    assert {key for key, figure in figures.items() if len(figure) > 1} == set()
    assert len(figures) > 25


@pytest.mark.usefixtures("world")
def test_a_mailing_has_as_many_papers_as_the_ledger_says_and_none_is_shown_from_before_the_first_look(
    digest: Shell,
) -> None:
    ledger = digest("coverage", "--days", "30", "--json").json["mailings"]
    told = {line["mailing"]: line["new"] for line in ledger if line["new"]}
    assert {line["new"] for line in ledger if line["state"] == "before the first look"} == {0}
    said = digest("query", "preview", "cat:cs OR NOT cat:cs", "--days", "11", "--json").json
    assert {day["date"]: day["of"] for day in said["days"]} == told
    assert {day["date"]: day["papers"] for day in said["days"]} == told
    compared = digest("query", "diff", "abs:zebra", "cat:cs OR NOT cat:cs", "--days", "11", "--json").json
    assert compared["days"] == sorted(told)
    assert len(compared["gained"]) == sum(told.values())


def test_on_the_first_day_papers_are_laid_out_by_submission_and_no_mailing_is_claimed(
    first_day: World, digest: Shell
) -> None:
    asked = count_requests(first_day)
    said = digest("query", "preview", "cat:cs", "--days", "9", "--json").json
    assert (said["source"], said["unit"]) == ("store", "day")
    counted = [day["papers"] for day in said["days"]]
    submitted = [paper["published"][:10] for paper in said["papers"]]
    assert counted == [submitted.count(day["date"]) for day in said["days"]]
    assert sum(count > 0 for count in counted) > 5
    out = digest("query", "preview", "cat:cs", "--days", "9").out
    assert "what the first look found is not known by mailing" in out
    assert "mailings," not in out
    assert count_requests(first_day) == asked, "all of it was stored"
    there = digest("query", "preview", "cat:cs", "--days", "9", "--from", "arxiv", "--json").json
    assert [day["papers"] for day in there["days"]] == counted


def test_what_was_submitted_since_the_last_whole_day_and_is_out_is_shown_as_the_beginning_of_its_day(
    world: World, digest: Shell
) -> None:
    world.arxiv.add(_announce(world, "2611.19999", "A GPU for everyone"))
    said = digest("query", "preview", "gpu", "--from", "arxiv", "--json").json
    assert "2611.19999" in {paper["id"] for paper in said["papers"]}
    assert {day["date"]: day["is_whole"] for day in said["days"][-3:]} == {
        "2026-11-18": True,
        "2026-11-19": False,
        "2026-11-20": False,
    }
    out = digest("query", "preview", "gpu", "--from", "arxiv").out
    assert re.search(r"Thu 19 Nov +\d +█+ so far", out)
    assert "on the 2 days since, 3 papers so far" in out


@pytest.mark.usefixtures("world")
def test_of_a_query_arxiv_has_nothing_for_only_what_it_counted_is_said(digest: Shell) -> None:
    text = "cat:cs.PF AND abs:GPU AND ti:stopwatch"
    said = digest("query", "preview", text, "--from", "arxiv", "--json").json
    without = {share["clause"]: share["without"] for share in said["clauses"]}
    rests = {
        "cat:cs.PF": "abs:GPU AND ti:stopwatch",
        "abs:gpu": "cat:cs.PF AND ti:stopwatch",
        "ti:stopwatch": "cat:cs.PF AND abs:GPU",
    }
    assert without == {
        clause: digest("query", "preview", rest, "--from", "arxiv", "--json").json["total"]
        for clause, rest in rests.items()
    }
    assert said["never_met"] is None
    assert said["why_none"] == (
        "each clause is met by some paper (as arXiv counts), but the whole query by none; "
        "without ti:stopwatch arXiv has 2 papers"
    )


def test_what_arxiv_has_already_told_is_not_asked_for_again(world: World, digest: Shell) -> None:
    text = "abs:GPU ANDNOT abs:GPU"
    said = digest("query", "preview", text, "--from", "arxiv", "--json").json
    assert [(share["role"], share["without"]) for share in said["clauses"]] == [
        ("required", None),
        ("excluded", 4),
    ]
    assert said["why_none"].endswith("without ANDNOT abs:gpu arXiv has 4 papers")
    assert count_requests(world) == 4, "nothing, asked twice, and each clause alone"


@pytest.mark.usefixtures("world")
def test_a_query_may_come_from_a_file(digest: Shell, tmp_path: Path) -> None:
    text = tmp_path / "query.txt"
    text.write_text("cat:cs.PF AND abs:GPU\n", encoding="utf-8")
    typed = digest("query", "preview", "cat:cs.PF AND abs:GPU", "--from", "store", "--json").json
    assert digest("query", "preview", "--file", str(text), "--from", "store", "--json").json == typed
    assert "0 lost" in digest("query", "diff", "abs:zebra", "--file", str(text), "--from", "store").out
    assert "takes a query, or --file" in digest("query", "preview", expect=2).err
    assert "takes a query, or --file" in digest("query", "diff", "gpu", "perf", "--file", str(text), expect=2).err


@pytest.mark.usefixtures("world")
def test_of_a_long_query_the_heading_has_the_beginning_and_how_long_it_is(digest: Shell) -> None:
    text = " OR ".join(f"ti:word{number}" for number in range(300))
    heading = digest("query", "preview", text, "--days", "7").lines[0]
    assert heading.startswith("ti:word0 OR ti:word1")
    assert heading.endswith("… (300 conditions)")
    assert len(heading) < 190


@pytest.mark.usefixtures("world")
def test_the_days_of_a_preview_sum_up_to_its_papers(digest: Shell) -> None:
    for source in ("store", "arxiv"):
        said = digest("query", "preview", "perf", "--from", source, "--json").json
        assert said["source"] == source
        assert sum(day["papers"] for day in said["days"]) == said["total"] == len(said["papers"])


@pytest.mark.usefixtures("world")
def test_the_store_and_arxiv_bring_the_same_papers(digest: Shell) -> None:
    stored, asked = (
        {paper["id"] for paper in digest("query", "preview", "perf", "--from", source, "--json").json["papers"]}
        for source in ("store", "arxiv")
    )
    assert asked <= stored
    assert len(stored - asked) <= 1, "only what was submitted after the last whole day"


@pytest.mark.usefixtures("world")
def test_a_query_that_brings_nothing_says_which_clause_is_never_met(digest: Shell) -> None:
    said = digest("query", "preview", "abs:zebra AND cat:cs.PF", "--days", "7").lines
    assert "no paper in 5 mailings" in said
    assert "no paper of these mailings meets abs:zebra; without abs:zebra it would bring 7 papers" in said


@pytest.mark.usefixtures("world")
def test_a_name_that_is_nearly_a_saved_querys_is_read_as_a_query_with_a_note(digest: Shell) -> None:
    said = digest("query", "preview", "perv", "--days", "7")
    assert "no saved query is called 'perv' (there is 'perf')" in said.err
    assert "no paper in 5 mailings" in said.out


@pytest.mark.usefixtures("world")
def test_a_difference_names_what_is_gained_and_lost_and_through_which_clause(digest: Shell) -> None:
    said = digest("query", "diff", "cat:cs.PF ANDNOT cat:cs.DC", "cat:cs.PF AND abs:GPU", "--from", "store").lines
    assert "1 paper gained, 6 lost, 1 kept" in said
    gained = said.index("+ 2611.15012  Tail latency below 10⁻³ s on shared GPUs")
    assert said[gained + 1].endswith("by cat:cs.PF, abs:gpu; for the old one it has cat:cs.DC, which is excluded")
    assert any(line.endswith("by cat:cs.PF; for the new one it lacks abs:gpu") for line in said)


@pytest.mark.usefixtures("world")
def test_two_spellings_of_one_meaning_are_told_so(digest: Shell) -> None:
    said = digest("query", "diff", "gpu", "abs:gpus OR ti:gpu OR abs:GPU", "--days", "7")
    assert "Both mean the same" not in said.out
    said = digest("query", "diff", "gpu", "abs:gpu OR ti:gpu", "--days", "7")
    assert "Both mean the same, whatever comes." in said.out
    assert "0 papers gained, 0 lost, 3 kept" in said.out


def test_a_difference_asks_arxiv_once_where_the_store_does_not_reach(world: World, digest: Shell) -> None:
    said = digest("query", "diff", "perf", "gpu", "--days", "60", "--json").json
    assert said["source"] == "arxiv"
    assert {paper["id"] for paper in said["gained"]}.isdisjoint(paper["id"] for paper in said["lost"])
    assert count_requests(world) == 1


def test_a_paper_that_is_not_stored_is_asked_of_arxiv_by_its_id(empty: World, digest: Shell) -> None:
    said = digest("query", "explain", "perf", "2611.15012")
    assert said.lines[0].endswith("(not stored here: as arXiv has it now)")
    assert said.lines[1] == "matches  perf: cat:cs.PF"
    assert count_requests(empty) == 1


def test_nothing_has_to_be_installed_for_any_of_it(
    world: World, tmp_path: Path, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIGEST_ARXIV_API_URL", world.arxiv.api_url)
    monkeypatch.setenv("DIGEST_ARXIV_OAI_URL", world.arxiv.oai_url)
    monkeypatch.setenv("DIGEST_SLACK_URL", world.slack.url)
    assert "6 papers gained" in digest("query", "diff", "cat:cs.PF AND abs:GPU", "cat:cs.PF").out
    assert digest("query", "preview", "cat:cs.PF", "--json").json["total"] == 8
    assert digest("query", "explain", "cat:cs.PF", "2611.15012", "--json").json["matches"] is True
    assert "nothing is stored here" in digest("query", "preview", "cat:cs.PF", "--from", "store", expect=2).err
    assert not list(tmp_path.glob("*.db"))


@pytest.mark.usefixtures("empty")
def test_offline_nobody_is_asked(digest: Shell) -> None:
    said = digest("query", "explain", "perf", "2611.15012", "--offline", expect=2)
    assert "2611.15012 is not stored here" in said.err


@pytest.mark.usefixtures("world")
def test_a_paper_nobody_knows_is_named(digest: Shell) -> None:
    assert "arXiv knows no paper 2601.00001" in digest("query", "explain", "perf", "2601.00001", expect=2).err


def test_an_arxiv_that_cannot_be_reached_is_the_outside_worlds_fault(world: World, digest: Shell) -> None:
    world.edit_config(f'api_url = "{world.arxiv.url}/api/query"', 'api_url = "http://127.0.0.1:1/api/query"')
    for arguments, hint in (
        (["preview", "gpu"], "`--from store` shows what is stored here of these days: Fri 30 Oct to Fri 20 Nov."),
        (["preview", "gpu", "--from", "arxiv"], "`--from store` shows"),
        (["diff", "gpu", "perf", "--from", "arxiv"], "`--from store` shows"),
        (["explain", "gpu", "2601.00001"], "`digest demo` shows"),
    ):
        said = digest("query", *arguments, expect=4)
        assert "arXiv can't be reached from here" in said.err
        assert said.err.count("no answer from arXiv; asking again …") == 2
        assert hint in said.err
    assert "20 days" in digest("query", "preview", "gpu", "--from", "store").out


def test_a_database_of_another_release_is_left_alone(world: World, digest: Shell) -> None:
    import sqlite3  # noqa: PLC0415 - this test alone

    with sqlite3.connect(world.folder / "digest.db") as conn:
        conn.execute("UPDATE alembic_version SET version_num = '9999'")
        conn.execute("UPDATE installation SET works_from = '9999'")
    conn.close()
    said = digest("query", "preview", "perf", "--days", "7")
    assert "it is left alone" in said.err
    assert "from arXiv's search" in said.out


@pytest.mark.usefixtures("world")
def test_a_trial_that_read_only_the_newest_says_so_and_what_there_is(digest: Shell) -> None:
    said = digest("try", "cat:cs.PF OR cat:cs.LG OR cat:cs.DC OR cat:cs.DS", "--days", "300", "--limit", "1").out
    assert "50 papers or more" in said
    assert "the newest 50 were looked at." in " ".join(said.split())
    facts = digest("try", "cat:cs.PF", "--json").json
    assert (facts["has_more"], facts["total_at_arxiv"]) == (False, None)
    assert facts["found"] >= len(facts["papers"])


def _announce(world: World, paper_id: str, title: str) -> DemoPaper:
    moment = world.clock.now() - timedelta(hours=14)
    last = make_library().papers[-1]
    return replace(last, id=paper_id, title=title, submitted=(moment,), announced=world.clock.now())
