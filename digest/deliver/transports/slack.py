"""Posts by Slack's Web API, judges its answers, and finds a message again by its metadata.

Scopes: `chat:write` to post; `channels:read` and `groups:read` to find channels by name;
`channels:history` and `groups:history` to find out whether a post of unknown fate arrived.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from itertools import chain
from typing import Any
from urllib.request import Request

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from digest.config.addresses import ChooseProxy
from digest.deliver.transports.http import TIMEOUT, WHOLE, classify_exchange_error, classify_status
from digest.model.clock import monotonic
from digest.model.destinations import Destination
from digest.model.errors import ConfigurationError, DeliveryError, Refusal
from digest.model.messages import IsOurs, Message, Receipt, always_ours, require_ours
from digest.model.said import NOTHING, Said, Saying
from digest.wire import ExchangeError, HttpAnswer, Wire

SLACK_URL = "https://slack.com/api/"

_ID = re.compile(r"[CDGUW][A-Z0-9]{7,}", re.ASCII)
"""Channels, direct messages, old private channels, people."""

_PAGE = 999
"""The most that `conversations.list` gives at once."""

_HISTORY_PAGE = 100
_MOST_PAGES = 100
"""Pages of a history read before it counts as endless."""

_MOST_LISTED = 20
"""Pages of channels, some 20,000: Slack gives so many in a minute (tier 2)."""

_AROUND = timedelta(days=1)
"""How long before and after its start a post is searched for.

A clock may be hours off, and a process may have been paused.
"""

_LISTED_FOR = 900.0
"""Seconds a list of channels is relied upon."""

_LOGGER = logging.getLogger(__name__)
_LOGGER_SLACK_CLIENT = logging.getLogger("slack_sdk.digest")

_UNREADABLE = (ValueError, LookupError, RecursionError, AttributeError)
"""What reading an answer may end in that makes no sense.

Slack_sdk expects every one to be an object of JSON.
"""

_LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes; a page of channels has some two million."""

TOO_LARGE = frozenset({"msg_blocks_too_long", "msg_too_long"})
"""Not stored; less of it may be.

The sum of all text in blocks is limited, undocumented, and without a number.
"""

_HOURS = 3600.0
"""Seconds to wait if Slack says a state lasts hours."""

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
"""Not stored; may be stored later. Seconds if Slack's description implies them."""

WORKSPACE = {
    "invalid_auth": Saying.TOKEN_OR_NETWORK,
    "not_authed": Saying.TOKEN,
    "account_inactive": Saying.TOKEN,
    "token_revoked": Saying.TOKEN,
    "token_expired": Saying.TOKEN,
    "not_allowed_token_type": Saying.TOKEN,
    "metadata_must_be_sent_from_app": Saying.TOKEN,
    "ekm_access_denied": Saying.ASK_ADMINS,
    "app_access_restricted": Saying.ASK_ADMINS,
    "enterprise_is_restricted": Saying.ASK_ADMINS,
    "missing_scope": Saying.ADD_SCOPE,
    "two_factor_setup_required": Saying.TWO_FACTORS,
    "accesslimited": Saying.NETWORK_NOT_ALLOWED,
}
"""The token or the workspace: nothing goes out anywhere until the operator mends it."""

DESTINATION = {
    "channel_not_found": Saying.INVITE,
    "not_in_channel": Saying.INVITE,
    "is_archived": Saying.UNARCHIVE,
    "messages_tab_disabled": Saying.MESSAGES_TAB,
    "channel_is_limited_access": Saying.ASK_ADMINS,
    "no_permission": Saying.ASK_ADMINS,
    "access_denied": Saying.ASK_ADMINS,
    "team_access_not_granted": Saying.ASK_ADMINS,
    "user_not_found": Saying.CHECK_ID,
    "cannot_dm_bot": Saying.NAME_PERSON,
    "team_not_found": Saying.ID_OF_ORGANISATION,
}
"""This channel only."""

THREAD = {
    "cannot_reply_to_message": Saying.NO_REPLY,
    "restricted_action_thread_locked": Saying.THREAD_LOCKED,
    "thread_not_found": Saying.THREAD_GONE,
}
"""This message only."""

_FORBIDDEN = "restricted_action"
"""How Slack's codes begin for what a setting forbids."""

_NO_SCOPE = "missing_scope"

