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
    gpu = make_entry(
        12, queries=("perf", "gpu"), found=((Field.TITLE, "GPU"), (Field.ABSTRACT, "GPU"))
    )
    two_weeks_before = datetime(2026, 11, 6, 9, 0, tzinfo=UTC)
    held_back = make_entry(
        3,
        title="Held back for thirteen days, found all the same",
        published=two_weeks_before,
        updated=two_weeks_before,
        comment="14 pages, 6 figures. Code at https://example.org/held",
    )
    followed = Author("Thu Trang Lê")
    by_many = make_entry(
        44,
        title=r"A lower bound of $\Omega(n \log n)$ for cache-oblivious joins",
        authors=(Author("Nils Ødegård"), followed, *AUTHORS, *AUTHORS),
        queries=("perf", "follow"),
        found=((Field.AUTHORS, followed.name),),
        comment="Accepted at a symposium on algorithms, 2027",
    )
    crossed = make_entry(
        51,
        kind=Kind.CROSS_LIST,
        label="cross-listed into cs.PF",
        title="Energy per query: an honest account",
        categories=("cs.DB", "cs.PF"),
    )
    replaced = make_entry(
        7,
        kind=Kind.REPLACEMENT,
        version=2,
        label="v1 → v2",
        title=r"Scheduling in $\mathcal{O}(n^2)$",
        queries=("gpu",),
        found=((Field.ABSTRACT, "accelerators"),),
    )
    withdrawn = make_entry(
        9,
        kind=Kind.WITHDRAWAL,
        version=3,
        label="withdrawn (v3)",
        title="Faster than light, slower than memory",
        comment="Withdrawn by the authors: the timer in Section 4 was off by ten.",
        is_withdrawn=True,
    )
    return make_digest((gpu, held_back, by_many, crossed, replaced, withdrawn))


def revised_entry(
    number: int = 7,
    **fields: Any,  # noqa: ANN401 - the fields of Paper
) -> DigestEntry:
    """Return a replaced paper with the text its reader saw.

    Comment, title, authors, DOI and abstract changed.
    """
    fewer_gpus = ABSTRACT.replace("96 GPUs", "64 GPUs")
    abstract_before = fewer_gpus.replace("It needs no change to programs, and it", "It")
    before = replace(
        make_paper(number),
        title=r"Scheduling in $\mathcal{O}(n^3)$",
        authors=(*AUTHORS[:2], Author("Iman Rostami")),
        abstract=abstract_before,
    )
    changes = {
        "version": 2,
        "title": r"Scheduling in $\mathcal{O}(n^2)$",
        "comment": "Accepted at a workshop on schedulers, 2027",
        "dois": ("10.5555/made.up.7",),
        **fields,
    }
    entry = make_entry(
        number,
        kind=Kind.REPLACEMENT,
        label="v1 → v2",
        queries=("gpu",),
        found=((Field.ABSTRACT, "accelerators"),),
        **changes,
    )
    return replace(entry, before=StoredText(before))


def revised_digest() -> Digest:
    """Return a new paper, and what changed in others.

    Much, little, or they were withdrawn; by saved query.
    """
    much = revised_entry(7)
    title_too = revised_entry(8, title="A title of old", journal_ref="J. Made Up 3 (2027) 14")
    new = make_entry(9, queries=("gpu", "perf"))
    withdrawn = sample_digest().entries[-1]
    comment_alone = make_entry(
        5, kind=Kind.REPLACEMENT, label="v1 → v2", title="Cache misses", comment="v2: typos fixed"
    )
    reference_alone = make_entry(
        6,
        kind=Kind.METADATA,
        label="edited",
        title="Queues",
        journal_ref="J. Made Up 3 (2027) 14",
    )
    changed = [much, title_too, new, withdrawn]
    for entry in (comment_alone, reference_alone):
        before = replace(entry.paper, comment="", journal_ref="")
        changed.append(replace(entry, before=StoredText(before)))
    entries, groups = arrange(changed, Grouping.QUERY, ("perf", "gpu"))
    return make_digest(entries, groups=groups, group_by=Grouping.QUERY)


def near_digest(count: int = 27, title: str = "Queues that nobody waits in") -> Digest:
    """Return papers by a library and by queries read first and last.

    Those of odd numbers are near.
    """
    numbered = [
        make_entry(number, title=f"Paper {number}", abstract="Short.") for number in range(1, count)
    ]
    by_author = make_entry(count, found=((Field.AUTHORS, "Marit"),))
    entries = []
    nearness = {}
    for entry in (*numbered, by_author, revised_entry(count + 2)):
        is_near = entry.change_id % 2 == 1
        if is_near:
            entries.append(replace(entry, near=NearLibrary(title)))
            nearness[entry.paper.id] = 1000 + entry.change_id
        else:
            entries.append(replace(entry, near=None))
            nearness[entry.paper.id] = entry.change_id
    read_last = entries[0].paper.id
    read_first = entries[1].paper.id
    precedence = Precedence({read_first: "ti:majorana"}, {read_last}, nearness)
    ordered, groups = arrange(entries, Grouping.KIND, ("perf", "gpu"), precedence=precedence)
    return make_digest(ordered, groups=groups)


def near_list_digest() -> Digest:
    """Return the same of few papers, as others than the library's owner read it."""
    of_owner = near_digest(3)
    return of_owner.hide_library()


