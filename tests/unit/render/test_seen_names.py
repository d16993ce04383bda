"""What templates see, told from the code that they see."""

from __future__ import annotations

import pytest

from digest.render.check import list_seen
from digest.render.contexts import CONTEXTS


@pytest.mark.parametrize("name", CONTEXTS)
def test_every_name_a_template_sees_is_there_with_its_meaning(name: str) -> None:
    seen = list_seen(name)
    assert {one.name for one in seen[""]} == {*CONTEXTS[name].__dataclass_fields__}
    assert all(one.meaning for one in seen[""])


def test_of_every_value_with_parts_the_parts_are_there() -> None:
    seen = list_seen("email/weekly.html")
    kinds = {one.kind for found in seen.values() for one in found} - {""}
    assert kinds == {*seen} - {""}
    assert {"title", "authors", "url", "why"} <= {one.name for one in seen["paper"]}
    assert "at most 300 characters" in next(one.meaning for one in seen["paper"] if one.name == "title")


def test_what_is_only_taken_in_by_others_sees_nothing_of_its_own() -> None:
    assert list_seen("email/style.css") == {}
