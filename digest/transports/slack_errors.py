"""What Slack's answers mean for a delivery.

Sources: the error lists of chat.postMessage, conversations.list and conversations.history
(docs.slack.dev/reference/methods), and Slack's pages on rate limits and incoming webhooks.
"""

from __future__ import annotations

from http import HTTPStatus

from digest.errors import DeliveryError
from digest.transports.http import Answer, judge_status, read_retry_after

TOO_LARGE = frozenset({"msg_blocks_too_long", "msg_too_long"})
"""Not stored; less of it may be. The sum of all text in blocks is limited, undocumented, and told by no number."""

_HOURS = 3600.0
"""Seconds to wait where Slack says a state lasts hours."""

AMBIGUOUS = frozenset(
    {
        "internal_error",
        "fatal_error",
        "request_timeout",
        "service_unavailable",
        "duplicate_message_not_found",
        "duplicate_channel_not_found",
    }
)
"""Part of it may have succeeded, says Slack; or a message of ours is known there, but not shown."""

WAIT: dict[str, float | None] = {
    "ratelimited": None,
    "rate_limited": None,
    "message_limit_exceeded": _HOURS,
    "team_added_to_org": _HOURS,
    "org_login_required": _HOURS,
}
"""Not stored; may be stored later. Seconds where Slack's description implies them."""

_TOKEN = "Check DIGEST_SLACK_TOKEN: install the app again and take over its bot token (xoxb-…)."  # noqa: S105 - a hint, no secret
_ADMIN = "Ask the workspace's administrators to let the app post."
_INVITE = "Write /invite @… with the app's name in that channel, and check the channel's name or id."

WORKSPACE: dict[str, str] = {
    "invalid_auth": f"{_TOKEN} Slack says the same where the app allows other networks only.",
    "not_authed": _TOKEN,
    "account_inactive": _TOKEN,
    "token_revoked": _TOKEN,
    "token_expired": _TOKEN,
    "not_allowed_token_type": _TOKEN,
    "no_permission": _ADMIN,
    "missing_scope": "Add the scope under OAuth & Permissions, and install the app again.",
    "app_access_restricted": _ADMIN,
    "access_denied": _ADMIN,
    "ekm_access_denied": _ADMIN,
    "team_access_not_granted": _ADMIN,
    "enterprise_is_restricted": _ADMIN,
    "two_factor_setup_required": "The account behind the token must set up two-factor sign-in.",
    "accesslimited": "The workspace does not allow this network: ask its administrators.",
    "metadata_must_be_sent_from_app": _TOKEN,
}
"""The token or the workspace: nothing goes out anywhere until the operator mends it."""

DESTINATION: dict[str, str] = {
    "channel_not_found": _INVITE,
    "not_in_channel": _INVITE,
    "is_archived": "Unarchive the channel, or name another.",
    "messages_tab_disabled": "Switch on the app's Messages tab (App Home), or name a channel.",
    "channel_is_limited_access": _ADMIN,
    "user_not_found": "Check the id.",
    "cannot_dm_bot": "Name a channel, or a person's id.",
    "team_not_found": "With an organisation's token, write the channel's id instead of its name.",
    "cannot_reply_to_message": "The first part can't be replied to.",
    "thread_not_found": "The first part is gone.",
}
"""This channel only."""


def judge_answer(method: str, answer: Answer, *, is_post: bool) -> DeliveryError:
    """Turn an answer that is not ok into an error. Only a post can be ambiguous."""
    if answer.status != HTTPStatus.OK:
        return judge_status("Slack", answer, is_post=is_post)
    code = answer.text("error")
    if answer.get("ok") is not False or not code.replace("_", "").isalnum():
        return _judge_unreadable(is_post=is_post)
    if code in WAIT:
        return DeliveryError(
            f"Slack asks to wait: {code}",
            retry_after=read_retry_after(answer) or WAIT[code],
            whole_transport=WAIT[code] is not None,
        )
    if code in AMBIGUOUS:
        return DeliveryError(f"Slack failed inside: {code}", ambiguous=is_post)
    return _judge_refusal(method, code, answer)


def _judge_unreadable(*, is_post: bool) -> DeliveryError:
    return DeliveryError(
        "Slack's answer can't be read (HTTP 200)",
        ambiguous=is_post,
        hint="Something else may answer at the configured address: check it, and any proxy on the way.",
    )


def _judge_refusal(method: str, code: str, answer: Answer) -> DeliveryError:
    if code in WORKSPACE:
        needed = f" (needs {answer.text('needed')})" if answer.text("needed") else ""
        return DeliveryError(
            f"Slack refused {method}: {code}{needed}",
            permanent=True,
            whole_transport=True,
            hint=WORKSPACE[code],
        )
    if code in DESTINATION or code.startswith("restricted_action"):
        return DeliveryError(
            f"Slack refused {method}: {code}",
            permanent=True,
            hint=DESTINATION.get(code, "A setting of the workspace or channel forbids posting there."),
        )
    if code in TOO_LARGE:
        return DeliveryError(f"Slack refused {method}: {code}", permanent=True, too_large=True)
    if is_our_fault(code):
        details = "; ".join(_read_details(answer))
        return DeliveryError(
            f"Slack does not understand {method}: {code}{f' ({details})' if details else ''}",
            permanent=True,
            hint="The message itself is wrong: check changed Slack templates, or report it as a fault of Digest.",
        )
    return DeliveryError(f"Slack refused {method}: {code}")


def is_our_fault(code: str) -> bool:
    """Tell whether the error says that the call itself is wrong, and would be wrong anywhere."""
    words = (
        "invalid_",
        "too_many_",
        "too_long",
        "too_large",
        "limit_exceeded",
        "markdown_text_conflict",
        "no_text",
    )
    others = ("json_not_object", "missing_post_type", "missing_charset", "unknown_method", "missing_argument")
    return any(word in code for word in words) or code in others


def _read_details(answer: Answer) -> list[str]:
    for path in (("response_metadata", "messages"), ("errors",)):
        values = answer.get(*path)
        if isinstance(values, list) and values:
            return [str(value)[:200] for value in values[:5]]
    return []
