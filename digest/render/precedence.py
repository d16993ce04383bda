"""Says why a paper comes before others, and to what in a library it is near."""

from __future__ import annotations

from digest.model.messages import DigestEntry, FirstReason, NearLibrary, WhyFirst
from digest.render.text import shorten

_LONGEST_REASON = 46
"""Letters of a title or a query that a reason has room for: it takes one line of a phone."""

_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def say_near(near: NearLibrary | None) -> str:
    """Say in a line to what a paper is near: `like “Title of the nearest”`; "" for nothing."""
    if near is None or not near.title:
        return explain_dot(near)
    return f"like “{shorten(near.title, _LONGEST_REASON)}”"


def explain_dot(near: NearLibrary | None) -> str:
    """Say what the dot at a near paper means: `near your library`; "" for a paper without one."""
    if near is None:
        return ""
    return f"near {name_library(near)}"


def name_library(near: NearLibrary) -> str:
    """Name the library as its owner does, or as others do: `your library`, `this list's library`."""
    return "your library" if near.is_own else "this list's library"


def say_why_first(entry: DigestEntry, reasons: tuple[FirstReason, ...]) -> str:
    """Say in a line why a reader should read a paper before others; "" without reasons.

    The reasons have no comma between them: a place after one would seem to be that of the library's
    paper.
    """
    return " · ".join([_say_reason(entry, reason) for reason in reasons])


def _say_reason(entry: DigestEntry, reason: FirstReason) -> str:
    words = ", ".join(reason.words)
    match reason.why:
        case WhyFirst.AUTHORS:
            return f"by {words}"
        case WhyFirst.PUT_FIRST:
            return f"put first by {shorten(words, _LONGEST_REASON)}"
        case WhyFirst.NEAR:
            return say_near(entry.near)
        case WhyFirst.QUERIES:
            number = len(entry.queries)
            return f"in {_NUMBERS.get(number, number)} of your queries"
        case WhyFirst.TITLE:
            return "your words in its title"
        case WhyFirst.PLACE:
            return words
