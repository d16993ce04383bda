"""Makes text by strangers fit to show: cut, read from TeX, escaped for each medium.

It writes dates, too.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from markupsafe import Markup

from digest.model.announcements import EASTERN
from digest.model.characters import clean_markup as clean_markup  # noqa: PLC0414 - others take it
from digest.model.characters import clean_text as clean_text  # noqa: PLC0414 - the same
from digest.model.messages import DigestEntry
from digest.model.papers import Field, Reason
from digest.tex import Segment, to_html, to_segments
from digest.tex import show_plain as show_plain  # noqa: PLC0414 - the same

Spans = tuple[tuple[int, int], ...]
"""Places of a raw text, as code points from the first to after the last."""

_LEAST_KEPT = 0.6
"""A text is cut between words if that keeps this share of what is allowed; else within a word."""

_KEPT_LOWER = ("arXiv",)
_KEPT_TEXTS = 1_024
"""Reading TeX costs most of rendering, and one paper is shown in several media to many readers."""

VALUE_START = "\x02"
VALUE_END = "\x03"
"""They enclose each value in a Slack template.

Cleaned text holds no control character, so none can be forged.
"""

_TILDE = "\u223c"
_COLON = "\u2236"
_AT = "\uff20"
_BAR = "\u2223"
_LEFT = "\u2039"
_RIGHT = "\u203a"
"""Signs that look like the ASCII ones."""
_LOOK_ALIKES = str.maketrans({"*": "∗", "`": "ˋ", "~": _TILDE})

_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_BROADCAST = re.compile(r"@(?=here|channel|everyone)", re.IGNORECASE)
_EMOJI = re.compile(r":([a-z0-9_+'-]+(?:::skin-tone-[2-6])?):", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&()*+,;=%\[\]-]+")
_MARKDOWN_SIGN = re.compile(r"[\\`*_~|<>\[\]()#@:+-]")

_URL = "\x16"
_URL_END = "\x17"
LINK_END = "\x18"
STARTS = {"bold": "\x10", "dim": "\x11", "accent": "\x12", "mark": "\x13"}
END = "\x0f"
"""They enclose styled text in a terminal's template."""

