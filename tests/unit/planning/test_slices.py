"""Few requests show a whole mailing, and none of them is so long that arXiv cuts it."""

from __future__ import annotations

import pytest

from digest.config import SETTINGS
from digest.planning.slices import SLICES, Slice, slice_of
from digest.taxonomy import ARCHIVES, CATEGORIES, RETIRED, archive_of

ACTIVE = [name for name in CATEGORIES if name not in RETIRED]


def names(slice_: Slice, category: str) -> bool:
    return category in slice_.subjects or archive_of(category) in slice_.subjects


def test_every_category_in_use_is_in_exactly_one_slice() -> None:
    assert len(ACTIVE) == 155
    for category in ACTIVE:
        assert sum(names(one, category) for one in SLICES) == 1, category


def test_every_subject_is_one_that_arxiv_knows() -> None:
    for one in SLICES:
        assert one.subjects
        assert all(subject in ARCHIVES or subject in ACTIVE for subject in one.subjects)


def test_computer_science_takes_three_and_all_of_arxiv_seven_as_the_setting_says() -> None:
    assert sum(one.name.startswith("cs ") for one in SLICES) == 3
    assert len(SLICES) == 7
    (setting,) = (setting for setting in SETTINGS if setting.key == "arxiv.witness")
    assert f"{len(SLICES)} requests a mailing" in setting.help


def test_no_two_slices_go_by_one_name_or_ask_for_the_same() -> None:
    assert len({one.name for one in SLICES}) == len({one.key for one in SLICES}) == len(SLICES)


@pytest.mark.parametrize(
    ("category", "covering"),
    [
        ("math.PR", ["math"]),
        ("cs.NA", ["cs 2 of 3", "math"]),
        ("math.NA", ["cs 2 of 3", "math"]),
        ("math.MP", ["physics 2 of 2", "math"]),
        ("astro-ph", ["physics 1 of 2"]),
        ("alg-geom", ["math"]),
    ],
)
def test_a_category_of_two_names_is_listed_under_both(category: str, covering: list[str]) -> None:
    assert [one.name for one in SLICES if one.covers(category)] == covering


def test_a_slice_is_known_by_its_subjects_and_one_of_an_earlier_release_still_goes_by_them() -> None:
    for one in SLICES:
        assert slice_of(one.key) is one
    assert slice_of("cs+math.PR") == Slice("cs+math.PR", ("cs", "math.PR"))
