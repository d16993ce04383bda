"""Libraries are read when they change, and never end a run.

They are completed from what is stored and from arXiv.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

from digest.interest import libraries
from digest.interest.child import read_apart
from digest.interest.tables import StoredLibrary, load_counts, load_libraries, load_states
from digest.model.clock import ManualClock
from digest.model.errors import ConfigurationError
from digest.model.papers import ArxivId
from digest.store import papers
from tests.fakes.loopback import Answer, answer_json
from tests.fakes.zotero import KEY, FakeLibrary, Zotero
from tests.harness.papers import START, made_up
from tests.integration.faulty import FaultyArxiv, World, list_past, surrounded

OLD = "1601.00001"
GONE = "1601.00002"
BIB = r"""@article{by_id, title = {Of the library}, eprint = {2602.00001}, archiveprefix = {arXiv}}
@article{by_doi, title = {Of the library}, doi = {10.1000/MADE.2}}
@article{asked, title = {Of the library}, eprint = {1601.00001}, archiveprefix = {arXiv}}
@article{unknown, title = {Known to nobody}, eprint = {1601.00002}, archiveprefix = {arXiv}}
@article{own, title = {With its own}, abstract = {Of its own.}}
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = ManualClock(START)
    long_ago = START - timedelta(days=900)
    past = [
        made_up(1, long_ago, id=OLD, title="Asked of arXiv", abstract="Old text."),
        *list_past(3),
    ]
    past += [
        made_up(
            2,
            START - timedelta(days=4),
            id="2602.00004",
            title="Known by DOI",
            doi="10.1000/made.2",
        )
    ]
    arxiv = FaultyArxiv(past, clock, page_size=50)
    with surrounded(tmp_path, arxiv) as world:
        name_libraries(world, "lab.bib")
        (tmp_path / "lab.bib").write_text(BIB)
        yield world


def name_libraries(world: World, *sources: str, zotero: str = "") -> None:
    world.configure()
    file = world.folder / "digest.toml"
    named = "[" + ", ".join(f'"{one}"' for one in sources) + "]"
    text = (
        file.read_text() + f'[zotero]\nurl = "{zotero}"\nkey = "{KEY}"\n'
        if zotero
        else file.read_text()
    )
    file.write_text(text.replace("[[subscriptions]]", f"[[subscriptions]]\nlibrary = {named}"))


def read_stored(world: World, name: str = "") -> StoredLibrary:
    source = name or str(world.folder / "lab.bib")
    with world.reading() as conn:
        return load_libraries(conn, [source])[source]


def list_asked(world: World) -> list[str]:
    return [ids for visit in world.arxiv.requests if (ids := visit.param("id_list"))]


def test_papers_are_completed_from_the_store_else_from_the_file_else_by_arxiv_which_is_asked_once(
    world: World,
) -> None:
    world.run()
    held = {
        one.paper.title: (str(one.paper.arxiv_id), one.paper.abstract)
        for one in read_stored(world).papers
    }
    assert held == {
        "Made-up paper 1": ("2602.00001", "We measure tail latency."),
        "Known by DOI": ("2602.00004", "We measure tail latency."),
        "Asked of arXiv": (OLD, "Old text."),
        "Known to nobody": (GONE, ""),
        "With its own": ("None", "Of its own."),
    }
    (asked,) = list_asked(world)
    assert set(asked.split(",")) == {OLD, GONE}
    with world.reading() as conn:
        assert not papers.load_known(conn, [ArxivId.parse(OLD)]), (
            "it is no paper of this installation"
        )
    (world.folder / "lab.bib").write_text(BIB + "@article{more, title = {One more}}\n")
    world.run(anyway=True)
    assert [one.paper.abstract for one in read_stored(world).papers].count("Old text.") == 1
    assert len(read_stored(world).papers) == 6
    assert len(list_asked(world)) == 1


def test_an_arxiv_that_fails_is_asked_for_abstracts_again_by_a_later_check(world: World) -> None:
    world.arxiv.faults.add("500", path="/api", times=50)
    troubles = world.run().libraries.troubles
    assert [one.endswith("asks for the abstracts of libraries again.") for one in troubles] == [
        True
    ]
    assert "Old text." not in [one.paper.abstract for one in read_stored(world).papers]
    world.run()
    assert "Old text." not in [one.paper.abstract for one in read_stored(world).papers], (
        "no check was due"
    )
    world.arxiv.mend()
    world.run(anyway=True)
    assert "Old text." in [one.paper.abstract for one in read_stored(world).papers]


def test_a_library_is_read_again_only_when_its_bytes_change(world: World) -> None:
    world.run()
    first = read_stored(world)
    assert world.run().libraries.read == []
    assert read_stored(world) == first
    world.clock.advance(timedelta(minutes=1))
    (world.folder / "lab.bib").write_text("@article{only, title = {The only one}}\n")
    assert world.run().libraries.read == [first.source]
    second = read_stored(world)
    assert ([one.paper.title for one in second.papers], second.read_at) == (
        ["The only one"],
        world.clock.now(),
    )


