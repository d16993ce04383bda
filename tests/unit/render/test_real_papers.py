"""Every medium over real papers, where a folder with them is named."""

import email
import email.policy
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import rispy
from lxml import etree
from pybtex.database import parse_string

from digest.model.announcements import Kind
from digest.model.messages import DigestEntry
from digest.model.papers import ArxivId, Author, Paper
from digest.render import MailIdentity, Renderer
from digest.render.references import write_bibtex, write_ris
from digest.render.samples import EVENING, SAMPLE_LINKS, make_digest
from digest.render.text import show_plain
from tests.fakes.blocks import check_blocks
from tests.unit.render.conftest import MakeDelivery, read_posts
from tests.unit.render.test_feeds import SCHEMA, make_feed

MANY = 300
"""A reader in Python takes seconds for a crowd."""

FOLDER = os.environ.get("DIGEST_REAL_DATA", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="DIGEST_REAL_DATA names no folder")


def _read_papers(name: str) -> list[Paper]:
    lines = (Path(FOLDER) / name).read_text(encoding="utf-8").splitlines()
    return [_make_paper(json.loads(line)) for line in lines]


def _make_paper(told: dict[str, Any]) -> Paper:
    affiliations = told.get("affiliations") or [None] * len(told["authors"])
    return Paper(
        id=ArxivId.parse(told["id"]),
        version=told["version"] or 1,
        title=" ".join(told["title"].split()),
        abstract=" ".join(told["abstract"].split()),
        authors=tuple(
            Author(name, (where,) if isinstance(where, str) else tuple(where or ()))
            for name, where in zip(told["authors"], affiliations, strict=False)
        ),
        categories=tuple(told["categories"]),
        published=_read_moment(told["published"]),
        updated=_read_moment(told["updated"]),
        comment=told.get("comment") or "",
        journal_ref=told.get("journal_ref") or "",
    )


def _read_moment(text: str | None) -> datetime:
    if text is None:
        return EVENING
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _entries(name: str) -> list[DigestEntry]:
    papers = _read_papers(name)
    return [DigestEntry(Kind.NEW, paper, "", "", ("real",), (), EVENING) for paper in papers]


@pytest.mark.parametrize("name", ["standin/seed_papers.jsonl", "data/odd_papers.jsonl"])
def test_real_papers_are_read_back_by_reference_managers(name: str) -> None:
    papers = [paper for paper in _read_papers(name) if len(paper.authors) < MANY]
    distinct = list({paper.id: paper for paper in papers}.values())
    entries = parse_string(write_bibtex(papers, with_abstracts=True), "bibtex").entries
    assert [entry.fields["eprint"] for entry in entries.values()] == [str(paper.id) for paper in distinct]
    assert [len(entry.persons.get("author", ())) for entry in entries.values()] == [
        len(one.authors) for one in distinct
    ]
    found = rispy.loads(write_ris(papers, with_abstracts=True))
    assert [one["title"] for one in found] == [show_plain(paper.title) for paper in distinct]
    assert [len(one.get("authors", ())) for one in found] == [len(paper.authors) for paper in distinct]


@pytest.mark.parametrize(
    "name", ["standin/seed_papers.jsonl", "data/odd_papers.jsonl", "standin/fixture_papers.jsonl"]
)
def test_real_papers_render_soundly_in_every_medium(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, name: str
) -> None:
    digest = make_digest(_entries(name))
    raw = renderer.render_mail(digest, deliver("mailto:a@b.example"), SAMPLE_LINKS, identity).body
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert not any(part.defects for part in message.walk())
    for post in read_posts(renderer, deliver, digest):
        assert check_blocks(post["blocks"]) == []
    atom = etree.fromstring(renderer.render_atom(make_feed(digest.entries)))
    assert SCHEMA.validate(atom), SCHEMA.error_log
    assert renderer.render_page(digest, SAMPLE_LINKS).count('<div class="paper"') == len(digest.entries)
    assert renderer.render_terminal(digest, width=100, color=True, limit=None)
