"""Why a paper is there, medium by medium: what was met is marked, or named where nothing can be marked."""

from __future__ import annotations

import email
import email.policy
import html
import json
import re
from dataclasses import replace
from typing import Any

import feedparser
import pytest

from digest.model.messages import DigestEntry
from digest.model.papers import Author, Field, Reason, Span
from digest.render import MailIdentity, Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry
from tests.unit.render.conftest import MakeDelivery
from tests.unit.render.test_feeds import make_feed

EVERYWHERE = replace(
    make_entry(
        1,
        title=r"Bounds of $10^{-3}$ s for the $\Lambda_b$ and GPUs",
        abstract=r"We measure \emph{tail latency} at $\sqrt{s} = 13$ TeV.",
        authors=(Author("Ada Example"), Author("Marit Solheim", ("Made-up University",))),
        comment="Accepted at a workshop, 12 pages",
        journal_ref="J. Queues 3 (2026) 1",
        found=(
            (Field.TITLE, "10^{-3}"),
            (Field.TITLE, r"\Lambda"),
            (Field.ABSTRACT, "tail latency"),
            (Field.ABSTRACT, r"\sqrt{s}"),
            (Field.AUTHORS, "Solheim"),
            (Field.COMMENT, "workshop"),
            (Field.JOURNAL_REF, "Queues"),
        ),
    ),
    queries=("perf", "gpu", "authors I follow"),
)

MARKED = {
    Field.TITLE: ("10<sup>−3</sup>", "Λ"),
    Field.ABSTRACT: ("<i>tail latency</i>", "√<i>s</i>"),
    Field.COMMENT: ("workshop",),
    Field.JOURNAL_REF: ("Queues",),
}


def as_mail(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, entry: DigestEntry) -> list[str]:
    mail = renderer.render_mail(make_digest([entry]), deliver("mailto:a@b.example"), SAMPLE_LINKS, identity)
    message = email.message_from_bytes(mail.body, policy=email.policy.default)
    return [str(part.get_content()).replace("\r\n", "\n") for part in message.iter_parts()]


def find_marked(text: str) -> set[str]:
    return {re.sub(r' style="[^"]*"', "", found) for found in re.findall(r"<mark[^>]*>(.*?)</mark>", text)}


def has_all(text: str, *, without: frozenset[Field] = frozenset()) -> bool:
    wanted = {mark for field, marks in MARKED.items() if field not in without for mark in marks}
    return wanted <= find_marked(text)


def test_pages_and_feeds_mark_every_field_too(renderer: Renderer) -> None:
    page = renderer.render_page(make_digest([EVERYWHERE]), SAMPLE_LINKS)
    assert has_all(page)
    feed = make_feed([EVERYWHERE])
    (atom,) = feedparser.parse(renderer.render_atom(feed), sanitize_html=False).entries
    (item,) = json.loads(renderer.render_json_feed(feed))["items"]
    # Titles of feeds are plain text: readers differ on anything else.
    for content in (atom.content[0].value, item["content_html"]):
        assert has_all(content, without=frozenset({Field.TITLE}))
        assert html.escape('"10⁻³" in title', quote=False) in html.unescape(content)


@pytest.mark.parametrize("field", [Field.COMMENT, Field.JOURNAL_REF])
def test_what_was_met_in_a_small_field_can_be_read_there(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, field: Field
) -> None:
    text = "In the Proceedings of the Makeshift Conference"
    fields: dict[str, Any] = {field.value: text}
    entry = make_entry(2, **fields)
    start = text.index("Makeshift")
    reason = Reason("makeshift", (Span(field, start, start + len("Makeshift")),), "gpu")
    plain, page = as_mail(renderer, deliver, identity, replace(entry, reasons=(reason,)))
    assert text in " ".join(plain.split())
    assert "Makeshift" in find_marked(page)
