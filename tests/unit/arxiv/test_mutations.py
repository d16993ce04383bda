"""Pages bent in every way.

Each reader gives a page or an `ArxivError`, and never a page that is not whole.

The ways, and what counts as whole, are those of `tests.battery.fuzz`, which does the same by the
million.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.arxiv.atom import parse_atom
from digest.arxiv.oai import parse_oai
from digest.model.errors import ArxivError, ArxivTruncated
from tests.battery.fuzz import check_seeds, read_input
from tests.battery.fuzz_frame import read_inputs
from tests.battery.fuzz_oracle import READERS, assess
from tests.battery.fuzz_pages import SEEDS, Seed
from tests.conftest import IS_NIGHTLY

Reader = Callable[[bytes], object]


@pytest.mark.parametrize("seed", range(3 if IS_NIGHTLY else 1))
def test_a_thousand_damaged_pages_are_each_a_whole_page_or_a_typed_error(seed: int) -> None:
    tally = read_inputs(read_input, seed, 0, 1_000)
    assert tally.findings == []
    assert {verdict for _, verdict in tally.verdicts} >= {
        "accepted",
        "ArxivTruncated",
        "ArxivHostile",
    }


def test_undamaged_pages_are_read() -> None:
    check_seeds()


@pytest.mark.parametrize("read", [parse_atom, parse_oai])
@settings(max_examples=150)
@given(body=st.binary(max_size=300))
def test_bytes_of_any_kind_are_a_typed_error(read: Reader, body: bytes) -> None:
    with pytest.raises(ArxivError):
        read(body)


@pytest.mark.parametrize("page", SEEDS)
def test_a_page_is_whole_or_refused_wherever_it_breaks_off(page: Seed) -> None:
    whole = page.body.rstrip()
    for cut in {*range(0, len(whole), 7), *range(len(whole) - 60, len(whole))}:
        with pytest.raises(ArxivTruncated):
            READERS[page.interface](whole[:cut])


def test_the_judge_of_damaged_pages_believes_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    page = parse_atom(SEEDS[0].body)
    monkeypatch.setitem(READERS, "atom", lambda _: page)
    for before, after in (
        (b"</feed>", b""),
        (b"</feed>", b"<entry/></feed>"),
        (b"<feed", b"<!DOCTYPE a><feed"),
    ):
        assert assess(SEEDS[0], SEEDS[0].body.replace(before, after, 1)).finding