def late_digest() -> Digest:
    """Return a day after two without a check, and after a week when nobody ran Digest."""
    noon = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)
    turns = []
    for days in (10, 9, 8, 7, 6):
        idle = noon - timedelta(days=days)
        turns.append(UncheckedTurn(idle, TurnFailure.DID_NOT_RUN))
    for days in (1, 0):
        failed = noon - timedelta(days=days)
        turns.append(UncheckedTurn(failed, TurnFailure.ARXIV_FAILED))
    of_earlier_day = replace(make_entry(2), announced=date(2026, 11, 17))
    digest = make_digest([make_entry(1), of_earlier_day])
    return replace(digest, unchecked=tuple(turns))


def merged_digest() -> Digest:
    """Return a week in one digest.

    Papers were replaced or withdrawn since, and not all of it is shown.
    """
    thursday = date(2026, 11, 19)
    entries = [make_entry(number, abstract="Short.") for number in (31, 32, 21, 11, 12)]
    revised = revised_entry(7)
    assert revised.before is not None
    replaced = Sequel(Kind.REPLACEMENT, thursday, revised.before, StoredText(revised.paper))
    entries[2] = replace(entries[2], sequel=replaced)
    gone = make_paper(
        11, version=2, comment="The timer in Section 4 was off by ten.", is_withdrawn=True
    )
    before = StoredText(entries[3].paper)
    withdrawn = Sequel(Kind.WITHDRAWAL, thursday, before, StoredText(gone))
    entries[3] = replace(entries[3], sequel=withdrawn)
    second = make_entry(7, kind=Kind.REPLACEMENT, version=2, label="v1 → v2", abstract="Short.")
    entries.append(second)
    coverage = make_coverage(len(entries), since=date(2026, 11, 15), announcements=5, new=6_204)
    return make_digest(entries, slot="2026-W47", shown=5, coverage=coverage)


def odd_entries() -> tuple[DigestEntry, ...]:
    """Return papers at the edges of what arXiv takes, and beyond."""
    long_title = "On the length of titles " + "and the patience of those who read them " * 9
    long = make_entry(1, title=long_title, found=())
    crowd = tuple(Author(f"Given{number} Family{number}") for number in range(3_303))
    by_crowd = make_entry(
        2, title="Many hands", authors=crowd, found=((Field.AUTHORS, "Given3000 Family3000"),)
    )
    with_controls = make_entry(
        3, title="Bells \x07 and\x00 nulls\x1b[31m in\u2028two lines \ufffe", abstract="\x0b"
    )
    with_markup = make_entry(
        4,
        title="<script>alert(1)</script> & <!channel> @here *bold* `code`",
        comment="<b>x</b>",
    )
    hebrew = Author("נועה לוי", ("אוניברסיטת תל אביב",))
    arabic = Author("محمد الأمين")
    right_to_left = make_entry(
        5,
        title="חיפוש מהיר בזיכרון משותף",
        abstract="זהו תקציר קצר. " * 8,
        authors=(hebrew, arabic),
    )
    chinese = make_entry(
        6,
        title="共享加速器上的尾延迟与一种简单的调度规则" * 5,
        authors=(Author("陈晓明"), Author("王芳")),
    )
    zeros = make_entry(7, title="0", comment="", abstract="0")
    turned_author = Author("\u202eEve\u202c")
    turned = make_entry(8, title="txet \u202edesrever\u202c in a title", authors=(turned_author,))
    bare = make_entry(
        9, title="No authors, no categories", authors=(), categories=(), abstract="", found=()
    )
    long_ago = EVENING - timedelta(days=400)
    old = make_entry(
        10,
        title="Price rises from $5 to $6, up 20 % & more",
        published=long_ago,
        updated=long_ago,
    )
    return (
        long,
        by_crowd,
        with_controls,
        with_markup,
        right_to_left,
        chinese,
        zeros,
        turned,
        bare,
        old,
    )


def sample_trials() -> tuple[TrialView, ...]:
    """Return trials of queries.

    One that brings papers, one that cannot be read, and some without figures.
    """
    bars = tuple(BarView(f"Day {number}", number, number + 1) for number in range(30))
    near = VariantView("ti:gpu & <b>", "the words in the title", 9, "about 2 papers a day")
    difference = DifferenceView(1, 1, 5, ("A <b> gained",), ("A lost one",))
    brings = TrialView(
        "gpu",
        'the paper has "gpu" anywhere',
        None,
        ("it brings much",),
        rate="Much",
        bars=bars,
        since="Tue 3 Nov",
        heading="Your digest today",
        papers=view_papers(sample_digest()),
        more=12,
        variants=(near,),
        difference=difference,
    )
    problem = ProblemView(
        "OR has nothing after it", "<b> ", "OR", "", "Write a word after it.", "<b>"
    )
    return (
        brings,
        TrialView("<b> OR", problem=problem),
        TrialView("<b>", message="The papers are being read.", is_ready=False),
        TrialView("", message="Queries cannot be tried here.", is_offered=False),
    )


def sample_start(trial: TrialView, *, is_full: bool = True) -> StartContext:
    """Return the page to begin, with everything or with as little as it may have."""
    coverage = describe_coverage(make_coverage(None, is_complete=is_full))
    if not is_full:
        return StartContext(trial, None, (), coverage, "")
    names = ("address", "q", "days", "hour", "zone", "kinds", "feed", "joins")
    given = dict.fromkeys(names, ("<i>",))
    form = SubscribeContext("", "", given, DAYS, KINDS, {"gpu": "GPU <b>"}, token="t0k3n")
    archives = (("GPU <b>", "a/x"),)
    return StartContext(trial, form, archives, coverage, "ops@example.org")
