from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.model.announcements import Kind
from digest.model.messages import Coverage, Digest, DigestEntry, Occasion, Sequel, StoredText
from digest.model.papers import ArxivId, Author, Field, Paper, Reason, Span
from digest.model.subscriptions import Abstracts, Grouping
from digest.store.frozen import find_texts, freeze_digest, thaw_digest
from tests.conftest import IS_NIGHTLY

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
MOMENTS = st.datetimes(
    min_value=datetime(1991, 8, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2099, 1, 1),  # noqa: DTZ001 - the same
    timezones=st.just(UTC),
)
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
    Sequel,
    st.sampled_from([Kind.REPLACEMENT, Kind.WITHDRAWAL]),
    st.dates(),
    before=STORED,
    after=STORED,
)
ENTRIES = st.builds(
    DigestEntry,
    kind=st.sampled_from(Kind),
    paper=PAPERS,
    label=TEXTS,
    queries=st.lists(TEXTS, max_size=3).map(tuple),
    reasons=st.lists(REASONS, max_size=3).map(tuple),
    announced=st.dates(),
    before=st.none() | STORED,
    sequel=st.none() | SEQUELS,
)
COVERAGES = st.builds(
    Coverage,
    announcement=st.none() | st.dates(),
    is_complete=st.booleans(),
    compared=COUNTS,
    matched=COUNTS,
    checked_at=st.none() | MOMENTS,
    source=st.sampled_from(["harvest", "query"]),
    failure=TEXTS,
    last_shown_at=st.none() | MOMENTS,
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
        lambda entries: tuple(
            replace(entry, change_id=number) for number, entry in enumerate(entries, start=7)
        )
    ),
    shown=COUNTS,
    queries=st.lists(st.tuples(TEXTS, TEXTS), max_size=3).map(tuple),
    coverage=COVERAGES,
    group_by=st.sampled_from(Grouping),
    abstracts=st.sampled_from(Abstracts),
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
        date(2026, 11, 19),
        is_complete=True,
        compared=412,
        matched=0,
        checked_at=None,
        source="query",
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
    frozen = json.loads(freeze_digest(digest, versions_of(digest)))
    papers = texts_of(digest)
    assert find_texts(frozen) == set(papers)
    assert thaw_digest(digest, frozen, papers) == digest


def test_papers_are_kept_by_key_not_by_text() -> None:
    title = "A title that must not be copied"
    paper = Paper(ArxivId(202611, 1), 1, title, "", (), (), EMPTY.planned_at, EMPTY.planned_at)
    entry = DigestEntry(Kind.NEW, paper, "", ("perf",), (), EMPTY.planned_at.date(), 7)
    content = freeze_digest(replace(EMPTY, entries=(entry,)), {7: 1007})
    assert title not in content
    with pytest.raises(KeyError):  # a change without a stored text is a mistake, not a gap
        freeze_digest(replace(EMPTY, entries=(entry,)), {})
