"""Cleans, marks, escapes, wraps and dates text.

Titles, names, abstracts and comments are written by strangers. Control characters break XML and
mail headers; direction overrides (U+202A-U+202E, U+2066-U+2069) let a text rewrite what stands next
to it on the screen; invisible characters hide words from search. Joiners that scripts need
(U+200C, U+200D) stay.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from markupsafe import Markup

from digest.model.announcements import EASTERN
from digest.model.clock import write_day
from digest.model.messages import Digest, DigestEntry
from digest.model.papers import Field, Reason
from digest.tex import Segment, to_html, to_plain, to_segments

_BLANKS = re.compile("[\t\n\v\f\r\x1c-\x1f \x85\u2028\u2029]+")
_RARE_BLANKS = re.compile("[\v\f\x1c-\x1f\x85\u2028\u2029]")
_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # C0 and C1 controls that are no blanks
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # invisible, or turning the direction
    "\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # not characters
    "\ud800-\udfff"  # halves of surrogate pairs
    "\U000e0000-\U000e00ff]"  # tags
)
_LEAST_KEPT = 0.6
"""A text is cut between words if that keeps this share of what is allowed; within a word otherwise."""

_DAY_SLOT = re.compile(r"(?:mailing:)?(\d{4}-\d{2}-\d{2})")
_WEEK_SLOT = re.compile(r"\d{4}-W\d{2}")

_FLOWED_WIDTH = 72
"""RFC 3676 §4.2 asks for at most 78 with the trailing blank."""

_SHORT_BEGINNING = 8
_STUFFED = re.compile(r"[ >]|From ")
_LINK = re.compile(r"\s*(?:https?://|mailto:)\S+\Z")
_SIGNATURE = "-- "

Spans = tuple[tuple[int, int], ...]
_KEPT_TEXTS = 1_024
"""Reading TeX costs most of rendering, and one paper is shown in several media and to many readers."""

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

_MARKDOWN_SIGN = re.compile(r"[\\`*_~|<>\[\]()#@:+-]")

END = "\x0f"
_URL, _URL_END, LINK_END = "\x16", "\x17", "\x18"
STARTS = {"bold": "\x10", "dim": "\x11", "accent": "\x12", "mark": "\x13"}
_SEQUENCES = {
    "\x10": "\x1b[1m",
    "\x11": "\x1b[2m",
    "\x12": "\x1b[1;32m",
    "\x13": "\x1b[1;36m",
    END: "\x1b[0m",
}
_RESET_ONLY = str.maketrans(_SEQUENCES)
LINK_START = re.compile(f"{_URL}([^{_URL_END}]*){_URL_END}")
_MARKED = re.compile(f"{STARTS['mark']}([^{END}]*){END}")
_ALL = re.compile(f"{LINK_START.pattern}|[{LINK_END}{END}{''.join(STARTS.values())}]")

_KEPT_LOWER = ("arXiv",)


def clean_markup(text: str) -> str:
    """Take out characters that must not be shown; tabs and line ends stay, rarer blanks become plain ones."""
    return _RARE_BLANKS.sub(" ", _UNWANTED.sub("", text))


def clean_text(text: str) -> str:
    """Take out characters that must not be shown and fold white space (not U+00A0) to single blanks."""
    return _BLANKS.sub(" ", _UNWANTED.sub("", text)).strip(" ")


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` code points of a text, ending in an ellipsis where something is missing."""
    if len(text) <= limit:
        return text
    return text[: find_cut(text, limit - 2)].rstrip(" ,;:.-–—") + " …"


def find_cut(text: str, limit: int) -> int:
    """Return where to cut a text that is longer than `limit`: between words if one is near."""
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


def write_days(first: date, last: date, *, is_short: bool = False) -> str:
    """Write two dates and what lies between as `17–19 November`, short `17–19 Nov`, with what differs."""
    begun, ended = (f"{day:{'%b' if is_short else '%B'}}" for day in (first, last))
    year = f" {last.year}" * (first.year != last.year)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{last.day} {ended}"
    return f"{first.day} {begun}{f' {first.year}' * bool(year)} – {last.day} {ended}{year}"


