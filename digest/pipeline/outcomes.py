"""What came out of a replay, held against what was recorded: changes, texts, papers, what was set aside."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from digest.planning.differences import NOTHING, Difference, Subject, compare_changes, compare_fields
from digest.store import replays as replay_store
from digest.store.dialect import in_chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlalchemy import Connection


def find_differences(here: Connection, scratch: Connection, first: int, last: int) -> list[Difference]:
    """Return what differs of all that a span of runs recorded.

    What follows from a change that differs is not told once more: its text, and the paper's present state.

    Args:
        here: reads the installation.
        scratch: reads the store the pages were replayed into.
        first: the first run of the span.
        last: the last one.
    """
    recorded = replay_store.load_found(here, first, last)
    replayed = replay_store.load_found(scratch, first, last)
    differences = compare_changes(recorded, replayed)
    told = {(difference.run_id, difference.name) for difference in differences}
    moved = replay_store.list_changed(here, last) | {paper for _, paper in told}
    latest = {change.paper: change.run_id for change in (*recorded, *replayed)}
    for ids in in_chunks(sorted(latest)):
        differences += _compare_texts(
            replay_store.load_texts(here, ids, first, last),
            replay_store.load_texts(scratch, ids, first, last),
            told,
        )
        still = [id_ for id_ in ids if id_ not in moved]
        mine, theirs = replay_store.load_papers(here, still), replay_store.load_papers(scratch, still)
        for id_ in (one for one in still if one in mine):  # a state that lacks its text is told by its texts
            differences += compare_fields(latest[id_], Subject.PAPER, id_, mine[id_], theirs[id_])
    differences += _compare_set_aside(
        replay_store.list_set_aside(here, first, last), replay_store.list_set_aside(scratch, first, last)
    )
    return differences


def _compare_texts(
    recorded: Mapping[replay_store.TextKey, Mapping[str, object]],
    replayed: Mapping[replay_store.TextKey, Mapping[str, object]],
    told: Collection[tuple[int, str]],
) -> Iterator[Difference]:
    for key in sorted({*recorded, *replayed}):
        run_id, paper, version, content_hash = key
        if key in recorded and key in replayed:
            yield from compare_fields(run_id, Subject.TEXT, paper, recorded[key], replayed[key])
        elif (run_id, paper) not in told:
            words = f"v{version}, text {content_hash[:8]}"
            sides = (words, NOTHING) if key in recorded else (NOTHING, words)
            yield Difference(run_id, Subject.TEXT, paper, *sides)


def _compare_set_aside(
    recorded: Sequence[tuple[int, int, int, str]], replayed: Sequence[tuple[int, int, int, str]]
) -> Iterator[Difference]:
    before, after = Counter(recorded), Counter(replayed)
    for entries, is_recorded in ((before - after, True), (after - before, False)):
        for run_id, page, position, error in sorted(entries.elements()):
            sides = (error, NOTHING) if is_recorded else (NOTHING, error)
            yield Difference(run_id, Subject.SET_ASIDE, f"page {page + 1}, entry {position + 1}", *sides)
