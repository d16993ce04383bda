"""What was recorded of a paper's way stays as it was when it happened."""

from __future__ import annotations

from digest.model.subscriptions import FILE, QueryOutcome
from digest.store import Store
from digest.store.matches import begin_match_run, find_recorded, save_query_matches
from digest.store.queries import active_revisions, sync_queries
from tests.contract.store.made import DAY, NOW


def test_what_recorded_a_change_is_found_as_it_read_then(store: Store) -> None:
    with store.begin() as conn:
        sync_queries(
            conn, {"perf": ("cat:cs.PF",) * 2 + ("",), "gpu": ("ti:gpu",) * 2 + ("",)}, FILE, NOW
        )
        gpu, perf = active_revisions(conn)
        run_id = begin_match_run(conn, from_change=0, to_change=9, at=NOW, occasion="poll")
        outcomes = {perf.id: QueryOutcome(new=(3,)), gpu.id: QueryOutcome(changed=(4,), gone=(3,))}
        save_query_matches(conn, run_id, outcomes)
        sync_queries(conn, {"gpu": ("ti:gpus",) * 2 + ("",)}, FILE, NOW + DAY)
    with store.read() as conn:
        assert find_recorded(conn, [3]) == [(run_id, gpu), (run_id, perf)]
        assert find_recorded(conn, [4, 8]) == [(run_id, gpu)]
        assert find_recorded(conn, [3], [perf.query_id]) == [(run_id, perf)]
        assert find_recorded(conn, [3], []) == []
        assert find_recorded(conn, [5]) == []
