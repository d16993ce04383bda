"""Made-up digests with everything that a digest may hold.

No paper here exists. Among the odd ones: a title called "0", one longer than any screen, thousands
of authors, right-to-left and Chinese text, and markup that must not come alive.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from digest.model.announcements import Kind
from digest.model.messages import Digest, DigestEntry, NearLibrary, Sequel, StoredText
from digest.model.papers import Author, Field
from digest.model.people import DAYS, KINDS
from digest.model.subscriptions import Grouping, TurnFailure, UncheckedTurn
from digest.plan.order import Precedence, arrange
from digest.render.contexts import (
    BarView,
    DifferenceView,
    ProblemView,
    StartContext,
    TrialView,
    VariantView,
)
from digest.render.digests import describe_coverage, view_papers
from digest.render.pages import SubscribeContext
from digest.render.samples import (
    ABSTRACT,
    AUTHORS,
    EVENING,
    make_coverage,
    make_digest,
    make_entry,
    make_paper,
)


def sample_digest() -> Digest:
    """Return an ordinary day: new papers, a cross-list, a replacement and a withdrawal."""
    return make_digest(
        (
            make_entry(
                12, queries=("perf", "gpu"), found=((Field.TITLE, "GPU"), (Field.ABSTRACT, "GPU"))
            ),
            make_entry(
                3,
                title="Held back for thirteen days, found all the same",
                published=datetime(2026, 11, 6, 9, 0, tzinfo=UTC),
                updated=datetime(2026, 11, 6, 9, 0, tzinfo=UTC),
                comment="14 pages, 6 figures. Code at https://example.org/held",
            ),
            make_entry(
                44,
                title=r"A lower bound of $\Omega(n \log n)$ for cache-oblivious joins",
                authors=(Author("Nils Ødegård"), Author("Thu Trang Lê"), *AUTHORS, *AUTHORS),
                queries=("perf", "follow"),
                found=((Field.AUTHORS, "Thu Trang Lê"),),
                comment="Accepted at a symposium on algorithms, 2027",
            ),
            make_entry(
                51,
                kind=Kind.CROSS_LIST,
                label="cross-listed into cs.PF",
                title="Energy per query: an honest account",
                categories=("cs.DB", "cs.PF"),
            ),
            make_entry(
                7,
                kind=Kind.REPLACEMENT,
                version=2,
                label="v1 → v2",
                title=r"Scheduling in $\mathcal{O}(n^2)$",
                queries=("gpu",),
                found=((Field.ABSTRACT, "accelerators"),),
            ),
            make_entry(
                9,
                kind=Kind.WITHDRAWAL,
                version=3,
                label="withdrawn (v3)",
                title="Faster than light, slower than memory",
                comment="Withdrawn by the authors: the timer in Section 4 was off by ten.",
                is_withdrawn=True,
            ),
        )
    )


def revised_entry(number: int = 7, **fields: Any) -> DigestEntry:  # noqa: ANN401 - the fields of Paper
    """Return a replaced paper with the text its reader saw.

    Comment, title, authors, DOI and abstract changed.
    """
    paper = make_paper(number)
    before = replace(
        paper,
        title=r"Scheduling in $\mathcal{O}(n^3)$",
        authors=(*AUTHORS[:2], Author("Iman Rostami")),
        abstract=ABSTRACT.replace("96 GPUs", "64 GPUs").replace(
            "It needs no change to programs, and it", "It"
        ),
    )
    entry = make_entry(
        number,
        kind=Kind.REPLACEMENT,
        label="v1 → v2",
        queries=("gpu",),
        found=((Field.ABSTRACT, "accelerators"),),
        **{
            "version": 2,
            "title": r"Scheduling in $\mathcal{O}(n^2)$",
            "comment": "Accepted at a workshop on schedulers, 2027",
            "dois": ("10.5555/made.up.7",),
            **fields,
        },
    )
    return replace(entry, before=StoredText(before))


def revised_digest() -> Digest:
    """Return a new paper, and what changed in others.

    Much, little, or they were withdrawn; by saved query.
    """
    little = [
        make_entry(
            5,
            kind=Kind.REPLACEMENT,
            label="v1 → v2",
            title="Cache misses",
            comment="v2: typos fixed",
        ),
        make_entry(
            6,
            kind=Kind.METADATA,
            label="edited",
            title="Queues",
            journal_ref="J. Made Up 3 (2027) 14",
        ),
    ]
    told = (
        revised_entry(7),
        revised_entry(8, title="A title of old", journal_ref="J. Made Up 3 (2027) 14"),
        make_entry(9, queries=("gpu", "perf")),
        *sample_digest().entries[-1:],
        *(
            replace(one, before=StoredText(replace(one.paper, comment="", journal_ref="")))
            for one in little
        ),
    )
    entries, groups = arrange(told, Grouping.QUERY, ("perf", "gpu"))
    return make_digest(entries, groups=groups, group_by=Grouping.QUERY)


def near_digest(count: int = 27, title: str = "Queues that nobody waits in") -> Digest:
    """Return papers by a library and by queries read first and last.

    Those of odd numbers are near.
    """
    entries = [
        make_entry(number, title=f"Paper {number}", abstract="Short.") for number in range(1, count)
    ]
    entries += [make_entry(count, found=((Field.AUTHORS, "Marit"),)), revised_entry(count + 2)]
    told = [replace(one, near=NearLibrary(title) if one.change_id % 2 else None) for one in entries]
    nearness = {one.paper.id: 1000 * bool(one.near) + one.change_id for one in told}
    precedence = Precedence({told[1].paper.id: "ti:majorana"}, {told[0].paper.id}, nearness)
    ordered, groups = arrange(told, Grouping.KIND, ("perf", "gpu"), precedence=precedence)
    return make_digest(ordered, groups=groups)


def near_list_digest() -> Digest:
    """Return the same of few papers, as others than the library's owner read it."""
    return near_digest(3).hide_library()