def write_moment(moment: datetime) -> str:
    """Write a moment as RFC 3339 in UTC to the second, `2026-11-19T20:00:00Z`."""
    return f"{moment.astimezone(ZoneInfo('UTC')):%Y-%m-%dT%H:%M:%SZ}"


def name_zone(local: datetime) -> str:
    """Return what a moment's zone is called there and then: `ET`, as arXiv has it, `CET`, `UTC`, `UTC+5:45`."""
    if local.tzinfo == EASTERN:
        return "ET"
    name, offset = local.tzname() or "", local.utcoffset() or timedelta(0)
    if name.isalpha():
        return name
    hours, minutes = divmod(round(abs(offset).total_seconds() / 60), 60)
    return f"UTC{'-' if offset < timedelta(0) else '+'}{hours}" + (f":{minutes:02}" if minutes else "")


def name_slot(digest: Digest) -> tuple[str, str]:
    """Return a digest's date, short (`Thu 19 Nov`) and long (`Thursday 19 November 2026`).

    The slot says which day is meant; only a digest of a `run:` slot goes by when it was planned. That of a week,
    or of several announcements, is called after them, `17–19 Nov`.
    """
    coverage = digest.coverage
    since, last = coverage.since, coverage.announcement
    is_week = _WEEK_SLOT.fullmatch(digest.slot) is not None
    if since is not None and last is not None and (is_week or coverage.announcements > 1):
        year = "" if since.year != last.year else f" {last.year}"
        return write_days(since, last, is_short=True), f"{write_days(since, last)}{year}"
    if is_week and last is not None:
        return write_day(last, last), write_long_day(last)
    if match := _DAY_SLOT.fullmatch(digest.slot):
        day = date.fromisoformat(match[1])
        if (
            digest.slot != match[1] and coverage.announcement is not None
        ):  # it may hold papers of a later announcement
            day = max(day, coverage.announcement)
    else:
        day = digest.planned_at.astimezone(ZoneInfo(digest.zone)).date()
    return write_day(day, day), write_long_day(day)


def flow_text(text: str) -> str:
    """Return text as format=flowed with delsp=no: a line ending in a blank goes on in the next one."""
    return "\n".join(map(_flow_line, text.split("\n")))


def wrap_text(text: str, width: int = 78) -> str:
    """Return text with lines of at most `width` characters, as far as words and links allow."""
    return "\n".join(part for line in text.split("\n") for part in _break_line(line.rstrip(" "), width))


@lru_cache(2_048)
def _flow_line(line: str) -> str:
    """Flow one line; mails have many in common, such as a paper's abstract."""
    if line == _SIGNATURE:
        return line
    broken = _break_line(line.rstrip(" "), _FLOWED_WIDTH)
    return "\n".join([*(_stuff(part) + " " for part in broken[:-1]), _stuff(broken[-1])])


def _break_line(line: str, width: int) -> list[str]:
    if len(line) <= width or _LINK.fullmatch(line):
        return [line]
    parts: list[str] = []
    for word in line.split(" "):
        # A text without blanks, such as a title in Chinese, is too long for any line: its number stays with it.
        is_hopeless = len(word) > width and bool(parts) and len(parts[-1]) < _SHORT_BEGINNING
        if parts and (is_hopeless or len(parts[-1]) + 1 + len(word) <= width):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def _stuff(line: str) -> str:
    return f" {line}" if _STUFFED.match(line) else line


def find_spans(entry: DigestEntry, field: Field, index: int = 0) -> tuple[tuple[int, int], ...]:
    """Return the places of one field that met any clause, as raw offsets in order."""
    return tuple(sorted({span for reason in entry.reasons for span in find_reason_spans(reason, field, index)}))


