"""What a reader has of a mail.

With eyes, with ears, as text, however many papers there are, and unobserved.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Callable
from email.message import EmailMessage
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as html_reader

from digest.model.announcements import Kind
from digest.model.messages import Digest, Links
from digest.model.papers import Author, Field
from digest.model.subscriptions import Abstracts
from digest.render.mail import BUDGET, MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry, quiet_digests
from tests.conftest import IS_NIGHTLY
from tests.samples import merged_digest, odd_entries, revised_digest, sample_digest
from tests.unit.render.conftest import MakeDelivery
from tests.unit.render.test_injections import spread_entries
from tests.unit.render.test_text import read_flowed

Read = Callable[..., tuple[EmailMessage, str, str]]

DIGESTS = {
    "sample": sample_digest(),
    "odd": make_digest(odd_entries()),
    "merged": merged_digest(),
    "revised": revised_digest(),
    "capped": make_digest([make_entry(number) for number in range(1, 6)], shown=3),
    **quiet_digests(),
}


@pytest.fixture(scope="module")
def read(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Read:
    """Renders a digest and reads it back.

    The message, its text with soft line breaks undone, its HTML.
    """

    def read_mail(digest: Digest, links: Links = SAMPLE_LINKS) -> tuple[EmailMessage, str, str]:
        raw = renderer.render(digest, deliver("mailto:reader@example.org"), links, identity).body
        message = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        assert [part.defects for part in message.walk()] == [[], [], []]
        plain, html = (
            str(part.get_content()).replace("\r\n", "\n") for part in message.iter_parts()
        )
        assert all(
            len(line) <= 78 or max(map(len, line.split(" "))) > 70 for line in plain.split("\n")
        )
        return message, read_flowed(plain), html

    return read_mail


def list_headings(html: str) -> list[int]:
    return [int(level) for level in re.findall(r"<h([1-6])[ >]", html)]


@pytest.mark.parametrize("name", DIGESTS)
def test_headings_begin_with_the_only_first_and_leave_out_no_level(read: Read, name: str) -> None:
    levels = list_headings(read(DIGESTS[name])[2])
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


FULL = make_entry(
    7,
    kind=Kind.REPLACEMENT,
    title="Held back & found all the same",
    label="v1 → v2",
    version=2,
    authors=(
        Author("Nils Ødegård", ("Somewhere",)),
        *(Author(f"Given{n} Family{n}") for n in range(20)),
    ),
    abstract="Words of an abstract. " * 30,
    comment="14 pages, 6 figures",
    journal_ref="J. Made Up 3 (2027) 14",
    queries=("perf", "gpu"),
    found=((Field.ABSTRACT, "abstract"), (Field.AUTHORS, "Given15 Family15")),
)


@pytest.mark.parametrize("count", [2, 90, 260])
def test_all_that_the_html_part_says_the_text_part_says_too(read: Read, count: int) -> None:
    others = [make_entry(number, title="Another", abstract="Short.") for number in range(1, count)]
    _, plain, html = read(make_digest([FULL, *others]))
    body = html_reader.document_fromstring(html.replace("<br>", "\n")).find("body")
    assert body is not None
    told = " ".join(plain.replace("*", "").split())
    for link in body.iter("a"):
        assert str(link.get("href")).partition("#paper-")[0] in told
    blocks = "headline counts small title meta change abstract rest foot-line"
    seen = set()
    for element in body.iter("p", "h1", "h3", "small"):
        name = str(element.get("class", element.tag)).split()[0]
        if name not in blocks.split() or (
            name in ("rest", "foot-line") and element.find("a") is not None
        ):
            continue
        for piece in re.split(r" · |\n", "".join(map(str, element.itertext()))):
            words = " ".join(piece.split()).removesuffix(":")
            is_query = name == "foot-line" and (
                words == "Saved queries" or re.fullmatch(r"\w+ cat:.*", words)
            )
            assert words in told or words == "PDF" or is_query, words
        seen.add(name)
    of_papers = {"title", "meta", "change"} if count == 2 else {"small"}
    assert seen >= {"headline", "counts", "foot-line", *of_papers}


@pytest.mark.parametrize("name", DIGESTS)
def test_nothing_is_fetched_and_no_link_tells_who_follows_it(read: Read, name: str) -> None:
    _, plain, html = read(DIGESTS[name])
    assert not re.search(
        r"<(?:img|script|link|iframe|object|video|base)|url\(|@import|\b(?:src|srcset|background)=",
        html,
    )
    body = html_reader.document_fromstring(html)
    links = [str(link.get("href")) for link in body.iter("a")] + re.findall(
        r"(?m)^https?://\S+$", plain
    )
    assert links
    for link in links:
        parts = urlsplit(link)
        assert parts.netloc in ("arxiv.org", "digest.example.org", "example.org")
        assert (parts.scheme, parts.query) == ("https", "")
        assert re.fullmatch(r"(?:paper-\d+)?", parts.fragment)
        assert parts.netloc != "arxiv.org" or re.fullmatch(
            r"/(?:abs|pdf|html)/[0-9.]+v[0-9]+", parts.path
        )


POOL = (*odd_entries(), *sample_digest().entries, FULL, *spread_entries()[::9])
"""Every odd paper there is; the same ones again and again make a digest of any size."""


@settings(max_examples=60 if IS_NIGHTLY else 9)
@given(
    count=st.integers(1, 500),
    first=st.integers(0, len(POOL) - 1),
    links=st.sampled_from([SAMPLE_LINKS, Links()]),
)
def test_from_1_to_500_papers_of_any_kind_a_mail_is_sound_below_95_kb_and_accounts_for_each(
    read: Read, count: int, first: int, links: Links
) -> None:
    message, plain, html = read(
        make_digest([POOL[(first + n) % len(POOL)] for n in range(count)]), links
    )
    assert len(html.removesuffix("\n").encode()) <= BUDGET  # a part of a mail ends its last line
    shown = html.count("<h3 ") + html.count("<th>")
    listed = len(re.findall(r"(?m)^\d+\. ", plain))
    assert 1 <= shown <= listed == (shown if links.web_view else count)
    assert (f"{count - shown} more in this digest" in html) == (shown < count)
    assert (f"{count - shown} more in this digest" in plain) == (shown < count)
    assert re.match(r"\d+ [^:]*: \S", message["Subject"])
    assert len(message["Subject"]) <= 105
    assert html.rstrip().endswith("</html>")


@pytest.mark.parametrize("field", [Field.COMMENT, Field.JOURNAL_REF])
def test_what_was_met_in_a_small_field_is_named_in_mails_and_marked_on_the_page(
    read: Read, renderer: Renderer, field: Field
) -> None:
    text = "In the Proceedings of the Makeshift Conference"
    fields: dict[str, Any] = {field.value: text}
    digest = make_digest(
        [make_entry(2, found=((field, "Makeshift"),), **fields)], abstracts=Abstracts.FULL
    )
    _, plain, html = read(digest)
    assert text in " ".join(plain.split())
    assert "mentions Makeshift" in html
    assert re.search("<mark[^>]*>Makeshift</mark>", renderer.render_page(digest, Links()))
