from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, insert, inspect, select, text

from digest.model.errors import StoreBusy
from digest.model.messages import HIDDEN_LIBRARY, DeliveryState, Digest, DigestEntry, StoredText
from digest.model.said import NOTHING, Said, Saying
from digest.render.precedence import say_near, say_why_first
from digest.render.renderer import Renderer
from digest.render.samples import make_entry
from digest.store import (
    MigrationReport,
    Store,
    alarms,
    backups,
    engine,
    migrate,
    open_store,
    subscribers,
)
from digest.store.dialect import metadata
from digest.store.digests import load_frozen
from digest.store.frozen import Frozen, thaw_digest
from digest.store.runs import ABANDONED
from digest.store.schema import deliveries, digests, job_turns, poll_runs, subscription_destinations
from digest.store.subscribers import HAS_ENDED, DestinationState
from digest.store.sync import NOT_NAMED
from tests.later_release import LATER, later_release
from tests.samples import near_digest
from tests.schema_before import REVISION, load_postgresql, load_sqlite
from tests.threads import do_together

NEAR_OWN, NEAR_LIST = (
    Path(__file__).with_name("frozen_0003.json").read_text(encoding="utf-8").splitlines()
)
"""`near_digest` as it was frozen before codes told why papers come first.

For its reader, and for a list.
"""

LIKE = "like “Queues · that “nobody” waits in · a …”"


def load_before(url: str) -> None:
    """Make the database that the release before left."""
    if url.startswith("postgresql"):
        load_postgresql(url)
    else:
        load_sqlite(Path(url.removeprefix("sqlite:///")))


def migrate_frozen(url: str, *contents: str) -> list[Frozen]:
    """Keep digests in a database of before, and return them as they are after its migration."""
    load_before(url)
    of_all = {
        "subscription_id": 1,
        "occasion": "scheduled",
        "planned_at": near_digest().planned_at,
        "zone": "America/New_York",
        "title": "t",
        "papers": 28,
        "shown": 28,
    }
    rows = [
        {**of_all, "slot": f"run:{99 + number}", "content": content}
        for number, content in enumerate(contents)
    ]
    with closing(engine.connect(url)) as before, before.begin() as conn:
        conn.execute(insert(digests), rows)
    migrate(url)
    with closing(open_store(url)) as after, after.read() as conn:
        return load_frozen(conn, "perf-team", limit=len(rows))[::-1]


def thaw(frozen: Frozen, digest: Digest) -> Digest:
    """Return a digest whose papers are those of another one, and with what else its columns say."""
    row, content = frozen
    texts = {entry.change_id: entry.paper for entry in digest.entries}
    for entry in digest.entries:
        if entry.before:
            texts[900] = entry.before.paper
    thawed = thaw_digest(row, content, texts)
    entries = tuple(
        replace(entry, before=entry.before and StoredText(entry.before.paper))
        for entry in thawed.entries
    )
    return replace(digest, entries=entries, groups=thawed.groups)


def test_a_new_database_has_exactly_the_tables_the_code_knows(store: Store) -> None:
    with store.begin() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_what_the_release_before_left_gets_exactly_these_tables_and_stays_sound(
    make_empty: Callable[[], str],
) -> None:
    url = make_empty()
    load_before(url)
    assert migrate(url) == MigrationReport(REVISION, engine.head_revision())
    opened = open_store(url)
    with opened.read() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert backups.load_violations(conn) == []
        assert set(conn.execute(select(deliveries.c.state)).scalars()) == set(DeliveryState)
    opened.close()


def test_a_digest_frozen_with_sentences_reads_as_it_did(make_empty: Callable[[], str]) -> None:
    of_owner = near_digest()
    own, of_list = (
        thaw(one, of_owner) for one in migrate_frozen(make_empty(), NEAR_OWN, NEAR_LIST)
    )
    assert own == of_owner
    assert of_list == of_owner.hide_library()
    page = Renderer([]).render_terminal(own.hide_library(), width=60, color=False, limit=None)
    assert "Queues that nobody waits in" not in page


