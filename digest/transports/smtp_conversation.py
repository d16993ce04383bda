"""One mail over one connection: who it is from, who it is for, its text, and the server's answer.

The steps are taken one by one rather than by `smtplib.sendmail`, because what matters is on which
side of the final dot a failure lies: before it nothing was delivered and repeating is safe; behind it,
without an answer, nobody can tell (RFC 1047) and only the caller's policy can decide.

Where the server offers it (PIPELINING, RFC 2920), sender, recipient and DATA go out together, and the
replies are read in their order: one round trip instead of three. Each is judged as if asked for alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from digest.errors import DeliveryError
from digest.messages import Receipt
from digest.transports.fence import require_ours
from digest.transports.smtp_replies import (
    CLOSING,
    DONE,
    FORWARDED,
    GO_AHEAD,
    Stage,
    find_queue_id,
    judge_break,
    judge_reply,
    read_reply,
)

if TYPE_CHECKING:
    import smtplib
    from collections.abc import Callable, Sequence

    from digest.transports.smtp_connection import SmtpConnection

TAKEN: Final = (DONE, FORWARDED)

_POSITIVE = range(200, 300)
"""Behind the final dot the first digit decides, whatever follows (RFC 5321 §4.2.1)."""

_Command = tuple[Stage, str, tuple[int, ...]]
"""A command, what it is about, and the codes that say yes to it."""


class StaleConnection(Exception):
    """The server had ended a connection before the mail began."""


class Conversation:
    """What is said about one mail.

    Args:
        connection: lent to this mail alone.
        link: as `connection.take` gave it.
    """

    def __init__(self, connection: SmtpConnection, link: smtplib.SMTP) -> None:
        self._connection, self._link = connection, link
        self._stage = Stage.SENDER

    def say(self, sender: str, recipient: str, data: bytes, is_ours: Callable[[], bool]) -> Receipt:
        """Hand a mail over.

        Args:
            sender: its address in angle brackets, and what the server is to know of the mail beforehand.
            recipient: its address in angle brackets.
            data: the mail, its dots doubled, up to the final one.
            is_ours: asked right before the final dot.

        Raises:
            StaleConnection: nothing was said: the server had gone while the connection rested.
            DeliveryError: it was not taken, or (`ambiguous`) the answer to the final dot is missing.
        """
        try:
            self._begin(sender, recipient)
            self._link.send(data)
            self._look_once_more(is_ours)
            self._stage = Stage.FINAL
            self._link.send(b".\r\n")
            code, reply = self._connection.await_verdict(self._link)
        except OSError as error:
            self._connection.drop()
            if self._stage is Stage.SENDER and self._connection.has_rested:
                raise StaleConnection from error
            raise judge_break(self._stage, error) from error
        if code not in _POSITIVE:
            raise self._give_up(code, reply)
        self._connection.release()
        return Receipt(find_queue_id(reply), f"{code} {read_reply(reply)}")

    def _begin(self, sender: str, recipient: str) -> None:
        commands: tuple[_Command, ...] = (
            (Stage.SENDER, f"MAIL FROM:{sender}", TAKEN),
            (Stage.RECIPIENT, f"RCPT TO:{recipient}", TAKEN),
            (Stage.DATA, "DATA", (GO_AHEAD,)),
        )
        if self._link.has_extn("pipelining"):
            self._ask_together(commands)
            return
        for self._stage, command, wanted in commands:
            self._link.putcmd(command)
            code, reply = self._link.getreply()
            if code not in wanted:
                raise self._give_up(code, reply)

    def _ask_together(self, commands: Sequence[_Command]) -> None:
        self._link.send("".join(f"{command}\r\n" for _, command, _ in commands))
        for number, (self._stage, _, wanted) in enumerate(commands, 1):
            code, reply = self._link.getreply()
            if code not in wanted:
                if not self._has_read_to_the_end(code, commands[number:]):
                    self._connection.drop()
                raise self._give_up(code, reply)

    def _has_read_to_the_end(self, refused_with: int, unread: Sequence[_Command]) -> bool:
        """Read what else was asked for with what was refused; False where the connection is of no use then.

        A server may await the text of a mail that it takes for nobody. Without a final dot it gets none.
        """
        if refused_with == CLOSING:
            return False
        try:
            codes = [self._link.getreply()[0] for _ in unread]
        except OSError:
            return False
        return GO_AHEAD not in codes and CLOSING not in codes

    def _look_once_more(self, is_ours: Callable[[], bool]) -> None:
        try:
            require_ours(is_ours)
        except DeliveryError:
            self._connection.drop()  # without its final dot the server forgets the mail
            raise

    def _give_up(self, code: int, reply: bytes) -> Exception:
        if code == CLOSING and self._stage is Stage.SENDER and self._connection.has_rested:
            self._connection.drop()
            return StaleConnection()
        failure = judge_reply(self._stage, code, reply)
        if code == CLOSING or failure.ambiguous:
            self._connection.drop()
        else:
            self._connection.reset()
        return failure