def late_digest() -> Digest:
    """Return a day after two on which nothing could be checked, and a week when nobody ran Digest."""
    noon = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)
    failed = [noon - timedelta(days=days) for days in (1, 0)]
    idle = [noon - timedelta(days=days) for days in (10, 9, 8, 7, 6)]
    turns = [UncheckedTurn(at, TurnFailure.DID_NOT_RUN) for at in idle]
    turns += [UncheckedTurn(at, TurnFailure.ARXIV_FAILED) for at in failed]
    entries = [make_entry(1), replace(make_entry(2), announced=date(2026, 11, 17))]
    return replace(make_digest(entries), unchecked=tuple(turns))


def merged_digest() -> Digest:
    """Return a week in one digest.

    Papers were replaced or withdrawn since, and not all of it is shown.
    """
    revised = revised_entry(7)
    thursday = date(2026, 11, 19)
    entries = [make_entry(number, abstract="Short.") for number in (31, 32, 21, 11, 12)]
    if revised.before is not None:
        sequel = Sequel(Kind.REPLACEMENT, thursday, revised.before, StoredText(revised.paper))
        entries[2] = replace(entries[2], sequel=sequel)
    gone = make_paper(
        11, version=2, comment="The timer in Section 4 was off by ten.", is_withdrawn=True
    )
    sequel = Sequel(Kind.WITHDRAWAL, thursday, StoredText(entries[3].paper), StoredText(gone))
    entries[3] = replace(entries[3], sequel=sequel)
    entries.append(
        make_entry(7, kind=Kind.REPLACEMENT, version=2, label="v1 → v2", abstract="Short.")
    )
    coverage = make_coverage(len(entries), since=date(2026, 11, 15), announcements=5, new=6_204)
    return make_digest(entries, slot="2026-W47", shown=5, coverage=coverage)


def odd_entries() -> tuple[DigestEntry, ...]:
    """Return papers at the edges of what arXiv takes, and beyond."""
    crowd = tuple(Author(f"Given{number} Family{number}") for number in range(3_303))
    return (
        make_entry(
            1,
            title="On the length of titles " + "and the patience of those who read them " * 9,
            found=(),
        ),
        make_entry(
            2, title="Many hands", authors=crowd, found=((Field.AUTHORS, "Given3000 Family3000"),)
        ),
        make_entry(
            3, title="Bells \x07 and\x00 nulls\x1b[31m in\u2028two lines \ufffe", abstract="\x0b"
        ),
        make_entry(
            4,
            title="<script>alert(1)</script> & <!channel> @here *bold* `code`",
            comment="<b>x</b>",
        ),
        make_entry(
            5,
            title="חיפוש מהיר בזיכרון משותף",
            abstract="זהו תקציר קצר. " * 8,
            authors=(Author("נועה לוי", ("אוניברסיטת תל אביב",)), Author("محمد الأمين")),
        ),
        make_entry(
            6,
            title="共享加速器上的尾延迟与一种简单的调度规则" * 5,
            authors=(Author("陈晓明"), Author("王芳")),
        ),
        make_entry(7, title="0", comment="", abstract="0"),
        make_entry(
            8, title="txet \u202edesrever\u202c in a title", authors=(Author("\u202eEve\u202c"),)
        ),
        make_entry(
            9, title="No authors, no categories", authors=(), categories=(), abstract="", found=()
        ),
        make_entry(
            10,
            title="Price rises from $5 to $6, up 20 % & more",
            published=EVENING - timedelta(days=400),
            updated=EVENING - timedelta(days=400),
        ),
    )


def sample_trials() -> tuple[TrialView, ...]:
    """Return trials of queries.

    One that brings papers, one that cannot be read, and some without figures.
    """
    bars = tuple(BarView(f"Day {number}", number, number + 1) for number in range(30))
    near = (VariantView("ti:gpu & <b>", "the words in the title", 9, "about 2 papers a day"),)
    brought = TrialView(
        "gpu", 'the paper has "gpu" anywhere', None, ("it brings much",), rate="Much", bars=bars
    )
    brought = replace(
        brought, since="Tue 3 Nov", heading="Your digest today", papers=view_papers(sample_digest())
    )
    difference = DifferenceView(1, 1, 5, ("A <b> gained",), ("A lost one",))
    problem = ProblemView(
        "OR has nothing after it", "<b> ", "OR", "", "Write a word after it.", "<b>"
    )
    return (
        replace(brought, more=12, variants=near, difference=difference),
        TrialView("<b> OR", problem=problem),
        TrialView("<b>", message="The papers are being read.", is_ready=False),
        TrialView("", message="Queries cannot be tried here.", is_offered=False),
    )


def sample_start(trial: TrialView, *, is_full: bool = True) -> StartContext:
    """Return the page to begin, with everything or with as little as it may have."""
    given = dict.fromkeys(
        ("address", "q", "days", "hour", "zone", "kinds", "feed", "joins"), ("<i>",)
    )
    form = (
        SubscribeContext("", "", given, DAYS, KINDS, {"gpu": "GPU <b>"}, token="t0k3n")
        if is_full
        else None
    )
    coverage = describe_coverage(make_coverage(None, is_complete=is_full))
    archives = (("GPU <b>", "a/x"),) * is_full
    return StartContext(trial, form, archives, coverage, "ops@example.org" * is_full)
