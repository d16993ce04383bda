"""The pages of arXiv as an installation keeps them."""

from __future__ import annotations

import zlib

from sqlalchemy import Connection, select

from digest.store.schema import raw_pages


def load_pages(conn: Connection, run_id: int) -> list[bytes]:
    """Return the pages of a run as they came, in order."""
    found = select(raw_pages.c.body).where(raw_pages.c.run_id == run_id).order_by(raw_pages.c.number)
    return [zlib.decompress(body) for body in conn.execute(found).scalars()]
