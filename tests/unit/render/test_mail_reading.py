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
from lxml.html import HtmlElement

from digest.model.announcements import Kind
from digest.model.messages import Digest, Links
from digest.model.papers import Author, Field
from digest.model.subscriptions import Abstracts
from digest.render.mail import BUDGET, MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry, quiet_digests
from tests.conftest import IS_NIGHTLY
from tests.samples import merged_digest, odd_entries, revised_digest, sample_digest
from tests.unit.render.conftest import MakeDelivery, read_parts
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


def is_short(line: str) -> bool:
    """Whether a line has 78 letters at most, or holds a word that leaves no choice."""
    longest_word = max(len(word) for word in line.split(" "))
    return len(line) <= 78 or longest_word > 70


@pytest.fixture(scope="module")
def read(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Read:
    """Renders a digest and reads it back.

    The message, its text with soft line breaks undone, its HTML.
    """

    def read_mail(digest: Digest, links: Links = SAMPLE_LINKS) -> tuple[EmailMessage, str, str]:
        delivery = deliver("mailto:reader@example.org")
        raw = renderer.render(digest, delivery, links, identity).body
        message = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        assert [part.defects for part in message.walk()] == [[], [], []]
        plain, html = read_parts(raw)
        assert all(is_short(line) for line in plain.split("\n"))
        return message, read_flowed(plain), html

    return read_mail


def list_headings(html: str) -> list[int]:
    return [int(level) for level in re.findall(r"<h([1-6])[ >]", html)]


@pytest.mark.parametrize("name", DIGESTS)
def test_headings_begin_with_the_only_first_and_leave_out_no_level(read: Read, name: str) -> None:
    _, _, html = read(DIGESTS[name])
    levels = list_headings(html)
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


BLOCKS = ("headline", "counts", "small", "title", "meta", "change", "abstract", "rest", "foot-line")
"""Classes of the blocks of the HTML part whose words are compared."""


def list_pieces(element: HtmlElement) -> list[str]:
    """Return what a block says, piece by piece."""
    text = "".join(str(part) for part in element.itertext())
    pieces = re.split(r" · |\n", text)
    return [" ".join(piece.split()).removesuffix(":") for piece in pieces]


def is_of_html_alone(name: str, words: str) -> bool:
    """Whether the text part says a piece in another way: a link's name, or a saved query."""
    is_query = words == "Saved queries" or re.fullmatch(r"\w+ cat:.*", words) is not None
    return words == "PDF" or (name == "foot-line" and is_query)


@pytest.mark.parametrize("count", [2, 90, 260])
def test_all_that_the_html_part_says_the_text_part_says_too(read: Read, count: int) -> None:
    others = [make_entry(number, title="Another", abstract="Short.") for number in range(1, count)]
    _, plain, html = read(make_digest([FULL, *others]))
    body = html_reader.document_fromstring(html.replace("<br>", "\n")).find("body")
    assert body is not None
    in_text = " ".join(plain.replace("*", "").split())
    for link in body.iter("a"):
        address = str(link.get("href")).partition("#paper-")[0]
        assert address in in_text
    seen = set()
    for element in body.iter("p", "h1", "h3", "small"):
        name = str(element.get("class", element.tag)).split()[0]
        is_of_links = name in ("rest", "foot-line") and element.find("a") is not None
        if name not in BLOCKS or is_of_links:
            continue
        for words in list_pieces(element):
            assert words in in_text or is_of_html_alone(name, words), words
        seen.add(name)
    of_papers = {"title", "meta", "change"} if count == 2 else {"small"}
    assert seen >= {"headline", "counts", "foot-line", *of_papers}


@pytest.mark.parametrize("name", DIGESTS)
def test_nothing_is_fetched_and_no_link_shows_who_follows_it(read: Read, name: str) -> None:
    _, plain, html = read(DIGESTS[name])
    fetching = (
        r"<(?:img|script|link|iframe|object|video|base)|url\(|@import|\b(?:src|srcset|background)="
    )
    assert not re.search(fetching, html)
    body = html_reader.document_fromstring(html)
    in_html = [str(link.get("href")) for link in body.iter("a")]
    in_text = re.findall(r"(?m)^https?://\S+$", plain)
    links = in_html + in_text
    assert links
    for link in links:
        parts = urlsplit(link)
        assert parts.netloc in ("arxiv.org", "digest.example.org", "example.org")
        assert parts.scheme == "https"
        assert parts.query == ""
        assert re.fullmatch(r"(?:paper-\d+)?", parts.fragment)
        if parts.netloc == "arxiv.org":
            assert re.fullmatch(r"/(?:abs|pdf|html)/[0-9.]+v[0-9]+", parts.path)


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
    entries = [POOL[(first + n) % len(POOL)] for n in range(count)]
    message, plain, html = read(make_digest(entries), links)
    without_last_break = html.removesuffix("\n")  # a part of a mail ends its last line
    assert len(without_last_break.encode()) <= BUDGET
    shown = html.count("<h3 ") + html.count("<th>")
    listed = len(re.findall(r"(?m)^\d+\. ", plain))
    assert 1 <= shown <= listed
    assert listed == (shown if links.web_view else count)
    said = f"{count - shown} more in this digest"
    assert (said in html) == (shown < count)
    assert (said in plain) == (shown < count)
    subject = message["Subject"]
    assert re.match(r"\d+ [^:]*: \S", subject)
    assert len(subject) <= 105
    assert html.rstrip().endswith("</html>")


@pytest.mark.parametrize("field", [Field.COMMENT, Field.JOURNAL_REF])
def test_what_was_met_in_a_small_field_is_named_in_mails_and_marked_on_the_page(
    read: Read, renderer: Renderer, field: Field
) -> None:
    text = "In the Proceedings of the Makeshift Conference"
    fields: dict[str, Any] = {field.value: text}
    entry = make_entry(2, found=((field, "Makeshift"),), **fields)
    digest = make_digest([entry], abstracts=Abstracts.FULL)
    _, plain, html = read(digest)
    assert text in " ".join(plain.split())
    assert "mentions Makeshift" in html
    page = renderer.render_page(digest, Links())
    assert re.search("<mark[^>]*>Makeshift</mark>", page)
