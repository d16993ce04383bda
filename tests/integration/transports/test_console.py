"""Messages on a text stream."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from digest.deliver.transports.console import ConsoleTransport
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import DeliveryError
from digest.model.messages import Message

CONSOLE = Destination(DestinationKind.CONSOLE)


def _make(text: str) -> Message:
    return Message("text/plain", text.encode(), "key-1")


def test_a_message_is_printed_as_it_is_and_its_last_line_is_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ConsoleTransport().send(_make("NEW 8\n 1  Tail latency below 10⁻³ s"), CONSOLE)
    ConsoleTransport().send(_make("done\n"), CONSOLE)
    assert capsys.readouterr().out == "NEW 8\n 1  Tail latency below 10⁻³ s\ndone\n"


def test_the_stream_replaces_the_characters_it_cannot_show() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="replace")
    ConsoleTransport(stream=stream).send(_make("Pınar: 10⁻³ s"), CONSOLE)
    assert raw.getvalue() == b"P?nar: 10?? s\n"


def test_the_stream_is_left_open_for_whoever_gave_it() -> None:
    stream = io.StringIO()
    transport = ConsoleTransport(stream=stream)
    transport.send(_make("x"), CONSOLE)
    transport.close()
    transport.close()
    assert not stream.closed


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no device that is always full"
)
def test_a_full_disk_behind_the_stream_is_reported() -> None:
    stream = io.TextIOWrapper(io.FileIO("/dev/full", "w"), encoding="utf-8", write_through=True)
    with pytest.raises(DeliveryError, match="No space left"):
        ConsoleTransport(stream=stream).send(_make("x"), CONSOLE)
    stream.close()
