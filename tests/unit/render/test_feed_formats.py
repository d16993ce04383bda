"""Feeds hold to their formats whatever papers say: the grammar of RFC 4287, and that of JSON Feed 1.1."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from lxml import etree

from digest.model.announcements import Kind
from digest.model.messages import DigestEntry
from digest.model.papers import Author
from digest.render import Renderer
from digest.render.samples import make_entry
from tests.unit.render.test_feeds import ATOM, FEEDS, SCHEMA, make_feed

HERE = Path(__file__).parent
JSON_SCHEMA = Draft202012Validator(
    json.loads((HERE / "json_feed.schema.json").read_text(encoding="utf-8")),
    format_checker=Draft202012Validator.FORMAT_CHECKER,
)
GOLDEN = HERE.parents[1] / "golden" / "expected"
RENDERER = Renderer()

texts = st.text(max_size=30) | st.sampled_from(
    ["$x^2", "<b>&amp;", "]]>", "\x00\x0b", "\ud800", "\ufffe", "\u202e", " ", r"\emph{", "大", "<mark>", "a\n b"]
)


people = st.lists(st.tuples(texts, texts), max_size=3)


@st.composite
def entries(draw: st.DrawFn, number: int) -> DigestEntry:
    return make_entry(
        number,
        kind=draw(st.sampled_from(list(Kind))),
        label=draw(texts),
        change_note=draw(texts),
        queries=tuple(draw(st.lists(texts, max_size=3))),
        title=draw(texts),
        abstract=draw(texts),
        comment=draw(texts),
        journal_ref=draw(texts),
        authors=tuple(Author(name, (where,)) for name, where in draw(people)),
        categories=tuple(draw(st.lists(st.sampled_from(["cs.PF", "math.CO", "x"]), min_size=1, max_size=2))),
    )


feeds = st.integers(0, 3).flatmap(lambda count: st.tuples(*(entries(number) for number in range(1, count + 1))))


@settings(max_examples=12)
@given(feeds, texts, texts)
def test_whatever_papers_say_both_formats_hold_and_agree(
    found: tuple[DigestEntry, ...], title: str, notice: str
) -> None:
    feed = replace(make_feed(found, notice=notice or "Nothing yet." if not found else ""), title=f"x{title}")
    root = etree.fromstring(RENDERER.render_atom(feed))
    assert SCHEMA.validate(root), SCHEMA.error_log
    document = json.loads(RENDERER.render_json_feed(feed))
    JSON_SCHEMA.validate(document)
    ids = [entry.findtext(f"{ATOM}id") for entry in root.iter(f"{ATOM}entry")]
    assert [item["id"] for item in document["items"]] == ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", FEEDS)
def test_the_feeds_of_other_tests_hold_to_the_json_schema(name: str) -> None:
    JSON_SCHEMA.validate(json.loads(RENDERER.render_json_feed(FEEDS[name])))


def test_every_golden_feed_is_valid() -> None:
    atoms, jsons = sorted(GOLDEN.glob("*.feed.atom")), sorted(GOLDEN.glob("*.feed.json"))
    assert len(atoms) == len(jsons) > 2
    for path in atoms:
        assert SCHEMA.validate(etree.fromstring(path.read_bytes())), (path.name, SCHEMA.error_log)
    for path in jsons:
        JSON_SCHEMA.validate(json.loads(path.read_text(encoding="utf-8")))
