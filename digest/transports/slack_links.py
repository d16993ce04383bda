"""What "Copy link" gives of a message in Slack: which channel, and the `ts` by which Slack knows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

_PATH = re.compile(r"/archives/(?P<channel>[A-Z0-9]+)/p(?P<seconds>[0-9]{10})(?P<micros>[0-9]{6})/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class SlackLink:
    """A message in Slack.

    Attributes:
        channel: the channel's id.
        ts: its own name there.
        is_reply: it stands in the thread of another.
    """

    channel: str
    ts: str
    is_reply: bool


def parse_slack_link(text: str) -> SlackLink | None:
    """Read a link such as `https://team.slack.com/archives/C012345/p1795339450000100`; None where it is none."""
    try:
        url = urlsplit(text.strip())
    except ValueError:
        return None
    found = _PATH.fullmatch(url.path)
    if url.scheme != "https" or found is None:
        return None
    ts = f"{found['seconds']}.{found['micros']}"
    return SlackLink(found["channel"], ts, is_reply=parse_qs(url.query).get("thread_ts", [ts]) != [ts])
