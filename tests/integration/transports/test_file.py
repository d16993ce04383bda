"""Messages as files in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from digest.deliver.transports.file import FolderTransport
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import DeliveryError
from digest.model.messages import Message

OUT = Destination(DestinationKind.FILE, "digests")


def _make(
    body: bytes = b"nine papers\r\n\x00\xff", *, key: str = "key-1", name: str = "perf.eml"
) -> Message:
    return Message("message/rfc822", body, key, name)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_message_becomes_a_file_of_its_name_with_its_very_bytes(tmp_path: Path) -> None:
    receipt = FolderTransport(root=tmp_path).send(_make(), OUT)
    assert (tmp_path / "digests" / "perf.eml").read_bytes() == _make().body
    assert receipt.remote_id == str(tmp_path / "digests" / "perf.eml")


def test_the_same_message_is_never_there_twice_however_often_it_is_sent(tmp_path: Path) -> None:
    receipts = [FolderTransport(root=tmp_path).send(_make(), OUT) for _ in range(3)]
    assert _names(tmp_path / "digests") == ["perf.eml"]
    assert "already" in receipts[-1].detail


def test_another_message_of_the_same_name_gets_a_file_of_its_own(tmp_path: Path) -> None:
    transport = FolderTransport(root=tmp_path)
    transport.send(_make(b"first", key="key-1"), OUT)
    for _ in range(2):
        transport.send(_make(b"second", key="key-2"), OUT)
    assert _names(tmp_path / "digests") == ["perf-key-2.eml", "perf.eml"]
    assert (tmp_path / "digests" / "perf.eml").read_bytes() == b"first"


@pytest.mark.parametrize(
    ("media_type", "name"),
    [("message/rfc822", "key-1.eml"), ("text/html", "key-1.html"), ("x/y", "key-1")],
)
def test_a_message_without_a_name_is_called_after_its_key(
    tmp_path: Path, media_type: str, name: str
) -> None:
    FolderTransport(root=tmp_path).send(Message(media_type, b"x", "key-1"), OUT)
    assert _names(tmp_path / "digests") == [name]


@pytest.mark.parametrize(
    "name", ["../escape.eml", "/etc/cron.d/x", "a/b.eml", ".hidden", "..", "a\nb", "a\0b", "a\\b"]
)
def test_a_name_that_leads_elsewhere_is_refused_for_good(tmp_path: Path, name: str) -> None:
    with pytest.raises(DeliveryError, match="cannot be the name of a file") as caught:
        FolderTransport(root=tmp_path).send(_make(name=name), OUT)
    assert caught.value.permanent
    assert list(tmp_path.rglob("*")) == []


def test_an_absolute_destination_stands_for_itself_and_a_relative_one_is_below_the_root(
    tmp_path: Path,
) -> None:
    transport = FolderTransport(root=tmp_path / "root")
    absolute = Destination(DestinationKind.FILE, str(tmp_path / "elsewhere"))
    assert transport.resolve(absolute) == str((tmp_path / "elsewhere").resolve())
    assert transport.resolve(OUT) == str((tmp_path / "root" / "digests").resolve())


def test_a_name_too_long_for_the_disk_says_so(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError) as caught:
        FolderTransport(root=tmp_path).send(_make(name="x" * 300 + ".eml"), OUT)
    assert "shorter name" in caught.value.hint
