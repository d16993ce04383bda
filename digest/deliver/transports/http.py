"""What the webhooks have in common: one request for each message, and what its end means."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import ClassVar, Generic, TypeVar

from digest import __version__
from digest.config.addresses import ChooseProxy
from digest.model.destinations import Destination
from digest.model.errors import DeliveryError, Refusal
from digest.model.messages import IsOurs, Message, Receipt, require_ours
from digest.model.said import Said, Saying
from digest.wire import ExchangeError, HttpAnswer, Wire, read_clock

T = TypeVar("T")

TIMEOUT = 15.0
"""Seconds for connecting and for each read."""

WHOLE = 4
"""That many times as long may the whole exchange take.

An answer that comes byte by byte never runs into the other limit.
"""

_LARGEST_ANSWER = 1024 * 1024

CLIENT_ERRORS = range(400, 500)
"""RFC 9110 §15.5. All but 408 and 429 say that the request was understood and refused."""
_REDIRECTIONS = range(300, 400)

WRONG_CONTENT = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
"""What a webhook answers to a message that it can't take. Else it refuses all that comes there."""


def classify_exchange_error(who: str, error: ExchangeError, *, is_post: bool) -> DeliveryError:
    """Turn what ended an exchange into an error: a post that was out may have been carried out."""
    if error.was_out:
        return DeliveryError(
            Said.of(Saying.CONNECTION_BROKE, who, str(error)),
            ambiguous=is_post,
        )
    return DeliveryError(
        Said.of(Saying.UNREACHABLE, who, str(error)),
        whole_transport=True,
        hint=Said.plain(error.hint) or Said.of(Saying.CHECK_NETWORK),
    )


def classify_status(
    who: str,
    status: int,
    retry_after: float | None,
    *,
    is_post: bool,
    refusal: Refusal = Refusal.ACCOUNT,
) -> DeliveryError:
    """Turn an HTTP status into an error, whatever the body. Only a post may have changed something.

    `refusal` says what is refused with a status that does not pass.
    """
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return DeliveryError(Said.of(Saying.ASKED_TO_WAIT, who), retry_after=retry_after)
    if status in _REDIRECTIONS:
        return DeliveryError(
            Said.of(Saying.ANSWERS_ELSEWHERE, who, f"{status}"),
            permanent=True,
            whole_transport=True,
            refusal=refusal,
            hint=Said.of(Saying.CHECK_ADDRESS),
        )
    if status not in CLIENT_ERRORS or status == HTTPStatus.REQUEST_TIMEOUT:
        return DeliveryError(
            Said.of(Saying.OWN_ERROR, who, f"{status}"),
            ambiguous=is_post,
            retry_after=retry_after,
        )
    return DeliveryError(
        Said.of(Saying.REQUEST_REFUSED, who, f"{status}"),
        permanent=True,
        whole_transport=True,
        refusal=refusal,
        hint=Said.of(Saying.CHECK_WAY),
    )


class HookPoster(Generic[T]):
    """Posts to webhooks, which only take, known by the names the configuration gives them.

    `hooks` has for each name the address, and what else it takes to post there. These are secrets:
    no message and no log shows them.
    """

    name_in_errors: ClassVar[str]
    """What an error calls such a webhook, with {!r} for its name."""

    def __init__(
        self,
        *,
        hooks: Mapping[str, T],
        timeout: float = TIMEOUT,
        choose_proxy: ChooseProxy = lambda _: None,
        now: Callable[[], datetime] = read_clock,
    ) -> None:
        self._hooks = dict(hooks)
        self._timeout = timeout
        self._now = now
        self._wire = Wire(
            {"User-Agent": f"preprint-digest/{__version__}"},
            deadline=WHOLE * timeout,
            limit=_LARGEST_ANSWER,
            choose_proxy=choose_proxy,
            now=now,
        )

    def resolve(self, destination: Destination) -> str:
        """Return "" if such a webhook is configured: its address is a secret."""
        self._hook_of(destination)
        return ""

    def find(
        self,
        message: Message,  # noqa: ARG002 - every transport is asked alike
        destination: Destination,  # noqa: ARG002 - every transport is asked alike
        begun_at: datetime,  # noqa: ARG002 - every transport is asked alike
    ) -> Receipt | None:
        """Never answer, but raise a permanent `DeliveryError`: a webhook only takes."""
        raise DeliveryError(Said.of(Saying.HOOK_NOT_ASKED), permanent=True)

    def close(self) -> None:
        """Break off what waits for an answer."""
        self._wire.hang_up()

    def _post(
        self,
        who: str,
        url: str,
        body: bytes,
        is_ours: IsOurs,
        *,
        headers: Mapping[str, str] | None = None,
        unread: Container[int] = (),
    ) -> HttpAnswer:
        """Make one request with JSON, and return its answer.

        It is its status alone if that is one of `unread`.
        """
        try:
            return self._wire.ask(
                "POST",
                url,
                silence=self._timeout,
                body=body,
                headers={"Content-Type": "application/json", **(headers or {})},
                check=partial(require_ours, is_ours),
                unread=unread,
            )
        except ExchangeError as error:
            raise classify_exchange_error(who, error, is_post=True) from error

    def _hook_of(self, destination: Destination) -> T:
        if destination.address not in self._hooks:
            raise DeliveryError(
                Said.of(Saying.NO_SUCH_HOOK, self.name_in_errors.format(destination.address)),
                permanent=True,
                refusal=Refusal.PLACE,
                hint=Said.of(Saying.ASK_DOCTOR),
            )
        return self._hooks[destination.address]
