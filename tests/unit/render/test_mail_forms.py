"""Mails made from a digest's form are those that would have been rendered one by one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.render import MailIdentity, Renderer
from digest.render.mail import (
    EncodedMail,
    MailForms,
    MailPapers,
    MailText,
    PartForm,
    render_mail_text,
    write_digest_mail,
)
from digest.render.mime import quote_printable
from digest.render.samples import (
    SAMPLE_LINKS,
    make_digest,
    merged_digest,
    odd_entries,
    quiet_digests,
    sample_digest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from digest.model.messages import Digest, Links
    from tests.unit.render.conftest import MakeDelivery

    Write = Callable[[Renderer, Digest, Sequence[Links]], list[bytes]]

DIGESTS = {
    "sample": sample_digest(),
    "merged": merged_digest(),
    "odd": make_digest(odd_entries()),
    **quiet_digests(),
}
LEAVE = "https://digest.example.org/u/"
CHANGE = "https://digest.example.org/p/"
READERS = [
    replace(SAMPLE_LINKS, unsubscribe=f"{LEAVE}token-{number:04}", preferences=f"{CHANGE}token-{number:04}")
    for number in range(5)
]
OTHERS = [
    replace(SAMPLE_LINKS, unsubscribe=f"{LEAVE}another-length"),
    replace(SAMPLE_LINKS, unsubscribe=""),
    replace(SAMPLE_LINKS, unsubscribe="", web_view="", home=""),
    replace(READERS[0], web_view=""),
    replace(READERS[0], preferences=""),
]


def _encode(text: MailText) -> EncodedMail:
    return EncodedMail(text.subject, quote_printable(text.plain), quote_printable(text.html))


@pytest.fixture
def write(deliver: MakeDelivery, identity: MailIdentity) -> Write:
    """Writes a digest's mails for some readers with one renderer."""
    delivery = deliver("mailto:reader@example.org")
    return lambda renderer, digest, links: [
        renderer.render_mail(digest, delivery, one, identity).body for one in links
    ]


@pytest.fixture
def write_alone(deliver: MakeDelivery, identity: MailIdentity) -> Write:
    """Writes the same mails each by itself, whatever was written before."""
    delivery = deliver("mailto:reader@example.org")

    def write_one(renderer: Renderer, digest: Digest, links: Links) -> bytes:
        said = _encode(render_mail_text(MailPapers(renderer.templates), digest, links))
        return write_digest_mail(said, digest, delivery, links, identity)

    return lambda renderer, digest, links: [write_one(renderer, digest, one) for one in links]


@pytest.mark.parametrize("name", DIGESTS)
def test_every_reader_of_a_digest_gets_the_bytes_of_a_mail_rendered_alone(
    name: str, renderer: Renderer, write: Write, write_alone: Write
) -> None:
    links = [*READERS, *OTHERS]
    alone = write_alone(renderer, DIGESTS[name], links)
    assert write(renderer, DIGESTS[name], [*links, *links[::-1], *links]) == [*alone, *alone[::-1], *alone]
    assert len(set(alone)) == len(links)


def test_a_digest_is_rendered_once_for_all_readers_and_for_none_of_them() -> None:
    rendered: list[Links] = []

    def render(_: Digest, links: Links) -> MailText:
        rendered.append(links)
        said = f"leave:\n{links.unsubscribe}\nchange: {links.preferences}\n"
        return MailText("s", f"{said}{links.unsubscribe[-4:]}\n", f"<a href='{links.unsubscribe}'>leave</a>")

    forms, digest = MailForms(render), DIGESTS["sample"]
    mails = [forms.write(digest, links) for links in READERS * 2]
    blank = "x" * 10
    assert [(links.unsubscribe, links.preferences) for links in rendered] == [
        (f"{LEAVE}{blank}", f"{CHANGE}{blank}")
    ]
    assert [mail.plain.split() for mail in mails[:5]] == [
        [b"leave:", links.unsubscribe.encode(), b"change:", links.preferences.encode(), b"xxxx"]
        for links in READERS
    ], "what a template cuts out of a link is nobody's"
    assert mails[:5] == mails[5:]
    forms.write(DIGESTS["merged"], READERS[2])
    assert len(rendered) == 2


def test_threads_that_write_the_same_digest_agree(renderer: Renderer, write: Write, write_alone: Write) -> None:
    digest = merged_digest()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda one: write(renderer, digest, [one]), READERS * 4))
    assert [mail for (mail,) in together] == write_alone(renderer, digest, READERS) * 4


LINES = st.lists(
    st.lists(
        st.sampled_from(["LINK", "From ", ".", " ", "=", "\u00e9", "x" * 75, "word", "\t", "\r", "\u2028"]),
        max_size=6,
    ).map("".join),
    max_size=8,
).map("\n".join)


@given(LINES, st.sampled_from(["LIVE", "a=b.", "From"]))
def test_a_part_with_another_link_is_encoded_as_if_it_had_been_there(text: str, link: str) -> None:
    assert PartForm(text, ["LINK"]).fill([link]) == quote_printable(text.replace("LINK", link))
    assert PartForm(text, ["LINK", "word"]).fill([link, "w"]) == quote_printable(
        text.replace("LINK", link).replace("word", "w")
    )
    assert PartForm(text, []).fill([]) == quote_printable(text)