_SEQUENCES = str.maketrans(
    {
        "\x10": "\x1b[1m",
        "\x11": "\x1b[2m",
        "\x12": "\x1b[1;32m",
        "\x13": "\x1b[1;36m",
        END: "\x1b[0m",
    }
)
LINK_START = re.compile(f"{_URL}([^{_URL}{_URL_END}]*){_URL_END}")
STYLE = re.compile(f"{LINK_START.pattern}|[{LINK_END}{END}{''.join(STARTS.values())}]")
_MARKED = re.compile(f"{STARTS['mark']}([^{STARTS['mark']}{END}]*){END}")


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` code points of a text.

    It ends in an ellipsis if something is missing.
    """
    if len(text) <= limit:
        return text
    kept = text[: find_cut(text, limit - len(" …"))]
    return kept.rstrip(" ,;:.-–—") + " …"


def find_cut(text: str, limit: int) -> int:
    """Return the place to cut a text that is longer than `limit`: between words if one is near."""
    blank = text.rfind(" ", 0, limit + 1)
    if blank >= limit * _LEAST_KEPT:
        return blank
    cut = limit
    while cut > 0 and unicodedata.combining(text[cut]):
        cut -= 1
    return cut


def write_long_day(day: date) -> str:
    """Write a date as `Thursday 19 November 2026`."""
    return f"{day:%A %-d %B %Y}"


def write_day_of_month(day: date) -> str:
    """Write a date as `19 Nov`."""
    return f"{day:%-d %b}"


def write_moment(moment: datetime) -> str:
    """Write a moment as RFC 3339 in UTC to the second, `2026-11-19T20:00:00Z`."""
    return f"{moment.astimezone(ZoneInfo('UTC')):%Y-%m-%dT%H:%M:%SZ}"


def name_zone(local: datetime) -> str:
    """Return what a zone is called at a moment: `ET`, as arXiv has it, `CET`, `UTC`, `UTC+5:45`."""
    if local.tzinfo == EASTERN:
        return "ET"
    name = local.tzname() or ""
    if name.isalpha():
        return name
    offset = local.utcoffset() or timedelta(0)
    sign = "-" if offset < timedelta(0) else "+"
    hours, minutes = divmod(round(abs(offset).total_seconds() / 60), 60)
    written = f"UTC{sign}{hours}"
    return f"{written}:{minutes:02}" if minutes else written


def find_spans(entry: DigestEntry, field: Field) -> Spans:
    """Return the places of one field that met any clause, as raw offsets in order."""
    spans: set[tuple[int, int]] = set()
    for reason in entry.reasons:
        spans.update(find_reason_spans(reason, field))
    return tuple(sorted(spans))


def find_reason_spans(reason: Reason, field: Field) -> Spans:
    """Return the places of one field that met one clause, as raw offsets."""
    met = (span for span in reason.spans if span.field is field and span.index == 0)
    return tuple((span.start, span.end) for span in met)


@lru_cache(_KEPT_TEXTS)
def show_html(text: str, spans: Spans = ()) -> Markup:
    """Return raw text as HTML, with what was met in `<mark>`."""
    return Markup(clean_markup(to_html(text, spans)))  # noqa: S704 - to_html escapes every leaf


def show_paragraphs(text: str, spans: Spans = ()) -> tuple[Markup, ...]:
    """Return an abstract as HTML, paragraph by paragraph."""
    shown: list[Markup] = []
    start = 0
    for line in text.split("\n"):
        paragraph = show_html(line, _shift(spans, start, len(line))).strip()
        if paragraph:
            shown.append(paragraph)
        start += len(line) + 1
    return tuple(shown)


@lru_cache(_KEPT_TEXTS)
def show_segments(text: str, spans: Spans) -> tuple[Segment, ...]:
    """Return raw text as readable Unicode, cut at the edges of what was met."""
    return to_segments(text, spans)


def _shift(spans: Spans, start: int, length: int) -> Spans:
    """Return the places in a line of `length` that begins at `start`, as offsets in that line."""
    inside = []
    for first, last in spans:
        begin = max(0, first - start)
        end = min(length, last - start)
        if begin < end:
            inside.append((begin, end))
    return tuple(inside)


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
    shown = _BROADCAST.sub(_AT, shown)
    shown = _EMOJI.sub(rf"{_COLON}\1{_COLON}", shown)
    shown = shown.replace("&", "&amp;")
    return shown.replace("<", "&lt;").replace(">", "&gt;")


def link(url: str, label: str) -> Mrkdwn:
    """Return a link, or just its label if the address is missing or no plain http(s) one."""
    shown = escape_text(label).replace("|", _BAR)
    if not _ADDRESS.fullmatch(url):
        return Mrkdwn(shown)
    address = url.replace("&", "&amp;")
    return Mrkdwn(f"<{address}|{shown}>")


class Markdown(str):
    """Text that is Markdown already and is printed as it is."""

    __slots__ = ()


def markdown_escape(value: object) -> str:
    """Return a value as Markdown that shows exactly its text."""
    if isinstance(value, Markdown):
        return str(value)
    return _MARKDOWN_SIGN.sub(r"\\\g<0>", clean_text(str(value)))


def markdown_link(url: str, label: str) -> Markdown:
    """Return a link without a preview.

    It is just its label if the address is missing or no plain http(s) one.
    """
    shown = markdown_escape(label)
    return Markdown(f"[{shown}](<{url}>)" if _ADDRESS.fullmatch(url) else shown)


def strip_marks(text: str) -> str:
    """Return compiled text without the marks around values."""
    return text.replace(VALUE_START, "").replace(VALUE_END, "")


def to_plain_text(mrkdwn: str) -> str:
    """Return mrkdwn for a plain_text object, which knows no markup.

    Angle brackets become look-alikes.
    """
    plain = strip_marks(mrkdwn)
    plain = plain.replace("&lt;", _LEFT).replace("&gt;", _RIGHT).replace("&amp;", "&")
    return plain.replace("<", _LEFT).replace(">", _RIGHT)


def styled(text: object, style: str) -> str:
    """Return text with a style: bold, dim, accent or mark (what a query met)."""
    return f"{STARTS[style]}{text}{END}"


def styled_link(url: str, text: object) -> str:
    """Return text that can be clicked in a terminal.

    It is the text alone if the address is no plain http(s) one.
    """
    return f"{_URL}{url}{_URL_END}{text}{LINK_END}" if _ADDRESS.fullmatch(url) else str(text)


def apply_styles(text: str, *, color: bool) -> str:
    """Return text for the terminal.

    It has ANSI sequences and OSC 8 links, or what was met as [met].
    """
    if not color:
        return STYLE.sub("", _MARKED.sub(r"[\1]", text))
    linked = LINK_START.sub("\x1b]8;;\\1\x1b\\\\", text)
    linked = linked.replace(LINK_END, "\x1b]8;;\x1b\\")
    return linked.translate(_SEQUENCES)


def open_sentence(text: str) -> str:
    """Write the first letter large, except in names that begin with a small one."""
    return text if text.startswith(_KEPT_LOWER) else text[:1].upper() + text[1:]
