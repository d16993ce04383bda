"""Digests keep codes for why papers come first and what they are near to, where they kept sentences.

Revision ID: 0005
Revises: 0004
"""  # noqa: INP001 - read by its path

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_AT_ONCE = 200
"""Digests read at a time: one may have a megabyte."""

_BETWEEN = " · "
"""What stood between the two reasons of a sentence."""

_AUTHORS = "by "
_PUT_FIRST = "put first by "
_TITLE = "your words in its title"
_OF_QUERIES = re.compile(r"in (?:\w+) of your queries")

_LIKE = re.compile("like “(.*)”", re.DOTALL)
_LIST = "near this list's library"

Reason = list[str]
"""A code and its words, as a frozen digest has them."""


def upgrade() -> None:
    """Write anew what digests say of nearness and of papers that come first."""
    conn = op.get_bind()
    digests = sa.table("digests", sa.column("id"), sa.column("content"))
    change = sa.update(digests).where(digests.c.id == sa.bindparam("key"))
    change = change.values(content=sa.bindparam("frozen"))
    for ids in _list_portions(conn, digests):
        found = sa.select(digests.c.id, digests.c.content).where(digests.c.id.in_(ids))
        rows = [{"key": row.id, "frozen": _write_codes(row.content)} for row in conn.execute(found)]
        conn.execute(change, rows)


def _list_portions(conn: sa.Connection, digests: sa.TableClause) -> Iterator[list[int]]:
    ids = list(conn.execute(sa.select(digests.c.id).order_by(digests.c.id)).scalars())
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]


def _write_codes(content: str) -> str:
    """Return the JSON of a digest with codes in place of its sentences."""
    frozen = json.loads(content)
    entries = frozen["entries"]
    start = 0
    for group in frozen["groups"]:
        _title, count, _form, _is_name, sentences = group
        members = entries[start : start + count]
        start += count
        group[-1] = [
            _read_reasons(sentence, entry["near"])
            for sentence, entry in zip(sentences, members, strict=False)
        ]
    for entry in entries:
        entry["near"] = _read_near(entry["near"])
    return json.dumps(frozen, ensure_ascii=False, separators=(",", ":"))


def _read_near(sentence: str) -> tuple[str, bool] | None:
    """Return the title that a paper is near to, and whether its reader owns the library."""
    if not sentence:
        return None
    titled = _LIKE.fullmatch(sentence)
    return (titled[1] if titled else "", sentence != _LIST)


def _read_reasons(sentence: str, near: str) -> list[Reason]:
    """Return the reasons of a sentence: one or two, of which one may be what the paper is near to."""
    if not sentence:
        return []
    if near and sentence == near:
        return [["near"]]
    if near and sentence.startswith(f"{near}{_BETWEEN}"):
        return [["near"], _read_reason(sentence.removeprefix(f"{near}{_BETWEEN}"))]
    if near and sentence.endswith(f"{_BETWEEN}{near}"):
        return [_read_reason(sentence.removesuffix(f"{_BETWEEN}{near}")), ["near"]]
    # A query or a place may have such a dot, too. Wherever it is parted, it reads the same.
    parts = sentence.split(_BETWEEN, 1)
    return [_read_reason(part) for part in parts]


def _read_reason(words: str) -> Reason:
    if words.startswith(_AUTHORS):
        return ["authors", *words.removeprefix(_AUTHORS).split(", ")]
    if words.startswith(_PUT_FIRST):
        return ["put first", words.removeprefix(_PUT_FIRST)]
    if words == _TITLE:
        return ["title"]
    if _OF_QUERIES.fullmatch(words):
        return ["queries"]
    return ["place", words]
