"""A paper's part of a mail is made once for all who get the same of it, and anew where anything differs."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from digest.model.messages import Digest, DigestEntry, Occasion
from digest.model.papers import Field
from digest.render import MailIdentity, Renderer
from digest.render.environments import Templates, find_shipped_templates, inline_styles
from digest.render.mail import Fragments, _Frame, clean_lines, measure_whole, render_mail_text
from digest.render.mail_forms import encode_mail
from digest.render.mime import quote_printable
from digest.render.papers import PaperView
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry
from digest.render.text import flow_text
from tests.unit.render.conftest import MakeDelivery


class Counting(Templates):
    """Templates that count what is rendered."""

    def __init__(self, *folders: Path) -> None:
        super().__init__(folders, find_shipped_templates())
        self.rendered: Counter[str] = Counter()

    def render(self, name: str, context: object) -> str:
        self.rendered[name] += 1
        return super().render(name, context)  # type: ignore[arg-type]  # as it came


@pytest.fixture
def templates() -> Counting:
    return Counting()


def _again(entry: DigestEntry) -> DigestEntry:
    """Return an entry as another reading of the database gives it: equal, and another object throughout."""
    return replace(entry, paper=replace(entry.paper), reasons=tuple(replace(one) for one in entry.reasons))


def test_a_paper_is_made_once_wherever_it_stands_and_however_often_it_was_read(templates: Counting) -> None:
    fragments, entry = Fragments(templates), make_entry(found=((Field.TITLE, "GPU"),))
    first = fragments.make(PaperView(entry, 1), None)
    assert all(fragments.make(PaperView(_again(entry), number), None) is first for number in range(2, 20))
    assert templates.rendered == {"email/paper.html": 1, "email/paper.txt": 1}
    assert "<mark style=" in first.html
    assert first.text.startswith(
        "Tail latency below 10⁻³ s on shared GPUs\nMarit Solheim (University of Bergen), "
    )


ENTRY = make_entry(found=((Field.TITLE, "GPU"),), comment="9 pages")


@pytest.mark.parametrize(
    "other",
    [
        replace(ENTRY, paper=replace(ENTRY.paper, version=2)),
        replace(ENTRY, paper=replace(ENTRY.paper, title=ENTRY.paper.title + "!")),
        replace(ENTRY, paper=replace(ENTRY.paper, comment="10 pages")),
        replace(ENTRY, reasons=(replace(ENTRY.reasons[0], spans=()),)),
        replace(ENTRY, queries=("gpu",)),
        replace(ENTRY, label="v1 → v2"),
        replace(ENTRY, change_note="title changed"),
    ],
)
def test_a_paper_of_which_anything_differs_is_made_anew(templates: Counting, other: DigestEntry) -> None:
    fragments = Fragments(templates)
    one, another = (fragments.make(PaperView(entry, 1), None) for entry in (ENTRY, other))
    alone = Fragments(templates)
    assert one != another
    assert (one, another) == tuple(alone.make(PaperView(entry, 1), None) for entry in (ENTRY, other))
    assert templates.rendered["email/paper.html"] == 4


def test_each_step_of_the_abstract_and_a_look_back_are_kept_apart(templates: Counting) -> None:
    fragments = Fragments(templates)
    made = [
        fragments.make(PaperView(ENTRY, 1, is_first_look), limit)
        for is_first_look in (False, True)
        for limit in (None, 400, 200, 0)
        for _ in range(3)
    ]
    assert templates.rendered == {"email/paper.html": 8, "email/paper.txt": 8}
    assert len(set(made)) == 8


def test_an_operators_template_that_shows_numbers_gets_them_right(tmp_path: Path) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/paper.html").write_text("<h3>{% include 'email/count.html' %}</h3>")
    (tmp_path / "email/count.html").write_text("No. {{ paper.number }}")
    fragments = Fragments(Counting(tmp_path))
    assert [fragments.make(PaperView(ENTRY, number), None).html for number in (1, 2, 1)] == [
        "<h3>No. 1</h3>",
        "<h3>No. 2</h3>",
        "<h3>No. 1</h3>",
    ]


def test_an_operators_template_that_extends_the_shipped_one_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/paper.html").write_text('{% extends "default:email/paper.html" %}')
    templates = Counting(tmp_path)
    assert not templates.is_mentioned("number", "email/paper.html")
    assert templates.is_mentioned("title_html", "email/paper.html")


def test_what_was_not_asked_for_longest_goes_first(templates: Counting) -> None:
    fragments = Fragments(templates, most=2)
    one, two, three = (PaperView(make_entry(number), 1) for number in (1, 2, 3))
    for paper in (one, two, one, three, one):
        fragments.make(paper, None)
    assert templates.rendered["email/paper.html"] == 3
    fragments.make(two, None)
    assert templates.rendered["email/paper.html"] == 4


def test_threads_that_ask_for_the_same_papers_get_the_same(templates: Counting) -> None:
    fragments = Fragments(templates, most=3)
    papers = [PaperView(make_entry(number), number) for number in range(1, 7)] * 10
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda paper: fragments.make(paper, None), papers))
    alone = Fragments(templates)
    assert made == [alone.make(paper, None) for paper in papers]


def _mail(renderer: Renderer, digest: Digest, deliver: MakeDelivery, identity: MailIdentity) -> bytes:
    return renderer.render_mail(digest, deliver("mailto:a@b.example"), SAMPLE_LINKS, identity).body


def test_digests_of_several_subscriptions_share_their_papers_and_nothing_is_inlined_for_a_mail(
    deliver: MakeDelivery, identity: MailIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered, inlined = Counter[str](), Counter[str]()

    def count_inlining(source: str, css: str) -> str:
        inlined["styles"] += 1
        return inline_styles(source, css)

    monkeypatch.setattr("digest.render.environments.inline_styles", count_inlining)
    renderer, alone = Renderer(), Renderer()
    render = renderer.templates.render

    def count_render(name: str, context: object) -> str:
        rendered[name] += 1
        return render(name, context)  # type: ignore[arg-type]  # as it came

    monkeypatch.setattr(renderer.templates, "render", count_render)
    entries = [make_entry(number) for number in range(1, 9)]
    for one in (renderer, alone):
        _mail(one, make_digest(entries), deliver, identity)
    at_first = inlined["styles"]
    for name, start in (("one", 0), ("two", 2), ("three", 4)):
        papers = [_again(entry) for entry in entries[start : start + 4]]
        digest = make_digest(papers, subscription=name, title=name)
        assert _mail(renderer, digest, deliver, identity) == _mail(alone, digest, deliver, identity)
    assert rendered["email/paper.html"] == rendered["email/paper.txt"] == 8
    _mail(renderer, make_digest(entries, occasion=Occasion.FIRST_LOOK), deliver, identity)
    assert inlined["styles"] == at_first > 0


LOOP = "{% for group in groups %}{% for paper in group.papers %}\nFRAGMENT\n{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("is_held", "template"),
    [
        (True, LOOP.replace("FRAGMENT", "{{ fragments[paper.number] }}")),
        (True, LOOP.replace("FRAGMENT", "  <li>{{ fragments[paper.number] }}</li> {{ paper.id }}")),
        (True, LOOP.replace("FRAGMENT", "{{ fragments[paper.number] }}{{ fragments[1] }}")),
        (True, "{{ fragments[2] }}\n\n{{ fragments[1] }}\n"),
        (True, "nothing of them{# leaves out papers on purpose #}"),
        (True, '{% extends "default:NAME" %}{% block foot %}ours{% endblock %}'),
        (False, LOOP.replace("FRAGMENT", '{{ fragments[paper.number]|replace("GPU", "XPU") }}')),
        (
            False,
            "{% filter upper %}" + LOOP.replace("FRAGMENT", "{{ fragments[paper.number] }}") + "{% endfilter %}",
        ),
        (False, LOOP.replace("FRAGMENT", "{% set x %}{{ fragments[paper.number] }}{% endset %}{{ x|title }}")),
        (False, "{{ fragments|length }} {{ fragments.values()|join }}"),
        (
            False,
            "{# leaves out papers on purpose #}{% for n in fragments %}{{ fragments[n]|length }}{% endfor %}",
        ),
        (False, '{% extends "default:NAME" %}{% block papers %}{{ super()|upper }}{% endblock %}'),
    ],
)
@pytest.mark.parametrize("name", ["email/digest.html", "email/text.txt"])
def test_papers_put_in_afterwards_make_the_mail_that_any_template_means(
    tmp_path: Path, name: str, template: str, *, is_held: bool
) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / name).write_text(template.replace("NAME", name))
    digest = make_digest([make_entry(number, comment="From me\n-- ") for number in (1, 2)])
    fragments = Fragments(Counting(tmp_path))
    if "block" not in template or name.endswith("html"):  # the text part has other blocks
        assert fragments.templates.is_only_printed("fragments", name) == is_held
    meant = _Frame(fragments, digest, SAMPLE_LINKS, holds_places=False)
    html, fit = meant.fit()
    encoded = encode_mail(render_mail_text(fragments, digest, SAMPLE_LINKS))
    assert encoded.html == quote_printable(html)
    assert encoded.plain == quote_printable(flow_text(clean_lines(meant.render_text(fit) + "\n")))


@pytest.mark.parametrize("steps", [1, 70, 110])
def test_a_size_is_told_before_the_papers_are_in_their_places(steps: int) -> None:
    fragments = Fragments(Counting())
    digest = make_digest([make_entry(number, title="π" * 30) for number in range(1, steps + 1)])
    rendered, fit = (frame := _Frame(fragments, digest, SAMPLE_LINKS)).fit()
    html, same = _Frame(fragments, digest, SAMPLE_LINKS, holds_places=False).fit()
    assert fit == same
    assert measure_whole(rendered, frame.list_papers(fit)) == len(quote_printable(html))