@pytest.mark.parametrize("near", ["", LIKE, "near your library", "near this list's library"])
@pytest.mark.parametrize("database", ["sqlite"])
def test_each_sentence_of_why_a_paper_came_first_is_said_as_it_was(
    make_empty: Callable[[], str], near: str
) -> None:
    told = [
        "by Ada Example, Bo Li, Cy Ro · put first by all:tail · lat …",
        "by Ada Example · accepted at SOSP 2026 · short papers",
        "put first by ti:majorana · in three of your queries",
        "in 17 of your queries · your words in its title",
        "your words in its title · accepted at SOSP 2026",
        "accepted at SOSP 2026",
    ]
    if near:
        told += [near, f"by Ada Example · {near}", f"{near} · your words in its title"]
    queries = {2: ("a", "b", "c"), 3: tuple(map(str, range(17)))}
    entries = [
        make_entry(number + 1, queries=queries.get(number, ())) for number in range(len(told))
    ]
    digest = replace(near_digest(), entries=tuple(entries), groups=())
    content = json.loads(NEAR_OWN)
    content["groups"] = [["Read first", len(told), "one sentence", False, told]]
    content["entries"] = [write_entry(entry, near) for entry in entries]
    (frozen,) = migrate_frozen(make_empty(), json.dumps(content))
    after = thaw(frozen, digest)
    (group,) = after.groups
    assert list(map(say_why_first, after.entries, group.reasons)) == told
    assert {say_near(entry.near) for entry in after.entries} == {near}
    hidden = {entry.near for entry in after.hide_library().entries}
    assert hidden == {HIDDEN_LIBRARY if near else None}


def write_entry(entry: DigestEntry, near: str) -> dict[str, object]:
    """Return an entry as it was frozen with a sentence."""
    return {
        "text": entry.change_id,
        "change": entry.change_id,
        "kind": entry.kind,
        "label": "",
        "queries": entry.queries,
        "reasons": [],
        "announced": entry.announced.isoformat(),
        "before": None,
        "sequel": None,
        "near": near,
    }


SAID_BEFORE = {
    "dead": 'part 2 was not sent: part 1 was not sent: Slack refused "é": no_such\n[here]',
    "suppressed": "the subscription has ended",
    "held": "550 5.7.1 no, we don't. Check `mail.from`",
}


def test_what_was_said_before_keeps_its_words_and_what_decided_gets_its_code(
    make_empty: Callable[[], str],
) -> None:
    url = make_empty()
    load_before(url)
    with closing(engine.connect(url)) as older, older.begin() as conn:
        for state, said in SAID_BEFORE.items():
            change = text("UPDATE deliveries SET last_error = :said WHERE state = :state")
            conn.execute(change, {"said": said, "state": state})
        conn.execute(
            text(
                "UPDATE poll_runs SET failure = 'the process ended before the run did' WHERE id = 1"
            )
        )
        conn.execute(text("UPDATE poll_runs SET failure = '[\"x\"] came' WHERE id = 2"))
        before = {read: read_words(conn, *read) for read in SAID}
    migrate(url)
    opened = open_store(url)
    with opened.read() as conn:
        assert {read: read_words(conn, *read) for read in SAID} == before
        assert any(words for words in before.values())
        by_state = select(deliveries.c.state, deliveries.c.last_error)
        codes = {row.state: row.last_error for row in conn.execute(by_state)}
        assert codes["suppressed"] == HAS_ENDED
        inner = Said.plain('Slack refused "é": no_such\n[here]')
        part_1 = Said.of(Saying.EARLIER_PART, "1", inner)
        assert codes["dead"] == Said.of(Saying.EARLIER_PART, "2", part_1)
        first, *_ = conn.execute(select(poll_runs.c.failure).order_by(poll_runs.c.id)).scalars()
        assert first == ABANDONED
    opened.close()


SAID = (("deliveries", "last_error"), ("attempts", "detail"), ("poll_runs", "failure"))


SAID_LATER = (
    *(("suppressions", "reason"), ("subscription_destinations", "reason")),
    *(("gaps", "reason"), ("job_turns", "trouble"), ("alarms", "detail")),
)
REFUSED_WORDS = "refused in three digests in a row"
REASONS = {
    "ready": (DestinationState.DISABLED, "it was taken out of the subscription"),
    "held": (DestinationState.UNSUBSCRIBED, "operator"),
    "dead": (DestinationState.UNSUBSCRIBED, REFUSED_WORDS),
    "sent": (
        DestinationState.UNSUBSCRIBED,
        'unsubscribed from "é\n", and this seems to be the same',
    ),
}
"""What was said of an address before, and its state."""

AT = "2026-12-01 03:47:00"
KEPT_AT_0005 = (
    f"suppressions VALUES ('mailto:dead@example.org', 'perf-team', '{REFUSED_WORDS}', '{AT}')",
    f"gaps VALUES (202611, 7, 'given up', '{AT}', 1, '{AT}', '{AT}', 'arXiv knew no such paper')",
    f"gaps VALUES (202611, 8, 'open', '{AT}', 0, NULL, NULL, '')",
    f"job_turns VALUES ('one', 'plan', 3, '{AT}', '{AT}', '[\"x\"]: no such name (and 2 more)')",
    f"job_turns VALUES ('one', 'poll', 3, '{AT}', '{AT}', '')",
    f"alarms VALUES ('needs you', 'it needs you: no. Check. Look.', '{AT}', NULL, '{AT}', NULL)",
)


