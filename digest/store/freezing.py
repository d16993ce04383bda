"""A digest as JSON text and back: papers by the key of their stored text, everything else in full. Pure."""

from __future__ import annotations

import json
from datetime import date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from digest.announcements import Kind
from digest.errors import StoreError
from digest.messages import Coverage, Digest, DigestEntry, Occasion, Sequel, StoredText
from digest.papers import Field, Reason, Span
from digest.subscriptions import Grouping, Replacements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from digest.papers import Paper

FORMAT = 1
"""Grows when the text's shape changes; every earlier shape stays readable."""

_quote: Callable[[str], str] = json.encoder.encode_basestring  # what the encoder itself uses


def freeze(digest: Digest, versions: Mapping[int, int]) -> str:
    """Return a digest as JSON text.

    Args:
        digest: the digest.
        versions: the key of the stored text each of its changes is about, by change id.
    """
    return join_frozen(digest, [freeze_entry(entry, versions[entry.change_id]) for entry in digest.entries])


def join_frozen(digest: Digest, entries: Iterable[str]) -> str:
    """Return a digest as JSON text, its entries frozen already: many digests of one mailing share theirs."""
    queries = ",".join([f"[{_quote(name)},{_quote(text)}]" for name, text in digest.queries])
    return (
        f'{{"format":{FORMAT},"subscription":{_quote(digest.subscription)},"title":{_quote(digest.title)},'
        f'"slot":{_quote(digest.slot)},"occasion":"{digest.occasion}",'
        f'"planned_at":"{digest.planned_at.isoformat()}","zone":{_quote(digest.zone)},"shown":{digest.shown},'
        f'"queries":[{queries}],"coverage":{_freeze_coverage(digest.coverage)},{_freeze_reading(digest)}'
        f'"entries":[{",".join(entries)}]}}'
    )


def _freeze_reading(digest: Digest) -> str:
    """Freeze how a digest reads and what its addresses are made from, as far as that is not the usual."""
    grouping = f'"group_by":"{digest.group_by}",' if digest.group_by is not Grouping.KIND else ""
    whole = f'"replacements":"{digest.replacements}",' if digest.replacements is not Replacements.FOLDED else ""
    return grouping + whole + ('"round_up":true,' if digest.is_round_up else "")


def freeze_entry(entry: DigestEntry, version: int) -> str:
    """Return an entry as JSON text, `version` being the key of the stored text it is about.

    It is put together by hand, as digests are: a morning has entries by the hundred thousand.
    """
    queries = ",".join(map(_quote, entry.queries))
    reasons = ",".join(map(_freeze_reason, entry.reasons))
    mailing = f',"mailing":"{entry.mailing.isoformat()}"' if entry.mailing else ""
    before = f',"before":{entry.before.key}' if entry.before and entry.before.key else ""
    sequel = _freeze_sequel(entry.sequel) if entry.sequel else ""
    return (
        f'{{"version":{version},"change":{entry.change_id},"kind":"{entry.kind}","label":{_quote(entry.label)},'
        f'"note":{_quote(entry.change_note)},"queries":[{queries}],"reasons":[{reasons}],'
        f'"found_at":"{entry.found_at.isoformat()}"{mailing}{before}{sequel}}}'
    )


def _freeze_sequel(sequel: Sequel) -> str:
    if not (sequel.before.key and sequel.after.key):
        return ""
    return f',"sequel":["{sequel.kind}","{sequel.day.isoformat()}",{sequel.before.key},{sequel.after.key}]'


def _freeze_reason(reason: Reason) -> str:
    spans = ",".join([f'["{span.field}",{span.start},{span.end},{span.index}]' for span in reason.spans])
    return f"[{_quote(reason.query)},{_quote(reason.clause)},[{spans}]]"


def frozen_versions(content: str) -> tuple[int, ...]:
    """Return the keys of the stored texts a frozen digest is made of."""
    keys: dict[int, None] = {}
    for entry in _read(content)["entries"]:
        keys[entry["version"]] = None
        keys.update(dict.fromkeys([*filter(None, [entry.get("before")]), *entry.get("sequel", ())[2:]]))
    return tuple(keys)


def frozen_coverage(content: str) -> Coverage:
    """Return what was looked at before a frozen digest."""
    return _thaw_coverage(_read(content)["coverage"])


