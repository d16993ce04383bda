"""Writes a digest or an alarm as one JSON document for other programs.

Members may be added later. None is renamed or taken away without another `version`. Texts come as
arXiv has them, with their TeX; the title comes once more in plain Unicode. Places of reasons are
code points of these texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from digest.compare import find_differences
from digest.model.messages import Coverage, Delivery, Digest, DigestEntry, Group, Links, Sequel
from digest.model.papers import Author, Paper, Reason, Span
from digest.render.contexts import AlarmContext
from digest.render.digests import CoverageView, view_digest, view_papers
from digest.render.papers import PaperView
from digest.render.precedence import say_near
from digest.render.text import show_plain, write_moment
from digest.tex.places import find_links, find_place

VERSION = 1
"""Of the document's shape."""

DIGEST_EVENT = "digest.planned"
ALARM_EVENT = "alarm.raised"

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
    about = _describe_digest(digest, links)

    def write(papers: Sequence[dict[str, Any]], left_out: Sequence[str]) -> bytes:
        data = {**about, "papers": papers, "rest": _describe_rest(left_out, links)}
        return _write_event(DIGEST_EVENT, delivery.idempotency_key, digest.planned_at, data)

    ids = [str(entry.paper.id) for entry in digest.entries]
    longest_first = sorted(ids, key=len, reverse=True)
    room = MOST_BYTES - len(write([], longest_first))
    written = _choose_papers(digest, room)
    left_out = [id_ for number, id_ in enumerate(ids, 1) if number not in written]
    return write(list(written.values()), left_out)


def _describe_digest(digest: Digest, links: Links) -> dict[str, Any]:
    """Describe a digest without its papers."""
    view = view_digest(digest)
    groups = [_describe_group(group) for group in digest.groups]
    queries = [{"name": name, "text": text} for name, text in digest.queries]
    pages = {"web_view": links.web_view or None, "feed": links.feed or None}
    return {
        "subscription": digest.subscription,
        "title": digest.title,
        "slot": digest.slot,
        "occasion": str(digest.occasion),
        "planned_at": write_moment(digest.planned_at),
        "headline": view.headline,
        "introduction": view.introduction,
        "group_by": str(digest.group_by),
        "groups": groups,
        "coverage": _describe_coverage(digest.coverage, view.coverage),
        "queries": queries,
        "links": pages,
    }


def _describe_group(group: Group) -> dict[str, Any]:
    return {"title": group.title, "count": group.count, "form": str(group.form)}


def _describe_coverage(coverage: Coverage, view: CoverageView) -> dict[str, Any]:
    checked_at = None
    if coverage.checked_at:
        checked_at = write_moment(coverage.checked_at)
    return {
        "sentence": view.sentence,
        "state": view.state,
        "announcement": _write_day(coverage.announcement),
        "since": _write_day(coverage.since),
        "new": coverage.new,
        "matched": coverage.matched,
        "checked_at": checked_at,
    }


def _choose_papers(digest: Digest, room: int) -> dict[int, dict[str, Any]]:
    """Describe the papers that have room, by their numbers."""
    written: dict[int, dict[str, Any]] = {}
    for view in view_papers(digest)[:MOST_PAPERS]:
        is_shown = view.number <= digest.shown
        paper = {"number": view.number, "is_shown": is_shown, **_describe_paper(view)}
        length = len(_encode(paper)) + len(",")
        if length <= room:
            written[view.number] = paper
            room -= length
    return written


def _describe_rest(ids: Sequence[str], links: Links) -> dict[str, Any]:
    return {"count": len(ids), "url": links.web_view or None, "ids": ids[:_MOST_NAMED]}


def write_alarm_event(context: AlarmContext, key: str, moment: datetime) -> bytes:
    """Write a message to the operator."""
    alarms = [{"heading": alarm.heading, "detail": alarm.detail} for alarm in context.alarms]
    data = {
        "headline": context.headline,
        "alarms": alarms,
        "installation": context.installation,
        "is_test": context.is_test,
    }
    return _write_event(ALARM_EVENT, key, moment, data)


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
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.encode("ascii")


def _describe_paper(view: PaperView) -> dict[str, Any]:
    """Describe a paper: its place in the digest, its record, and how it got into the digest."""
    entry = view.entry
    paper = entry.paper
    links = [{"label": link.label, "url": link.url} for link in find_links(paper)]
    place = {
        "heading": view.heading,
        "form": str(view.form),
        "why_first": view.why_first,
        "near": say_near(entry.near),
        "place": show_plain(find_place(paper)),
        "links": links,
        "id": str(paper.id),
        "version": paper.version,
        "kind": str(entry.kind),
    }
    return {**place, **_describe_record(paper), **_describe_cause(entry)}


def _describe_record(paper: Paper) -> dict[str, Any]:
    """Describe a paper as arXiv does."""
    authors = [_describe_author(author) for author in paper.authors]
    return {
        "url": paper.url,
        "pdf_url": paper.pdf_url,
        "title": show_plain(paper.title),
        "title_tex": paper.title,
        "abstract_tex": paper.abstract,
        "authors": authors,
        "categories": list(paper.categories),
        "submitted_at": write_moment(paper.published),
        "updated_at": write_moment(paper.updated),
        "comment": paper.comment,
        "journal_ref": paper.journal_ref,
        "dois": list(paper.dois),
    }


def _describe_author(author: Author) -> dict[str, Any]:
    return {"name": author.name, "affiliations": list(author.affiliations)}


def _describe_cause(entry: DigestEntry) -> dict[str, Any]:
    """Describe what changed in a paper, and which saved queries it matched why."""
    known_version = None
    changes: list[dict[str, Any]] = []
    if entry.before:
        before = entry.before.paper
        known_version = before.version
        changes = _describe_changes(before, entry.paper)
    sequel = None
    if entry.sequel:
        sequel = _describe_sequel(entry.sequel)
    reasons = [_describe_reason(reason) for reason in entry.reasons]
    return {
        "change": entry.label,
        "changed_since_version": known_version,
        "changes": changes,
        "sequel": sequel,
        "queries": list(entry.queries),
        "reasons": reasons,
    }


def _describe_changes(before: Paper, after: Paper) -> list[dict[str, Any]]:
    changes = []
    for name in find_differences(before, after):
        if name in _SHOWN_FIELDS:
            old = _list_values(before, name)
            new = _list_values(after, name)
            changes.append({"field": name, "before": old, "after": new})
    return changes


def _list_values(paper: Paper, name: str) -> list[str]:
    value = getattr(paper, name)
    if isinstance(value, str):
        return [value] if value else []
    return [getattr(one, "name", one) for one in value]


def _describe_sequel(sequel: Sequel) -> dict[str, Any]:
    before = sequel.before.paper
    after = sequel.after.paper
    changes = _describe_changes(before, after)
    return {
        "kind": str(sequel.kind),
        "announcement": _write_day(sequel.day),
        "version": after.version,
        "comment": after.comment,
        "changes": changes,
    }


def _describe_reason(reason: Reason) -> dict[str, Any]:
    places = [_describe_span(span) for span in reason.spans]
    return {"query": reason.query, "clause": reason.clause, "places": places}


def _describe_span(span: Span) -> dict[str, Any]:
    return {
        "field": str(span.field),
        "index": span.index,
        "start": span.start,
        "end": span.end,
    }


def _write_day(day: date | None) -> str | None:
    return day.isoformat() if day else None
