from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.memory import LIMIT, is_measurable, measure_growth
from tests.bench.pages import ATOM_SIZE, OAI_SIZE, made_up_papers, write_atom_page, write_oai_page
from tests.conftest import IS_NIGHTLY
from tests.fakes.archive import show

pytestmark = pytest.mark.skipif(
    not is_measurable(), reason="this system does not tell a process's own peak"
)


def make_atom_page() -> bytes:
    return write_atom_page([show(paper) for paper in made_up_papers(ATOM_SIZE)])


def make_oai_page() -> bytes:
    return write_oai_page(made_up_papers(OAI_SIZE))


LONG = pytest.mark.skipif(not IS_NIGHTLY, reason="a page with 2,500 histories takes long to write")


@pytest.mark.parametrize(
    ("interface", "make"),
    [("atom", make_atom_page), pytest.param("oai", make_oai_page, marks=LONG)],
)
def test_reading_the_longest_page_takes_ten_megabytes_with_all_its_papers(
    interface: str, make: Callable[[], bytes], tmp_path: Path
) -> None:
    page = tmp_path / "page.xml"
    page.write_bytes(make())
    assert page.stat().st_size > 3_900_000
    assert measure_growth(interface, page) <= LIMIT
