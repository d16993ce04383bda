"""What mail servers say when there was too much: of ours, or of a reader's."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from digest.deliver.rules import Step, Tries, decide_failure
from digest.deliver.transports.smtp_connection import Stage, classify_reply
from digest.deliver.transports.smtp_replies import LimitReached, find_cause
from digest.model.errors import DeliveryError
from tests.unit.deliver.test_rules import NOW

CONNECT, LOGIN, MAIL, RCPT, DATA, END = Stage

OURS = [
    # Gmail and Google Workspace
    (
        RCPT,
        550,
        "5.4.5 Daily user sending limit exceeded. For more information on Gmail limits go to …",
    ),
    (END, 550, "5.4.5 Daily SMTP relay sending limit exceeded for customer. - gsmtp"),
    (RCPT, 550, "5.7.1 Daily SMTP relay limit exceeded for user you@example.org"),
    (
        END,
        421,
        "4.7.28 Gmail has detected an unusual rate of unsolicited mail from your IP address",
    ),
    (LOGIN, 454, "4.7.0 Too many login attempts, please try again later. - gsmtp"),
    # Exchange, Outlook and Microsoft 365
    (
        RCPT,
        554,
        "5.1.90 Your message can't be sent because you've reached your daily limit for recipients",
    ),
    (
        RCPT,
        550,
        (
            "5.7.232 Your message can't be sent: your tenant exceeded its daily limit "
            "for external recipients"
        ),
    ),
    (RCPT, 550, "5.7.705 Access denied, tenant has exceeded threshold"),
    (
        END,
        554,
        (
            "5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException; "
            "Failed to process message"
        ),
    ),
    (END, 550, "5.2.2 Submission quota exceeded"),
    (
        MAIL,
        432,
        "4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded [Hostname=mail.example]",
    ),
    (MAIL, 421, "4.4.2 Message submission rate for this client has exceeded the configured limit"),
    (
        CONNECT,
        421,
        "4.3.2 The maximum number of concurrent server connections has exceeded a limit",
    ),
    # Postfix: anvil, and policy servers such as policyd and postfwd
    (CONNECT, 421, "4.7.0 mx.example.org Error: too many connections from 192.0.2.1"),
    (MAIL, 450, "4.7.1 Error: too much mail from 192.0.2.1"),
    (
        RCPT,
        450,
        (
            "4.7.1 <you@uni.example>: Sender address rejected: Rate limit of 100 "
            "messages per hour reached"
        ),
    ),
    (
        RCPT,
        554,
        "5.7.1 <you@uni.example>: Sender address rejected: quota exceeded: 500 recipients a day",
    ),
    # Exim, cPanel and DirectAdmin
    (RCPT, 550, "You (web12) have reached your daily email limit at server.example.org"),
    (RCPT, 452, "Sender rate 61.2 / 1h is over the limit of 60"),
    (CONNECT, 421, "Too many concurrent SMTP connections; please try again later."),
    # Amazon SES, SendGrid, Mailgun
    (END, 454, "Throttling failure: Daily message quota exceeded."),
    (END, 454, "Throttling failure: Maximum sending rate exceeded."),
    (LOGIN, 451, "Authentication failed: Maximum credits exceeded"),
    (
        RCPT,
        550,
        "5.7.1 Domain mg.example.org is not allowed to send: hourly message limit exceeded",
    ),
    # OVH, GMX, Yandex, Zoho, Fastmail, Yahoo
    (RCPT, 550, "5.7.1 Your account has sent too many mails: hourly quota of 200 reached"),
    (RCPT, 450, "Requested mail action not taken: mailbox unavailable. Mail send limit exceeded."),
    (END, 451, "4.5.1 The sender has exceeded message rate limit. Try again later."),
    (END, 550, "5.4.6 Unusual sending activity detected. Please try after sometime"),
    (RCPT, 451, "4.7.1 <ada@example.org>: Recipient address rejected: Sending rate limit exceeded"),
    (LOGIN, 535, "5.7.0 (#AUTH005) Too many bad auth attempts."),
    # Anybody
    (MAIL, 552, "Quota exceeded"),
    (MAIL, 550, "5.2.2 The mailbox of the sender is full"),
    (RCPT, 550, "5.2.2 You’ve exceeded the number of mails for today"),
    (RCPT, 552, "Daily sending quota exceeded"),
    (RCPT, 550, "5.7.1 Mailbox you@example.org has exceeded its sending limit"),
    (CONNECT, 554, "5.7.1 This host is throttled"),
    (END, 550, "Message rejected: sender exceeded 100 messages per day"),
    # Plans, caps and credits
    (RCPT, 554, "Sorry, your plan allows only 300 mails a day"),
    (END, 554, "5.7.1 You reached the maximum of messages for today"),
    (RCPT, 550, "You have exceeded your hourly message allowance"),
    (RCPT, 554, "5.7.1 Policy rejection: too many messages from this sender"),
    (END, 550, "5.7.236 Message not sent; your organization has exceeded MOERA limits"),
    (MAIL, 554, "5.7.0 Cap reached"),
]

PERHAPS_OURS = [
    (RCPT, 452, "4.5.3 Your message has too many recipients. For more information go to …"),
    (
        RCPT,
        451,
        "4.7.652 The mail server [192.0.2.1] has exceeded the maximum number of connections",
    ),
    (RCPT, 450, "4.7.1 <ada@example.org>: Recipient address rejected: Quota exceeded"),
    (
        RCPT,
        554,
        (
            "5.7.1 <ada@example.org>: Recipient address rejected: sorry, max 100 mails "
            "per hour exceeded"
        ),
    ),
    (
        END,
        550,
        (
            "Domain example.org has exceeded the max emails per hour (200/200 (100%)) "
            "allowed. Message discarded."
        ),
    ),
    (DATA, 421, "4.7.0 Too many messages, slow down"),
    (DATA, 554, "Tageslimit erreicht, bitte morgen wieder versuchen"),
    (END, 550, "Limite d'envoi atteinte: quota dépassé"),
    (RCPT, 571, "Over the allowed number of mails for this hour"),
    (RCPT, 554, "5.7.0 Daily email cap reached"),
    (RCPT, 550, "5.7.1 Hourly mails cap hit for you@example.org"),
    (RCPT, 550, "5.7.1 Out of credit"),
    (END, 550, "Message count per hour exceeded"),
    (RCPT, 550, "Message allowance used up"),
    (RCPT, 550, "Monthly allotment of messages is gone"),
    (RCPT, 554, "No more messages today, limit of 200"),
    (RCPT, 422, "quota exceeded"),
    (RCPT, 450, "4.7.1 You are being rate-limited"),
    (RCPT, 550, "Your messages are limited to 100 mails per day"),
]

UNCLEAR = [
    (RCPT, 550, "Quota exceeded"),
    (RCPT, 550, "5.7.1 Kontingent erschöpft"),
    (RCPT, 554, "5.7.1 <ada@example.org>: Recipient address rejected: Message rate limit exceeded"),
    (RCPT, 550, "5.7.1 <ada@example.org>: Recipient address rejected: too many messages"),
]

NOT_OURS = [
    (
        RCPT,
        452,
        "4.2.2 The recipient's inbox is out of storage space. Please direct the recipient to …",
    ),
    (
        RCPT,
        452,
        (
            "4.2.2 The email account that you tried to reach is over quota. Please "
            "direct the recipient to …"
        ),
    ),
    (
        RCPT,
        450,
        (
            "4.2.1 The user you are trying to contact is receiving mail at a rate that "
            "prevents more messages"
        ),
    ),
    (
        END,
        554,
        (
            "5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException; "
            "Failed to process message"
        ),
    ),
    (
        RCPT,
        552,
        "5.2.2 <ada@example.org>: Recipient address rejected: Mailbox is full / Quota exceeded",
    ),
    (RCPT, 552, "Quota exceeded"),
    (RCPT, 552, "Requested mail action aborted: exceeded storage allocation"),
    (RCPT, 550, "5.2.2 <ada@example.org>: user is over quota"),
    (RCPT, 550, "Mailbox quota exceeded"),
    (RCPT, 550, "User mailbox exceeds allowed size"),
    (RCPT, 554, "ada@example.org: over quota"),
    (RCPT, 451, "4.5.1 The recipient has exceeded message rate limit. Try again later."),
    (RCPT, 422, "The recipient's mailbox is over its storage limit"),
    (END, 452, "4.2.2 Disk quota exceeded"),
    (RCPT, 550, "5.1.1 <limit@example.org>: no such user, rate 1"),
    (MAIL, 552, "5.3.4 Message size exceeds fixed limit"),
    (RCPT, 550, "5.2.3 Message exceeds the administrative limit"),
    (END, 554, "5.3.4 Limit exceeded"),
    (RCPT, 450, "4.7.1 Too many messages for this recipient, try later"),
    (RCPT, 550, "The recipient exceeded the rate of mails"),
    (RCPT, 552, "5.2.3 Your message exceeded Google's message size limits"),
    (END, 554, "5.4.14 Hop count exceeded - possible mail loop"),
    (END, 554, "5.4.6 Too many hops"),
    (END, 554, "5.7.1 Spam score 9.1 exceeded the limit of 5"),
    (END, 500, "Line too long: limit is 998"),
    (DATA, 421, "4.4.2 mx.example.org Error: timeout exceeded"),
    (RCPT, 450, "4.2.0 <ada@example.org>: Recipient address rejected: Greylisted"),
    (RCPT, 550, "5.7.1 No delimiter, and moderated by a corporate operator"),
    (RCPT, 550, "<too.many.limits@quota.example>: no"),
    (RCPT, 554, "no: see https://help.example/sending-limits-exceeded"),
    (RCPT, 550, "No such user here; number of attempts exceeded"),
    (RCPT, 550, "5.1.1 User unknown; try again in a day, or send at a lower rate"),
    (RCPT, 550, "Sorry, this user's daily incoming mail limit has been reached"),
    (
        RCPT,
        550,
        "5.7.1 <ada@example.org>: Recipient address rejected: this list is limited to members",
    ),
    (
        RCPT,
        450,
        (
            "4.7.1 <ada@example.org>: Recipient address rejected: Greylisted (rate "
            "limit for new senders)"
        ),
    ),
    (END, 554, "5.7.1 Rejected: maximum number of MIME parts exceeded"),
    (END, 550, "5.6.0 maximum header line exceeded 998"),
    (END, 554, "5.7.0 content rejected: spam rate too high"),
    (END, 554, "5.7.0 content rejected: credit card numbers"),
    (
        END,
        552,
        "This message is larger than the current system limit of 10 MB",
    ),
    (RCPT, 452, "The mailbox is full, try again in an hour"),
    (RCPT, 550, "5.7.1 This address only accepts mail from a limited set of senders"),
    (RCPT, 554, "5.7.1 User account is limited"),
]


def read_as_limit(stage: Stage, code: int, said: str) -> DeliveryError:
    failure = classify_reply(stage, code, said)
    assert "your mail server's limit of" in failure.message
    assert failure.message.endswith(said.rstrip("."))
    assert not failure.permanent
    assert not failure.ambiguous
    assert "address" not in failure.hint
    return failure


@pytest.mark.parametrize(("stage", "code", "said"), OURS)
def test_a_limit_of_the_sender_passes_concerns_every_mail_and_blames_no_address(
    stage: Stage, code: int, said: str
) -> None:
    failure = read_as_limit(stage, code, said)
    assert isinstance(failure, LimitReached)
    assert failure.whole_transport


@pytest.mark.parametrize(("stage", "code", "said"), PERHAPS_OURS)
def test_what_may_be_a_limit_of_the_sender_passes_and_is_of_all_if_others_are_told_so(
    stage: Stage, code: int, said: str
) -> None:
    failure = read_as_limit(stage, code, said)
    assert isinstance(failure, LimitReached)
    assert not failure.whole_transport


@pytest.mark.parametrize(("stage", "code", "said"), UNCLEAR)
def test_a_limit_that_does_not_say_whose_passes_and_concerns_its_mail_alone(
    stage: Stage, code: int, said: str
) -> None:
    failure = read_as_limit(stage, code, said)
    assert not isinstance(failure, LimitReached)
    assert not failure.whole_transport


@pytest.mark.parametrize(("stage", "code", "said"), [*PERHAPS_OURS, *UNCLEAR])
def test_a_limit_that_may_be_a_readers_ends_after_the_usual_time(
    stage: Stage, code: int, said: str
) -> None:
    failure = classify_reply(stage, code, said)
    for days, expected in ((1, Step.RETRY), (5.5, Step.GIVE_UP)):
        tried = Tries(12, NOW - timedelta(days=days))
        step = decide_failure(failure, settling=NOW - NOW, tries=tried, now=NOW, jitter=0.5)
        assert step.step is expected


@pytest.mark.parametrize(("stage", "code", "said"), NOT_OURS)
def test_what_a_reader_or_one_mail_has_too_much_of_is_no_limit_of_ours(
    stage: Stage, code: int, said: str
) -> None:
    failure = classify_reply(stage, code, said)
    assert "limit of mails" not in failure.message
    assert not isinstance(failure, LimitReached)
    assert failure.permanent == (code >= 500)


def test_a_full_mailbox_is_told_as_one_in_either_class_of_code() -> None:
    for code in (452, 552, 550):
        assert "mailbox is full" in classify_reply(RCPT, code, f"{code // 100}.2.2 over quota").hint


def test_a_limit_that_stands_for_weeks_loses_no_mail_and_is_tried_within_a_day() -> None:
    failure = classify_reply(RCPT, 550, "5.4.5 Daily user sending limit exceeded")
    for tries in (0, 1, 5, 12, 60, 600):
        since = NOW.replace(month=10)
        tried = Tries(tries, since)
        step = decide_failure(failure, settling=NOW - NOW, tries=tried, now=NOW, jitter=0.999)
        assert step.step is Step.RETRY
        assert (step.not_before - NOW).total_seconds() <= 6 * 3600


@pytest.mark.parametrize(
    "piece", ["a", "quota ", "send ", "too many ", "mailbox ", "4.2.", "requested ", "tls "]
)
def test_the_time_to_read_an_answer_grows_as_its_length(piece: str) -> None:
    def measure(times: int) -> float:
        text = piece * times
        took = []
        for _ in range(3):
            began = time.thread_time()
            find_cause(f"550 {text}", is_early=False)
            took.append(time.thread_time() - began)
        return min(took)

    assert measure(16_000) < 32 * measure(2_000)  # eight times as long