@pytest.mark.parametrize("content", [None, b"", b"\0\1\2", b"<html>Sign in</html>"])
def test_a_library_that_cannot_be_read_keeps_its_state_and_is_told_once(
    world: World, content: bytes | None
) -> None:
    world.run()
    first = read_stored(world)
    file = world.folder / "lab.bib"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    world.clock.advance(timedelta(days=1))
    (trouble,) = world.run().libraries.troubles
    assert trouble.startswith("lab.bib ")
    assert trouble.endswith(". What was read on Mon 2 Mar still counts.")
    assert world.run().libraries.troubles == []
    assert read_stored(world).papers == first.papers
    assert trouble in " ".join(world.command("status").split())
    file.write_text(BIB)
    world.run()
    assert (read_stored(world).trouble, read_stored(world).papers) == ("", first.papers)


def test_a_library_that_nobody_names_any_more_is_forgotten(world: World) -> None:
    world.run()
    (world.folder / "other.txt").write_text(f"{OLD}\n")
    name_libraries(world, "other.txt")
    world.run()
    with world.reading() as conn:
        assert [*load_states(conn)] == [str(world.folder / "other.txt")]


def test_words_are_counted_once_there_is_a_library_and_again_after_30_days_or_twice_the_papers(
    world: World,
) -> None:
    name_libraries(world)
    world.run()
    with world.reading() as conn:
        assert load_counts(conn) is None
    made = []
    for days, more in ((0, 0), (1, 0), (1, 4), (31, 0)):
        name_libraries(world, "lab.bib")
        world.clock.advance(timedelta(days=days))
        begun = world.clock.now()
        submitted = begun - timedelta(days=4)
        world.arxiv.add(
            *(made_up(day, submitted, id=f"2602.{day:05d}") for day in range(100, 100 + more))
        )
        world.run(anyway=True)
        with world.reading() as conn:
            row = load_counts(conn)
        made.append((row.papers, row.made_at >= begun))
    assert made == [(4, True), (4, False), (8, True), (8, True)]


def test_zotero_is_asked_once_a_day_and_an_hour_after_it_failed_or_at_once_by_hand(
    world: World,
) -> None:
    library = FakeLibrary()
    library.add("Kept at Zotero", abstractNote="About queues.")
    with Zotero(users_1=library) as zotero:
        name_libraries(world, "zotero:1", zotero=zotero.url)
        asked: list[int] = []

        def look(hours: int, *, by_hand: bool = False) -> list[str]:
            world.clock.advance(timedelta(hours=hours))
            before = len(zotero.visits)
            troubles = world.run(anyway=by_hand).libraries.troubles
            asked.append(len(zotero.visits) - before)
            return troubles

        assert [look(0), look(23), look(1)] == [[], [], []]
        assert asked == [2, 0, 1], (
            "its collections and its papers; nothing; that nothing has changed"
        )
        zotero.orders = [Answer(status=403)] * 3
        (trouble,) = look(24)
        assert trouble.startswith("zotero:1: ")
        assert "403" in trouble
        assert KEY not in trouble
        assert [look(0), look(0, by_hand=True), look(1)] == [[], [], []]
        library.add("Kept since")
        assert look(1) == []
        assert asked[3:] == [1, 0, 1, 1, 2]
        held = read_stored(world, "zotero:1")
        assert ([one.paper.title for one in held.papers], held.trouble) == (
            ["Kept at Zotero", "Kept since"],
            "",
        )
        assert "zotero:1 can be read" in world.command("doctor")
        shared = world.command("doctor", "--share")
        assert ("<library> can be read" in shared, "zotero:1" in shared) == (True, False)


def test_a_paper_in_several_spellings_counts_once_with_its_abstract_and_all_it_is_known_by(
    world: World,
) -> None:
    (world.folder / "lab.bib").write_text(
        "@misc{a, title = {Of the deep {GPU}s}, eprint = {1601.00001}}\n"
        "@article{b, title = {OF THE DEEP GPUS.}, doi = {10.1000/b}, abstract = {Published.}}\n"
        "@misc{c, title = {Of the deep GPUs}, eprint = {1601.00002}, abstract = {A namesake.}}\n"
        "@article{d, title = {A new name}, doi = {10.1000/b}}\n@misc{e, eprint = {1601.00001}}\n"
    )
    said = " ".join(world.command("library", "show").split())
    world.run()
    first, second = (one.paper for one in read_stored(world).papers)
    assert (str(first.arxiv_id), first.doi, first.abstract) == (OLD, "10.1000/b", "Published.")
    assert (str(second.arxiv_id), second.abstract) == (GONE, "A namesake.")
    assert "2 papers" in said


