"""Slack's mrkdwn made safe: escaping, and marks that tell a paper's text from a template's.

Slack decodes exactly `&amp; &lt; &gt;`; escaping these disarms `<!channel>`, `<@U…>` and links. Its
formatting characters have no escape, so in values they become look-alikes. What is left (words such
as @here in plain text) is off as long as `verbatim` is true and `parse` is none; it is disarmed here
as well, because incoming webhooks are less well documented.
Source: https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import re

from digest.render.cleaning import clean_text

VALUE_START = "\x02"
VALUE_END = "\x03"
"""Around every value a template prints. Cleaned text holds no control character, so none can be forged."""

_TILDE, _COLON, _AT, _BAR = "\u223c", "\u2236", "\uff20", "\u2223"
"""Operator, ratio, wide and divides signs that look like the ASCII ones."""

_LEFT, _RIGHT = "\u2039", "\u203a"
_LOOK_ALIKES = str.maketrans({"*": "∗", "`": "ˋ", "~": _TILDE})
_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_BROADCAST = re.compile(r"@(?=here|channel|everyone)", re.IGNORECASE)
_EMOJI = re.compile(r":([a-z0-9_+'-]+(?:::skin-tone-[2-6])?):", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&()*+,;=%\[\]-]+")


class Mrkdwn(str):
    """Text that is mrkdwn already and is printed as it is."""

    __slots__ = ()


def slack_escape(value: object) -> str:
    """Return a value as mrkdwn that shows exactly its text, marked as a value."""
    if isinstance(value, Mrkdwn) and value:
        return str(value)
    return f"{VALUE_START}{escape_text(str(value))}{VALUE_END}"


def escape_text(text: str) -> str:
    """Return text as mrkdwn without any formatting, mention, emoji or link in it."""
    shown = clean_text(text).translate(_LOOK_ALIKES)
    shown = _EDGE_UNDERSCORE.sub("ˍ", shown)
    shown = _EMOJI.sub(rf"{_COLON}\1{_COLON}", _BROADCAST.sub(_AT, shown))
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def link(url: str, label: str) -> Mrkdwn:
    """Return a link, or just its label where the address is missing or no plain http(s) one."""
    shown = escape_text(label).replace("|", _BAR)
    if not _ADDRESS.fullmatch(url):
        return Mrkdwn(shown)
    return Mrkdwn(f"<{url.replace('&', '&amp;')}|{shown}>")


def strip_marks(text: str) -> str:
    """Return compiled text without the marks around values."""
    return text.replace(VALUE_START, "").replace(VALUE_END, "")


def to_plain_text(mrkdwn: str) -> str:
    """Return mrkdwn for a plain_text object, which knows no markup; angle brackets become look-alikes."""
    plain = strip_marks(mrkdwn).replace("&lt;", _LEFT).replace("&gt;", _RIGHT).replace("&amp;", "&")
    return plain.replace("<", _LEFT).replace(">", _RIGHT)