def thaw(content: str, papers: Mapping[int, Paper], *, id_: int = 0) -> Digest:
    """Return the digest that was frozen.

    Args:
        content: what `freeze` returned.
        papers: the stored texts by key (see `frozen_versions`).
        id_: the stored digest's number.

    Raises:
        StoreError: a later release froze it.
    """
    frozen = _read(content)
    return Digest(
        subscription=frozen["subscription"],
        title=frozen["title"],
        slot=frozen["slot"],
        occasion=Occasion(frozen["occasion"]),
        planned_at=datetime.fromisoformat(frozen["planned_at"]),
        zone=frozen["zone"],
        entries=tuple(_thaw_entry(entry, papers) for entry in frozen["entries"]),
        shown=frozen["shown"],
        queries=tuple((name, text) for name, text in frozen["queries"]),
        coverage=_thaw_coverage(frozen["coverage"]),
        id=id_,
        group_by=Grouping(frozen.get("group_by", Grouping.KIND)),
        replacements=Replacements(frozen.get("replacements", Replacements.FOLDED)),
        is_round_up=frozen.get("round_up", False),
    )


def _read(content: str) -> dict[str, Any]:
    frozen: dict[str, Any] = json.loads(content)
    if frozen["format"] != FORMAT:
        raise StoreError(
            f"a digest was frozen in shape {frozen['format']}, this release reads shape {FORMAT}",
            hint="Use the release that froze it, or a later one.",
        )
    return frozen


def _thaw_entry(frozen: dict[str, Any], papers: Mapping[int, Paper]) -> DigestEntry:
    return DigestEntry(
        kind=Kind(frozen["kind"]),
        paper=papers[frozen["version"]],
        label=frozen["label"],
        change_note=frozen["note"],
        queries=tuple(frozen["queries"]),
        reasons=tuple(
            Reason(
                clause=clause,
                spans=tuple(Span(Field(field), start, end, index) for field, start, end, index in spans),
                query=query,
            )
            for query, clause, spans in frozen["reasons"]
        ),
        found_at=datetime.fromisoformat(frozen["found_at"]),
        change_id=frozen["change"],
        mailing=date.fromisoformat(frozen["mailing"]) if "mailing" in frozen else None,
        before=StoredText(papers[frozen["before"]], frozen["before"]) if "before" in frozen else None,
        sequel=_thaw_sequel(frozen["sequel"], papers) if "sequel" in frozen else None,
    )


def _thaw_sequel(frozen: list[Any], papers: Mapping[int, Paper]) -> Sequel:
    kind, day, before, after = frozen
    return Sequel(
        Kind(kind), date.fromisoformat(day), StoredText(papers[before], before), StoredText(papers[after], after)
    )


@lru_cache(maxsize=256)
def _freeze_coverage(coverage: Coverage) -> str:
    """Freeze what was looked at once: the digests of a mailing share a few, one for each number of papers."""
    content = {
        "mailing": coverage.mailing.isoformat() if coverage.mailing else None,
        "is_complete": coverage.is_complete,
        "looked_at": coverage.looked_at,
        "matched": coverage.matched,
        "checked_at": coverage.checked_at.isoformat() if coverage.checked_at else None,
        "source": coverage.source,
        "failure": coverage.failure,
        "new": coverage.new,
        "is_settled": coverage.is_settled,
        "is_awaited": coverage.is_awaited,
        "since": coverage.since.isoformat() if coverage.since else None,
        "mailings": coverage.mailings,
    }
    if coverage.told_at:
        content["told_at"] = coverage.told_at.isoformat()
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _thaw_coverage(frozen: dict[str, Any]) -> Coverage:
    mailing, checked_at = frozen["mailing"], frozen["checked_at"]
    return Coverage(
        mailing=date.fromisoformat(mailing) if mailing else None,
        is_complete=frozen["is_complete"],
        looked_at=frozen["looked_at"],
        matched=frozen["matched"],
        checked_at=datetime.fromisoformat(checked_at) if checked_at else None,
        source=frozen["source"],
        failure=frozen["failure"],
        new=frozen.get("new", 0),
        is_settled=frozen.get("is_settled", frozen["is_complete"]),
        is_awaited=frozen.get("is_awaited", False),
        since=date.fromisoformat(frozen["since"]) if frozen.get("since") else None,
        mailings=frozen.get("mailings", 1),
        told_at=datetime.fromisoformat(frozen["told_at"]) if "told_at" in frozen else None,
    )
