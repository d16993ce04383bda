"""One message in Markdown: values show as they are, papers as many as there is room for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.destinations import LONGEST_POST
from digest.model.errors import TemplateError
from digest.model.messages import Links
from digest.render.renderer import write_post
from digest.render.samples import SAMPLE_LINKS, SAMPLES
from digest.render.templates import Templates, find_shipped_templates
from digest.render.text import markdown_escape, markdown_link
from tests.unit.render.conftest import plan_digest


def _write(tmp_path: Path, template: str) -> Templates:
    (tmp_path / "chat").mkdir()
    (tmp_path / "chat" / "digest.md").write_text(template)
    return Templates([tmp_path], find_shipped_templates())


def test_discord_lists_titles_with_names_and_pdf_and_counts_the_others_by_heading() -> None:
    templates = Templates([], find_shipped_templates())
    digest = plan_digest(63)
    text = write_post(templates, "discord/digest.md", digest, SAMPLE_LINKS)
    told = re.findall(r"(?m)^(\d+)\. \[A title.*abs/.* · Solheim.* · \[PDF\]\(<.*pdf/.*>\)", text)
    assert [int(number) for number in told] == list(range(1, len(told) + 1))
    assert len(told) >= 6
    assert LONGEST_POST - 300 < len(text) <= LONGEST_POST
    assert "**Read first**" in text
    assert text.count("· in two of your queries") == 2
    left = re.search(r"\[(\d+) more in the browser\]\(<.*>\) \(.*cs\.HA", text)
    assert left is not None
    assert int(left[1]) == 63 - len(told)


@pytest.mark.parametrize("links", [SAMPLE_LINKS, Links()])
@pytest.mark.parametrize("template", sorted(find_shipped_templates().glob("*/digest.md")), ids=str)
def test_every_sample_digest_fits_into_one_message(template: Path, links: Links) -> None:
    name = f"{template.parent.name}/{template.name}"
    for digest in SAMPLES:
        text = write_post(Templates([], find_shipped_templates()), name, digest, links)
        assert digest.title in text
        assert len(text) <= LONGEST_POST


def test_a_template_that_leaves_no_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="even without papers"):
        write_post(_write(tmp_path, "{{ 'x' * 2001 }}"), "chat/digest.md", SAMPLES[0], Links())


@given(st.text("ab *_`~[]()<>#@:-+\\|"))
def test_every_sign_of_markdown_in_a_value_is_escaped(text: str) -> None:
    escaped = markdown_escape(text)
    plain = "".join(part.removeprefix("\\") for part in _split(escaped))
    assert plain.split() == text.split()
    assert not any(part in "*_`~[]<>|" for part in _split(escaped))


def _split(escaped: str) -> list[str]:
    parts = []
    place = 0
    while place < len(escaped):
        width = 2 if escaped[place] == "\\" else 1
        parts.append(escaped[place : place + width])
        place += width
    return parts


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://arxiv.org/abs/2603.10026", r"[a \[b\]](<https://arxiv.org/abs/2603.10026>)"),
        ("", r"a \[b\]"),
        ("javascript:x", r"a \[b\]"),
    ],
)
def test_a_link_has_an_address_of_the_web_or_is_its_label(url: str, written: str) -> None:
    assert markdown_link(url, "a [b]") == written
