"""What came: messages as a mail server and a Slack took them."""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from dataclasses import dataclass

from tests.fakes.mail import ReceivedMail
from tests.fakes.slack import SlackReceiver
from tests.fakes.workspace import SlackMessage

PAPER = re.compile(r"(?<!\d)\d{4}\.\d{5}(?!\d)")
_MESSAGE_ID = re.compile(rb"(?im)^message-id: <([^@>]+)@")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as it arrived.

    Attributes:
        key: the delivery's idempotency key, as the message carries it.
        place: its destination, as the product writes it.
        papers: the ids it mentions.
        at: seconds of `time.monotonic()`.
    """

    key: str
    place: str
    papers: frozenset[str]
    at: float = 0.0


def find_key(mail: ReceivedMail) -> str:
    """Return the key of the delivery that a mail carries; "?" for none."""
    found = _MESSAGE_ID.search(mail.raw)
    return found[1].decode("ascii") if found else "?"


def read_mail(mail: ReceivedMail) -> list[Arrival]:
    """Return the arrivals of a mail, one for each who got it, at this moment."""
    key = find_key(mail)
    text = mail.raw.replace(b"=\r\n", b"").decode("utf-8", "replace")
    papers = frozenset(PAPER.findall(text))
    now = time.monotonic()
    return [Arrival(key, f"mailto:{address}", papers, now) for address in mail.recipients]


def list_posts(slack: SlackReceiver, *, counts_titles: bool = False) -> list[Arrival]:
    """Return a Slack's messages.

    That of the channel only lists titles. Papers count where they stand, in its thread; with
    `counts_titles` also in the channel, if its thread has them not: a withdrawn paper has a title
    alone.
    """
    names = {channel.id: channel.name for channel in slack.workspace.channels.values()}
    in_thread: dict[tuple[str, str], set[str]] = defaultdict(set)
    for message in slack.messages:
        if message.thread_ts:
            in_thread[message.channel, message.thread_ts] |= _find_papers(message)
    arrivals = []
    for message in slack.messages:
        papers = _find_papers(message) if message.thread_ts or counts_titles else set()
        if not message.thread_ts:
            papers -= in_thread[message.channel, message.ts]
        event = (message.metadata or {}).get("event_payload", {})
        key = str(event.get("delivery", "?"))
        arrivals.append(Arrival(key, f"slack:#{names[message.channel]}", frozenset(papers)))
    return arrivals


def _find_papers(message: SlackMessage) -> set[str]:
    return set(PAPER.findall(json.dumps(message.payload)))
