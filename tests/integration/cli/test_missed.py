"""`digest missed`: the papers of the last days near a library, fetched once and kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, unquote

import pytest
from sqlalchemy import update

from digest.model.clock import ManualClock, SystemClock
from digest.query.paper_words import WordReader
from digest.store import open_store, papers, workers
from digest.store.schema import words
from tests.command_line import ROOT
from tests.fakes.archive import read_demo_papers
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.zotero import FakeLibrary, Zotero
from tests.integration.cli.conftest import Shell

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LIBRARY = (
    "\n@article{a, title = {Tail latency of shared accelerators},"
    " abstract = {Which kernels of GPUs to keep waiting.}}"
    "\n@article{b, title = {Counters and caches},"
    " abstract = {Cache misses and performance counters of machines.}}\n"
)


@dataclass
class Outside:
    """An arXiv with the made-up papers of three weeks, and a folder without any configuration."""

    arxiv: DemoArxiv
    clock: ManualClock
    folder: Path
    seen: int = 0
    kept: Path = field(init=False)

    def __post_init__(self) -> None:
        self.kept = self.folder / "state" / "digest" / "missed.db"

    def take_asked(self) -> list[str]:
        """Return what was asked for since the last call.

        Days, also those that tokens name, and ids.
        """
        asked = [dict(request.params) for request in self.arxiv.requests[self.seen :]]
        self.seen += len(asked)
        starts = []
        for one in asked:
            token = parse_qs(unquote(one.get("resumptionToken", "")))
            starts.append(one.get("from") or one.get("id_list") or token["from"][0])
        return starts

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def outside(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    clock = ManualClock(NOW)
    with DemoArxiv(read_demo_papers(date(2026, 11, 22)), clock, page_size=6) as arxiv:
        monkeypatch.setenv("XDG_STATE_HOME", str(fresh / "state"))
        monkeypatch.setenv("DIGEST_ARXIV_OAI_URL", arxiv.oai_url)
        monkeypatch.setenv("DIGEST_ARXIV_API_URL", arxiv.api_url)
        monkeypatch.setenv("DIGEST_TEST_CLOCK", arxiv.clock_url)
        world = Outside(arxiv, clock, fresh)
        world.write("thesis.bib", LIBRARY)
        yield world


def list_ids(digest: Shell, *arguments: str) -> list[str]:
    missed = digest("missed", *arguments, "--json").json
    return [paper["entry"]["paper"]["id"] for paper in missed["papers"]]


@pytest.mark.usefixtures("outside")
def test_the_nearest_comes_first_with_what_it_is_like_and_when_it_was_announced(
    digest: Shell,
) -> None:
    first, *_ = digest("missed", "thesis.bib", "--json").json["papers"]
    entry = first["entry"]
    assert (entry["paper"]["id"], entry["announced"]) == ("2611.15012", "2026-11-19")
    assert entry["near"] == "Tail latency of shared accelerators"
    assert "Tail latency" in first["why_first"]


def test_a_second_call_reads_no_text_again_but_those_of_the_library_and_what_it_shows(
    outside: Outside, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_text = WordReader.read_text
    read: set[str] = set()

    def note(reader: WordReader, raw: str) -> str:
        read.add(raw)
        return read_text(reader, raw)

    def call() -> int:
        """Call it, and return how many texts it read."""
        read.clear()
        assert list_ids(digest, "thesis.bib", "--limit", "2") == ids
        return len(read)

    ids = list_ids(digest, "thesis.bib", "--limit", "2")
    monkeypatch.setattr(WordReader, "read_text", note)
    of_library_and_shown = 2 * (2 + len(ids))
    assert call() <= of_library_and_shown
    with closing(open_store(f"sqlite:///{outside.kept}")) as store, store.begin() as conn:
        conn.execute(update(words).values(rules=0, packed=b""))
    assert call() > 2 * of_library_and_shown
    assert call() <= of_library_and_shown


def test_what_the_library_has_is_left_out_by_its_id_its_doi_and_its_title(
    outside: Outside, digest: Shell
) -> None:
    (known,) = (paper for paper in read_demo_papers() if paper.id == "2611.15006")
    outside.arxiv.add(replace(known, doi="10.5555/AbC"))
    near = {"2611.15012", "2611.15006", "2611.15007"}
    assert near <= set(list_ids(digest, "thesis.bib"))
    title = "Counting cache misses with a stopwatch where performance counters are forbidden"
    held = "@misc{c, eprint={2611.15012}}@misc{d, title={D}, doi={10.5555/abc}}"
    outside.write("more.bib", f"{LIBRARY}{held}@misc{{e, title={{{title}}}}}")
    said = digest("missed", "more.bib", "--json").json
    assert near.isdisjoint(paper["entry"]["paper"]["id"] for paper in said["papers"])
    assert (said["held"], said["in_library"]) == (3, 5)


def test_papers_withdrawn_or_only_replaced_in_these_days_are_none(
    outside: Outside, digest: Shell
) -> None:
    old = replace(
        read_demo_papers()[0],
        id="2509.00011",
        title="Tail latency of shared accelerators, revisited",
    )
    both_versions = (NOW - timedelta(days=80), NOW - timedelta(days=5))
    outside.arxiv.add(replace(old, submitted=both_versions))
    outside.write(
        "queues.bib",
        "@misc{a, title={A proof that every queue is short: stationary lengths}}" + LIBRARY,
    )
    said = digest("missed", "queues.bib", "--json", "--limit", "40").json
    assert said["announced"] == 26
    shown = [paper["entry"]["paper"]["id"] for paper in said["papers"]]
    assert {"2611.14993", "2509.00011"}.isdisjoint(shown)


def test_a_second_call_fetches_only_what_is_newer(outside: Outside, digest: Shell) -> None:
    digest("missed", "thesis.bib")
    assert outside.take_asked()[:2] == ["2026-10-21", "2026-11-13"]
    digest("missed", "thesis.bib", "--days", "10")
    assert outside.take_asked() == []
    outside.clock.set(NOW + timedelta(days=3))
    assert digest("missed", "thesis.bib", "--json").json["announced"] == 29
    assert min(outside.take_asked()) == "2026-11-17"


def test_for_more_days_all_of_them_are_fetched_anew(outside: Outside, digest: Shell) -> None:
    assert digest("missed", "thesis.bib", "--days", "7", "--json").json["announced"] == 18
    assert min(outside.take_asked()) == "2026-11-13"
    assert digest("missed", "thesis.bib", "--days", "20", "--json").json["announced"] == 26
    assert min(outside.take_asked()) == "2026-10-31"
    digest("missed", "thesis.bib", "--days", "20")
    assert outside.take_asked() == []


def test_stopped_by_hand_it_goes_on_where_it_was(outside: Outside, digest: Shell) -> None:
    outside.arxiv.faults.add("hang", skip=3)
    command = [sys.executable, "-m", "digest", "missed", "thesis.bib"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(  # noqa: S603
        command, cwd=outside.folder, env=environ, stderr=subprocess.PIPE, text=True
    ) as call:
        while len(outside.arxiv.requests) < 3:
            SystemClock().sleep(0.05)
        SystemClock().sleep(0.5)
        call.send_signal(signal.SIGINT)
        _, said = call.communicate(timeout=30)
    assert (call.returncode, "What came is kept. Call it again to go on." in said) == (130, True)
    outside.arxiv.faults.clear()
    outside.take_asked()
    assert digest("missed", "thesis.bib", "--json").json["announced"] == 26
    assert "2026-10-21" not in outside.take_asked()


def test_an_incomplete_check_says_how_far_it_got_and_goes_on_the_next_time(
    outside: Outside, digest: Shell
) -> None:
    outside.arxiv.faults.add("503", skip=2, retry_after="60")
    said = digest("missed", "thesis.bib", expect=4).out
    assert said.startswith("Of what arXiv announced in 30 days, Digest could read 12 papers.")
    assert "What was announced after Wed 18 Nov is missing." in " ".join(said.split())
    outside.take_asked()
    outside.clock.advance(timedelta(hours=2))
    assert "arXiv announced 26 papers in 30 days." in digest("missed", "thesis.bib").out
    assert "2026-10-21" not in outside.take_asked()


def test_without_arxiv_it_ends_with_what_works_without_a_network(
    outside: Outside, digest: Shell
) -> None:
    outside.arxiv.faults.add("reset", times=9)
    said = digest("missed", "thesis.bib", expect=4)
    assert said.out == ""
    assert "`digest demo` shows everything" in said.err


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["nowhere.bib"], 3, "nowhere.bib can't be read: No such file"),
        (["."], 3, "is no file"),
        (["empty.bib"], 3, "empty.bib holds no paper"),
        (["thesis.bib", "--days", "91"], 2, "91 is not in the range"),
        (["thesis.bib", "--output", "a.json", "--json"], 2, "--json > missed.json"),
        (["thesis.bib", "--output", "no/where.html"], 2, "no/where.html can't be written"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_usual_exit_codes(
    outside: Outside, digest: Shell, arguments: list[str], code: int, reason: str
) -> None:
    outside.write("empty.bib", "")
    assert reason in digest("missed", *arguments, expect=code).err
    assert "2026-10-21" not in outside.take_asked()


def test_a_library_of_which_no_title_is_known_says_so(outside: Outside, digest: Shell) -> None:
    outside.write("dois.txt", "10.1103/PhysRevLett.116.061102\n")
    assert "are not known" in digest("missed", "dois.txt", expect=2).err


def test_two_calls_do_not_fetch_at_once(outside: Outside, digest: Shell) -> None:
    outside.kept.parent.mkdir(parents=True)
    with workers.lock_file(outside.kept):
        assert "already works on this database" in digest("missed", "thesis.bib", expect=3).err
    assert outside.take_asked() == []


def test_after_a_year_it_begins_anew_and_forgets_what_was_kept(
    outside: Outside, digest: Shell
) -> None:
    digest("missed", "thesis.bib", "--days", "60")
    outside.take_asked()
    outside.clock.set(NOW + timedelta(days=366))
    assert digest("missed", "thesis.bib", "--json").json["announced"] == 0
    assert min(outside.take_asked()) > "2027-01-01"
    store = open_store(f"sqlite:///{outside.kept}")
    with store.read() as conn:
        assert papers.count_papers(conn) == 0
    store.close()


def test_papers_known_by_id_alone_are_asked_for_once(outside: Outside, digest: Shell) -> None:
    outside.write("ids.txt", "2611.15012\n2611.15007v1\n2611.99999\n")
    said = digest("missed", "ids.txt", "--json").json
    assert (said["held"], said["without_text"]) == (2, 1)
    assert said["papers"]
    assert [one for one in outside.take_asked() if not one.startswith("2026-")] == ["2611.99999"]
    outside.clock.advance(timedelta(hours=8))
    digest("missed", "thesis.bib")
    digest("missed", "ids.txt")
    assert not any("2611.99999" in asked for asked in outside.take_asked())


def test_a_later_call_gives_the_answer_of_the_first(outside: Outside, digest: Shell) -> None:
    (known,) = (paper for paper in read_demo_papers() if paper.id == "2611.15006")
    outside.arxiv.add(replace(known, doi="10.5555/AbC"))
    outside.write(
        "dois.bib", "@misc{c, title={Of caches}, doi={10.5555/abc}}@misc{d, eprint={2611.15012}}"
    )
    first = digest("missed", "dois.bib", "--json").json
    beginnings = {paper["entry"]["near"][:8] for paper in first["papers"]}
    assert "Why 100%" in beginnings, "its title as arXiv has it"
    digest("missed", "dois.txt", expect=3)
    assert digest("missed", "dois.bib", "--json").json == first


@pytest.mark.usefixtures("outside")
def test_zotero_is_asked_once_for_what_has_not_changed(
    digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeLibrary(is_public=True)
    library.add("Tail latency of shared accelerators")
    with Zotero(users_1=library) as zotero:
        monkeypatch.setenv("DIGEST_ZOTERO_URL", zotero.url)
        found = list_ids(digest, "zotero:1")
        visits = len(zotero.visits)
        assert (list_ids(digest, "ZOTERO:1"), len(zotero.visits) - visits) == (found, 1)


def test_it_says_for_how_many_abstracts_arxiv_was_not_asked_yet(
    outside: Outside, digest: Shell
) -> None:
    lines = [f"1601.{number:05}" for number in range(1, 504)]
    lines += ["2611.15012", ""]
    outside.write("ids.txt", "\n".join(lines))
    assert "The next call asks arXiv for 3 of them that lack an abstract." in " ".join(
        digest("missed", "ids.txt").out.split()
    )
    assert digest("missed", "ids.txt", "--json").json["unasked"] == 0


def test_if_nothing_is_near_it_says_so(outside: Outside, digest: Shell) -> None:
    outside.write(
        "far.bib",
        "@misc{a, title={Sourdough of rye}, abstract={Lactobacilli of loaves, baked slowly.}}",
    )
    assert "None of them is near your library" in digest("missed", "far.bib").out


def test_with_a_configuration_it_takes_its_addresses_and_ends_with_a_command_that_adds(
    outside: Outside, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DIGEST_ARXIV_OAI_URL")
    text = (
        'follow = "cat:cs.PF"\nto = "console"\n'
        '[arxiv]\ncontact = "ops@example.org"\nsource = "query"\n'
        f'oai_url = "{outside.arxiv.oai_url}"\n'
    )
    outside.write("digest.toml", text)
    last = digest("missed", "thesis.bib").lines[-1]
    assert last.startswith("To get such papers every day: `digest add cat:cs.PF ")
    assert "ops@example.org" in outside.arxiv.requests[0].user_agent
    outside.write("digest.toml", f'library = "thesis.bib"\n{text}')
    *_, paragraph = digest("missed", "thesis.bib").out.split("\n\n")
    last = " ".join(paragraph.split())
    assert last.startswith("This library already puts the digests of ")
