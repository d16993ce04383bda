"""What a template leaves out is told before it is sent; nothing is dropped unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from digest.errors import TemplateError
from digest.messages import Links
from digest.render import MailIdentity, Renderer
from digest.render.folders import find_shipped_templates
from digest.render.samples import SAMPLE_LINKS, full_digest, make_digest, make_entry, sample_digest
from digest.render.trials import find_doubts, try_mails, try_slack
from tests.unit.render.conftest import MakeDelivery

ON_PURPOSE = "{# leaves out papers on purpose #}"
FIRST_ALONE = "{% for group in groups %}{{ group.papers[0].title }} {{ group.papers[0].url }}{% endfor %}"
FALLBACK = "fallback: {{ digest.title }}\n\n{{ digest.title }}\n\n"


def write(folder: Path, name: str, text: str) -> Renderer:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return Renderer([folder])


def ship(name: str) -> str:
    return (find_shipped_templates() / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", FIRST_ALONE, "{{ groups[0].papers[0].url if groups }}"])
@pytest.mark.parametrize("name", ["email/digest.html", "email/text.txt"])
def test_a_mail_that_leaves_out_papers_is_not_sent_and_says_which(
    tmp_path: Path, deliver: MakeDelivery, identity: MailIdentity, name: str, text: str
) -> None:
    renderer, digest = write(tmp_path, name, text), make_digest([make_entry(1), make_entry(2), make_entry(3)])
    with pytest.raises(TemplateError, match="of the 3 papers it is given: 2611") as raised:
        renderer.render(digest, deliver("mailto:reader@example.org"), SAMPLE_LINKS, identity)
    assert raised.value.message.startswith(f"{name} tells {1 if text else 0} of ")
    assert ON_PURPOSE in raised.value.hint
    renderer = write(tmp_path, name, ON_PURPOSE + text)
    assert renderer.render(digest, deliver("mailto:reader@example.org"), SAMPLE_LINKS, identity).body


def test_48_papers_of_which_a_thread_tells_the_first_of_each_message_are_held_there(
    tmp_path: Path, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    text = FALLBACK + FIRST_ALONE
    renderer, to = write(tmp_path, "slack/page.txt", text), deliver("slack:#papers")
    digest = make_digest([make_entry(number) for number in range(1, 49)])
    first, *pages = renderer.divide(digest, to.destination)
    assert first is not None
    assert renderer.render(digest, deliver("slack:#papers", share=first, parts=2), Links(), identity).body
    for part, share in enumerate(pages, 1):
        with pytest.raises(TemplateError, match=r"slack/page\.txt tells 1 of the 43 papers"):
            renderer.render(digest, deliver("slack:#papers", share=share, part=part, parts=2), Links(), identity)
    with pytest.raises(TemplateError, match=r"slack/page\.txt tells 1 of"):
        try_slack(renderer.templates)
    try_slack(write(tmp_path, "slack/page.txt", ON_PURPOSE + text).templates)


def test_papers_beyond_the_cap_must_be_spoken_of(tmp_path: Path) -> None:
    each = "{% for paper in group.papers %}{{ fragments[paper.number] }}{% endfor %}"
    papers = f"{{% for group in groups %}}{each}{{% endfor %}}"
    with pytest.raises(TemplateError, match=r"email/digest\.html says nothing of 7 papers that have no room"):
        try_mails(write(tmp_path, "email/digest.html", papers).templates)
    try_mails(write(tmp_path, "email/digest.html", papers + "{{ rest.count }} more").templates)
    try_mails(write(tmp_path, "email/digest.html", papers + "{{ rest.url or rest.papers }}").templates)


@pytest.mark.parametrize("name", ["email/paper.html", "email/paper.txt"])
def test_a_paper_of_which_nothing_is_printed_is_named_with_its_kind(tmp_path: Path, name: str) -> None:
    text = '{% if paper.kind != "withdrawal" %}' + ship(name) + "{% endif %}"
    with pytest.raises(TemplateError, match=rf"{name} prints nothing for 2611\.15009 \(withdrawal\)"):
        try_mails(write(tmp_path, name, text).templates)


def test_a_mail_too_long_to_be_sent_is_told_with_by_how_much(tmp_path: Path) -> None:
    text = "<p>" + "x" * 200_000 + "</p>" + ship("email/digest.html")
    with pytest.raises(TemplateError, match=r"more than the 100,000 that a mail has room for") as raised:
        try_mails(write(tmp_path, "email/digest.html", text).templates)
    assert raised.value.message.startswith("email/digest.html takes 21")


def test_the_check_tells_what_whole_mails_messages_and_pages_leave_out(tmp_path: Path) -> None:
    write(tmp_path, "email/text.txt", "")
    write(tmp_path, "slack/page.txt", FALLBACK + FIRST_ALONE)
    problems = write(tmp_path, "web/digest.html", "").check()
    assert [problem.name for problem in problems] == ["web/digest.html", "email/text.txt", "slack/page.txt"]


def test_doubts_are_told_of_what_could_be_sent(tmp_path: Path) -> None:
    assert not list(find_doubts(Renderer().templates))
    write(tmp_path, "email/subject.txt", "")
    write(tmp_path, "email/paper.html", "{{ paper.show_abstract()|join }}{{ paper.id }}" + "." * 3_000)
    leaving = (
        '{% extends "default:email/digest.html" %}{% block ways %}{% endblock %}{% block foot %}{% endblock %}'
    )
    doubts = list(find_doubts(write(tmp_path, "email/digest.html", leaving).templates))
    assert [doubt.split()[0] for doubt in doubts] == ["email/digest.html", "email/subject.txt", "of"]
    assert "of 40 papers with long abstracts, a mail of your templates has room for" in doubts[2]
    assert full_digest().shown == 40
    assert sample_digest().entries
