"""What Slack's answers mean."""

from __future__ import annotations

import pytest

from digest.deliver.transports.slack import (
    AMBIGUOUS,
    DESTINATION,
    THREAD,
    WAIT,
    WORKSPACE,
    SlackAnswer,
    classify_answer,
)
from digest.model.errors import DeliveryError, Refusal


def _judge(error: str, *, is_post: bool = True, **more: object) -> DeliveryError:
    data = {"ok": False, "error": error} | more
    return classify_answer("chat.postMessage", SlackAnswer(200, {}, data), is_post=is_post)


@pytest.mark.parametrize("code", sorted(AMBIGUOUS))
def test_an_error_that_may_have_half_succeeded_is_ambiguous_for_a_post_and_harmless_for_a_look(
    code: str,
) -> None:
    assert _judge(code).ambiguous
    assert not _judge(code, is_post=False).ambiguous
    assert not _judge(code).permanent


@pytest.mark.parametrize("code", sorted(WAIT))
def test_an_error_that_passes_is_neither_permanent_nor_ambiguous(code: str) -> None:
    failure = _judge(code)
    assert not failure.permanent
    assert not failure.ambiguous


def test_states_that_last_hours_ask_for_an_hour_and_stop_the_workspace() -> None:
    failure = _judge("org_login_required")
    assert failure.retry_after == 3600
    assert failure.whole_transport
    assert _judge("ratelimited").retry_after is None
    assert not _judge("ratelimited").whole_transport


OUR_FAULTS = (
    *(
        "invalid_blocks",
        "invalid_blocks_format",
        "invalid_metadata_format",
        "invalid_metadata_schema",
    ),
    *("metadata_too_large", "no_text", "too_many_attachments", "attachment_payload_limit_exceeded"),
    *("markdown_text_conflict", "invalid_arguments", "json_not_object"),
)


@pytest.mark.parametrize(
    ("code", "refusal", "hint"),
    [
        *((code, Refusal.ACCOUNT, "") for code in sorted(WORKSPACE)),
        *(
            (code, Refusal.PLACE, "")
            for code in (*sorted(DESTINATION), "restricted_action_read_only_channel")
        ),
        *((code, Refusal.PLACE, "/invite") for code in ("not_in_channel", "channel_not_found")),
        *((code, Refusal.CONTENT, "template") for code in OUR_FAULTS),
        *((code, Refusal.CONTENT, "first part") for code in sorted(THREAD)),
    ],
)
def test_an_error_that_lasts_is_permanent_with_a_hint_and_stops_those_it_concerns(
    code: str, refusal: Refusal, hint: str
) -> None:
    failure = _judge(code)
    assert (failure.permanent, failure.refusal) == (True, refusal)
    assert failure.whole_transport == (refusal is Refusal.ACCOUNT)
    assert failure.hint
    assert hint in failure.hint


def test_the_classes_do_not_overlap() -> None:
    classes: list[set[str]] = [
        set(AMBIGUOUS),
        set(WAIT),
        set(WORKSPACE),
        set(DESTINATION),
        set(THREAD),
    ]
    assert sum(map(len, classes)) == len(set().union(*classes))


def test_a_missing_scope_is_named() -> None:
    failure = _judge("missing_scope", needed="channels:history", provided="chat:write")
    assert "channels:history" in failure.message
    assert (failure.permanent, failure.refusal) == (True, Refusal.ACCOUNT)
    looked_up = classify_answer(
        "conversations.list",
        SlackAnswer(200, {}, {"ok": False, "error": "missing_scope"}),
        is_post=False,
    )
    assert looked_up.refusal is Refusal.PLACE, "channels named by their ids need no look-up"


def test_what_slack_says_about_wrong_blocks_is_passed_on() -> None:
    details = ["[ERROR] must be less than 3001 characters [json-pointer:/blocks/2/text/text]"]
    failure = _judge("invalid_blocks", response_metadata={"messages": details})
    assert "/blocks/2/text/text" in failure.message
    assert "no more than 3000" in _judge("invalid_blocks", errors=["no more than 3000"]).message


def test_an_unknown_refusal_is_tried_again_within_the_callers_limits() -> None:
    failure = _judge("something_new")
    assert (failure.permanent, failure.refusal) == (False, None)
    assert not failure.ambiguous
    assert "something_new" in failure.message


@pytest.mark.parametrize(
    "data", [{}, [], None, "ok", {"ok": True}, {"ok": False}, {"ok": False, "error": "Not JSON: <"}]
)
def test_an_unreadable_answer_under_200_leaves_a_posts_fate_open(data: object) -> None:
    failure = classify_answer("chat.postMessage", SlackAnswer(200, {}, data), is_post=True)
    assert failure.ambiguous
    assert not failure.permanent


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_a_server_failure_leaves_a_posts_fate_open(status: int) -> None:
    assert classify_answer("chat.postMessage", SlackAnswer(status, {}, {}), is_post=True).ambiguous
    assert not classify_answer(
        "conversations.list", SlackAnswer(status, {}, {}), is_post=False
    ).ambiguous


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 403, 404, 407, 413])
def test_a_redirect_or_a_refused_request_was_not_stored_and_needs_the_operator(status: int) -> None:
    failure = classify_answer("chat.postMessage", SlackAnswer(status, {}, {}), is_post=True)
    assert (failure.permanent, failure.refusal) == (True, Refusal.ACCOUNT)
    assert failure.whole_transport
    assert not failure.ambiguous


def test_the_wait_slack_asks_for_is_kept() -> None:
    answer = SlackAnswer(429, {"retry-after": "30"}, {})
    assert classify_answer("chat.postMessage", answer, is_post=True).retry_after == 30.0


@pytest.mark.parametrize("code", ["msg_blocks_too_long", "msg_too_long"])
def test_a_message_that_is_too_large_says_so_and_stops_nobody_else(code: str) -> None:
    failure = _judge(code)
    assert (failure.too_large, failure.permanent, failure.refusal) == (True, True, Refusal.CONTENT)
