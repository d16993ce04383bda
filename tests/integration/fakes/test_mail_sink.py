import smtplib
import ssl
import time
from collections.abc import Iterator

import pytest

from digest.errors import ConfigurationError
from tests.fakes.certificate import has_openssl
from tests.fakes.mail import MailSink

MAIL = b"Subject: Hello\r\nFrom: a@made.example\r\n\r\n.a line with a dot\r\n"
needs_openssl = pytest.mark.skipif(
    not has_openssl(), reason="certificates are made by openssl, which is missing here"
)


def send(client: smtplib.SMTP, *recipients: str) -> dict[str, tuple[int, bytes]]:
    return client.sendmail("digest@made.example", recipients or ("reader@made.example",), MAIL)


@pytest.fixture
def sink() -> Iterator[MailSink]:
    with MailSink() as sink:
        yield sink


@pytest.fixture
def client(sink: MailSink) -> Iterator[smtplib.SMTP]:
    client = smtplib.SMTP("127.0.0.1", sink.port, timeout=10)
    yield client
    client.close()


def test_a_mail_is_kept_with_its_envelope_byte_for_byte(sink: MailSink, client: smtplib.SMTP) -> None:
    assert send(client, "one@made.example", "two@made.example") == {}
    (mail,) = sink.wait_for(1)
    assert mail.raw == MAIL
    assert (mail.sender, mail.recipients) == ("digest@made.example", ("one@made.example", "two@made.example"))
    assert mail.message["Subject"] == "Hello"
    assert not mail.is_encrypted


def test_many_mails_go_over_one_connection(sink: MailSink, client: smtplib.SMTP) -> None:
    for _ in range(3):
        send(client)
    assert len(sink.wait_for(3)) == 3


def test_waiting_for_mail_that_does_not_come_fails(sink: MailSink) -> None:
    with pytest.raises(TimeoutError, match="0 of 1"):
        sink.wait_for(1, timeout=0.01)


def test_one_recipient_is_refused_and_the_other_is_not(sink: MailSink, client: smtplib.SMTP) -> None:
    sink.script.reply("RCPT", "550 5.1.1 no such user", match="old@")
    assert send(client, "old@made.example", "new@made.example") == {
        "old@made.example": (550, b"5.1.1 no such user")
    }
    assert sink.wait_for(1)[0].recipients == ("new@made.example",)


def test_a_scripted_reply_comes_as_often_as_ordered_and_after_as_many_as_skipped(
    sink: MailSink, client: smtplib.SMTP
) -> None:
    sink.script.reply("RCPT", "451 4.2.1 busy", times=2, skip=1)
    send(client)
    for _ in range(2):
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            send(client)
    send(client)
    assert len(sink.mails) == 2


@pytest.mark.parametrize("reply", ["451 4.3.0 try later", "554 5.7.1 spam"])
def test_a_mail_refused_after_the_final_dot_is_not_kept(sink: MailSink, client: smtplib.SMTP, reply: str) -> None:
    sink.script.reply("END", reply)
    with pytest.raises(smtplib.SMTPDataError, match=reply[4:7].replace(".", r"\.")):
        send(client)
    assert sink.mails == ()


def test_the_greeting_can_be_a_refusal(sink: MailSink) -> None:
    sink.script.reply("CONNECT", "421 4.3.2 come back later")
    with pytest.raises(smtplib.SMTPConnectError, match="421"):
        smtplib.SMTP("127.0.0.1", sink.port, timeout=10)


def test_a_cut_before_the_message_loses_it(sink: MailSink, client: smtplib.SMTP) -> None:
    sink.script.drop("DATA")
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send(client)
    assert sink.mails == ()


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_cut_after_the_final_dot_leaves_the_client_in_doubt(
    sink: MailSink, client: smtplib.SMTP, *, is_stored: bool
) -> None:
    sink.script.drop("END", is_stored=is_stored)
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send(client)
    assert len(sink.mails) == is_stored


def test_a_late_reply_is_late(sink: MailSink, client: smtplib.SMTP) -> None:
    sink.script.delay("END", 0.2)
    before = time.monotonic()
    send(client)
    assert time.monotonic() - before >= 0.2


def test_a_forgotten_script_changes_nothing(sink: MailSink, client: smtplib.SMTP) -> None:
    sink.script.drop("MAIL", times=5)
    sink.script.clear()
    assert send(client) == {}


def test_nothing_is_taken_from_strangers_where_a_login_is_asked_for() -> None:
    with MailSink(login=("digest", "secret")) as sink, smtplib.SMTP("127.0.0.1", sink.port, timeout=10) as client:
        with pytest.raises(smtplib.SMTPSenderRefused, match="530"):
            send(client)
        with pytest.raises(smtplib.SMTPAuthenticationError):
            client.login("digest", "wrong")
        assert sink.mails == ()


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
def test_whoever_logs_in_is_named(mechanism: str) -> None:
    with MailSink(login=("digest", "secret")) as sink, smtplib.SMTP("127.0.0.1", sink.port, timeout=10) as client:
        client.ehlo()
        client.esmtp_features["auth"] = mechanism
        client.login("digest", "secret")
        send(client)
        assert sink.wait_for(1)[0].login == "digest"


@needs_openssl
def test_starttls_is_demanded_and_its_certificate_can_be_trusted() -> None:
    with MailSink(starttls=True) as sink, smtplib.SMTP("127.0.0.1", sink.port, timeout=10) as client:
        assert sink.url == f"smtp+starttls://127.0.0.1:{sink.port}"
        with pytest.raises(smtplib.SMTPSenderRefused, match="530"):
            send(client)
        client.starttls(context=ssl.create_default_context(cafile=sink.certificate))
        send(client)
        assert sink.wait_for(1)[0].is_encrypted


@needs_openssl
def test_implicit_tls_speaks_tls_from_the_first_byte() -> None:
    with MailSink(implicit_tls=True, login=("digest", "secret")) as sink:
        context = ssl.create_default_context(cafile=sink.certificate)
        with smtplib.SMTP_SSL("127.0.0.1", sink.port, timeout=10, context=context) as client:
            client.login("digest", "secret")
            send(client)
        assert sink.wait_for(1)[0].is_encrypted
        assert sink.url.startswith("smtps://")


@needs_openssl
def test_a_client_that_does_not_know_the_certificate_refuses_it() -> None:
    with MailSink(implicit_tls=True) as sink, pytest.raises(ssl.SSLCertVerificationError):
        smtplib.SMTP_SSL("127.0.0.1", sink.port, timeout=10, context=ssl.create_default_context())


def test_without_openssl_an_encrypted_sink_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigurationError, match="openssl"), MailSink(starttls=True):
        pass
