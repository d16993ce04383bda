"""A mail holds a paper as it was made once, and anew where anything differs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from digest.model.messages import DigestEntry
from digest.model.papers import Field
from digest.model.subscriptions import Abstracts
from digest.render.mail import MailPapers
from digest.render.papers import PaperView
from digest.render.samples import make_entry
from digest.render.templates import Templates, find_shipped_templates

FULL = Abstracts.FULL


class Counting(Templates):
    """Templates that count what is rendered."""

    def __init__(self) -> None:
        super().__init__([], find_shipped_templates())
        self.rendered: Counter[str] = Counter()

    def render(self, name: str, context: object) -> str:
        self.rendered[name] += 1
        return super().render(name, context)  # type: ignore[arg-type]  # as it came


@pytest.fixture
def templates() -> Counting:
    return Counting()


def _again(entry: DigestEntry) -> DigestEntry:
    """Return an entry as another reading of the database gives it.

    Equal, and another object throughout.
    """
    paper = replace(entry.paper)
    reasons = tuple(replace(one) for one in entry.reasons)
    return replace(entry, paper=paper, reasons=reasons)


ENTRY = make_entry(found=((Field.TITLE, "GPU"),), comment="9 pages")


def test_a_paper_is_made_once_wherever_it_stands_and_however_often_it_was_read(
    templates: Counting,
) -> None:
    papers = MailPapers(templates)
    first = papers.render(PaperView(ENTRY, 1), FULL)
    for number in range(2, 20):
        elsewhere = PaperView(_again(ENTRY), number)
        assert papers.render(elsewhere, FULL) == first
    assert templates.rendered == {"email/paper.html": 1, "email/paper.txt": 1}


@pytest.mark.parametrize(
    "other",
    [
        replace(ENTRY, paper=replace(ENTRY.paper, version=2)),
        replace(ENTRY, paper=replace(ENTRY.paper, comment="10 pages")),
        replace(ENTRY, reasons=(replace(ENTRY.reasons[0], spans=()),)),
        replace(ENTRY, queries=("gpu",)),
    ],
)
def test_a_paper_of_which_anything_differs_is_made_anew(
    templates: Counting, other: DigestEntry
) -> None:
    papers = MailPapers(templates)
    made = papers.render(PaperView(ENTRY, 1), FULL)
    made_of_other = papers.render(PaperView(other, 1), FULL)
    assert made != made_of_other


def test_each_step_of_the_abstract_and_a_look_back_are_kept_apart(templates: Counting) -> None:
    papers = MailPapers(templates)
    made = set()
    for is_first_digest in (False, True):
        view = PaperView(ENTRY, 1, is_first_digest)
        for abstracts in Abstracts:
            for _ in range(3):
                made.add(papers.render(view, abstracts))
    assert templates.rendered == {"email/paper.html": 6, "email/paper.txt": 6}
    assert len(made) == 6