_REFUSED = {
    **dict.fromkeys(WORKSPACE, Refusal.ACCOUNT),
    **dict.fromkeys((*THREAD, *TOO_LARGE), Refusal.CONTENT),
}
"""What is refused, by Slack's code; where another code has a hint, the channel is."""

_WORDS_OF_OUR_FAULT = (
    *(
        "invalid_",
        "too_many_",
        "too_long",
        "too_large",
        "limit_exceeded",
        "markdown_text_conflict",
        "no_text",
    ),
    *(
        "json_not_object",
        "missing_post_type",
        "missing_charset",
        "unknown_method",
        "missing_argument",
    ),
)


class SlackTransport:
    """Posts messages to the channels of one workspace, by its bot token."""

    def __init__(
        self,
        *,
        token: str,
        url: str = SLACK_URL,
        timeout: float = TIMEOUT,
        choose_proxy: ChooseProxy = lambda _: None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        if not token.strip() or not token.isprintable():
            raise ConfigurationError(
                "posting to Slack needs the app's bot token",
                hint="Set DIGEST_SLACK_TOKEN or DIGEST_SLACK_TOKEN_FILE (it starts with xoxb-).",
            )
        self.client = SlackClient(token=token, url=url, timeout=timeout, choose_proxy=choose_proxy)
        self._now = now
        self._channels: dict[str, str] = {}
        self._list_again_at = 0.0
        self._lock = threading.Lock()

    def resolve(self, destination: Destination) -> str:
        """Return the channel's id.

        Ids pass through, names are searched for, and again once in a while. A channel may be
        renamed, or be made anew under the same name: it has another id then.
        """
        if _ID.fullmatch(destination.address):
            return destination.address
        name = _fold(destination.address)
        with self._lock:
            if name not in self._channels or self._now() >= self._list_again_at:
                self._search_around(name)
            if name in self._channels:
                return self._channels[name]
        raise DeliveryError(
            Said.of(Saying.NO_CHANNEL, destination.address),
            permanent=True,
            refusal=Refusal.PLACE,
            hint=Said.of(Saying.CHECK_CHANNEL, destination.address),
        )

    def send(
        self, message: Message, destination: Destination, is_ours: IsOurs = always_ours
    ) -> Receipt:
        """Post the message's JSON as it is, in exactly one request."""
        try:
            answer = self.client.call(
                "chat.postMessage", json=json.loads(message.body), is_ours=is_ours
            )
        except DeliveryError as error:
            if error.permanent and not error.too_large:
                self._list_again_at = 0.0  # the channel may be another by now
            raise
        warnings = _read_warnings(answer)
        if warnings:
            _LOGGER.warning(
                "Slack took a message for %s and warns: %s", destination, ", ".join(warnings)
            )
        if not answer.text("ts"):
            raise DeliveryError(Said.of(Saying.SLACK_NAMED_NOTHING), ambiguous=True)
        did = "was there already" if answer.get("is_duplicate") is True else "posted"
        return Receipt(answer.text("ts"), ", ".join([did, *warnings]))

    def find(
        self,
        message: Message,
        destination: Destination,  # noqa: ARG002 - every transport is asked alike
        begun_at: datetime,
    ) -> Receipt | None:
        """Search a channel or a thread, a day around, for a post with this message's metadata."""
        call = json.loads(message.body)
        mark = _read_payload(call)
        if not mark:
            raise DeliveryError(Said.of(Saying.NO_METADATA), permanent=True)
        form = {
            "channel": str(call.get("channel", "")),
            "oldest": f"{(begun_at - _AROUND).timestamp():.6f}",
            "latest": f"{(begun_at + _AROUND).timestamp():.6f}",
            "inclusive": "true",
            "include_all_metadata": "true",
            "limit": str(_HISTORY_PAGE),
        }
        method = "conversations.history"
        if call.get("thread_ts"):
            method = "conversations.replies"
            form["ts"] = str(call["thread_ts"])
        for page in self._walk(method, form, _MOST_PAGES):
            for post in page.objects("messages"):
                if mark.items() <= _read_payload(post).items():
                    return Receipt(str(post.get("ts", "")), "found in the channel's history")
        return None

    def close(self) -> None:
        """Break off what waits for an answer."""
        self.client.wire.hang_up()

    def _search_around(self, name: str) -> None:
        """List the channels anew; if Slack does not list them, a known one is what it was."""
        try:
            self._channels = self._list_channels(
                "public_channel,private_channel", "public_channel", "private_channel"
            )
        except DeliveryError as error:
            if name not in self._channels:
                error.advice = error.advice or Said.of(Saying.WRITE_ID)
                raise
        self._list_again_at = self._now() + _LISTED_FOR

    def _list_channels(self, types: str, *others: str) -> dict[str, str]:
        """Return ids by names, of all types or of others that the app's scopes allow.

        Archived channels are among them: Slack says of a post there why it is refused.
        """
        form = {"types": types, "limit": str(_PAGE)}
        pages = self._walk("conversations.list", form, _MOST_LISTED)
        try:
            listed = list(chain.from_iterable(page.objects("channels") for page in pages))
        except DeliveryError as error:
            if error.answer != _NO_SCOPE or not others:
                raise
            return self._list_channels(*others)
        # Of two with one name the last one stays: the one that is in use.
        listed.sort(key=lambda one: one.get("is_archived") is not True)
        return {_fold(str(one.get("name", ""))): str(one["id"]) for one in listed if one.get("id")}

    def _walk(self, method: str, form: dict[str, str], most: int) -> Iterator[SlackAnswer]:
        """Read page by page. A list without an end is not asked for again: it will have none."""
        cursor = ""
        for _ in range(most):
            answer = self.client.call(method, form=form | ({"cursor": cursor} if cursor else {}))
            listed = answer.get("channels" if method == "conversations.list" else "messages")
            if not isinstance(listed, list):  # no list is no empty list: nothing follows from it
                raise DeliveryError(Said.of(Saying.SLACK_HAS_NO_LIST, method))
            yield answer
            cursor = answer.text("response_metadata", "next_cursor")
            if not cursor:
                return
        raise DeliveryError(Said.of(Saying.SLACK_ENDLESS, method, f"{most}"), permanent=True)


def _fold(name: str) -> str:
    """Return a channel's name as Slack keeps it: small letters, each one character, no `#`."""
    return unicodedata.normalize("NFC", name.removeprefix("#")).lower()


def _read_payload(post: dict[str, object]) -> dict[str, object]:
    """Return the metadata a post carries; {} if there is none."""
    metadata = post.get("metadata")
    payload = metadata.get("event_payload") if isinstance(metadata, dict) else None
    return payload if isinstance(payload, dict) else {}


def _read_warnings(answer: SlackAnswer) -> list[str]:
    listed = answer.get("response_metadata", "warnings")
    found = [str(warning) for warning in listed] if isinstance(listed, list) else []
    found += answer.text("warning").split(",") if answer.text("warning") else []
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class SlackAnswer:
    """What came back from Slack.

    `headers` are by lower-case name, `data` is a JSON object or whatever came instead.
    """

    status: int
    headers: Mapping[str, str]
    data: object

    def get(self, *path: str) -> object:
        """Return the value below nested keys, None if there is none."""
        value = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str:
        """Return the text below nested keys, "" if there is none."""
        value = self.get(*path)
        return value if isinstance(value, str) else ""

    def objects(self, *path: str) -> list[dict[str, object]]:
        """Return the objects of the list below nested keys."""
        values = self.get(*path)
        return (
            [value for value in values if isinstance(value, dict)]
            if isinstance(values, list)
            else []
        )

    @property
    def retry_after(self) -> float | None:
        """Seconds that Slack asks to wait, None if it says nothing usable."""
        return HttpAnswer(self.status, self.headers).retry_after


class SlackClient(WebClient):
    """Calls Slack by slack_sdk, each time once, over a connection of ours.

    Slack_sdk's own follows redirects with the token, and waits without end for an answer that comes
    byte by byte.
    """

    def __init__(
        self, *, token: str, url: str, timeout: float, choose_proxy: ChooseProxy = lambda _: None
    ) -> None:
        # At DEBUG the library writes whole bodies to its log, and the caller says its errors.
        _LOGGER_SLACK_CLIENT.setLevel(logging.CRITICAL)
        super().__init__(token=token, base_url=url, retry_handlers=[], logger=_LOGGER_SLACK_CLIENT)
        self.wire = Wire(
            {}, deadline=WHOLE * timeout, limit=_LARGEST_ANSWER, choose_proxy=choose_proxy
        )
        self._silence = timeout

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        body = req.data if isinstance(req.data, bytes) else None
        answer = self.wire.ask(
            "POST", url, silence=self._silence, body=body, headers=dict(req.header_items())
        )
        return {"status": answer.status, "headers": answer.headers, "body": answer.text}

    def call(
        self,
        method: str,
        *,
        form: Mapping[str, str] | None = None,
        json: dict[str, Any] | None = None,
        is_ours: IsOurs = always_ours,
    ) -> SlackAnswer:
        """Make one request and return the answer Slack called ok.

        A method that reads gets a form. One that posts gets JSON: its failures say whether it may
        have happened.
        """
        is_post = json is not None
        require_ours(is_ours)
        try:
            response = self.api_call(
                method, data=dict(form) if form is not None else None, json=json
            )
        except SlackApiError as error:
            raise classify_answer(method, _read_answer(error.response), is_post=is_post) from None
        except ExchangeError as error:
            raise classify_exchange_error("Slack", error, is_post=is_post) from error
        except _UNREADABLE as error:
            raise DeliveryError(
                Said.of(Saying.SLACK_UNREADABLE, str(error)), ambiguous=is_post
            ) from error
        return _read_answer(response)


def _read_answer(response: SlackResponse) -> SlackAnswer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return SlackAnswer(response.status_code, headers, response.data)


def classify_answer(method: str, answer: SlackAnswer, *, is_post: bool) -> DeliveryError:
    """Turn an answer that is not ok into an error. Only a post can be ambiguous."""
    if answer.status != HTTPStatus.OK:
        return classify_status("Slack", answer.status, answer.retry_after, is_post=is_post)
    code = answer.text("error")
    if answer.get("ok") is not False or not code.replace("_", "").isalnum():
        return DeliveryError(
            Said.of(Saying.SLACK_UNREADABLE_200),
            ambiguous=is_post,
            hint=Said.of(Saying.SOMETHING_ELSE_ANSWERS),
        )
    if code in WAIT:
        return DeliveryError(
            Said.of(Saying.SLACK_ASKS_TO_WAIT, code),
            retry_after=answer.retry_after or WAIT[code],
            whole_transport=WAIT[code] is not None,
            answer=code,
        )
    if code in AMBIGUOUS:
        said = Said.of(Saying.SLACK_OWN_ERROR, code)
        return DeliveryError(said, ambiguous=is_post, answer=code)
    return _classify_refusal(method, code, answer)


def _classify_refusal(method: str, code: str, answer: SlackAnswer) -> DeliveryError:
    advice = _advise(code)
    if not advice and code not in TOO_LARGE and is_our_fault(code):
        return DeliveryError(
            _describe_fault(method, code, answer),
            permanent=True,
            refusal=Refusal.CONTENT,
            hint=Said.of(Saying.WRONG_MESSAGE),
            answer=code,
        )
    refusal = _REFUSED.get(code, Refusal.PLACE if advice else None)
    if code == _NO_SCOPE and method != "chat.postMessage":
        refusal = Refusal.PLACE  # a channel that is named by its id needs no look-up
    return DeliveryError(
        _describe_refusal(method, code, answer),
        permanent=refusal is not None,
        whole_transport=code in WORKSPACE,
        too_large=code in TOO_LARGE,
        refusal=refusal,
        hint=advice,
        answer=code,
    )


def _advise(code: str) -> Said:
    """Return what can be done about a refusal by Slack's code; nothing if it is not known."""
    for known in (WORKSPACE, DESTINATION, THREAD):
        if code in known:
            return Said.of(known[code])
    return Said.of(Saying.CHANNEL_FORBIDS) if code.startswith(_FORBIDDEN) else NOTHING


def _describe_fault(method: str, code: str, answer: SlackAnswer) -> Said:
    details = "; ".join(_read_details(answer))
    if details:
        return Said.of(Saying.SLACK_MISUNDERSTANDS_DETAILS, method, code, details)
    return Said.of(Saying.SLACK_MISUNDERSTANDS, method, code)


def _describe_refusal(method: str, code: str, answer: SlackAnswer) -> Said:
    needed = answer.text("needed")
    if needed:
        return Said.of(Saying.SLACK_REFUSED_NEEDS, method, code, needed)
    return Said.of(Saying.SLACK_REFUSED, method, code)


def is_our_fault(code: str) -> bool:
    """Tell whether the error says that the call itself is wrong, and would be wrong anywhere."""
    return any(word in code for word in _WORDS_OF_OUR_FAULT)


def _read_details(answer: SlackAnswer) -> list[str]:
    for path in (("response_metadata", "messages"), ("errors",)):
        values = answer.get(*path)
        if isinstance(values, list) and values:
            return [str(value)[:200] for value in values[:5]]
    return []