def find_reason_spans(reason: Reason, field: Field, index: int = 0) -> tuple[tuple[int, int], ...]:
    """Return the places of one field that met one clause, as raw offsets."""
    return tuple((span.start, span.end) for span in reason.spans if span.field is field and span.index == index)


@lru_cache(_KEPT_TEXTS)
def show_plain(text: str) -> str:
    """Return raw text as readable Unicode on one line."""
    return clean_text(to_plain(text))


@lru_cache(_KEPT_TEXTS)
def show_html(text: str, spans: Spans = ()) -> Markup:
    """Return raw text as HTML, with what was met in `<mark>`."""
    return Markup(clean_markup(to_html(text, spans)))  # noqa: S704 - to_html escapes every leaf


def show_paragraphs(text: str, spans: Spans = ()) -> tuple[Markup, ...]:
    """Return an abstract as HTML, paragraph by paragraph."""
    shown: list[Markup] = []
    start = 0
    for line in text.split("\n"):
        shown.append(show_html(line, _shift(spans, start, len(line))))
        start += len(line) + 1
    return tuple(paragraph.strip() for paragraph in shown if paragraph.strip())


@lru_cache(_KEPT_TEXTS)
def show_segments(text: str, spans: Spans) -> tuple[Segment, ...]:
    """Return raw text as readable Unicode, cut where what was met begins and ends."""
    return to_segments(text, spans)


def _shift(spans: Spans, start: int, length: int) -> tuple[tuple[int, int], ...]:
    inside = ((max(0, first - start), min(length, last - start)) for first, last in spans)
    return tuple((first, last) for first, last in inside if first < last)


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


class Markdown(str):
    """Text that is Markdown already and is printed as it is."""

    __slots__ = ()


def markdown_escape(value: object) -> str:
    """Return a value as Markdown that shows exactly its text."""
    return str(value) if isinstance(value, Markdown) else _MARKDOWN_SIGN.sub(r"\\\g<0>", clean_text(str(value)))


def markdown_link(url: str, label: str) -> Markdown:
    """Return a link without a preview, or just its label where the address is missing or no plain http(s) one."""
    shown = markdown_escape(label)
    return Markdown(f"[{shown}](<{url}>)" if _ADDRESS.fullmatch(url) else shown)


def strip_marks(text: str) -> str:
    """Return compiled text without the marks around values."""
    return text.replace(VALUE_START, "").replace(VALUE_END, "")


def to_plain_text(mrkdwn: str) -> str:
    """Return mrkdwn for a plain_text object, which knows no markup; angle brackets become look-alikes."""
    plain = strip_marks(mrkdwn).replace("&lt;", _LEFT).replace("&gt;", _RIGHT).replace("&amp;", "&")
    return plain.replace("<", _LEFT).replace(">", _RIGHT)


def styled(text: object, style: str) -> str:
    """Return text with a style: bold, dim, accent or mark (what a query met)."""
    return f"{STARTS[style]}{text}{END}"


def styled_link(url: str, text: object) -> str:
    """Return text that can be clicked in a terminal; the text alone where the address is no plain http(s) one."""
    return f"{_URL}{url}{_URL_END}{text}{LINK_END}" if _ADDRESS.fullmatch(url) else str(text)


def strip_styles(text: str) -> str:
    """Return text without any mark, as measured and as printed without colour."""
    return _ALL.sub("", text)


def apply_styles(text: str, *, color: bool) -> str:
    """Return text for the terminal: in ANSI sequences and OSC 8 links, or what was met as [met]."""
    if color:
        linked = LINK_START.sub("\x1b]8;;\\1\x1b\\\\", text).replace(LINK_END, "\x1b]8;;\x1b\\")
        return linked.translate(_RESET_ONLY)
    return strip_styles(_MARKED.sub(r"[\1]", text))


def open_sentence(text: str) -> str:
    """Write the first letter large, except of names that are written small."""
    return text if text.startswith(_KEPT_LOWER) else text[:1].upper() + text[1:]
