"""Libraries at Zotero, over real connections.

What is read, what is refused, and what Zotero asks for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from digest.interest.zotero import fetch_zotero
from digest.model.clock import ManualClock
from digest.model.errors import ConfigurationError, OutsideError
from digest.model.libraries import LibraryPaper, LibraryReading, ZoteroSource
from digest.model.papers import ArxivId
from digest.wire import Wire
from tests.fakes.loopback import Answer, Ending, LoopbackServer, Request, answer_json
from tests.fakes.zotero import KEY, FakeLibrary, Zotero

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


@pytest.fixture
def zotero() -> Iterator[Zotero]:
    mine = FakeLibrary()
    group = FakeLibrary(is_public=True)
    names = {"T": ("Thesis", False), "C": ("Chapter 2", "T"), "N": ("Thesis notes", False)}
    for key, (name, up) in names.items():
        mine.collections.append({"key": key, "name": name, "parentCollection": up})
    mine.add(
        "Slow GPUs",
        "C",
        abstractNote="<p>They are slow.</p>",
        DOI="10.1000/X",
        extra="arXiv: 2101.00001 [cs]",
    )
    mine.add("Queues", "T", "C", archiveID="arXiv:hep-th/9901001", abstractNote="")
    mine.add("Elsewhere", "N", url="https://arxiv.org/abs/2101.00003v2")
    mine.add("Nowhere", kind="book")
    mine.add("Full Text PDF", "C", kind="attachment", parentItem="K0000000")
    mine.add("", kind="note", note="<p>arXiv:2101.00009</p>")
    group.add("Ours")
    with Zotero(users_1=mine, groups_5=group) as server:
        yield server


def fetch(
    zotero: Zotero, source: str, version: str = "", *, key: str = KEY, deadline: float = 20.0
) -> tuple[LibraryReading, float]:
    """Return what is read, nothing if nothing has changed, and the seconds waited for it."""
    clock = ManualClock(NOON)
    wire = Wire({}, deadline=deadline, limit=10_000_000)
    parsed = ZoteroSource.parse(source)
    reading = fetch_zotero(wire, f"{zotero.url}/", key, parsed, version, clock=clock)
    waited = clock.now() - NOON
    return reading or LibraryReading(()), waited.total_seconds()


def test_a_library_is_read_with_all_that_zotero_knows_of_its_papers(zotero: Zotero) -> None:
    slow = ArxivId.parse("2101.00001")
    queues = ArxivId.parse("hep-th/9901001")
    elsewhere = ArxivId.parse("2101.00003")
    reading, _ = fetch(zotero, "zotero:1")
    assert reading.papers == (
        LibraryPaper("Slow GPUs", "They are slow.", slow, "10.1000/x", "Thesis/Chapter 2"),
        LibraryPaper("Queues", "", queues, "", "Thesis"),
        LibraryPaper("Elsewhere", "", elsewhere, "", "Thesis notes"),
        LibraryPaper("Nowhere"),
    )
    version = zotero.libraries["users/1"].version
    assert reading == LibraryReading(reading.papers, version=str(version))


@pytest.mark.parametrize(
    ("source", "titles"),
    [
        ("zotero:1/Thesis", ["Queues", "Slow GPUs"]),
        ("zotero:1/Thesis notes", ["Elsewhere"]),
        ("zotero:group/5", ["Ours"]),
    ],
)
def test_collections_with_those_below_them_and_groups_are_read(
    zotero: Zotero, source: str, titles: list[str]
) -> None:
    reading, _ = fetch(zotero, source)
    assert sorted(paper.title for paper in reading.papers) == titles


def test_a_circle_of_collections_and_a_paper_in_none_are_read(zotero: Zotero) -> None:
    group = zotero.libraries["groups/5"]
    group.collections = [{"key": "A", "name": "Round", "parentCollection": "A"}]
    group.add("Round", "A")
    group.items[0]["collections"] = None
    reading, _ = fetch(zotero, "zotero:group/5")
    collections = {one.title: one.collection for one in reading.papers}
    assert collections == {"Ours": "", "Round": "Round"}


@pytest.mark.parametrize(("number", "pages"), [(100, 1), (101, 2), (250, 3)])
def test_all_pages_of_a_library_are_read(zotero: Zotero, number: int, pages: int) -> None:
    for index in range(number - 1):
        zotero.libraries["groups/5"].add(f"Paper {index}")
    assert len(fetch(zotero, "zotero:group/5", key="")[0].papers) == number
    assert len(zotero.visits) == 1 + pages


@pytest.mark.parametrize("source", ["zotero:1", "zotero:1/Thesis"])
def test_a_library_that_has_not_changed_costs_one_request(zotero: Zotero, source: str) -> None:
    version = fetch(zotero, source)[0].version
    zotero.visits.clear()
    assert fetch(zotero, source, version)[0] == LibraryReading(())
    assert len(zotero.visits) == 1
    zotero.libraries["users/1"].add("Newest", "T")
    assert "Newest" in [paper.title for paper in fetch(zotero, source, version)[0].papers]


def test_a_library_that_changes_between_pages_is_read_again_the_next_time(zotero: Zotero) -> None:
    group = zotero.libraries["groups/5"]
    added = iter(range(1))

    def change() -> None:
        for number in added:
            group.add(f"Added {number}")

    zotero.after = change
    first, _ = fetch(zotero, "zotero:group/5")
    assert first.version != str(group.version)
    second, _ = fetch(zotero, "zotero:group/5", first.version)
    assert second.version == str(group.version)
    assert "Added 0" in [one.title for one in second.papers]


@pytest.mark.parametrize(
    ("status", "headers", "waited"),
    [
        (429, {"Backoff": "10"}, 10),
        (503, {"Retry-After": "20"}, 20),
        (429, {"Backoff": "3", "Retry-After": "7"}, 7),
    ],
)
def test_zotero_is_given_the_time_it_asks_for(
    zotero: Zotero, status: int, headers: dict[str, str], waited: float
) -> None:
    zotero.orders = [Answer(b"Slow down", status, headers=tuple(headers.items()))]
    assert fetch(zotero, "zotero:1")[1] == waited


def test_a_wish_to_wait_counts_before_the_next_page_alone(zotero: Zotero) -> None:
    zotero.headers = (("Backoff", "7"),)
    assert fetch(zotero, "zotero:1")[1] == 7


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (Answer(b"", 429, headers=(("Retry-After", "120"),)), "wait until Fri 27 Nov 12:02 UTC"),
        (Answer(b"", 429, headers=(("Backoff", "1e300"),)), "wait until Sat 28 Nov 12:00 UTC"),
        (Answer(b"", 429), "Zotero answered 429"),
        (Answer(b"", 302, headers=(("Location", "http://127.0.0.1:1/"),)), "Zotero answered 302"),
        (Answer(b"<html>Welcome</html>"), "Does [zotero] url name"),
        (Answer(b'[{"key": "A"}]'), "Does [zotero] url name"),
        (Answer(b"[" * 100_000), "Does [zotero] url name"),
        (Answer(b"{}", headers=(("Last-Modified-Version", "9"),)), "Does [zotero] url name"),
        (Answer(b"[]"), "Does [zotero] url name"),
        (Answer(ending=Ending.RESET), "can't be reached"),
        (Answer(b"[]" * 500, ending=Ending.TRICKLE), "no complete answer came within 0.5 seconds"),
    ],
)
def test_what_zotero_answers_badly_is_said(zotero: Zotero, order: Answer, said: str) -> None:
    zotero.orders = [order]
    with pytest.raises(OutsideError) as caught:
        fetch(zotero, "zotero:1", deadline=0.5)
    assert said in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("source", "key", "said"),
    [
        (
            "zotero:1",
            "",
            "private, set [zotero] key, or DIGEST_ZOTERO_KEY, to a key that may read it",
        ),
        (
            "zotero:1",
            "wrong-secret",
            "the key may not read it, or there is none of this number (403)",
        ),
        ("zotero:1", "wrong-secret\n", "letters that no key has"),
        ("zotero:1", "wrong secret", "a blank, or letters that no key has"),
        ("zotero:2", KEY, "Check the number of this library"),
        (
            "zotero:1/Thesis/Chapter 3",
            KEY,
            "Its collections: Thesis, Thesis notes, Thesis/Chapter 2.",
        ),
        ("zotero:group/5/Thesis", KEY, "Its collections: none."),
    ],
)
def test_what_may_not_be_read_says_what_to_do_and_never_the_key(
    zotero: Zotero, caplog: pytest.LogCaptureFixture, source: str, key: str, said: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ConfigurationError) as caught:
        fetch(zotero, source, key=key)
    error = caught.value
    assert said in f"{error.message} {error.hint}"
    shown = f"{error!r} {error.hint} {error.__cause__!r} {caplog.text}"
    assert "secret" not in shown
    assert KEY not in shown


@pytest.mark.parametrize(
    ("pages", "seconds", "said", "requests"),
    [
        ("new", 0.0, "has more than 300 pages of 100 papers", 300),
        ("new", 30.0, "takes too long: more than two minutes", 5),
        ("large", 0.0, "has more than 100 MB", 12),
        ("same", 0.0, "gives the same page again and again", 3),
    ],
)
def test_a_library_without_an_end_is_left_at_a_limit_that_is_named(
    pages: str, seconds: float, said: str, requests: int
) -> None:
    """Its total is never reached: each page brings a new paper, or the same one."""
    clock = ManualClock(NOON)
    asked: list[str] = []

    def answer(request: Request) -> Answer:
        clock.advance(timedelta(seconds=seconds))
        asked.append(request.path)
        headers = (("Last-Modified-Version", "9"), ("Total-Results", "999999999"))
        if request.path.endswith("collections"):
            return answer_json([], headers=headers)
        title = "x" * 9_500_000 if pages == "large" else "A paper"
        item = {"title": title, "itemType": "book", "start": "" if pages == "same" else len(asked)}
        return answer_json([{"key": "K", "data": item}], headers=headers)

    with LoopbackServer(answer, name="zotero") as server:
        wire = Wire({}, deadline=20.0, limit=10_000_000)
        with pytest.raises((ConfigurationError, OutsideError)) as caught:
            fetch_zotero(wire, server.url, KEY, ZoteroSource(1), "", clock=clock)
    assert said in caught.value.message
    assert len(asked) == requests
    assert "collection" in caught.value.hint.lower() or pages == "same"


def test_a_long_chain_of_collections_is_read(zotero: Zotero) -> None:
    group = zotero.libraries["groups/5"]
    group.collections = []
    for number in range(2_000):
        parent = f"C{number + 1}"
        group.collections.append({"key": f"C{number}", "name": "c", "parentCollection": parent})
    group.add("Deep", "C0")
    assert "Deep" in [paper.title for paper in fetch(zotero, "zotero:group/5")[0].papers]
