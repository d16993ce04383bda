"""Words that another release read otherwise are read anew by each pass."""

from __future__ import annotations

from sqlalchemy import select, update

from digest.query.paper_words import RULES
from digest.serve.steps import run_pass
from digest.store.schema import words
from digest.store.words import load
from tests.integration.web.world import World


def test_a_pass_that_finds_nothing_to_check_reads_old_words_anew(world: World) -> None:
    site = world.open()
    run_pass(site)
    with site.store.begin() as conn:
        keys = conn.execute(select(words.c.version_id)).scalars().all()
        read = load(conn, keys)
        conn.execute(update(words).values(rules=0, packed=b""))
    assert len(read) > 1
    assert not run_pass(site).poll.was_due
    with site.store.read() as conn:
        assert set(conn.execute(select(words.c.rules)).scalars()) == {RULES}
        assert load(conn, keys) == read
    site.close()
