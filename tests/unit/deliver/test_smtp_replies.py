"""What a mail server's replies mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.deliver.transports.smtp_connection import Stage, classify_reply, read_reply
from digest.model.errors import Refusal


@given(st.integers(400, 499), st.sampled_from(Stage))
def test_a_4xx_reply_is_worth_another_try_at_every_stage(code: int, stage: Stage) -> None:
    failure = classify_reply(stage, code, b"try again later")
    assert not failure.permanent
    assert not failure.ambiguous


@given(st.integers(500, 599), st.sampled_from(Stage))
def test_a_5xx_reply_is_final_and_certain_at_every_stage(code: int, stage: Stage) -> None:
    failure = classify_reply(stage, code, b"no")
    assert failure.permanent
    assert not failure.ambiguous


@given(st.integers(-1, 999).filter(lambda code: not 400 <= code <= 599), st.sampled_from(Stage))
def test_a_reply_outside_the_protocol_leaves_the_fate_open_only_after_the_final_dot(
    code: int, stage: Stage
) -> None:
    failure = classify_reply(stage, code, b"?")
    assert failure.ambiguous == (stage is Stage.FINAL)
    assert not failure.permanent


@pytest.mark.parametrize(
    ("stage", "code", "reply", "reaches_every_mail"),
    [
        (Stage.GREETING, 554, b"no mail service here", True),
        (Stage.LOGIN, 535, b"5.7.8 bad credentials", True),
        (Stage.RECIPIENT, 530, b"5.7.0 authentication required", True),
        (Stage.SENDER, 550, b"5.7.1 sender refused", True),
        (Stage.SENDER, 552, b"5.3.4 message too big", False),
        (Stage.SENDER, 421, b"4.3.2 shutting down", True),
        (Stage.RECIPIENT, 421, b"4.7.0 try again later", False),
        (Stage.RECIPIENT, 454, b"4.7.0 try again later", False),
        (Stage.LOGIN, 454, b"4.7.0 temporary authentication failure", True),
        (Stage.FINAL, 421, b"4.3.0 closing", False),
        (Stage.RECIPIENT, 550, b"5.1.1 no such mailbox", False),
        (Stage.RECIPIENT, 452, b"4.2.2 mailbox full", False),
        (Stage.FINAL, 554, b"5.7.1 looks like spam", False),
        (
            Stage.RECIPIENT,
            554,
            b"5.7.1 <unknown[172.17.0.2]>: Client host rejected: Access denied",
            True,
        ),
        (
            Stage.RECIPIENT,
            550,
            b"5.1.8 <d@no.example>: Sender address rejected: Domain not found",
            True,
        ),
        (
            Stage.RECIPIENT,
            450,
            b"4.7.1 <[172.17.0.2]>: Helo command rejected: Host not found",
            True,
        ),
        (
            Stage.RECIPIENT,
            450,
            b"4.7.25 Client host rejected: cannot find your hostname, [172.17.0.2]",
            True,
        ),
        (Stage.RECIPIENT, 454, b"4.7.1 <r@example.org>: Relay access denied", True),
        (
            Stage.RECIPIENT,
            504,
            b"5.5.2 <demo>: Helo command rejected: need fully-qualified hostname",
            True,
        ),
        (Stage.RECIPIENT, 550, b"5.7.1 no", True),
        (Stage.RECIPIENT, 550, b"relay not permitted", True),
        (Stage.RECIPIENT, 550, b"REJECTED because of HELO", True),
        (
            Stage.DATA,
            554,
            b"5.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.example",
            True,
        ),
        (Stage.FINAL, 550, b"5.7.26 unauthenticated: SPF and DKIM did not pass", True),
        (
            Stage.RECIPIENT,
            550,
            b"5.7.23 <r@x.example>: Recipient address rejected: due to SPF fail",
            True,
        ),
        (
            Stage.RECIPIENT,
            450,
            b"4.2.0 <r@x.example>: Recipient address rejected: Greylisted",
            False,
        ),
        (Stage.RECIPIENT, 450, b"4.7.1 Client host rejected: Greylisting in action", False),
        (Stage.RECIPIENT, 451, b"4.3.0 Temporary lookup failure", False),
        (
            Stage.RECIPIENT,
            550,
            b"5.1.1 <r@x.example>: User unknown in relay recipient table",
            False,
        ),
        (Stage.RECIPIENT, 556, b"5.1.10 sender and recipient: null MX", False),
        (Stage.RECIPIENT, 550, b"<helo.sender@x.example>: no", False),
        (
            Stage.RECIPIENT,
            554,
            b"5.7.1 <r@x.example>: Recipient address rejected: Access denied",
            False,
        ),
        (
            Stage.RECIPIENT,
            550,
            b"5.4.1 Recipient address rejected: Access denied. [eop.example]",
            False,
        ),
        (
            Stage.RECIPIENT,
            550,
            b"rejected because 192.0.2.1 is in a black list at bl.example",
            True,
        ),
        (
            Stage.RECIPIENT,
            550,
            b"(mx) [192.0.2.1] is currently not permitted to relay through us",
            True,
        ),
        (
            Stage.RECIPIENT,
            553,
            b"sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
            True,
        ),
        (Stage.RECIPIENT, 550, b"sorry, no mailbox here by that name, see our ip. (#5.1.1)", False),
        (Stage.RECIPIENT, 554, b"Blocked - see https://check.example/?ip=2001:db8::1", True),
        (Stage.RECIPIENT, 550, b'"JunkMail rejected - [2001:db8::1]:42 is in an RBL"', True),
        (Stage.RECIPIENT, 550, b"access denied: AUTH first (#5.5.1)", True),
        (
            Stage.RECIPIENT,
            450,
            b"4.7.1 Client host rejected: Service temporarily unavailable",
            False,
        ),
    ],
)
def test_what_concerns_the_login_or_the_server_reaches_every_mail_and_the_rest_this_one(
    stage: Stage, code: int, reply: bytes, *, reaches_every_mail: bool
) -> None:
    assert classify_reply(stage, code, reply).whole_transport == reaches_every_mail


@pytest.mark.parametrize(
    ("stage", "code", "reply", "refusal"),
    [
        (Stage.GREETING, 554, b"no mail service here", Refusal.ACCOUNT),
        (Stage.LOGIN, 535, b"5.7.8 bad credentials", Refusal.ACCOUNT),
        (Stage.SENDER, 530, b"5.7.0 authentication required", Refusal.ACCOUNT),
        (Stage.SENDER, 550, b"5.7.1 sender refused", Refusal.ACCOUNT),
        (Stage.RECIPIENT, 530, b"5.7.0 authentication required", Refusal.PLACE),
        (Stage.RECIPIENT, 550, b"5.1.8 Sender address rejected: Domain not found", Refusal.PLACE),
        (Stage.RECIPIENT, 450, b"4.7.1 Helo command rejected: Host not found", Refusal.PLACE),
        (Stage.FINAL, 550, b"5.7.26 unauthenticated: SPF and DKIM did not pass", Refusal.PLACE),
        (Stage.RECIPIENT, 550, b"5.1.1 no such mailbox", Refusal.READER),
        (Stage.RECIPIENT, 550, b"sorry, no mailbox here by that name (#5.1.1)", Refusal.READER),
        (
            Stage.FINAL,
            554,
            (
                b"Message rejected: Email address is not verified. The following "
                b"identities failed the check"
            ),
            Refusal.PLACE,
        ),
        (Stage.FINAL, 554, b"Transaction failed: Sending paused for this account.", Refusal.PLACE),
        (Stage.FINAL, 554, b"Message rejected: your account is suspended", Refusal.PLACE),
        (Stage.FINAL, 554, b"5.2.252 SendAsDenied; me not allowed to send as you", Refusal.PLACE),
        (
            Stage.FINAL,
            554,
            b"5.2.0 STOREDRV.Submission.Exception:SendAsDeniedException",
            Refusal.PLACE,
        ),
        (
            Stage.FINAL,
            554,
            b"5.2.0 STOREDRV.Submission.Exception:OutboundSpamException",
            Refusal.PLACE,
        ),
        (Stage.FINAL, 550, b"5.7.1 [OVH] Account has been blocked for spam", Refusal.PLACE),
        (Stage.FINAL, 550, b"5.7.750 Client blocked from sending from it", Refusal.PLACE),
        (Stage.FINAL, 550, b"5.7.1 Unconfigured Sending Domain <example.org>", Refusal.PLACE),
        (Stage.FINAL, 550, b"5.7.1 Invalid credentials for this service", Refusal.PLACE),
        (Stage.FINAL, 554, b"5.6.0 please send as plain text", None),
        (Stage.RECIPIENT, 550, b"Account disabled: contact support", None),
        (Stage.RECIPIENT, 550, b"no", None),
        (Stage.FINAL, 554, b"5.7.1 looks like spam", None),
    ],
)
def test_what_is_refused_has_a_code_and_only_what_comes_before_any_recipient_is_of_the_account(
    stage: Stage, code: int, reply: bytes, refusal: Refusal | None
) -> None:
    failure = classify_reply(stage, code, reply)
    assert (failure.permanent, failure.refusal) == (True, refusal)


@pytest.mark.parametrize(
    ("stage", "code", "reply", "word"),
    [
        (Stage.RECIPIENT, 550, b"5.7.1 relaying denied", "policy"),
        (Stage.RECIPIENT, 552, b"5.2.2 quota exceeded", "full"),
        (Stage.RECIPIENT, 550, b"5.1.1 unknown", "Check the address"),
        (Stage.LOGIN, 535, b"5.7.8 no", "password"),
        (Stage.RECIPIENT, 450, b"4.7.1 Helo command rejected: Host not found", "`mail.helo`"),
        (Stage.SENDER, 553, b"5.1.8 sender not allowed", "`mail.from`"),
    ],
)
def test_a_refusal_tells_the_operator_what_to_look_at(
    stage: Stage, code: int, reply: bytes, word: str
) -> None:
    assert word in classify_reply(stage, code, reply).hint
    assert (
        "take it out" not in classify_reply(stage, code, reply).hint or word == "Check the address"
    )


@given(st.binary(max_size=2000))
def test_a_reply_is_shown_as_one_short_printable_line(reply: bytes) -> None:
    text = read_reply(reply)
    assert len(text) <= 300
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text)
