"""Frozen digests: what of a digest no column says, as JSON text, and the digest made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Any, TypeAlias

from sqlalchemy import Row

from digest.model.announcements import Kind
from digest.model.messages import (
    Coverage,
    Digest,
    DigestEntry,
    FirstReason,
    Form,
    Group,
    NearLibrary,
    Occasion,
    Sequel,
    StoredText,
    WhyFirst,
)
from digest.model.papers import Field, Paper, Reason, Span
from digest.model.subscriptions import Abstracts, Grouping, UncheckedTurn

Frozen: TypeAlias = "tuple[Row[Any], dict[str, Any]]"
"""A digest as `thaw_digest` takes it: its row and its JSON."""

_DAYS = ("announcement", "since")
_MOMENTS = ("checked_at", "last_shown_at", "failing_since")
"""What of a coverage is a day, and what a moment; both may be missing."""


def freeze_digest(digest: Digest, texts: Mapping[int, int]) -> str:
    """Return as JSON text what of a digest no column says.

    It names papers by the keys of their texts. `texts` says the key of the stored text that each of
    its changes is about, by change id.
    """
    entries = [_freeze_entry(entry, texts[entry.change_id]) for entry in digest.entries]
    groups = [_freeze_group(group) for group in digest.groups]
    unchecked = [str(turn) for turn in digest.unchecked]
    frozen = {
        "queries": digest.queries,
        "coverage": asdict(digest.coverage),
        "group_by": digest.group_by,
        "abstracts": digest.abstracts,
        "remark": digest.remark,
        "is_nearest": digest.is_nearest,
        "unchecked": unchecked,
        "groups": groups,
        "entries": entries,
    }
    return json.dumps(frozen, ensure_ascii=False, separators=(",", ":"), default=_write_day)


def _write_day(day: date) -> str:
    return day.isoformat()


def _freeze_group(group: Group) -> tuple[Any, ...]:
    why_first = []
    for reasons in group.reasons:
        why_first.append([(reason.why, *reason.words) for reason in reasons])
    return group.title, group.count, group.form, group.is_name, why_first


def _freeze_entry(entry: DigestEntry, text: int) -> dict[str, Any]:
    near = None
    if entry.near:
        near = (entry.near.title, entry.near.is_own)
    before = None
    if entry.before:
        before = entry.before.key
    sequel = None
    if entry.sequel:
        sequel = _freeze_sequel(entry.sequel)
    return {
        "text": text,
        "change": entry.change_id,
        "kind": entry.kind,
        "label": entry.label,
        "queries": entry.queries,
        "reasons": [_freeze_reason(reason) for reason in entry.reasons],
        "announced": entry.announced,
        "before": before,
        "sequel": sequel,
        "near": near,
    }


def _freeze_reason(reason: Reason) -> tuple[Any, ...]:
    spans = [(span.field, span.start, span.end, span.index) for span in reason.spans]
    return reason.query, reason.clause, spans


def _freeze_sequel(sequel: Sequel) -> tuple[Any, ...]:
    return sequel.kind, sequel.day, sequel.before.key, sequel.after.key


def find_texts(frozen: Mapping[str, Any]) -> set[int]:
    """Return the keys of the stored texts that a frozen digest is made of."""
    keys: set[int] = set()
    for entry in frozen["entries"]:
        keys.add(entry["text"])
        if entry["before"]:
            keys.add(entry["before"])
        if entry["sequel"]:
            _kind, _day, before, after = entry["sequel"]
            keys.update((before, after))
    return keys


def thaw_digest(
    row: Any,  # noqa: ANN401 - a row of `digests`
    frozen: Mapping[str, Any],
    papers: Mapping[int, Paper],
) -> Digest:
    """Return the digest that was frozen.

    It is made of its row, its JSON and the stored texts by key (see `find_texts`).
    """
    queries = [(name, text) for name, text in frozen["queries"]]
    entries = [_thaw_entry(entry, papers) for entry in frozen["entries"]]
    turns = frozen.get("unchecked", ())  # none in those of before
    unchecked = [UncheckedTurn.parse(turn) for turn in turns]
    coverage = thaw_coverage(frozen["coverage"])
    groups = _thaw_groups(frozen["groups"])
    return Digest(
        subscription=row.subscription,
        title=row.title,
        slot=row.slot,
        occasion=Occasion(row.occasion),
        planned_at=row.planned_at,
        zone=row.zone,
        entries=tuple(entries),
        shown=row.shown,
        queries=tuple(queries),
        coverage=coverage,
        groups=groups,
        id=row.id,
        group_by=Grouping(frozen["group_by"]),
        abstracts=Abstracts(frozen["abstracts"]),
        remark=frozen["remark"],
        is_nearest=frozen["is_nearest"],
        unchecked=tuple(unchecked),
    )


def _thaw_groups(frozen: Iterable[Sequence[Any]]) -> tuple[Group, ...]:
    groups = []
    for title, count, form, is_name, reasons in frozen:
        why_first = tuple(_thaw_first(of_paper) for of_paper in reasons)
        groups.append(Group(title, count, Form(form), is_name, why_first))
    return tuple(groups)


def _thaw_first(frozen: Iterable[Sequence[str]]) -> tuple[FirstReason, ...]:
    return tuple(FirstReason(WhyFirst(why), tuple(words)) for why, *words in frozen)


def _thaw_entry(frozen: Mapping[str, Any], papers: Mapping[int, Paper]) -> DigestEntry:
    before = None
    if frozen["before"]:
        before = _thaw_text(frozen["before"], papers)
    sequel = None
    if frozen["sequel"]:
        sequel = _thaw_sequel(frozen["sequel"], papers)
    near = None
    if frozen["near"]:
        near = NearLibrary(*frozen["near"])
    reasons = [_thaw_reason(reason) for reason in frozen["reasons"]]
    announced = date.fromisoformat(frozen["announced"])
    return DigestEntry(
        kind=Kind(frozen["kind"]),
        paper=papers[frozen["text"]],
        label=frozen["label"],
        queries=tuple(frozen["queries"]),
        reasons=tuple(reasons),
        announced=announced,
        change_id=frozen["change"],
        before=before,
        sequel=sequel,
        near=near,
    )


def _thaw_reason(frozen: Sequence[Any]) -> Reason:
    query, clause, places = frozen
    spans = []
    for field, *place in places:
        spans.append(Span(Field(field), *place))
    return Reason(clause, tuple(spans), query)


def _thaw_sequel(frozen: Sequence[Any], papers: Mapping[int, Paper]) -> Sequel:
    kind, day, before, after = frozen
    announced = date.fromisoformat(day)
    return Sequel(Kind(kind), announced, _thaw_text(before, papers), _thaw_text(after, papers))


def _thaw_text(key: int, papers: Mapping[int, Paper]) -> StoredText:
    return StoredText(papers[key], key)


def thaw_coverage(frozen: Mapping[str, Any]) -> Coverage:
    """Return the coverage of a frozen digest."""
    values = dict(frozen)
    for name in _DAYS:
        if frozen[name]:
            values[name] = date.fromisoformat(frozen[name])
    for name in _MOMENTS:
        if frozen[name]:
            values[name] = datetime.fromisoformat(frozen[name])
    return Coverage(**values)
