import email
import email.policy
import re
from pathlib import Path

import pytest

from digest.model.announcements import Kind
from digest.model.errors import TemplateError
from digest.model.messages import Links
from digest.model.papers import Author
from digest.model.subscriptions import Abstracts, Grouping
from digest.render.mail import BUDGET, MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import AUTHORS, SAMPLE_LINKS, make_digest, make_entry, quiet_digests
from tests.conftest import IS_NIGHTLY
from tests.samples import sample_digest
from tests.unit.render.conftest import MakeDelivery, Write, read_parts


def read_subject(raw: bytes) -> str:
    return str(email.message_from_bytes(raw, policy=email.policy.default)["Subject"])


def test_without_any_way_to_leave_no_dead_link_is_printed(write: Write) -> None:
    raw = write(sample_digest(), Links())
    assert b"List-Unsubscribe" not in raw
    plain, html = read_parts(raw)
    assert "nsubscribe" not in html + plain
    assert 'href=""' not in html


def test_a_dot_parts_the_links_of_the_foot_whichever_there_are(write: Write) -> None:
    html = read_parts(
        write(sample_digest(), Links(web_view="https://a.example", likes="https://b.example"))
    )[1]
    assert re.search(
        r"Read in the browser</a> · \s*<a [^>]*>More or less like these</a>\s*</p>", html
    )


def test_a_subject_says_how_many_and_the_first_title_and_on_a_quiet_day_the_date(
    write: Write,
) -> None:
    assert read_subject(write(quiet_digests()["quiet"])) == "No new papers (Thu 19 Nov)"
    long = make_digest(
        (make_entry(title="One of many words " * 9), make_entry(2, kind=Kind.REPLACEMENT))
    )
    assert read_subject(write(long)) == f"2 papers: {'One of many words ' * 3}One of many …"


def test_the_hidden_beginning_says_what_the_subject_does_not(write: Write) -> None:
    titles = ["First of all", "Second to none", "Third time lucky", "Fourth wall"]
    entries = [make_entry(number, title=title) for number, title in enumerate(titles, 1)]
    for digest, said in (
        (make_digest(entries), "Second to none · Third time lucky"),
        (make_digest(entries[:1]), "We measure where the worst moments come from"),
        (quiet_digests()["quiet"], "Checked 04:47 CET: nothing new matched"),
    ):
        first = re.search(r"<body[^>]*>\s*<div([^>]*)>([^<]*)", read_parts(write(digest))[1])
        assert first
        assert "display:none" in first[1].replace(" ", "")
        assert first[2].startswith(said)


def test_whole_abstracts_are_shown_of_all_papers_or_the_planned_form_is_kept(write: Write) -> None:
    abstract = "Words of an abstract that goes on. " * 40
    for count, form, is_whole in ((10, "<h3 ", True), (30, "<h3 ", True), (60, "<th>", False)):
        entries = [make_entry(n, abstract=abstract) for n in range(1, count + 1)]
        _, html = read_parts(write(make_digest(entries, abstracts=Abstracts.FULL)))
        assert html.count(form) == count
        assert (abstract.strip() in html) is is_whole


NAMES = (Author("Rafał Demkowicz-Dobrzański"), *AUTHORS, Author("Ana Lúcia Prates van der Berg"))


@pytest.mark.parametrize("title", ["Words of a title, ", "Σ_{i<n} $\\alpha_i$ & ", "כותרת בעברית "])
@pytest.mark.parametrize("length", [80, 250] if IS_NIGHTLY else [250])
def test_250_titles_fit_if_need_be_cut_and_without_names_and_the_text_has_them_whole(
    write: Write, title: str, length: int
) -> None:
    entries = [
        make_entry(
            n,
            title=f"No. {n}: {title * 20}"[:length],
            authors=NAMES,
            queries=("perf", "gpu")[n > 120 :],
        )
        for n in range(1, 251)
    ]
    plain, html = read_parts(write(make_digest(entries, group_by=Grouping.QUERY), Links()))
    assert len(html.encode()) <= BUDGET
    assert html.count("<th>") == 250
    assert len(re.findall(r"v1\">No\. \d+: [^<]{10}", html)) == 250
    assert "more in this digest" not in html + plain
    assert (
        len(set(re.findall(r"(?m)^\d+\. No\. \d+: ", plain)))
        == plain.count("Demkowicz-Dobrzański")
        == 250
    )


def test_a_sentence_leads_to_its_paper_on_the_page_of_its_own_digest(write: Write) -> None:
    entries = [make_entry(number, abstract="“#paper” is a place.") for number in (1, 2)]
    for shown, page in (
        (entries, "https://x.example/d/1"),
        (entries[::-1], "https://x.example/d/2"),
    ):
        _, html = read_parts(write(make_digest(shown), Links(web_view=page)))
        found = re.findall(r'href="([^"]*#paper-\d)"[^>]*>“#paper” is a place', html)
        assert found == [f"{page}#paper-1", f"{page}#paper-2"]
    _, html = read_parts(write(make_digest(entries[:1]), Links()))
    assert re.search(r'href="https://arxiv.org/abs/2611.15001v1"[^>]*>“#paper” is a place', html)


def test_a_template_that_leaves_no_room_is_an_error(
    tmp_path: Path, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/digest.html").write_text(
        f"<html><body>{'<p>long</p>' * 20_000}</body></html>"
    )
    with pytest.raises(TemplateError, match="before any paper") as caught:
        Renderer([tmp_path]).render(
            sample_digest(), deliver("mailto:a@b.example"), SAMPLE_LINKS, identity
        )
    assert "Shorten" in caught.value.hint
