"""The shape of what other programs get, as JSON Schema (https://json-schema.org/draft/2020-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from digest.announcements import Kind
from digest.messages import Occasion
from digest.papers import Field
from digest.render.coverage import CoverageState
from digest.render.webhook import ALARM_EVENT, DIGEST_EVENT, MOST_BYTES, MOST_PAPERS, VERSION
from digest.subscriptions import Grouping

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOMENT = {"type": "string", "format": "date-time"}
_DAY = {"type": ["string", "null"], "format": "date", "description": "US Eastern date of a mailing."}
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}


def describe_events() -> dict[str, Any]:
    """Return the schema of a webhook's body."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What Digest posts to a webhook",
        "oneOf": [
            _describe_event(DIGEST_EVENT, _DIGEST, "A digest, frozen; every attempt has the same bytes."),
            _describe_event(ALARM_EVENT, _ALARM, "What the operator should know."),
        ],
    }


def _describe_event(name: str, data: Mapping[str, Any], about: str) -> dict[str, Any]:
    return {
        "description": about,
        **_table(
            version={"const": VERSION},
            type={"const": name},
            id={"type": "string", "description": "As the header webhook-id: the same for a repetition."},
            timestamp={
                **_MOMENT,
                "description": "When it was made. The header webhook-timestamp is the attempt's.",
            },
            data=data,
        ),
    }


def _table(**members: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members)}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_REASON = _table(
    query={"type": "string", "description": "The saved query's name."},
    clause={"type": "string", "description": "Its clause that was met, as canonical text."},
    places=_list(
        _table(
            field={"enum": [str(field) for field in Field]},
            index={**_COUNT, "description": "Which of several values, such as authors, from 0."},
            start={**_COUNT, "description": "Code points, from 0."},
            end=_COUNT,
        )
    ),
)

_CHANGES = _list(
    _table(
        field={"enum": ["title", "abstract", "authors", "comment", "journal_ref", "dois", "categories"]},
        before={
            **_TEXTS,
            "description": "Its values as they were; none of an empty text.",
        },
        after=_TEXTS,
    )
)

_SEQUEL = _table(
    kind={"enum": [str(Kind.REPLACEMENT), str(Kind.WITHDRAWAL)]},
    mailing=_DAY,
    version={"type": "integer", "minimum": 1},
    comment=_TEXT,
    changes=_CHANGES,
)

_PAPER = _table(
    number={"type": "integer", "minimum": 1},
    is_shown={"type": "boolean", "description": "Within the subscription's cap."},
    id={"type": "string", "description": "arXiv's identifier without version."},
    version={"type": "integer", "minimum": 1},
    kind={"enum": [str(kind) for kind in Kind]},
    url=_TEXT,
    pdf_url=_TEXT,
    title={"type": "string", "description": "In plain Unicode."},
    title_tex={"type": "string", "description": "As arXiv has it."},
    abstract_tex={"type": "string", "description": "As arXiv has it; a blank line between paragraphs."},
    authors=_list(_table(name=_TEXT, affiliations=_TEXTS)),
    categories={**_TEXTS, "description": "The primary one first."},
    submitted_at=_MOMENT,
    updated_at=_MOMENT,
    comment=_TEXT,
    journal_ref=_TEXT,
    dois=_TEXTS,
    change={"type": "string", "description": 'Such as "v1 → v2"; "" for new papers.'},
    changed_fields=_TEXT,
    changed_since_version={
        "type": ["integer", "null"],
        "description": "The version that `changes` are held against: what the reader had, where that is known.",
    },
    changes=_CHANGES,
    sequel={
        "oneOf": [{"type": "null"}, _SEQUEL],
        "description": "What became of it after it was announced, within the days of the digest.",
    },
    mailing=_DAY,
    queries={**_TEXTS, "description": "Names of the saved queries that matched."},
    reasons=_list(_REASON),
)

_DIGEST = _table(
    subscription=_TEXT,
    title=_TEXT,
    slot={"type": "string", "description": "Unique within the subscription."},
    occasion={"enum": [str(occasion) for occasion in Occasion]},
    planned_at=_MOMENT,
    headline=_TEXT,
    group_by={"enum": [str(grouping) for grouping in Grouping]},
    is_round_up={"type": "boolean", "description": "It rounds up a week."},
    coverage=_table(
        sentence={"type": "string", "description": "What was looked at, in words."},
        state={"enum": [str(state) for state in CoverageState]},
        mailing=_DAY,
        since=_DAY,
        new=_COUNT,
        matched={"type": ["integer", "null"], "minimum": 0},
        checked_at={"type": ["string", "null"], "format": "date-time"},
    ),
    queries=_list(_table(name=_TEXT, text=_TEXT)),
    links=_table(web_view={"type": ["string", "null"]}, feed={"type": ["string", "null"]}),
    papers={
        **_list(_PAPER),
        "maxItems": MOST_PAPERS,
        "description": f"The first ones, as many as {MOST_BYTES:,} bytes hold.",
    },
    rest=_table(
        count={**_COUNT, "description": "How many papers are not among `papers`."},
        url={"type": ["string", "null"], "description": "The page that shows all."},
        ids={**_TEXTS, "description": "The first of them."},
    ),
)

_ALARM = _table(
    headline=_TEXT,
    alarms=_list(_table(heading=_TEXT, detail=_TEXT)),
    installation=_TEXT,
    is_test={"type": "boolean"},
)
