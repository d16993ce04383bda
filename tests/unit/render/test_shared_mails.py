"""One rendering serves many readers, as long as templates print their addresses as they are."""

from __future__ import annotations

import string
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from digest.model.destinations import mail_to
from digest.model.messages import Digest, Links, fill_body
from digest.model.papers import Author
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS, SAMPLES, make_digest, make_entry
from tests.unit.render.conftest import IDENTITY, MakeDelivery
from tests.unit.render.injections import MAIL, MARKUP

TRAPS = ("=" * 80, "=3D=\r\n", "a=\nb", "é=" * 30, "https://digest.example.org/u/" + "x" * 60)

DIGESTS = (
    *SAMPLES,
    *(
        make_digest([make_entry(1, title=text, abstract=text * 3, authors=(Author(text),))])
        for text in (*MARKUP[::6], *MAIL[::4], *TRAPS)
    ),
)

LETTERS = string.ascii_letters + string.digits + "-_"
TOKENS = st.text(LETTERS, min_size=22, max_size=22)
NAMES = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=64)


@dataclass(frozen=True)
class Reader:
    """What of a mail is one reader's own."""

    address: str
    key: str
    unsubscribe: str
    preferences: str

    def link(self) -> Links:
        base = "https://digest.example.org"
        return replace(
            SAMPLE_LINKS,
            unsubscribe=f"{base}/u/{self.unsubscribe}",
            preferences=f"{base}/p/{self.preferences}",
            likes=f"{base}/p/{self.preferences}/d/VGFpbCBsYXRlbmN5IGZpcg",
        )

    def list_own(self) -> list[str]:
        return [f"\r\nTo: {self.address}\r\n", self.key, self.unsubscribe, self.preferences]


READERS = st.builds(
    Reader,
    address=NAMES.map("{}@example.org".format),
    key=st.uuids().map(str),
    unsubscribe=TOKENS,
    preferences=TOKENS,
)


@given(digest=st.sampled_from(DIGESTS), one=READERS, other=READERS)
def test_a_mail_that_is_made_of_another_ones_is_the_same_as_one_rendered_alone(
    renderer: Renderer, deliver: MakeDelivery, digest: Digest, one: Reader, other: Reader
) -> None:
    def write(reader: Reader) -> bytes:
        delivery = deliver(str(mail_to(reader.address)), idempotency_key=reader.key)
        return renderer.render(digest, delivery, reader.link(), IDENTITY).body

    own = dict(zip(one.list_own(), other.list_own(), strict=True))
    assert fill_body(write(one), own) == write(other)


@given(before=st.text(LETTERS + "=\r\n", max_size=80), cut=st.integers(0, 22), mark=TOKENS)
def test_a_mark_gives_way_wherever_its_line_is_broken(before: str, cut: int, mark: str) -> None:
    assume(mark not in before.replace("=\r\n", ""))
    value = mark.swapcase()
    broken = [text[:cut] + "=\r\n" * (0 < cut < 22) + text[cut:] for text in (mark, value)]
    found, wanted = [f"{before}|{text}|".encode() for text in broken]
    assert fill_body(found, {mark: value}) == wanted


HARMLESS = (
    "{{ links.unsubscribe }}",
    "{{ 'Unsubscribe: ' ~ links.unsubscribe }}",
    "{% if links.preferences and not links.ask %}yes{% endif %}",
    "{{ links.likes or links.web_view }}",
    "{{ links.web_view | upper }}{{ links.home[:5] }}",
    "{% for p in groups if links.likes %}{{ loop.changed(p) }}{% endfor %}",
    "{% for url, label in [(links.likes, 'x')] if url %}{{ loop.index }}{{ url }}{% endfor %}",
    "{% extends 'default:email/digest.html' %}{% block foot %}{{ super() }}{% endblock %}",
    "{% macro name(one) %}{{ one | upper }}{% endmacro %}{{ name(digest.title) }}",
    "{% include 'email/title.txt' %}{% set title = digest.title %}{{ title | upper }}",
)