@pytest.mark.parametrize(
    ("collection", "item", "total", "said"),
    [
        (
            {"name": "A"},
            {"collections": 5},
            "1",
            "its content is of an unexpected form (TypeError)",
        ),
        ({"name": "A"}, {"key": ["K"]}, "1", "its content is of an unexpected form (TypeError)"),
        ({"name": "A"}, {}, "9" * 5_000, "its content is of an unexpected form (ValueError)"),
        ({"name": "\ud800\0"}, {}, "1", "Its collections: ?\ufffd"),
    ],
)
def test_a_form_that_nobody_foresaw_never_ends_a_run(
    world: World, collection: dict[str, object], item: dict[str, object], total: str, said: str
) -> None:
    headers = (("Last-Modified-Version", "9"), ("Total-Results", total))
    listed = [{"key": "A", **collection}], [{"key": "K", "itemType": "book", "title": "T", **item}]
    with Zotero() as zotero:
        zotero.orders = [
            answer_json([{"key": one["key"], "data": one} for one in some], headers=headers)
            for some in listed
        ]
        source = "zotero:1" if said.startswith("its") else "zotero:1/B"
        name_libraries(world, source, "lab.bib", zotero=zotero.url)
        (trouble,) = world.run().libraries.troubles
    assert (said in trouble, len(read_stored(world).papers)) == (True, 5)


LIMITS = {
    "has more than 20,000 entries": "2101.00001\n" * 20_001,
    "more than 10 times its size": (
        f"@string{{a = {{{'x' * 999}}}}}@misc{{k, title = {'a # ' * 99}a}}"
    ),
    "could not be read in 3 seconds": "2101.00001 " * 1_800_000,
    "has more than 20 MB": None,
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_library_over_a_limit_names_it_and_keeps_its_state_and_costs_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    name_libraries(world, "lab.bib", "other.txt")
    other = world.folder / "other.txt"
    other.write_text(f"{OLD}\n")
    world.run()
    first = read_stored(world)
    monkeypatch.setattr(libraries, "FILE_SECONDS", 3.0 if "seconds" in limit else 60.0)
    with (world.folder / "lab.bib").open("wb") as file:
        content = LIMITS[limit]
        if content is None:
            file.truncate(3_000_000_000)
        else:
            file.write(content.encode())
    other.write_text(f"{OLD}\n{GONE}\n")
    report = world.run().libraries
    (trouble,) = report.troubles
    assert limit in trouble
    assert trouble.startswith("lab.bib ")
    assert trouble.endswith(" still counts.")
    assert read_stored(world).papers == first.papers
    assert report.read == [str(other)]


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_file_is_not_waited_for(world: World, kind: str) -> None:
    file = world.folder / "lab.bib"
    file.unlink()
    os.mkfifo(file) if kind == "fifo" else file.mkdir()
    (trouble,) = world.run().libraries.troubles
    assert trouble.startswith("lab.bib is no file. It is a folder, a pipe or a device.")


def test_what_all_libraries_take_has_a_limit_and_the_slow_ones_come_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = world.folder / "a-slow.txt"
    slow.write_text("2101.00001 " * 1_800_000)
    name_libraries(world, "a-slow.txt", "lab.bib")
    monkeypatch.setattr(libraries, "_ALL_SECONDS", 3)
    first, second = world.run().libraries.troubles
    assert " could not be read in " in first
    assert second == "lab.bib was not read: the others took 3 seconds. The next check reads it."
    assert world.run().libraries.read == [str(world.folder / "lab.bib")]


def test_a_library_that_is_not_due_is_not_named_when_the_time_is_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeLibrary(version=7)
    library.add("Slow GPUs", extra="arXiv:2101.00001")
    with Zotero(users_1=library) as zotero:
        name_libraries(world, "zotero:1", zotero=zotero.url)
        assert world.run().libraries.read == ["zotero:1"]
        monkeypatch.setattr(libraries, "_ALL_SECONDS", 0)
        assert world.run().libraries.troubles == []


def test_other_threads_go_on_while_a_file_is_read() -> None:
    """A page is served by another thread.

    It must not wait for a pattern that runs over a large file.
    """
    content = b"2101.00001 " * 300_000
    reader = Thread(target=read_apart, args=("lab.txt", content, 60.0))
    reader.start()
    longest = 0.0
    while reader.is_alive():
        begun = monotonic()
        sleep(0.01)
        longest = max(longest, monotonic() - begun)
    assert longest < 0.5


def test_a_library_whose_words_take_too_long_is_left_before_a_pass_reads_them() -> None:
    titles = "\n".join(
        f"@misc{{k{number}, title = {{{'$' * 999}{number}}}}}" for number in range(18_000)
    )
    with pytest.raises(ConfigurationError, match=r"^lab\.bib could not be read in 2 seconds"):
        read_apart("lab.bib", titles.encode(), 2.0)
