from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.web.visitors import ME, House, open_house


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with open_house(tmp_path) as house:
        yield house


def test_try(house: House) -> None:
    path = house.subscribe(ME, "abs:measure", "ti:clocks")
    mails = house.live(hours=1)
    print(mails[0][1])
    page = house.open(path)
    print(page.text)
    page = page.press("save", days="weekdays", hour="9", zone="Europe/Berlin", on=["measure"])
    print(page.status, page.said)
    print(page.text)
    for act in ("fresh", "pause"):
        page = page.press(act)
        print(page.status, page.said)
    page = page.press("resume")
    print(page.status, page.said)
    page = page.press("leave", "*")
    print(page.text)
    page = page.press("undo")
    print(page.status, page.said)
    q = house.open(path + "/query?name=measure")
    print(q.text, q.forms)
    assert 0
