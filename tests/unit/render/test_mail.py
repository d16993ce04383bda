import email
import email.policy
import re
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest

from digest.model.errors import TemplateError
from digest.model.messages import Delivery, Digest, Links, Occasion
from digest.model.papers import Field
from digest.render import MailIdentity, Renderer
from digest.render.samples import (
    SAMPLE_LINKS,
    make_digest,
    make_entry,
    odd_entries,
    quiet_digests,
    sample_digest,
)
from tests.unit.render.conftest import KEY, MakeDelivery

Write = Callable[..., bytes]


@pytest.fixture(scope="module")
def write(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Write:
    """Renders a digest as the bytes of a mail."""

    def write_mail(digest: Digest, links: Links = SAMPLE_LINKS, to: str = "mailto:reader@example.org") -> bytes:
        return renderer.render_mail(digest, deliver(to), links, identity).body

    return write_mail


def _parse(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    assert not any(part.defects for part in message.walk())
    return message


def _part(raw: bytes, kind: str) -> str:
    body = _parse(raw).get_body((kind,))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def test_without_any_way_to_leave_no_dead_link_is_printed(write: Write) -> None:
    raw = write(sample_digest(), Links())
    assert b"List-Unsubscribe" not in raw
    assert "nsubscribe" not in _part(raw, "html") + _part(raw, "plain")
    assert 'href=""' not in _part(raw, "html")


def test_the_same_digest_gives_the_same_bytes(write: Write) -> None:
    assert write(sample_digest()) == write(sample_digest())


def test_the_body_is_one_text_and_one_html_part_in_quoted_printable(write: Write) -> None:
    message = _parse(write(make_digest(odd_entries())))
    assert message.get_content_type() == "multipart/alternative"
    plain, html = message.iter_parts()
    assert (plain["Content-Type"], html["Content-Type"]) == (
        'text/plain; charset="utf-8"; format="flowed"; delsp="no"',
        'text/html; charset="utf-8"',
    )
    assert {part["Content-Transfer-Encoding"] for part in (plain, html)} == {"quoted-printable"}


@pytest.mark.parametrize("name", ["sample", "odd", "quiet", "incomplete", "failed"])
def test_every_line_is_short_ends_in_crlf_and_is_ascii(write: Write, name: str) -> None:
    digests = {"sample": sample_digest(), "odd": make_digest(odd_entries()), **quiet_digests()}
    raw = write(digests[name])
    assert raw.isascii()
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r")
    assert max(len(line) for line in raw.split(b"\r\n")) <= 78


def test_the_subject_counts_and_names_the_best_title(write: Write) -> None:
    assert _parse(write(sample_digest()))["Subject"] == (
        "6 papers: Tail latency below 10⁻³ s on shared GPUs (Thu 19 Nov)"
    )
    first = make_digest((make_entry(title="One of many words " * 9),), occasion=Occasion.FIRST_LOOK)
    assert _parse(write(first))["Subject"] == (
        "First look, 1 paper: One of many words One of many words One of many words One … (Thu 19 Nov)"
    )


def test_a_title_given_to_a_subscription_stands_in_its_subjects(write: Write) -> None:
    titled = replace(quiet_digests()["quiet"], title="Graphs")
    assert _parse(write(titled))["Subject"] == "No new papers (Graphs, Thu 19 Nov)"
    long = make_digest(
        (make_entry(title="One of many words " * 9),), title="Everything about graphs, and more of it"
    )
    assert _parse(write(long))["Subject"] == (
        "1 paper: One of many words One of many words One … (Everything about …, Thu 19 Nov)"
    )


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("quiet", "No new papers (Thu 19 Nov)"),
        ("incomplete", "Nothing yet (Thu 19 Nov)"),
        ("failed", "arXiv could not be read (Thu 19 Nov)"),
    ],
)
def test_a_mail_without_papers_says_why(write: Write, name: str, subject: str) -> None:
    digest = quiet_digests()[name]
    raw = write(digest)
    assert _parse(raw)["Subject"] == subject
    plain = " ".join(_part(raw, "plain").split())
    assert subject.partition(" (")[0] in plain
    assert ("quiet day: everything" in plain) == (name == "quiet")


def test_both_parts_tell_the_same_papers_reasons_changes_and_coverage(write: Write) -> None:
    raw = write(sample_digest())
    html, plain = _part(raw, "html"), _part(raw, "plain").replace(" \n", " ")
    for words in (
        "Held back for thirteen days, found all the same",
        "Mailing of Thu 19 Nov: complete, 1,412 new, checked Fri 20 Nov 04:47 CET; 6 matched.",
        "submitted 6 Nov, announced 19 Nov",
        "v1 → v2: “accepted at a workshop on schedulers”; title and abstract changed",
        "author Thu Trang Lê",
        "Withdrawn by the authors: the timer in Section 4 was off by ten.",
        "Thank you to arXiv for use of its open access interoperability.",
        "was not reviewed or approved by",
        SAMPLE_LINKS.unsubscribe,
        SAMPLE_LINKS.web_view,
    ):
        assert words in html
        assert words in plain


