import email
import email.policy
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from digest.model.errors import TemplateError
from digest.model.messages import Digest, Links
from digest.model.subscriptions import Abstracts
from digest.render import MailIdentity, Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry, quiet_digests
from tests.samples import sample_digest
from tests.unit.render.conftest import MakeDelivery, read_parts

Write = Callable[..., bytes]


@pytest.fixture(scope="module")
def write(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Write:
    """Renders a digest as the bytes of a mail."""

    def write_mail(digest: Digest, links: Links = SAMPLE_LINKS, to: str = "mailto:reader@example.org") -> bytes:
        return renderer.render(digest, deliver(to), links, identity).body

    return write_mail


def read_subject(raw: bytes) -> str:
    return str(email.message_from_bytes(raw, policy=email.policy.default)["Subject"])


def test_without_any_way_to_leave_no_dead_link_is_printed(write: Write) -> None:
    raw = write(sample_digest(), Links())
    assert b"List-Unsubscribe" not in raw
    plain, html = read_parts(raw)
    assert "nsubscribe" not in html + plain
    assert 'href=""' not in html


def test_a_title_given_to_a_subscription_stands_in_its_subjects(write: Write) -> None:
    titled = replace(quiet_digests()["quiet"], title="Graphs")
    assert read_subject(write(titled)) == "No new papers (Graphs, Thu 19 Nov)"
    long = make_digest(
        (make_entry(title="One of many words " * 9),), title="Everything about graphs, and more of it"
    )
    assert read_subject(write(long)) == (
        "1 paper: One of many words One of many words One … (Everything about …, Thu 19 Nov)"
    )


def test_abstracts_shorten_in_steps_as_a_digest_grows(write: Write) -> None:
    abstract = "Words of an abstract that goes on. " * 40
    longest = []
    for count in (10, 60, 90):
        entries = [make_entry(n, abstract=abstract) for n in range(1, count + 1)]
        _, html = read_parts(write(make_digest(entries, abstracts=Abstracts.FULL)))
        found = re.findall(r'<p class="abstract"[^>]*>(.*?)</p>', html)
        longest.append(max((len(one) for one in found), default=0))
        assert html.count("<h3 ") == count
    assert longest[0] == len(abstract.strip())
    assert 0 < longest[1] <= 170
    assert longest[2] == 0


def test_a_mail_shows_one_sentence_of_each_abstract_unless_asked(write: Write) -> None:
    digest = make_digest([make_entry(comment="9 pages")])
    short, full, none = (read_parts(write(replace(digest, abstracts=abstracts)))[1] for abstracts in Abstracts)
    assert "We measure where" in short
    assert "Shared accelerators" not in short
    assert all(words in full for words in ("Shared accelerators", "We measure where", "9 pages"))
    assert "We measure where" not in none


def test_a_sentence_leads_to_its_paper_on_the_page_of_its_own_digest(write: Write) -> None:
    entries = [make_entry(number, abstract="“#paper” is a place.") for number in (1, 2)]
    for shown, page in ((entries, "https://x.example/d/1"), (entries[::-1], "https://x.example/d/2")):
        _, html = read_parts(write(make_digest(shown), Links(web_view=page)))
        found = re.findall(r'href="([^"]*#paper-\d)"[^>]*>“#paper” is a place', html)
        assert found == [f"{page}#paper-1", f"{page}#paper-2"]
    _, html = read_parts(write(make_digest(entries[:1]), Links()))
    assert re.search(r'href="https://arxiv.org/abs/2611.15001v1"[^>]*>“#paper” is a place', html)


def test_what_was_checked_stands_at_the_end_and_on_top_where_it_was_not_complete(write: Write) -> None:
    for state, is_on_top in (("quiet", False), ("incomplete", True), ("failed", True)):
        _, html = read_parts(write(quiet_digests()[state]))
        assert ('<p class="coverage"' in html) is is_on_top


def test_a_template_that_leaves_no_room_is_an_error(
    tmp_path: Path, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/digest.html").write_text(f"<html><body>{'<p>long</p>' * 20_000}</body></html>")
    with pytest.raises(TemplateError, match="before any paper") as caught:
        Renderer([tmp_path]).render(sample_digest(), deliver("mailto:a@b.example"), SAMPLE_LINKS, identity)
    assert "Shorten" in caught.value.hint
