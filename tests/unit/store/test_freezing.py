from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.model.announcements import Kind
from digest.model.errors import StoreError
from digest.model.messages import Coverage, Digest, DigestEntry, Occasion, Sequel, StoredText
from digest.model.papers import ArxivId, Author, Field, Paper, Reason, Span
from digest.model.subscriptions import Grouping, Replacements
from digest.store.digests import freeze, frozen_versions, thaw
from tests.conftest import IS_NIGHTLY

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
MOMENTS = st.datetimes(min_value=datetime(1991, 8, 1), max_value=datetime(2099, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
COUNTS = st.integers(min_value=0, max_value=10**6)
PAPERS = st.builds(
    Paper,
    id=st.builds(ArxivId, st.just(202611), COUNTS),
    version=st.integers(1, 9),
    title=TEXTS,
    abstract=TEXTS,
    authors=st.tuples(st.builds(Author, TEXTS)),
    categories=st.just(("cs.PF",)),
    published=MOMENTS,
    updated=MOMENTS,
)
SPANS = st.builds(Span, st.sampled_from(Field), COUNTS, COUNTS, COUNTS)
REASONS = st.builds(Reason, TEXTS, st.lists(SPANS, max_size=3).map(tuple), TEXTS)
STORED = st.builds(StoredText, PAPERS, st.integers(1, 900))
SEQUELS = st.builds(
    Sequel, st.sampled_from([Kind.REPLACEMENT, Kind.WITHDRAWAL]), st.dates(), before=STORED, after=STORED
)
ENTRIES = st.builds(
    DigestEntry,
    kind=st.sampled_from(Kind),
    paper=PAPERS,
    label=TEXTS,
    change_note=TEXTS,
    queries=st.lists(TEXTS, max_size=3).map(tuple),
    reasons=st.lists(REASONS, max_size=3).map(tuple),
    found_at=MOMENTS,
    mailing=st.none() | st.dates(),
    before=st.none() | STORED,
    sequel=st.none() | SEQUELS,
)
COVERAGES = st.builds(
    Coverage,
    mailing=st.none() | st.dates(),
    is_complete=st.booleans(),
    looked_at=COUNTS,
    matched=COUNTS,
    checked_at=st.none() | MOMENTS,
    source=st.sampled_from(["harvest", "query"]),
    failure=TEXTS,
    told_at=st.none() | MOMENTS,
)


def number_texts(digest: Digest) -> Digest:
    """Give each stored text a key of its own, as a store does."""
    entries = []
    for place, entry in enumerate(digest.entries):
        first = 1 + 10 * place
        before = replace(entry.before, key=first) if entry.before else None
        sequel = entry.sequel
        if sequel:
            after = replace(sequel.after, key=first + 2)
            sequel = replace(sequel, before=replace(sequel.before, key=first + 1), after=after)
        entries.append(replace(entry, before=before, sequel=sequel))
    return replace(digest, entries=tuple(entries))


DIGESTS = st.builds(
    Digest,
    subscription=TEXTS,
    title=TEXTS,
    slot=TEXTS,
    occasion=st.sampled_from(Occasion),
    planned_at=MOMENTS,
    zone=st.just("Europe/Berlin"),
    entries=st.lists(ENTRIES, max_size=4).map(
        lambda entries: tuple(replace(entry, change_id=number) for number, entry in enumerate(entries, start=7))
    ),
    shown=COUNTS,
    queries=st.lists(st.tuples(TEXTS, TEXTS), max_size=3).map(tuple),
    coverage=COVERAGES,
    group_by=st.sampled_from(Grouping),
    replacements=st.sampled_from(Replacements),
    is_round_up=st.booleans(),
).map(number_texts)

EMPTY = Digest(
    subscription="team",
    title="Team",
    slot="2026-11-20",
    occasion=Occasion.SCHEDULED,
    planned_at=datetime(2026, 11, 20, 8, tzinfo=UTC),
    zone="UTC",
    entries=(),
    shown=0,
    queries=(),
    coverage=Coverage(
        date(2026, 11, 19), is_complete=True, looked_at=412, matched=0, checked_at=None, source="query"
    ),
)


def versions_of(digest: Digest) -> dict[int, int]:
    return {entry.change_id: entry.change_id + 1000 for entry in digest.entries}


def texts_of(digest: Digest) -> dict[int, Paper]:
    """Return all stored texts a digest is made of, by key."""
    texts = {entry.change_id + 1000: entry.paper for entry in digest.entries}
    for entry in digest.entries:
        known = [entry.before] if entry.before else []
        known += [entry.sequel.before, entry.sequel.after] if entry.sequel else []
        texts.update({text.key: text.paper for text in known})
    return texts


@settings(max_examples=200 if IS_NIGHTLY else 40)
@given(DIGESTS)
def test_a_digest_comes_back_as_it_was(digest: Digest) -> None:
    content = freeze(digest, versions_of(digest))
    papers = texts_of(digest)
    assert sorted(frozen_versions(content)) == sorted(papers)
    assert thaw(content, papers, id_=5) == replace(digest, id=5)


@settings(max_examples=200 if IS_NIGHTLY else 40)
@given(DIGESTS)
def test_the_same_digest_always_freezes_to_the_same_text(digest: Digest) -> None:
    content = freeze(digest, versions_of(digest))
    thawed = thaw(content, texts_of(digest))
    assert freeze(thawed, versions_of(digest)) == content


@settings(max_examples=200 if IS_NIGHTLY else 40)
@given(DIGESTS)
def test_a_frozen_text_is_the_json_that_python_itself_would_write(digest: Digest) -> None:
    content = freeze(digest, versions_of(digest))
    assert json.dumps(json.loads(content), ensure_ascii=False, separators=(",", ":")) == content


def test_papers_are_kept_by_key_not_by_text() -> None:
    entry = DigestEntry(
        kind=Kind.NEW,
        paper=Paper(
            id=ArxivId(202611, 1),
            version=1,
            title="A title that must not be copied",
            abstract="",
            authors=(),
            categories=(),
            published=EMPTY.planned_at,
            updated=EMPTY.planned_at,
        ),
        label="",
        change_note="",
        queries=("perf",),
        reasons=(),
        found_at=EMPTY.planned_at,
        change_id=7,
    )
    content = freeze(replace(EMPTY, entries=(entry,)), {7: 1007})
    assert "must not be copied" not in content
    assert json.loads(content)["entries"][0]["version"] == 1007


def test_a_shape_from_a_later_release_is_refused() -> None:
    content = freeze(EMPTY, {}).replace('"format":1', '"format":2')
    with pytest.raises(StoreError, match="shape 2") as caught:
        thaw(content, {})
    assert "later" in caught.value.hint


def test_a_change_without_a_stored_text_is_a_mistake_not_a_gap() -> None:
    entry = DigestEntry(
        kind=Kind.NEW,
        paper=Paper(ArxivId(202611, 1), 1, "t", "", (), (), EMPTY.planned_at, EMPTY.planned_at),
        label="",
        change_note="",
        queries=(),
        reasons=(),
        found_at=EMPTY.planned_at,
        change_id=7,
    )
    with pytest.raises(KeyError):
        freeze(replace(EMPTY, entries=(entry,)), {})


BEFORE_THIS_RELEASE = (
    '{"format":1,"subscription":"team","title":"Team","slot":"2026-11-20","occasion":"scheduled",'
    '"planned_at":"2026-11-20T08:00:00+00:00","zone":"UTC","shown":1,"queries":[["perf","cat:cs.PF"]],'
    '"coverage":{"mailing":"2026-11-19","is_complete":true,"looked_at":412,"matched":1,"checked_at":null,'
    '"source":"harvest","failure":""},"entries":[{"version":1007,"change":7,"kind":"replacement",'
    '"label":"v1 → v2","note":"title changed","queries":["perf"],"reasons":[["perf","cat:cs.PF",'
    '[["categories",0,5,0]]]],"found_at":"2026-11-20T03:50:00+00:00"}]}'
)


def test_a_digest_of_an_earlier_release_is_read_as_it_was_meant() -> None:
    paper = Paper(ArxivId(202611, 1), 2, "t", "", (), ("cs.PF",), EMPTY.planned_at, EMPTY.planned_at)
    digest = thaw(BEFORE_THIS_RELEASE, {1007: paper})
    (entry,) = digest.entries
    assert (digest.group_by, digest.replacements, digest.is_round_up) == (
        Grouping.KIND,
        Replacements.FOLDED,
        False,
    )
    assert (entry.before, entry.sequel, entry.label, entry.change_note) == (None, None, "v1 → v2", "title changed")


def test_what_is_as_usual_is_frozen_as_before_so_that_the_release_before_reads_it() -> None:
    assert not {"group_by", "replacements", "round_up"} & json.loads(freeze(EMPTY, {})).keys()
    assert "told_at" not in json.loads(freeze(EMPTY, {}))["coverage"]


def test_a_text_that_no_store_keeps_is_left_out_as_a_trial_is_never_stored() -> None:
    paper = Paper(ArxivId(202611, 1), 2, "t", "", (), (), EMPTY.planned_at, EMPTY.planned_at)
    entry = DigestEntry(Kind.REPLACEMENT, paper, "", "", (), (), EMPTY.planned_at, 7, before=StoredText(paper))
    assert "before" not in json.loads(freeze(replace(EMPTY, entries=(entry,)), {7: 1007}))["entries"][0]