def migrate_to(revision: str, url: str, folder: Path) -> None:
    """Bring a database as far as an earlier release would have brought it."""
    versions = (engine.MIGRATIONS / "versions").glob("0*.py")
    later = [path.name for path in versions if path.name[:4] > revision]
    shutil.copytree(engine.MIGRATIONS, folder, ignore=shutil.ignore_patterns(*later))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "MIGRATIONS", folder)
        assert migrate(url).after == revision


def test_what_0005_said_of_readers_gaps_jobs_and_alarms_keeps_its_words_and_decides_as_it_did(
    make_empty: Callable[[], str], tmp_path: Path
) -> None:
    url = make_empty()
    load_before(url)
    migrate_to("0005", url, tmp_path / "earlier")
    with closing(engine.connect(url)) as older, older.begin() as conn:
        for statement in KEPT_AT_0005:
            conn.exec_driver_sql(f"INSERT INTO {statement}")
        for name, (state, said) in REASONS.items():
            change = text(
                "UPDATE subscription_destinations SET state = :state, reason = :said"
                " WHERE destination = :place"
            )
            values = {"state": state, "said": said, "place": f"mailto:{name}@example.org"}
            conn.execute(change, values)
        before = {read: read_words(conn, *read) for read in SAID_LATER}
    assert all(any(words) for words in before.values())
    migrate(url)
    with closing(open_store(url)) as opened, opened.read() as conn:
        assert {read: read_words(conn, *read) for read in SAID_LATER} == before
        (team,) = conn.execute(select(subscription_destinations.c.subscription_id).distinct())
        reasons = {
            one.destination.address: one.reason
            for one in subscribers.load_statuses(conn, team.subscription_id)
        }
        assert reasons["ready@example.org"] == NOT_NAMED
        assert reasons["held@example.org"] == subscribers.BY_OPERATOR
        refused = [destination.address for _, destination in subscribers.load_refused(conn)]
        assert refused == ["dead@example.org"]
        (alarm,) = alarms.load_stored(conn)
        assert alarm.detail == Said.plain("it needs you: no. Check. Look.")
        well = select(job_turns.c.trouble).where(job_turns.c.job == "poll")
        assert conn.execute(well).scalars().all() == [NOTHING]


def read_words(conn: Connection, table: str, name: str) -> list[str]:
    """Return what a column says, row by row, in words, whether it has codes by now or not."""
    stored = conn.execute(text(f"SELECT {name} FROM {table}")).scalars()
    has_codes = engine.current_revision(conn) == engine.head_revision()
    return sorted(str(Said.parse(one)) if has_codes else one for one in stored)


def test_indexes_are_partial_in_the_database_where_the_code_says_so(store: Store) -> None:
    partial = set()
    for table in metadata.tables.values():
        partial |= {index.name for index in table.indexes if "where" in index.info}
    found = set()
    option = f"{store.dialect}_where"
    with store.read() as conn:
        for name in metadata.tables:
            for index in inspect(conn).get_indexes(name):
                if option in index.get("dialect_options", {}):
                    found.add(index["name"])
    assert partial == found != set()


def test_postgresql_keeps_messages_as_they_are(store: Store) -> None:
    if store.dialect != "postgresql":
        return
    kept = text(
        "SELECT attstorage FROM pg_attribute"
        " WHERE attrelid = 'deliveries'::regclass AND attname = 'body'"
    )
    with store.read() as conn:
        assert conn.execute(kept).scalar() in {"e", b"e"}, "external: not compressed"


def test_migrating_what_is_up_to_date_changes_nothing(url: str) -> None:
    head = engine.head_revision()
    assert migrate(url) == MigrationReport(head, head)


def test_two_first_starts_at_once_build_the_tables_once(make_empty: Callable[[], str]) -> None:
    url = make_empty()
    do_together(range(2), lambda _: open_store(url, create=True).close())
    open_store(url).close()


@pytest.mark.parametrize("database", ["postgresql"])
def test_a_migration_gives_way_to_who_works_meanwhile_and_changes_nothing(
    own_url: str, tmp_path: Path
) -> None:
    store = open_store(own_url)
    with later_release(tmp_path / "later"):
        with store.begin() as conn:
            conn.execute(text("LOCK TABLE deliveries IN ACCESS SHARE MODE"))
            with pytest.raises(StoreBusy):
                engine.upgrade(store)
            assert engine.current_revision(conn) != LATER
        assert engine.upgrade(store).after == LATER
    store.close()


def test_revisions_are_numbered_like_their_files_in_one_line() -> None:
    before = None
    for path in sorted((engine.MIGRATIONS / "versions").glob("0*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.revision == path.name[:4]
        assert module.down_revision == before
        before = module.revision
    assert before == engine.head_revision()
