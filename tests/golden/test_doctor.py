"""What the doctor says, in a terminal of eighty columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.golden.conftest import Golden
from tests.integration.cli.clinic import DOMAIN, Clinic
from tests.integration.cli.conftest import (
    Shell,
    _logging_as_it_was,  # noqa: F401 - fixtures are found by their names here
    digest,  # noqa: F401
)
from tests.integration.cli.test_doctor import clinic  # noqa: F401 - the same

_OF_THIS_MACHINE = ((r"[\d.,]+ GB free", "84.00 GB free"), (r"127\.0\.0\.1:\d+", "127.0.0.1:1234"))


def show(golden: Golden, name: str, text: str) -> None:
    for pattern, instead in _OF_THIS_MACHINE:
        text = re.sub(pattern, instead, text)
    assert max(map(len, text.splitlines())) <= 80
    golden(f"{name}.terminal.txt", text)


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("clinic")
def test_all_well(digest: Shell, golden: Golden) -> None:  # noqa: F811 - the fixture
    show(golden, "doctor-share", digest("doctor", "--share").out)


def test_all_well_in_full_with_a_test_message(
    clinic: Clinic,  # noqa: F811 - the fixture
    digest: Shell,  # noqa: F811 - the same
    golden: Golden,
) -> None:
    clinic.edit("[slack]", '[alarms]\nto = "mailto:ops@hidden-institute.net"\n\n[slack]')
    text = digest("doctor", "--send").out
    text = re.sub(re.escape(str(clinic.folder)), "…", text)
    show(golden, "doctor", re.sub(r"(?<=250 ).*|p=MII\w+", "…", text))


def test_trouble(
    clinic: Clinic,  # noqa: F811 - the fixture
    digest: Shell,  # noqa: F811 - the same
    golden: Golden,
) -> None:
    clinic.edit('gpu = "ti:hiddenquery OR abs:hiddenword"', 'gpu = "ti:(hiddenquery OR"')
    clinic.mail.login = ("login@hidden-institute.net", "another")
    clinic.dns.records = {DOMAIN: ["no SPF here"]}
    clinic.edit("slack:#hidden-channel", "slack:#hidden-lounge")
    clinic.answers.clear()
    clinic.edit(f"{clinic.arxiv.url}/oai", "http://127.0.0.1:9/oai")
    Path("digest.db").unlink()
    show(golden, "doctor-trouble", digest("doctor", expect=1).out)
