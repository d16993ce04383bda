"""Saved queries: how they are read, what they brought, why a paper matches."""

from __future__ import annotations

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World

LIST = """\
QUERY   TEXT                  NEW IN 30 DAYS  SUBSCRIPTIONS
broken  ti:(gpu OR            unreadable      gpu-static
follow  au:"Ingrith Solvane"  1               old-mail perf-team
gpu     ti:GPU OR abs:GPU     4               gpu-mail gpu-static old-mail perf-team
perf    cat:cs.PF             8               perf-mail perf-team

broken can't be read: OR has nothing behind it
ti:(gpu OR
        ^
"""

HISTORY = """\
Fri 20 Nov 09:05  + 6 new   ~ 0 changed   − 0 gone
  + 2611.15012v1     Tail latency below 10⁻³ s on shared GPUs  new
  + 2611.14898v1     Held 13 days by moderators, found all the same  new
  + … 4 more (--papers 6, or --json)
Wed 18 Nov 09:05  + 1 new   ~ 0 changed   − 0 gone
  + 2611.14758v1     Benchmarks that age well  new
"""


@pytest.mark.usefixtures("world")
def test_the_list_names_each_query_with_its_followers_and_why_one_is_unreadable(digest: Shell) -> None:
    assert digest("query", "list").out == LIST


@pytest.mark.usefixtures("world")
def test_the_list_as_json_has_the_canonical_text_and_the_problem(digest: Shell) -> None:
    queries = {query["name"]: query for query in digest("query", "list", "--json").json}
    assert queries["gpu"]["canonical"] == "abs:gpu OR ti:gpu"
    assert queries["gpu"]["papers_30_days"] == 4
    assert queries["perf"]["subscriptions"] == ["perf-mail", "perf-team"]
    assert queries["broken"]["problem"].startswith("OR has nothing behind it")


def test_a_query_nobody_follows_is_told(world: World, digest: Shell) -> None:
    world.edit_config('["gpu", "broken"]', '["gpu"]')
    digest("run")
    assert "unreadable      nobody follows it" in digest("query", "list").out


def test_checking_shows_how_a_query_is_read_and_what_arxiv_is_asked(digest: Shell) -> None:
    assert digest("query", "check", "cat:cs.PF and abs:GPU OR ti:x").lines == [
        "read as         (cat:cs.PF AND abs:gpu) OR ti:x",
        "arXiv is asked  ((abs:gpu AND cat:cs.PF) OR ti:x)",
        'see papers      digest try "cat:cs.PF and abs:GPU OR ti:x"',
    ]


def test_checking_points_at_what_may_be_meant_otherwise(digest: Shell) -> None:
    said = digest("query", "check", "cat:cs.PFF the\ngpu")
    assert said.lines[2:5] == [
        "note            'cs.PFF' is no category of arXiv; did you mean cs.PF?",
        "                cat:cs.PFF the gpu",
        "                    ^",
    ]
    assert "note            'the' is too common to search for and was left out" in said.lines
    assert said.lines[-2] == "                           ^"


def test_checking_as_json_gives_the_notes_with_their_places(digest: Shell) -> None:
    said = digest("query", "check", "--json", 'abs:"tail latency" cat:cs.PX').json
    assert said["read_as"] == 'abs:"tail latency" AND cat:cs.PX'
    assert [note["kind"] for note in said["notes"]] == ["missing operator", "unknown category"]
    assert said["notes"][1]["position"] == 23


@pytest.mark.parametrize("text", ['ti:"a \\ b"', "au:O'Neil", 'ti:"$x$"', "a OR `b`"])
def test_the_command_to_go_on_with_is_quoted_for_a_shell(digest: Shell, text: str) -> None:
    import shlex  # noqa: PLC0415 - this test alone

    (line,) = (line for line in digest("query", "check", text).lines if line.startswith("see papers"))
    assert shlex.split(line)[-1] == text


def test_checking_a_query_that_cannot_be_read_points_at_the_place(digest: Shell) -> None:
    said = digest("query", "check", "ti:(gpu OR", expect=2)
    assert said.err.splitlines()[:3] == ["error: OR has nothing behind it", "ti:(gpu OR", "        ^"]
    assert said.out == ""


@pytest.mark.usefixtures("world")
def test_the_history_shows_poll_by_poll_what_came(digest: Shell) -> None:
    assert digest("query", "history", "perf", "--limit", "2", "--papers", "2").out == HISTORY


