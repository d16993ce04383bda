"""Papers for a reference manager: of a digest, a subscription, a query, or by id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World


def newest(digest: Shell) -> str:
    return str(digest("export-refs", "--query", "perf", "--json").json[0]["id"])


@pytest.mark.usefixtures("world")
def test_a_subscriptions_last_digest_is_written_as_bibtex(digest: Shell) -> None:
    last = digest("subscription", "show", "perf-team", "--json").json["digests"][0]
    said = digest("export-refs", "--subscription", "perf-team")
    assert len(re.findall(r"^@misc\{", said.out, re.MULTILINE)) == last["papers"] == 9
    assert said.err == f"9 papers from digest {last['id']} of perf-team as BibTeX\n"
    assert digest("export-refs", "--digest", str(last["id"])).out == said.out


@pytest.mark.usefixtures("world")
def test_what_a_saved_query_means_is_written_newest_first(digest: Shell) -> None:
    every = digest("export-refs", "--query", "perf", "--json").json
    assert [paper["id"] for paper in every] == sorted((paper["id"] for paper in every), reverse=True)
    assert digest("export-refs", "--query", "cat:cs.PF", "--json").json == every
    few = digest("export-refs", "--query", "perf", "--days", "2", "--json").json
    assert 0 < len(few) < len(every)


def test_a_file_that_ends_in_ris_holds_ris(digest: Shell, world: World) -> None:
    paper = newest(digest)
    said = digest("export-refs", "--paper", f"arXiv:{paper}", "--abstracts", "--output", "one.ris")
    assert (said.out, said.err) == ("", "1 paper as RIS, written to one.ris\n")
    written = Path(world.folder / "one.ris").read_bytes()
    assert written.startswith(b"TY  - UNPB\r\n")
    assert b"\r\nAB  - " in written
    assert digest("export-refs", "--paper", paper, "--format", "ris").out.encode() in written.replace(
        re.findall(rb"AB  - .*\r\n", written)[0], b""
    )


@pytest.mark.usefixtures("world")
def test_a_version_that_is_not_stored_is_named(digest: Shell) -> None:
    said = digest("export-refs", "--paper", f"{newest(digest)}v7")
    assert "is stored as v1, and written so" in said.err


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "one of --digest, --subscription, --query and --paper"),
        (("--digest", "1", "--paper", "2611.00001"), 2, "one of --digest"),
        (("--digest", "1", "--days", "3"), 2, "--days goes with --query alone"),
        (("--digest", "99999999999999999999"), 2, "there is no digest"),
        (("--subscription", "nobody"), 2, "there is no subscription 'nobody'"),
        (("--paper", "2611.99999"), 2, "2611.99999 is not stored here"),
        (("--paper", "x"), 2, "is not an arXiv identifier"),
        (("--query", "ti:("), 2, "never closed"),
        (("--query", "perf", "--output", "nowhere/x.bib"), 2, "nowhere/x.bib can't be written"),
        (("--query", "ti:nothingofthekind"), 0, "Nothing that is stored here meets ti:nothingofthekind"),
    ],
)
def test_what_cannot_be_written_is_said_and_nothing_printed(
    digest: Shell, arguments: tuple[str, ...], code: int, words: str
) -> None:
    said = digest("export-refs", *arguments, expect=code)
    assert said.out == ""
    assert words in said.err


@pytest.mark.usefixtures("world")
def test_a_subscription_read_as_a_feed_has_the_papers_of_its_feed(digest: Shell) -> None:
    said = digest("export-refs", "--subscription", "gpu-static")
    feed = Path("feeds/gpu.atom").read_text(encoding="utf-8")
    assert "as BibTeX" in said.err
    assert said.out.count("@misc{") == feed.count("<entry>") > 0


def test_a_saved_query_that_only_the_file_knows_yet_is_meant_by_its_name(world: World, digest: Shell) -> None:
    world.edit_config("[queries]", '[queries]\nfresh = "cat:cs.PF"')
    said = digest("export-refs", "--query", "fresh", "--json")
    assert said.json == digest("export-refs", "--query", "perf", "--json").json
    assert said.err == ""
    said = digest("query", "history", "fresh", expect=2)
    assert said.err == "error: saved query fresh is new in digest.toml\nhint:  `digest run` takes it over.\n"
    assert "new in digest.toml" in digest("feed", "url", "fresh", "--query", expect=2).err


def test_before_the_first_run_there_is_nothing_to_ask_for(empty: World, digest: Shell) -> None:
    digest("migrate")
    said = digest("export-refs", "--query", "perf").err
    assert "Nothing is stored here yet: `digest run` begins to. No paper meets cat:cs.PF so far." in said
    assert said.endswith("Ask arXiv: digest try cat:cs.PF\n")
    assert empty.folder.joinpath("digest.db").is_file()


@pytest.mark.usefixtures("world")
def test_a_word_that_is_no_saved_querys_name_is_noted(digest: Shell) -> None:
    assert "no saved query is called 'nope', so it is looked for" in digest("export-refs", "--query", "nope").err
    assert "(there is 'perf')" in digest("export-refs", "--query", "prf").err
