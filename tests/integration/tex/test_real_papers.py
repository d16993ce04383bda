"""Real titles and abstracts read without fault, where `DIGEST_REAL_DATA` names a folder that has them."""

from __future__ import annotations

import gzip
import json
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import lxml.etree
import pytest

from digest.tex import to_html, to_plain, to_segments

FOLDER = os.environ.get("DIGEST_REAL_DATA", "")
EVERY = 12
"""One paper in so many, or the suite would wait."""

pytestmark = pytest.mark.skipif(not FOLDER, reason="DIGEST_REAL_DATA names no folder of real papers")


def read_texts() -> Iterator[str]:
    folder = Path(FOLDER)
    with gzip.open(folder / "data" / "papers_2016-08_09.jsonl.gz", "rt", encoding="utf-8") as lines:
        papers = [json.loads(line) for number, line in enumerate(lines) if number % EVERY == 0]
    for path in (folder / "data" / "odd_papers.jsonl", *sorted((folder / "standin").glob("*.jsonl"))):
        papers += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for paper in papers:
        yield from (paper["title"], paper["abstract"])


def test_real_titles_and_abstracts_become_plain_text_segments_and_html() -> None:
    count = 0
    for text in read_texts():
        plain = to_plain(text)
        assert plain == "".join(segment.text for segment in to_segments(text, [(3, 9), (20, 44)]))
        lxml.etree.fromstring(f"<p>{to_html(text, [(3, 9), (20, 44)])}</p>")
        count += 1
    assert count > 1_000


def test_words_of_real_texts_without_tex_all_appear() -> None:
    for text in read_texts():
        if not set(text) & set("\\$~`") and "--" not in text and text.isprintable():
            assert to_plain(text) == unicodedata.normalize("NFC", " ".join(text.split()))
