"""What the doctor says, in a terminal of eighty columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.golden.conftest import Golden
from tests.integration.cli.conftest import (
    Shell,
    _logging_as_it_was,  # noqa: F401 - a fixture, found by name
    digest,  # noqa: F401 - the same
)
from tests.integration.cli.examined import DOMAIN, Examined
from tests.integration.cli.test_doctor import examined  # noqa: F401 - the same

_OF_THIS_MACHINE = ((r"[\d.,]+ GB free", "84.00 GB free"), (r"127\.0\.0\.1:\d+", "127.0.0.1:1234"))


def show(golden: Golden, name: str, text: str) -> None:
    for pattern, instead in _OF_THIS_MACHINE:
        text = re.sub(pattern, instead, text)
    assert max(map(len, text.splitlines())) <= 80
    golden(f"{name}.terminal.txt", text)


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("examined")
def test_all_well(digest: Shell, golden: Golden) -> None:  # noqa: F811 - the fixture
    show(golden, "doctor-share", digest("doctor", "--share").out)


def test_all_well_in_full_with_a_test_message(
    examined: Examined,  # noqa: F811 - the fixture
    digest: Shell,  # noqa: F811 - the same
    golden: Golden,
) -> None:
    examined.edit("[slack]", '[alarms]\nto = "mailto:ops@hidden-institute.net"\n\n[slack]')
    text = digest("doctor", "--send").out
    text = re.sub(re.escape(str(examined.folder)), "…", text)
    show(golden, "doctor", re.sub(r"(?<=250 ).*|p=MII\w+", "…", text))


def test_trouble(
    examined: Examined,  # noqa: F811 - the fixture
    digest: Shell,  # noqa: F811 - the fixture
    golden: Golden,
) -> None:
    examined.edit('gpu = "ti:hiddenquery OR abs:hiddenword"', 'gpu = "ti:(hiddenquery OR"')
    examined.mail.login = ("login@hidden-institute.net", "another")
    examined.dns.records = {DOMAIN: ["no SPF here"]}
    examined.edit("slack:#hidden-channel", "slack:#hidden-lounge")
    examined.answers.clear()
    examined.edit(f"{examined.arxiv.url}/oai", "http://127.0.0.1:9/oai")
    Path("digest.db").unlink()
    show(golden, "doctor-trouble", digest("doctor", expect=1).out)
