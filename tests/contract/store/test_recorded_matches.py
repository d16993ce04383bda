"""What was recorded of a paper's way stays as it was when it happened."""

from __future__ import annotations

from digest.model.subscriptions import FILE, QueryOutcome
from digest.store import Store, matches, queries
from tests.contract.store.made import DAY, NOW


def test_what_recorded_a_change_is_found_as_it_read_then(store: Store) -> None:
    with store.begin() as conn:
        queries.sync(
            conn, {"perf": ("cat:cs.PF",) * 2 + ("",), "gpu": ("ti:gpu",) * 2 + ("",)}, FILE, NOW
        )
        gpu, perf = queries.active_revisions(conn)
        run_id = matches.begin_run(conn, from_change=0, to_change=9, at=NOW, occasion="poll")
        outcomes = {perf.id: QueryOutcome(new=(3,)), gpu.id: QueryOutcome(changed=(4,), gone=(3,))}
        matches.save_for_query(conn, run_id, outcomes)
        queries.sync(conn, {"gpu": ("ti:gpus",) * 2 + ("",)}, FILE, NOW + DAY)
    with store.read() as conn:
        assert matches.find_recorded(conn, [3]) == [(run_id, gpu), (run_id, perf)]
        assert matches.find_recorded(conn, [4, 8]) == [(run_id, gpu)]
        assert matches.find_recorded(conn, [3], [perf.query_id]) == [(run_id, perf)]
        assert matches.find_recorded(conn, [3], []) == []
        assert matches.find_recorded(conn, [5]) == []
