"""Templates: found, escaped by their names, and refused with file and line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from digest.model.errors import TemplateError
from digest.render.contexts import ErrorContext, find_context
from digest.render.templates import Templates, find_shipped_templates


def test_a_wheel_carries_its_templates_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "digest"
    (package / "templates").mkdir(parents=True)
    (tmp_path / "templates").mkdir()
    assert find_shipped_templates(package) == package / "templates"


def test_a_checkout_has_them_at_its_top(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert find_shipped_templates(tmp_path / "digest") == tmp_path / "templates"


def test_a_folder_that_only_happens_to_be_called_templates_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    with pytest.raises(TemplateError, match="missing") as caught:
        find_shipped_templates(tmp_path / "digest")
    assert "again" in caught.value.hint


SHIPPED = find_shipped_templates()


@dataclass
class _Seen:
    text: str


def _write(folder: Path, name: str, source: str) -> Templates:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    return Templates([folder], SHIPPED)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web/x.html", "&lt;b&gt; &amp; &#39;"),
        ("feed/x.xml", "&lt;b&gt; &amp; &#39;"),
        ("email/x.txt", "<b> & '"),
        ("slack/x.txt", "\x02&lt;b&gt; &amp; '\x03"),
    ],
)
def test_the_name_of_a_template_decides_how_it_is_escaped(
    tmp_path: Path, name: str, expected: str
) -> None:
    assert _write(tmp_path, name, "{{ text }}").render(name, _Seen("<b> & '")) == expected


@pytest.mark.parametrize("name", ["web/x.html.j2", "feed/x.atom", "email/x"])
def test_a_suffix_that_is_not_listed_is_an_error_rather_than_unescaped(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(TemplateError, match="suffix") as caught:
        _write(tmp_path, name, "{{ text }}").render(name, _Seen("<b>"))
    assert ".html" in caught.value.hint


def test_an_operators_file_comes_before_the_shipped_one_and_others_stay(tmp_path: Path) -> None:
    templates = _write(tmp_path, "web/error.html", "mine: {{ status }}")
    assert templates.render("web/error.html", ErrorContext(404, "m", "h")) == "mine: 404"
    assert templates.read_source("web/style.css") == Templates([], SHIPPED).read_source(
        "web/style.css"
    )


def test_an_operators_file_can_extend_the_shipped_one_it_replaces(tmp_path: Path) -> None:
    source = (
        '{% extends "default:web/error.html" %}{% block main %}ours: {{ super() }}{% endblock %}'
    )
    page = _write(tmp_path, "web/error.html", source).render(
        "web/error.html", ErrorContext(404, "No page", "")
    )
    assert "ours:" in page
    assert "<h1>No page</h1>" in page


def test_a_missing_template_names_the_folders_and_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"no template web/nothing\.html") as caught:
        Templates([tmp_path], SHIPPED).render("web/nothing.html", _Seen(""))
    assert str(tmp_path) in caught.value.hint
    assert "web/unsubscribe.html" in caught.value.hint


def test_every_shipped_template_is_either_rendered_from_a_context_or_part_of_another() -> None:
    parts = {
        "email/style.css",
        "email/media.css",
        "web/style.css",
        "web/frame.html",
        "web/subscribe_form.html",
    }
    parts |= {"web/paper.html", "web/live.js", "web/digest.js", "web/favicon.svg"}
    parts |= {"web/fold.js", "web/site.js", "web/site_head.html"}
    parts |= {
        *("slack/rest.txt", "slack/title.txt", "email/change.html", "email/change.txt"),
        "terminal/missed_words.txt",
    }
    others = {name for name in Templates([], SHIPPED).names() if find_context(name) is None} - parts
    assert {name for name in others if not name.startswith("start/")} == set(), (
        "of those golden files tell"
    )
    assert not any(map(find_context, parts))


def test_an_operators_style_sheet_is_written_into_the_elements_of_a_mail(tmp_path: Path) -> None:
    templates = _write(tmp_path, "email/style.css", "mark { background: #00ff00 }")
    comment = '<!--[if mso]><table width="1"><![endif]-->'
    inlined = templates.inline_styles(
        f"<!doctype html><html><body>{comment}<mark>x</mark></body></html>"
    )
    assert f'{comment}<mark style="background:#00ff00">x</mark>' in inlined


@pytest.mark.parametrize(
    ("name", "source", "problem"),
    [
        (
            "web/error.html",
            "one\n{{ mesage }}\n",
            r"error\.html, line 2: there is no 'mesage' here",
        ),
        (
            "web/error.html",
            "{{ message.uper() }}",
            r"line 1: there is no 'uper' here \(did you mean 'upper'\?\)",
        ),
        ("web/error.html", "\n\n{% if %}", r"error\.html, line 3"),
        ("web/error.html", "{{ 1 // 0 }}", r"line 1: .*by zero"),
        ("web/style.css", "a { } </style><script>", "style sheet"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_told_with_file_and_line(
    tmp_path: Path, name: str, source: str, problem: str
) -> None:
    with pytest.raises(TemplateError, match=problem) as caught:
        _write(tmp_path, name, source).render("web/error.html", ErrorContext(404, "m", "h"))
    if "mesage" in problem:
        assert caught.value.hint == "It sees action, contact, hint, home, message, status, token."