def test_the_history_tells_new_changed_and_gone_apart(world: World, digest: Shell) -> None:
    world.arxiv.replace("2611.15012", title="Tail latency below a second", announced=world.clock.now())
    world.arxiv.replace("2611.14870", announced=world.clock.now(), comment="now with code", abstract="Not on it.")
    digest("run", "--now")
    lines = digest("query", "history", "gpu", "--limit", "1").lines
    assert lines[0] == "Fri 20 Nov 09:20  + 0 new   ~ 2 changed   − 0 gone"
    assert {line.split()[0] for line in lines[1:]} == {"~"}
    assert lines[1].endswith("  v1 → v2")
    world.arxiv.replace("2611.14870", announced=world.clock.now(), title="Compiling attention")
    digest("run", "--now")
    lines = digest("query", "history", "gpu", "--limit", "1").lines
    assert lines[0] == "Fri 20 Nov 09:20  + 0 new   ~ 0 changed   − 1 gone"
    assert lines[1].startswith("  − 2611.14870v3     Compiling attention")


@pytest.mark.usefixtures("world")
def test_the_history_as_json_holds_every_paper(digest: Shell) -> None:
    newest, *_ = digest("query", "history", "perf", "--json").json
    assert newest["matched_at"] == "2026-11-20T08:05:00+00:00"
    assert len(newest["new"]) == 6
    assert newest["new"][0]["kind"] == "new"
    assert newest["gone"] == []


@pytest.mark.usefixtures("world")
def test_a_query_without_history_says_so(digest: Shell) -> None:
    said = digest("query", "history", "broken")
    assert (
        said.out
        == "Nothing has matched broken yet. `digest run` looks; `digest query list` says how it is read.\n"
    )


def test_an_edited_query_keeps_its_history_and_says_which_revision_matched(world: World, digest: Shell) -> None:
    world.edit_config('perf = "cat:cs.PF"', 'perf = "cat:cs.PF OR cat:math.CO"')
    world.arxiv.replace("2611.15012", announced=world.clock.now(), comment="x")
    digest("run", "--now")
    lines = digest("query", "history", "perf").lines
    assert lines[0] == "Fri 20 Nov 09:20  + 0 new   ~ 1 changed   − 0 gone   as of revision 2"
    assert "Fri 20 Nov 09:05  + 6 new   ~ 0 changed   − 0 gone" in lines


@pytest.mark.usefixtures("world")
def test_a_misspelt_name_is_answered_with_the_nearest(digest: Shell) -> None:
    said = digest("query", "history", "pref", expect=2)
    assert said.err == "error: there is no saved query 'pref'\nhint:  Did you mean 'perf'?\n"
    assert "`digest query list` shows them all." in digest("query", "history", "zzz", expect=2).err


@pytest.mark.usefixtures("world")
def test_explaining_shows_each_clause_with_the_words_that_met_it(digest: Shell) -> None:
    assert digest("query", "explain", "gpu", "arXiv:2611.15012v1").lines == [
        "2611.15012v1  Tail latency below 10⁻³ s on shared GPUs",
        "matches  ti:GPU OR abs:GPU",
        "  ✓ one of",
        "    ✓ ti:gpu   “GPUs” in title",
        "    ✓ abs:gpu   “GPU” in abstract",
    ]


@pytest.mark.usefixtures("world")
def test_explaining_shows_what_was_not_met_too(digest: Shell) -> None:
    said = digest("query", "explain", "cat:cs.PF ANDNOT (abs:gpu OR ti:zebra)", "2611.15012")
    assert said.lines[1:] == [
        "does not match  cat:cs.PF ANDNOT (abs:gpu OR ti:zebra)",
        "  ✗ all of",
        "    ✓ cat:cs.PF",
        "    ✗ not",
        "      ✓ one of",
        "        ✓ abs:gpu",
        "        ✗ ti:zebra",
    ]


@pytest.mark.usefixtures("world")
def test_explaining_as_json_says_the_same(digest: Shell) -> None:
    said = digest("query", "explain", "perf", "2611.15012", "--json").json
    assert said["matches"] is True
    assert said["clauses"] == [{"clause": "cat:cs.PF", "depth": 0, "is_met": True}]
    assert said["reasons"] == [{"clause": "cat:cs.PF", "places": ["“cs.PF” in categories"]}]


@pytest.mark.usefixtures("world")
def test_explaining_a_paper_that_is_not_stored_says_where_to_ask(digest: Shell) -> None:
    said = digest("query", "explain", "perf", "2601.00001", expect=2)
    assert "2601.00001 is not stored here" in said.err
    assert 'digest try "id:2601.00001"' in said.err
