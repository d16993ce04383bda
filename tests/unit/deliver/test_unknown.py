"""What is said of a message that may have arrived is what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from digest.config import load_config
from digest.deliver.step import describe_settling
from digest.model.destinations import DestinationKind


@pytest.mark.parametrize(
    ("kind", "environ", "words"),
    [
        (DestinationKind.MAIL, {}, "is sent again after 15 min, once"),
        (
            DestinationKind.MAIL,
            {"DIGEST_MAIL_AMBIGUOUS_WAIT": "7200"},
            "is sent again after 2 h, once",
        ),
        (
            DestinationKind.MAIL,
            {"DIGEST_MAIL_ON_AMBIGUOUS": "hold"},
            "is held for you after 15 min",
        ),
        (DestinationKind.SLACK, {}, "is searched for after 15 s"),
        (DestinationKind.SLACK_WEBHOOK, {}, "is held for you after 15 s"),
        (DestinationKind.WEBHOOK, {}, "is sent again after 60 s"),
        (DestinationKind.FILE, {}, "is searched for"),
        (DestinationKind.CONSOLE, {}, "is held for you"),
    ],
)
def test_only_what_can_be_asked_is_said_to_be(
    tmp_path: Path, kind: DestinationKind, environ: dict[str, str], words: str
) -> None:
    assert describe_settling(load_config(None, environ, folder=tmp_path), kind) == words