PERSONAL = (
    "{{ links.unsubscribe | upper }}",
    "{{ links.unsubscribe | e }}",
    "{{ links.preferences[:20] }}",
    "{{ links['likes'] | upper }}",
    "{{ links | attr('likes') }}",
    "{{ links | string }}",
    "{{ links.likes.upper() }}",
    "{{ links.__repr__() }}",
    "{{ '%s' % links.likes }}",
    "{{ links.likes == digest.title }}",
    "{{ links.likes is string }}",
    "{{ links.likes * 2 }}",
    "{{ ('a' ~ links.likes) | length }}",
    "{{ dict(a=links.likes).a | upper }}",
    "{{ {'a': links.likes}.a | upper }}",
    "{{ [links.likes] | join('') | upper }}",
    "{% if 'x' in links.unsubscribe %}yes{% endif %}",
    "{% if links.unsubscribe < 'x' %}yes{% endif %}",
    "{% set u = links.unsubscribe %}{{ u | length }}",
    "{% set every = links %}{{ every.likes | upper }}",
    "{% set box = namespace() %}{% set box.u = links.likes %}{{ box.u | upper }}",
    "{% with u = links.likes %}{{ u | upper }}{% endwith %}",
    "{% for letter in links.likes %}{{ letter }}.{% endfor %}",
    "{% for u in [links.likes] %}{{ u | upper }}{% endfor %}",
    "{% for u in [links.likes, ''] %}{{ loop.nextitem | upper }}{% endfor %}",
    "{% for pair in [(links.likes, 'x')] %}{{ pair[0] | upper }}{% endfor %}",
    "{% for u in [links.likes] %}{% if loop.changed(u) %}{{ u }}{% endif %}{% endfor %}",
    "{% filter upper %}{{ links.likes }}{% endfilter %}",
    "{% filter upper %}{% include 'email/text.txt' %}{% endfilter %}",
    "{% set text %}{{ links.likes }}{% endset %}{{ text | upper }}",
    "{% macro foot() %}{{ links.likes }}{% endmacro %}{{ foot() | upper }}",
    "{% macro loud(u) %}{{ u | upper }}{% endmacro %}{{ loud(links.likes) }}",
    "{% extends 'default:email/digest.html' %}{% block foot %}{{ super() | upper }}{% endblock %}",
    "{% macro loud(all) %}{{ all.likes | upper }}{% endmacro %}{{ loud(links) }}",
    "{% block foot %}{% endblock %}{{ self.foot() | upper }}",
)


def find_uses(folder: Path, source: str) -> tuple[str, ...]:
    (folder / "email").mkdir()
    (folder / "email" / "digest.html").write_text(f"<p>\n{source}\n</p>")
    return Renderer([folder]).templates.personal_uses


@pytest.mark.parametrize("source", HARMLESS)
def test_a_template_may_print_an_address_or_ask_whether_there_is_one(
    tmp_path: Path, source: str
) -> None:
    assert find_uses(tmp_path, source) == ()


@pytest.mark.parametrize("source", PERSONAL)
def test_a_template_that_does_more_with_a_readers_address_is_found(
    tmp_path: Path, source: str
) -> None:
    assert find_uses(tmp_path, source) == ("email/digest.html, line 2",)


def test_copies_of_the_shipped_templates_do_no_more(tmp_path: Path, renderer: Renderer) -> None:
    for name in renderer.templates.shipped_names():
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(renderer.templates.find_file(name).read_text("utf-8"), "utf-8")
    assert Renderer([tmp_path]).templates.personal_uses == ()


def test_a_link_that_leads_nowhere_is_no_template(tmp_path: Path) -> None:
    folder = tmp_path / "email"
    folder.mkdir()
    (folder / ".#subject.txt").symlink_to("somebody@desk.4711")  # as Emacs marks what is edited
    assert Renderer([tmp_path]).templates.personal_uses == ()
