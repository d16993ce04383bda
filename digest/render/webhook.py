"""Writes a digest or an alarm as one JSON document for other programs.

Members may be added later. None is renamed or taken away without another `version`. Texts come as arXiv has them,
with their TeX; the title comes once more in plain Unicode. Places of reasons are code points of these texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from digest.compare import find_differences
from digest.model.messages import Delivery, Digest, Links, Sequel
from digest.model.papers import Paper, Reason
from digest.render.contexts import AlarmContext
from digest.render.digests import view_digest, view_papers
from digest.render.papers import PaperView
from digest.render.precedence import say_near
from digest.render.text import show_plain, write_moment
from digest.tex.places import find_links, find_place

VERSION = 1
"""Of the document's shape."""

DIGEST_EVENT, ALARM_EVENT = "digest.planned", "alarm.raised"

MOST_PAPERS = 100
MOST_BYTES = 256_000
"""What a post holds at most: many receivers refuse longer ones."""

_MOST_NAMED = 400
"""Papers without room that are named by id; further ones are counted only."""

_SHOWN_FIELDS = ("title", "abstract", "authors", "comment", "journal_ref", "dois", "categories")


def write_digest_event(digest: Digest, delivery: Delivery, links: Links) -> bytes:
    """Write a digest with as many papers as a post may hold, shown or not, and count the others.

    A paper of thousands of authors may be too long by itself; those after it are sent all the same.
    """
    view = view_digest(digest)
    coverage = digest.coverage
    data = {
        "subscription": digest.subscription,
        "title": digest.title,
        "slot": digest.slot,
        "occasion": str(digest.occasion),
        "planned_at": write_moment(digest.planned_at),
        "headline": view.headline,
        "introduction": view.introduction,
        "group_by": str(digest.group_by),
        "groups": [
            {"title": one.title, "count": one.count, "form": str(one.form)} for one in digest.groups
        ],
        "coverage": {
            "sentence": view.coverage.sentence,
            "state": view.coverage.state,
            "announcement": _write_day(coverage.announcement),
            "since": _write_day(coverage.since),
            "new": coverage.new,
            "matched": coverage.matched,
            "checked_at": write_moment(coverage.checked_at) if coverage.checked_at else None,
        },
        "queries": [{"name": name, "text": text} for name, text in digest.queries],
        "links": {"web_view": links.web_view or None, "feed": links.feed or None},
    }
    name = (DIGEST_EVENT, delivery.idempotency_key, digest.planned_at)
    ids = [str(entry.paper.id) for entry in digest.entries]
    longest = data | {
        "papers": [],
        "rest": _describe_rest(sorted(ids, key=len, reverse=True), links),
    }
    written = _choose_papers(digest, MOST_BYTES - len(_write_event(*name, longest)))
    left = [id_ for number, id_ in enumerate(ids, 1) if number not in written]
    return _write_event(
        *name, data | {"papers": list(written.values()), "rest": _describe_rest(left, links)}
    )


def _choose_papers(digest: Digest, room: int) -> dict[int, dict[str, Any]]:
    written: dict[int, dict[str, Any]] = {}
    for view in view_papers(digest)[:MOST_PAPERS]:
        paper = {"number": view.number, "is_shown": view.number <= digest.shown, **_describe(view)}
        length = len(_encode(paper)) + 1
        if length <= room:
            written[view.number] = paper
            room -= length
    return written


def _describe_rest(ids: Sequence[str], links: Links) -> dict[str, Any]:
    return {"count": len(ids), "url": links.web_view or None, "ids": ids[:_MOST_NAMED]}


def write_alarm_event(context: AlarmContext, key: str, moment: datetime) -> bytes:
    """Write a message to the operator."""
    return _write_event(
        ALARM_EVENT,
        key,
        moment,
        {
            "headline": context.headline,
            "alarms": [
                {"heading": alarm.heading, "detail": alarm.detail} for alarm in context.alarms
            ],
            "installation": context.installation,
            "is_test": context.is_test,
        },
    )


def _write_event(name: str, key: str, moment: datetime, data: dict[str, Any]) -> bytes:
    event = {
        "version": VERSION,
        "type": name,
        "id": key,
        "timestamp": write_moment(moment),
        "data": data,
    }
    return _encode(event) + b"\n"


def _encode(value: dict[str, Any]) -> bytes:
    # Escaped to ASCII: a lone surrogate in a title is no UTF-8, and must not keep the others away.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _describe(view: PaperView) -> dict[str, Any]:
    entry, paper = view.entry, view.entry.paper
    return {
        "heading": view.heading,
        "form": str(view.form),
        "why_first": view.why_first,
        "near": say_near(entry.near),
        "place": show_plain(find_place(paper)),
        "links": [{"label": link.label, "url": link.url} for link in find_links(paper)],
        "id": str(paper.id),
        "version": paper.version,
        "kind": str(entry.kind),
        "url": paper.url,
        "pdf_url": paper.pdf_url,
        "title": show_plain(paper.title),
        "title_tex": paper.title,
        "abstract_tex": paper.abstract,
        "authors": [
            {"name": author.name, "affiliations": list(author.affiliations)}
            for author in paper.authors
        ],
        "categories": list(paper.categories),
        "submitted_at": write_moment(paper.published),
        "updated_at": write_moment(paper.updated),
        "comment": paper.comment,
        "journal_ref": paper.journal_ref,
        "dois": list(paper.dois),
        "change": entry.label,
        "changed_since_version": entry.before.paper.version if entry.before else None,
        "changes": _describe_changes(entry.before.paper, paper) if entry.before else [],
        "sequel": _describe_sequel(entry.sequel) if entry.sequel else None,
        "queries": list(entry.queries),
        "reasons": [_describe_reason(reason) for reason in entry.reasons],
    }


def _describe_changes(before: Paper, after: Paper) -> list[dict[str, Any]]:
    return [
        {"field": name, "before": _list_values(before, name), "after": _list_values(after, name)}
        for name in find_differences(before, after)
        if name in _SHOWN_FIELDS
    ]


def _list_values(paper: Paper, name: str) -> list[str]:
    value = getattr(paper, name)
    if isinstance(value, str):
        return [value] if value else []
    return [getattr(one, "name", one) for one in value]


def _describe_sequel(sequel: Sequel) -> dict[str, Any]:
    return {
        "kind": str(sequel.kind),
        "announcement": _write_day(sequel.day),
        "version": sequel.after.paper.version,
        "comment": sequel.after.paper.comment,
        "changes": _describe_changes(sequel.before.paper, sequel.after.paper),
    }


def _describe_reason(reason: Reason) -> dict[str, Any]:
    return {
        "query": reason.query,
        "clause": reason.clause,
        "places": [
            {"field": str(span.field), "index": span.index, "start": span.start, "end": span.end}
            for span in reason.spans
        ],
    }


def _write_day(day: date | None) -> str | None:
    return day.isoformat() if day else None
