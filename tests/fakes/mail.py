"""A mail server on 127.0.0.1 that keeps what it is given, and misbehaves on order."""

from __future__ import annotations

import asyncio
import email
import email.policy
import socket
import ssl
import tempfile
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from digest.model.errors import ConfigurationError
from tests.fakes.certificate import Certificate, make_certificate
from tests.fakes.loopback import LOOPBACK
from tests.fakes.mailscript import Cue, Script, Step


@dataclass(frozen=True, slots=True)
class ReceivedMail:
    """A message with its envelope, as it came between DATA and the final dot.

    `login` is who had logged in.
    """

    sender: str
    recipients: tuple[str, ...]
    raw: bytes = field(repr=False)
    login: str = ""
    is_encrypted: bool = False

    @property
    def message(self) -> EmailMessage:
        """The message, parsed."""
        return email.message_from_bytes(self.raw, policy=email.policy.default)


class MailSink:
    """A mail server on a free port, while its context lasts.

    With `login` it takes mail of nobody else.
    """

    def __init__(
        self,
        *,
        starttls: bool = False,
        implicit_tls: bool = False,
        login: tuple[str, str] | None = None,
        port: int = 0,
    ) -> None:
        self.script = Script()
        self.login = login
        self._is_encrypted = starttls or implicit_tls
        self._has_starttls = starttls
        self._mails: list[ReceivedMail] = []
        self._arrival = threading.Condition()
        self._socket = socket.create_server((LOOPBACK, port))
        self._port = int(self._socket.getsockname()[1])
        self._certificate: Certificate | None = None
        self._sessions: set[_Session] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live()), daemon=True, name="demo-mail"
        )

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="demo-mail-")
        if self._is_encrypted:
            try:
                self._certificate = make_certificate(Path(self._folder.name))
            except ConfigurationError:
                self._socket.close()
                self._folder.cleanup()
                raise
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._folder.cleanup()

    @property
    def url(self) -> str:
        """Where it listens, its scheme saying how: `smtp`, `smtp+starttls` or `smtps`."""
        scheme = "smtp"
        if self._has_starttls:
            scheme = "smtp+starttls"
        elif self._is_encrypted:
            scheme = "smtps"
        return f"{scheme}://{LOOPBACK}:{self._port}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def certificate(self) -> Path | None:
        """The PEM file a client must trust, None where nothing is encrypted."""
        return self._certificate.path if self._certificate else None

    @property
    def mails(self) -> tuple[ReceivedMail, ...]:
        """What has been taken so far, oldest first."""
        with self._arrival:
            return tuple(self._mails)

    def wait_for(self, count: int, timeout: float = 10.0) -> tuple[ReceivedMail, ...]:
        """Return the mails once there are so many.

        Raise `TimeoutError` if they do not come within so many seconds.
        """
        with self._arrival:
            if not self._arrival.wait_for(lambda: len(self._mails) >= count, timeout):
                raise TimeoutError(f"{len(self._mails)} of {count} mails came within {timeout:g} s")
            return tuple(self._mails)

    def keep(self, mail: ReceivedMail) -> int:
        """Take in a mail and return its number, from 1."""
        with self._arrival:
            self._mails.append(mail)
            self._arrival.notify_all()
            return len(self._mails)

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        context = self._certificate.load() if self._certificate else None
        server = await self._loop.create_server(
            lambda: _Session(
                self, context if self._has_starttls else None, self._sessions, self._loop
            ),
            sock=self._socket,
            ssl=None if self._has_starttls else context,
        )
        self._ready.set()
        await self._stop.wait()
        server.close()
        for session in list(self._sessions):
            session.abort()
        await asyncio.sleep(0.01)  # the transports close in the loop's next rounds


class _Session(SMTP):
    """One connection. Its script is asked before each step."""

    def __init__(
        self,
        sink: MailSink,
        context: ssl.SSLContext | None,
        sessions: set[_Session],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._sink = sink
        self._sessions = sessions
        super().__init__(
            self,
            hostname="mail.demo.example",
            ident="demo mail sink",
            tls_context=context,
            require_starttls=context is not None,
            auth_require_tls=sink.login is None,
            auth_exclude_mechanism=() if sink.login else ("LOGIN", "PLAIN"),
            authenticator=self._check_login,
            loop=loop,
        )
        for step in (Step.EHLO, Step.AUTH, Step.MAIL, Step.RCPT, Step.DATA, Step.QUIT):
            self._smtp_methods[step] = self._ask_script(step, self._smtp_methods[step])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._sessions.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._sessions.discard(self)
        super().connection_lost(error)

    def abort(self) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    async def _handle_client(self) -> None:
        cue = await self._play(Step.CONNECT, "")
        if cue is not None and cue.reply:
            await self.push(cue.reply)
            self.abort()
            return
        await super()._handle_client()

    def _ask_script(
        self, step: Step, ordinary: Callable[[str | None], Awaitable[None]]
    ) -> Callable[[str | None], Awaitable[None]]:
        async def command(arg: str | None) -> None:
            is_open = self._sink.login is None or (
                self.session is not None and self.session.authenticated
            )
            if step is Step.MAIL and not is_open:
                await self.push("530 5.7.0 Authentication required")
                return
            cue = await self._play(step, arg or "")
            if cue is not None and cue.reply:
                await self.push(cue.reply)
            else:
                await ordinary(arg)

        return command

    async def handle_DATA(  # noqa: N802 - the name aiosmtpd looks for
        self, _server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        mail = ReceivedMail(
            sender=str(envelope.mail_from),
            recipients=tuple(envelope.rcpt_tos),
            raw=envelope.original_content or b"",
            login=str(session.auth_data) if session.authenticated else "",
            is_encrypted=session.ssl is not None or self._is_tls_below(),
        )
        cue = self._sink.script.take(Step.END, ",".join(mail.recipients))
        number = self._sink.keep(mail) if cue is None or cue.is_stored else 0
        if cue is not None:
            await self._follow(cue)
        return cue.reply if cue is not None and cue.reply else f"250 2.0.0 OK: queued as {number}"

    async def _play(self, step: Step, argument: str) -> Cue | None:
        cue = self._sink.script.take(step, argument or "")
        if cue is not None:
            await self._follow(cue)
        return cue

    async def _follow(self, cue: Cue) -> None:
        await asyncio.sleep(cue.delay)
        if cue.is_dropped:
            self.abort()
            await asyncio.Event().wait()  # until the lost connection cancels this session

    def _is_tls_below(self) -> bool:
        return (
            self.transport is not None and self.transport.get_extra_info("sslcontext") is not None
        )

    def _check_login(
        self, _server: object, _session: object, _envelope: object, mechanism: str, data: object
    ) -> AuthResult:
        if mechanism in ("LOGIN", "PLAIN") and isinstance(data, LoginPassword) and self._sink.login:
            given = (
                data.login.decode("utf-8", "replace"),
                data.password.decode("utf-8", "replace"),
            )
            return AuthResult(success=given == self._sink.login, handled=False, auth_data=given[0])
        return AuthResult(success=False, handled=False)