def test_links_of_the_text_part_stand_on_lines_of_their_own(write: Write) -> None:
    lines = _part(write(sample_digest()), "plain").splitlines()
    links = [line for line in lines if "https://digest" in line or "https://arxiv" in line]
    assert len(links) == 15
    assert all(re.fullmatch(r"https://\S+", line) for line in links)


def test_the_html_part_needs_no_image_no_script_and_fetches_nothing(write: Write) -> None:
    html = _part(write(sample_digest()), "html")
    assert not re.search(r"<img|<script|<link|url\(|@import|src=", html)
    assert set(re.findall(r'href="(https?://[^/"]+)', html)) == {"https://arxiv.org", "https://digest.example.org"}


def test_the_html_part_has_a_language_real_headings_and_nothing_hidden(write: Write) -> None:
    html = _part(write(sample_digest()), "html")
    assert '<html lang="en" dir="ltr">' in html
    assert "display: none" not in html
    assert "opacity" not in html
    assert [html.count(f"<{tag} ") for tag in ("h1", "h2", "h3")] == [1, 4, 6]
    assert "prefers-color-scheme: dark" in html


def test_every_element_with_a_class_carries_its_style(write: Write) -> None:
    html = _part(write(sample_digest()), "html").partition("<body")[2]
    for element in re.findall(r"<[a-z0-9]+ [^>]*class=[^>]*>", html):
        assert "style=" in element
    assert re.search(r'<mark style="[^"]*">GPU</mark>', html)


def test_papers_over_the_cap_are_counted_and_linked(write: Write) -> None:
    digest = make_digest([make_entry(number) for number in range(1, 10)], shown=4)
    raw = write(digest)
    assert _part(raw, "html").count("<h3 ") == 4
    assert "5 more in this digest" in _part(raw, "html")
    assert f"5 more in this digest:\n{SAMPLE_LINKS.web_view}" in _part(raw, "plain")


def test_without_a_page_to_link_to_the_papers_over_the_cap_are_named(write: Write) -> None:
    raw = write(make_digest([make_entry(number) for number in range(1, 421)], shown=4), Links())
    for part in (_part(raw, "html"), _part(raw, "plain")):
        assert "https://arxiv.org/abs/2611.15404v1" in part
        assert "https://arxiv.org/abs/2611.15405v1" not in part
        assert "and 16 more" in part


def _shown(html: str) -> int:
    return html.count("<h3 ")


def test_abstracts_shorten_in_steps_as_a_digest_grows(write: Write) -> None:
    abstract = "Words of an abstract that goes on. " * 40
    longest = []
    for count in (10, 50, 75, 95):
        html = _part(write(make_digest([make_entry(n, abstract=abstract) for n in range(1, count + 1)])), "html")
        found = re.findall(r'<p class="abstract"[^>]*>(.*?)</p>', html)
        longest.append(max((len(one) for one in found), default=0))
        assert _shown(html) == count
    assert longest[0] == len(abstract.strip())
    assert 200 < longest[1] <= 402
    assert 0 < longest[2] <= 202
    assert longest[3] == 0


def test_the_text_part_shows_the_same_papers_as_the_html_part(write: Write) -> None:
    raw = write(make_digest([make_entry(n, abstract="word " * 300) for n in range(1, 151)]))
    plain = _part(raw, "plain")
    assert f"\n{_shown(_part(raw, 'html'))}. " in plain
    assert f"\n{_shown(_part(raw, 'html')) + 1}. " not in plain


def test_a_template_that_leaves_no_room_is_an_error(
    tmp_path: Path, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/digest.html").write_text(f"<html><body>{'<p>long</p>' * 20_000}</body></html>")
    with pytest.raises(TemplateError, match="before any paper") as caught:
        Renderer([tmp_path]).render_mail(sample_digest(), deliver("mailto:a@b.example"), SAMPLE_LINKS, identity)
    assert "Shorten" in caught.value.hint


def test_a_lab_can_rebrand_its_mail_without_python(
    tmp_path: Path, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/digest.html").write_text(
        '{% extends "default:email/digest.html" %}{% block masthead %}'
        '<h1 class="headline">The Lab: {{ digest.headline }}</h1>{% endblock %}'
    )
    (tmp_path / "email/style.css").write_text(".headline { color: #00695c }")
    mail = Renderer([tmp_path]).render_mail(sample_digest(), deliver("mailto:a@b.example"), SAMPLE_LINKS, identity)
    html = _part(mail.body, "html")
    assert '<h1 class="headline" style="color:#00695c">The Lab: 6 papers</h1>' in html
    assert "Held back for thirteen days" in html


def test_a_match_far_down_the_list_of_authors_is_named_and_marked(write: Write) -> None:
    entry = make_entry(found=((Field.AUTHORS, "Kwabena Owusu-Ansah"),))
    assert re.search(r"<mark [^>]*>Kwabena Owusu-Ansah</mark>", _part(write(make_digest((entry,))), "html"))


def test_the_message_names_its_file_and_key(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    delivery: Delivery = deliver("mailto:reader@example.org")
    message = renderer.render_mail(sample_digest(), delivery, SAMPLE_LINKS, identity)
    assert (message.media_type, message.name) == ("message/rfc822", "demo-team-mailing-2026-11-19.eml")
    assert message.idempotency_key == KEY
