"""Decides what follows a failure: try again, show less, ask the other side, hold or give up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from digest.model.errors import PROBED, DeliveryError, Refusal
from digest.model.messages import Share
from digest.model.said import Said

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
LONGEST_RETRY_AFTER = timedelta(hours=24)
"""The longest wait that the other side may ask for: a year is a mistake."""

MAX_TRIES = 60
FEWEST_TRIES = 12
MAX_AGE = timedelta(days=5)
"""A failure that may pass is tried again for so long (RFC 5321 §4.5.4.1).

It has at least `FEWEST_TRIES` tries, even after a process was off for a week, and at most
`MAX_TRIES`.
"""

MAX_SENDINGS = 24
"""A message that never arrived, as the other side says, is sent that many times.

Then a person has to check.
"""

_TRIES_AS_WISHED = 5
"""So many times a pause is what the other side asks for (`Retry-After`).

Then pauses grow all the same.
"""

PROBE_PAUSE = timedelta(hours=5, minutes=50)
"""Between two tries of what was refused, if nothing newer waits for it.

So a run each six hours tries it.
"""

LONGEST_HOLD = timedelta(days=7)
"""What has been refused for so long is given up."""

MAX_REPEATS = 1
"""A message that may have arrived is sent again that many times by itself.

Each may be a copy too many.
"""

_OF_RECIPIENT = re.compile(
    r"""(?:^|:[ ]|\(\#)         # 550 5.1.1 …, "host said: 5.1.1 …", and qmail's "… (#5.1.1)"
    [45]\.1\.(?:[1236]|10)\b""",
    re.VERBOSE,
)
_OF_US = re.compile(
    r"""
      client\ host              # Client host rejected
    | helo
    | ehlo
    | sender
    | relay\w{0,20}\ (?:access\ )?(?:is\ )?(?:not|denied|prohibited)    # relay access denied
    | (?:not|unable)(?:\ \w+){0,9}\ relay                               # unable to relay
    | block(?:ed\ using|\ ?list)                                        # blocked using zen…
    | black\ ?list
    | \b(?:dns|r)bl
    | reputation
    | \bip\b
    | reverse
    | send[- ]?as(?!\ (?:plain|text|html|soon))                         # SendAsDenied
    | as\ this\ sender
    | outboundspam
    | blocked\ for\ (?:spam|abuse)
    | \byour\ (?:\w+\ )?(?:account|domain|plan|subscription)\b
    | sending(?:\ \w+){0,2}\ (?:paused|suspended|disabled|blocked|stopped)
    | (?:blocked|restricted)\ from\ sending
    | identit(?:y|ies)(?:\ \w+)?\ (?:failed|not)                        # identities failed
    | not\ verified
    | unverified
    | sending\ domain
    | unregistered\ domain
    | \bnot\ (?:\w+\ )?(?:allowed|permitted|authori[sz]ed)              # not authorized to
      \ to\ (?:send|use)(?:\ \w+){0,2}\ (?:as|from)\b                   # … send mail from
    | \bcredentials\b
    | \br-?dns\b
    | \bptr\b
    | \bspf\b
    | dkim
    | dmarc
    | authenticat
    | \bauth\b
    | your\ (?:host|server)
    | (?<!recipient\ address\ rejected:\ )access\ denied
    """,
    re.IGNORECASE | re.VERBOSE,
)
_OF_US_THOUGH_PASSING = re.compile(
    r"(?!.*(?:gr[ea]ylist|temporar|later))"
    r".*(?:(?:client host|helo command|sender address) rejected|relay access denied)",
    re.IGNORECASE,
)
"""What Postfix says with a code of what may pass (4xx), though only the operator can mend it."""

_OF_US_BY_CODE = re.compile(
    r"(?:^|.*\(#)5\.(?:1\.[789]|7\.\d+)\b(?!.*recipient address rejected)", re.IGNORECASE
)
"""The codes of a bad sender (5.1.7 to 5.1.9) and of a server's policy (5.7)."""

_OF_ONE = re.compile(r"(?<!\S)(?![245]\.\d+\.\d+(?!\S)|\d{3}(?!\S))\S*[\d@]\S*")
"""A word that a server may say to one recipient alone: an address, or a number of its own.

It is no reply code, such as `550` or `5.2.1`.
"""

_PASSING = range(400, 500)
"""Reply codes of what may pass."""


class Step(StrEnum):
    """What to do with a delivery whose sending failed."""

    RETRY = "retry"
    SHORTEN = "shorten"
    ASK = "ask"
    HOLD = "hold"
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class Tries:
    """How often the network was touched for a delivery, this time included, and since when (UTC).

    It counts from the planning, or from when an operator last had it sent. If it was refused
    before, it has been held since `held_at`.
    """

    count: int
    since: datetime
    held_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do with a delivery that failed, and from when on (UTC).

    Until `blocked_until` the destination wants nothing at all. After a `refusal` everything waits
    that would be refused, too. What has been held since before `given_up_before` is given up with
    the delivery.
    """

    step: Step
    not_before: datetime
    blocked_until: datetime | None = None
    refusal: Refusal | None = None
    given_up_before: datetime | None = None


def decide_failure(
    error: DeliveryError,
    *,
    settling: timedelta,
    tries: Tries,
    now: datetime,
    jitter: float,
    can_shorten: bool = False,
) -> NextStep:
    """Decide what follows a failure.

    A server that is away for everybody is no reason to give up anybody's digest, however long
    that lasts. A message that may have arrived is not touched for `settling` before it is checked.
    Pauses are spread over `jitter`, from 0 up to 1 ("full jitter"), so that many failed at once do
    not return at once.
    """
    if error.too_large and can_shorten:
        return NextStep(Step.SHORTEN, now)
    wished = _read_wish(error.retry_after, jitter)
    if error.ambiguous:
        # It is first asked about once it has settled.
        pause = _pause(tries.count - 1, jitter) if tries.count > 1 else timedelta(0)
        least = wished if error.retry_after else timedelta(0)
        return NextStep(Step.ASK, now + max(settling + pause, least))
    if error.permanent:
        return _decide_refusal(error.refusal, tries, now)
    is_old = tries.count >= FEWEST_TRIES and now - tries.since > MAX_AGE
    is_over = is_old or tries.count >= MAX_TRIES
    if is_over and not error.whole_transport:
        return NextStep(Step.GIVE_UP, now)
    if tries.count:
        pause = _pause(tries.count, jitter)
    else:
        pause = _pause_untried(now - tries.since, jitter)
    if error.retry_after is None:
        return NextStep(Step.RETRY, now + pause)
    chosen = wished if tries.count <= _TRIES_AS_WISHED else max(wished, pause)
    return NextStep(Step.RETRY, now + chosen, blocked_until=now + wished)


def _read_wish(retry_after: float | None, jitter: float) -> timedelta:
    """Return how long the other side asks us to wait: spread by jitter, and not for too long."""
    longest = LONGEST_RETRY_AFTER.total_seconds()
    seconds = min(retry_after or 0, longest) + jitter
    return timedelta(seconds=min(seconds, longest))


def _decide_refusal(refusal: Refusal | None, tries: Tries, now: datetime) -> NextStep:
    """Decide what follows a refusal.

    If it does not say what it refuses, and the delivery was refused before, it is the place.
    """
    if refusal is None and tries.held_at is not None:
        refusal = Refusal.PLACE
    if refusal in PROBED:
        too_old = now - LONGEST_HOLD
        if tries.held_at is not None and tries.held_at <= too_old:
            return NextStep(Step.GIVE_UP, now, refusal=refusal, given_up_before=too_old)
        return NextStep(Step.HOLD, now + PROBE_PAUSE, refusal=refusal)
    step = Step.HOLD if refusal is Refusal.SETTINGS else Step.GIVE_UP
    return NextStep(step, now, refusal=refusal)


def decide_unknown(*, is_harmless: bool, may_repeat: bool, attempts: int, repeats: int) -> Step:
    """Decide what follows for a message that was not found to have arrived: `RETRY` or `HOLD`.

    Args:
        is_harmless: sending it again makes no second copy.
        may_repeat: a second copy is the lesser harm.
        attempts: how often it was sent.
        repeats: how often it was sent again although it may have arrived.
    """
    if is_harmless:
        return Step.RETRY if attempts < MAX_SENDINGS else Step.HOLD
    may_go_again = may_repeat and repeats < MAX_REPEATS
    return Step.RETRY if may_go_again else Step.HOLD


def _pause(attempts: int, jitter: float) -> timedelta:
    """Choose a pause after some attempts: with each of them the longest is twice as long."""
    doublings = min(attempts - 1, 16)
    return _spread(min(FIRST_PAUSE * 2**doublings, LONGEST_PAUSE), jitter)


def _pause_untried(waited: timedelta, jitter: float) -> timedelta:
    """Choose a pause for what has not come to a try: the longer it has waited, the longer."""
    return _spread(min(max(waited, FIRST_PAUSE), timedelta(hours=1)), jitter)


def _spread(longest: timedelta, jitter: float) -> timedelta:
    """Return a pause between half of `FIRST_PAUSE` and the longest, by the jitter."""
    least = FIRST_PAUSE / 2
    return least + (longest - least) * jitter


def shorten_share(share: Share) -> Share | None:
    """Return what a message shows after it was too large: half of its papers.

    None if it showed none.
    """
    return replace(share, shown=share.shown // 2) if share.shown else None


def says_no_such_recipient(reason: str) -> bool:
    """Whether a refusal says by its code that nobody has the recipient's address (RFC 3463)."""
    return _OF_RECIPIENT.search(reason) is not None


def refuses_us(code: int, text: str, *, has_read: bool) -> bool:
    """Whether a mail server's refusal is about this machine or its sender.

    Then it concerns every recipient, even if the reply is to RCPT: many servers judge nothing
    before. Once the server has read the mail, a code of its policy may be about the mail's text.
    """
    if says_no_such_recipient(text):
        return False
    said = re.sub(r"(?<!\S)\S+@\S+", "", text)
    if code in _PASSING:
        return _OF_US_THOUGH_PASSING.match(said) is not None
    if _OF_US.search(said) is not None:
        return True
    return not has_read and _OF_US_BY_CODE.match(said) is not None


def leave_out_recipient(said: Said) -> Said:
    """Return a refusal without the words that a server says to one recipient alone."""
    return said.change_texts(_drop_own_words)


def _drop_own_words(text: str) -> str:
    return _OF_ONE.sub("", text)


def are_refused_alike(given_up: Iterable[Said], answers: Mapping[str, Said]) -> bool:
    """Whether several mails were refused alike, which tells that the reason is ours.

    Args:
        given_up: the answers to the mails that were given up: they must all be alike.
        answers: the answers to all mails, by address: at least two must be so.
    """
    alike = {leave_out_recipient(one) for one in given_up}
    if len(alike) != 1:
        return False
    return sum(leave_out_recipient(one) in alike for one in answers.values()) > 1
