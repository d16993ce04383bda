"""Names a template uses and does not have, found where no sample goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from digest.errors import TemplateError
from digest.render.contexts import CONTEXTS
from digest.render.environments import Templates
from digest.render.folders import find_shipped_templates
from digest.render.unknown_names import check_names

SUBJECT = "email/subject.txt"
RARE = "{% if digest.count == 99999 %}%s{% endif %}"


def check(folder: Path, name: str, **files: str) -> TemplateError | None:
    """Check one of some templates, all of them written below a folder's `email`."""
    for stem, text in files.items():
        path = folder / "email" / (stem + (".html" if stem == "digest" else ".txt"))
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    try:
        check_names(Templates([folder], find_shipped_templates()), name, CONTEXTS[name])
    except TemplateError as error:
        return error
    return None


def test_an_unknown_name_in_a_branch_no_sample_takes_is_named_with_its_line_and_the_nearest(
    tmp_path: Path,
) -> None:
    problem = check(tmp_path, SUBJECT, subject="x\n" + RARE.replace("%s", "{{ top_titel }}"))
    assert problem is not None
    assert problem.message == f"{tmp_path}/email/subject.txt, line 2: there is no `top_titel`"
    assert problem.hint.startswith("Did you mean `top_title`? This template sees digest, name, top, top_title")


@pytest.mark.parametrize(
    ("used", "said"),
    [
        ("{{ digest.title|uper }}", "there is no filter `uper`"),
        ("{% if digest is evn %}{% endif %}", "there is no test `evn`"),
    ],
)
def test_so_is_an_unknown_filter_or_test(tmp_path: Path, used: str, said: str) -> None:
    problem = check(tmp_path, SUBJECT, subject="x" + RARE.replace("%s", used))
    assert problem is not None
    assert f"line 1: {said}" in problem.message
    assert "Did you mean" in problem.hint


def test_one_in_what_a_template_takes_in_is_named_there(tmp_path: Path) -> None:
    problem = check(
        tmp_path,
        SUBJECT,
        subject='{% include "email/tail.txt" %}',
        tail="{{ digest.headline }}\n" + RARE.replace("%s", "{{ nope }}"),
    )
    assert problem is not None
    assert problem.message == f"{tmp_path}/email/tail.txt, line 2: there is no `nope`"


@pytest.mark.parametrize(
    "text",
    [
        '{% for paper in [top] if paper %}{% include "email/tail.txt" %}{% else %}x{% endfor %}',
        '{% import "email/macros.txt" as macros %}{{ macros.say("x") }}',
        '{% from "email/macros.txt" import say as tell %}{{ tell("x") }}',
        "{% set day = digest.day %}{% block body %}{{ day }}{{ loop_of(3) if loop_of is defined }}{% endblock %}",
        "{% macro twice(text) %}{{ text }}{{ text }}{{ varargs }}{% endmacro %}{{ twice('x') }}",
        "{{ nope|default('x') }}{% for i in range(3) %}{{ loop.index }}{{ i }}{% endfor %}",
        "{% block a %}x{% endblock %}{{ self.a() }}{% set b = namespace(c=1) %}{% set b.c = 2 %}{{ b.c }}",
        '{% include "email/nowhere.txt" ignore missing %}{% include ["email/nowhere.txt", "email/macros.txt"] %}',
        "{% with x = 1 %}{{ x }}{% endwith %}{% set y %}z{% endset %}{{ y }}",
    ],
)
def test_what_a_template_sets_itself_is_known_to_it_and_to_what_it_takes_in(tmp_path: Path, text: str) -> None:
    assert not check(
        tmp_path,
        SUBJECT,
        subject=text,
        tail="{{ paper.title }}",
        macros="{% macro say(text) %}{{ text }}{% endmacro %}",
    )


def test_what_a_template_sets_is_known_where_it_extends_another(tmp_path: Path) -> None:
    assert not check(
        tmp_path,
        "email/digest.html",
        digest=(
            '{% extends "default:email/digest.html" %}{% set lab = "Lab" %}'
            "{% block masthead %}{{ lab }}{{ super() }}{% endblock %}"
        ),
    )


def test_every_shipped_template_passes() -> None:
    templates = Templates([], find_shipped_templates())
    for name, context in CONTEXTS.items():
        check_names(templates, name, context)
