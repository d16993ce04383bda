"""What a template names in vain, told in the template's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from digest.errors import TemplateError
from digest.render import Renderer
from digest.render.checking import sample_contexts
from digest.render.contexts import SlackDigestContext


def fail(folder: Path, text: str, *, wants_papers: bool = True) -> TemplateError:
    (folder / "slack").mkdir()
    (folder / "slack/digest.txt").write_text(f"fallback: x\n\n{text}")
    renderer = Renderer([folder])
    for context in sample_contexts("slack/digest.txt"):
        assert isinstance(context, SlackDigestContext)
        if bool(context.papers) is wants_papers:
            with pytest.raises(TemplateError) as caught:
                renderer.templates.render("slack/digest.txt", context)
            return caught.value
    raise AssertionError


@pytest.mark.parametrize(
    ("text", "complaint", "advice"),
    [
        ("{{ digest.titel }}", "there is no `titel` in `digest`", "Did you mean `title`?"),
        ("{{ digest.titel }}", "there is no `titel` in `digest`", ", headline, "),
        ("{{ digets.title }}", "there is no `digets`", "Did you mean `digest`?"),
        ("{% for paper in papers %}{{ papr.title }}{% endfor %}", "there is no `papr`", "Did you mean `paper"),
        ("{{ papers[0].titel }}", "there is no `titel` in `papers[0]`", "Did you mean `title`?"),
        ("{{ papers.title }}", "there is no `title` in `papers`, which is a list", "{% for one in papers %}"),
        ("{{ papers[99] }}", "there is no [99] in `papers`, which holds ", "This template sees "),
        ("{{ digest.title.short }}", "`digest.title`, which is text", "This template sees "),
        ("{{ (papers|first).titel }}", "there is no `titel` in `…`", "Did you mean `title`?"),
        ("{{ digest.x }}{{ rest.x }}", "there is no `x` in what it is asked of", "There are "),
    ],
)
def test_what_is_named_in_vain_is_told_in_the_templates_words(
    text: str, complaint: str, advice: str, tmp_path: Path
) -> None:
    failure = fail(tmp_path, text)
    assert f"slack/digest.txt, line 3: {complaint}" in failure.message.replace("there is no `short` in ", "")
    assert advice in failure.hint
    assert "`digest templates show slack/digest.txt`" in failure.hint
    assert "digest.render" not in f"{failure.message} {failure.hint}"


def test_jinjas_own_words_are_kept_where_they_say_more(tmp_path: Path) -> None:
    failure = fail(tmp_path, "{{ (papers|first).title }}", wants_papers=False)
    assert "No first item" in failure.message


def test_what_is_empty_on_some_days_is_to_be_asked_for_first(tmp_path: Path) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/subject.txt").write_text("{{ top.title }}")
    (problem,) = Renderer([tmp_path]).check()
    assert "there is no `title` in `top`, which is empty here" in problem.message
    assert "{% if top %}" in problem.hint
