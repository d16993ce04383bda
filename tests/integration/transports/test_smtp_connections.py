"""Connections that a mail server ended while they rested, and what is said over them."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from digest.model.errors import DeliveryError
from digest.model.subscriptions import Destination, DestinationKind
from tests.conftest import IS_NIGHTLY
from tests.integration.transports.conftest import make_mail
from tests.integration.transports.wire import WireServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.deliver.transports.smtp import SmtpTransport

    OpenMail = Callable[..., SmtpTransport]

READER = Destination(DestinationKind.MAIL, "reader@example.org")


def refuse(transport: SmtpTransport, destination: Destination = READER) -> DeliveryError:
    """Send a mail that is not taken; return why."""
    with pytest.raises(DeliveryError) as caught:
        transport.send(make_mail(), destination)
    return caught.value


def verbs(server: WireServer) -> list[str]:
    return [command.split(" ")[0].upper() for command in server.commands]


def test_what_is_said_of_a_mail_that_is_refused(open_mail: OpenMail) -> None:
    with WireServer(replies={"RCPT": "550 5.1.1 no such mailbox"}) as server:
        refuse(open_mail(f"smtp://{server.address}"))
    assert verbs(server) == ["EHLO", "MAIL", "RCPT", "RSET"]


@pytest.mark.parametrize("weary", ["", "421 4.4.2 you were silent for too long"])
def test_a_connection_that_turns_out_to_be_gone_is_replaced_and_the_mail_sent_once(
    weary: str, open_mail: OpenMail
) -> None:
    with WireServer(weary=weary) as server:
        transport = open_mail(f"smtp://{server.address}")
        for _ in range(3):
            transport.send(make_mail(), READER)
    assert len(server.bodies) == 3
    assert server.connections == 3


def test_a_server_that_was_left_for_gone_and_does_not_come_back_is_reported(
    open_mail: OpenMail,
) -> None:
    with WireServer() as server:
        transport = open_mail(f"smtp://{server.address}")
        transport.send(make_mail(), READER)
    failure = refuse(transport)
    assert failure.whole_transport
    assert not failure.ambiguous
    assert "can't be reached" in failure.message


@pytest.mark.skipif(not IS_NIGHTLY, reason="starts a whole mail server: .ci/nightly sets DIGEST_NIGHTLY")
@pytest.mark.skipif(shutil.which("postfix") is None or os.geteuid() != 0, reason="needs Postfix, and root")
def test_a_real_server_takes_mails_and_its_refusals_are_told_apart(open_mail: OpenMail) -> None:
    from tests.bench.sending import postfix  # noqa: PLC0415 - it needs what benchmarks need

    with postfix() as port:
        transport = open_mail(f"smtp://127.0.0.1:{port}")
        for _ in range(3):
            assert transport.send(make_mail(), READER).remote_id
        with pytest.raises(DeliveryError) as caught:
            transport.send(make_mail("too much of it\r\n" * 700_000), READER)
        assert " 552 at MAIL FROM: " in caught.value.message
        assert transport.send(make_mail("..\r\n.\r\n"), READER).remote_id
