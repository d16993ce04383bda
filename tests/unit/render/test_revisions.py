from __future__ import annotations

from dataclasses import replace

import pytest

from digest.model.announcements import Kind
from digest.model.messages import DigestEntry, Links, StoredText
from digest.model.papers import Author, Paper
from digest.model.subscriptions import Grouping, Replacements
from digest.render import Renderer
from digest.render.papers import LONGEST_NOTE, PaperView
from digest.render.revisions import UNCHANGED, join_summaries, view_revisions
from digest.render.samples import (
    make_digest,
    make_entry,
    make_paper,
    revised_entry,
)

ADA, BO, CY = Author("Ada Example"), Author("Bo Sample"), Author("Cy Trial")
BEFORE = make_paper(authors=(ADA, BO))


def describe(**changes: object) -> str:
    return join_summaries(view_revisions(BEFORE, replace(BEFORE, version=2, **changes)))  # type: ignore[arg-type]  # fields of Paper


def view(kind: Kind, label: str, paper: Paper, before: Paper | None) -> PaperView:
    entry = replace(make_entry(1), kind=kind, label=label, paper=paper)
    return PaperView(replace(entry, before=StoredText(before) if before else None), 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"comment": r"accepted at \emph{a workshop}"}, "“accepted at a workshop”"),
        ({"title": "Else"}, "title was “Tail latency below 10⁻³ s on shared GPUs”"),
        ({"authors": (ADA, CY)}, "authors: +Cy Trial −Bo Sample"),
        ({"authors": (BO, ADA)}, "authors: in another order"),
        ({"authors": (ADA, BO, *(Author(f"Given{n} Family{n}") for n in range(400)))}, "authors: +400"),
        ({"journal_ref": "J. Made Up 3 (2027) 14"}, "in J. Made Up 3 (2027) 14"),
        ({"dois": ("10.5555/made.up",)}, "DOI 10.5555/made.up"),
        ({"authors": (ADA, BO, BO)}, "authors: +Bo Sample"),
        ({"categories": ("cs.PF", "cs.DC", "cs.OS")}, "categories: +cs.OS"),
        ({"abstract": BEFORE.abstract.replace("96 GPUs", "64 GPUs")}, "abstract: 1 word changed"),
        ({"abstract": BEFORE.abstract.replace("on a cluster ", "")}, "abstract: 3 words removed"),
        ({"abstract": f"{BEFORE.abstract} It is free."}, "abstract: 3 words added"),
        ({"abstract": "We found something else entirely."}, "abstract: written anew"),
        ({"abstract": BEFORE.abstract.replace(". It", "; It")}, "abstract: punctuation changed"),
        ({}, UNCHANGED),
    ],
)
def test_each_part_says_in_a_few_words_what_changed(changes: dict[str, object], said: str) -> None:
    assert describe(**changes) == said


def test_the_comment_comes_first_and_all_of_it_stays_one_line() -> None:
    shown = PaperView(revised_entry(7), 1)
    assert shown.change.startswith("v1 → v2: “Accepted at a workshop on schedulers, 2027”; title was “Scheduling")
    assert "\n" not in shown.change
    assert shown.short_comment == "", "it is told in the line already"
    long = replace(revised_entry(7).paper, comment="word " * 300, title="word " * 300)
    assert len(view(Kind.REPLACEMENT, "v1 → v2", long, BEFORE).change) <= LONGEST_NOTE


def test_a_label_that_names_no_earlier_version_is_told_since_which_one() -> None:
    after = replace(BEFORE, version=3, comment="accepted")
    assert (
        view(Kind.REPLACEMENT, "now matches (v3)", after, BEFORE).change
        == "now matches (v3), since v1: “accepted”"
    )


def test_a_withdrawal_gives_the_authors_reason_or_says_that_there_is_none() -> None:
    gone = replace(BEFORE, version=2, comment="The timer was off by ten.", is_withdrawn=True)
    assert (
        view(Kind.WITHDRAWAL, "withdrawn (v2)", gone, BEFORE).change
        == "withdrawn (v2): “The timer was off by ten.”"
    )
    silent = replace(gone, comment="")
    assert (
        view(Kind.WITHDRAWAL, "withdrawn (v2)", silent, None).change
        == "withdrawn (v2): the authors give no reason"
    )


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "</del></details><img src=x>", "\x1b[31m\x13", "&lt;b&gt;"]
)
def test_no_text_of_a_stranger_comes_alive_in_what_changed(renderer: Renderer, hostile: str) -> None:
    before = replace(BEFORE, title=hostile, abstract=hostile, comment=hostile, authors=(Author(hostile),))
    entries: list[DigestEntry] = []
    longer = replace(before, title=f"{hostile} and more", abstract=f"{hostile} and {'more ' * 9}")
    for one, other in ((before, BEFORE), (BEFORE, before), (before, longer)):
        entry = replace(make_entry(1), kind=Kind.REPLACEMENT, label="v1 → v2", paper=replace(other, version=2))
        entries.append(replace(entry, before=StoredText(one)))
    page = renderer.render_page(make_digest(entries, replacements=Replacements.WHOLE), Links())
    assert "<script>" not in page
    assert "<img" not in page
    assert "\x1b" not in page
    terminal = renderer.render_terminal(
        make_digest(entries, replacements=Replacements.WHOLE), width=96, color=False, limit=None
    )
    assert "\x1b" not in terminal


def test_below_a_query_a_paper_names_the_others(renderer: Renderer) -> None:
    entries = [make_entry(1, queries=("perf", "gpu")), make_entry(2, queries=("gpu",))]
    digest = make_digest(entries, group_by=Grouping.QUERY)
    text = renderer.render_text(digest, Links())
    assert text.index("PERF (1)") < text.index("Why: also gpu") < text.index("GPU (1)")
