"""Papers for a reference manager: of a digest, a subscription, a query, or by id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Said, Shell
from tests.integration.cli.fortnight import World


def count(said: Said) -> int:
    assert said.err.endswith(" papers\n")
    return len(re.findall(r"^@misc\{", said.out, re.MULTILINE))


@pytest.mark.usefixtures("world")
def test_a_subscriptions_last_digest_is_written_as_bibtex(digest: Shell) -> None:
    last = digest("subscription", "show", "perf-team", "--json").json["digests"][0]
    said = digest("export", "--subscription", "perf-team")
    assert count(said) == last["papers"] == 9
    assert digest("export", "--digest", str(last["id"])).out == said.out


@pytest.mark.usefixtures("world")
def test_what_a_saved_query_means_is_written(digest: Shell) -> None:
    every = digest("export", "--query", "perf")
    assert digest("export", "--query", "cat:cs.PF").out == every.out
    assert 0 < count(digest("export", "--query", "perf", "--days", "2")) < count(every)


@pytest.mark.usefixtures("world")
def test_papers_are_written_as_ris_with_their_abstracts(digest: Shell) -> None:
    said = digest("export", "--paper", "arXiv:2611.15012v7", "--abstracts", "--format", "ris").out
    assert said.startswith("TY  - UNPB")
    assert "AB  - " in said


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "one of --digest, --subscription, --query and --paper"),
        (("--digest", "1", "--paper", "2611.00001"), 2, "one of --digest"),
        (("--digest", "99999999999999999999"), 2, "there is no digest"),
        (("--subscription", "nobody"), 2, "there is no subscription 'nobody'"),
        (("--paper", "2611.99999"), 2, "not stored here: 2611.99999"),
        (("--paper", "x"), 2, "is not an arXiv identifier"),
        (("--query", "ti:("), 2, "never closed"),
        (("--query", "ti:nothingofthekind"), 0, "0 papers"),
    ],
)
def test_what_cannot_be_written_is_said_and_nothing_printed(
    digest: Shell, arguments: tuple[str, ...], code: int, words: str
) -> None:
    said = digest("export", *arguments, expect=code)
    assert said.out == ""
    assert words in said.err


@pytest.mark.usefixtures("world")
def test_a_subscription_read_as_a_feed_has_the_papers_of_its_feed(digest: Shell) -> None:
    said = digest("export", "--subscription", "gpu-static")
    feed = Path("feeds/gpu.atom").read_text(encoding="utf-8")
    assert said.out.count("@misc{") == feed.count("<entry>") > 0


def test_a_saved_query_that_only_the_file_knows_yet_is_meant_by_its_name(
    world: World, digest: Shell
) -> None:
    world.edit("[queries]", '[queries]\nfresh = "cat:cs.PF"')
    assert digest("export", "--query", "fresh") == digest("export", "--query", "perf")
    shown = digest("query", "show", "fresh", "--json").json
    assert (shown["name"], shown["query"]) == ("fresh", "cat:cs.PF")
