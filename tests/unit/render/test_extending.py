"""Blocks that stand in vain, through chains of templates."""

from __future__ import annotations

import jinja2
import pytest

from digest.render.extending import find_stray_blocks

ROOT = "{% block head %}{% block logo %}{% endblock %}{% endblock %}{% block foot %}{% endblock %}"
MIDDLE = (
    '{% extends "root" %}{% block foot %}{% block imprint %}{% endblock %}{% endblock %}'
    "{% block lost %}{% endblock %}"
)
TEXTS = {
    "root": ROOT,
    "middle": MIDDLE,
    "self": '{% extends "self" %}{% block x %}{% endblock %}',
    "chosen": "{% extends name %}{% block x %}{% endblock %}",
}


def find(text: str) -> list[tuple[str, int]]:
    environment = jinja2.Environment(autoescape=True)
    strays = find_stray_blocks(environment.parse(text), lambda name: environment.parse(TEXTS[name]))
    return [(stray.name, stray.line) for stray in strays]


@pytest.mark.parametrize(
    ("text", "strays"),
    [
        ("{% block any %}{% endblock %}", []),
        ('{% extends "root" %}{% block logo %}{% endblock %}', []),
        ('{% extends "root" %}\n{% block hed %}{% endblock %}', [("hed", 2)]),
        ('{% extends "root" %}{% if x %}{% block hed %}{% endblock %}{% endif %}', [("hed", 1)]),
        ('{% extends "root" %}{% block head %}{% block mine %}{% endblock %}{% endblock %}', []),
        ('{% extends "middle" %}{% block imprint %}{% endblock %}{% block logo %}{% endblock %}', []),
        ('{% extends "middle" %}{% block lost %}{% endblock %}', [("lost", 1)]),
        ('{% extends "self" %}{% block y %}{% endblock %}', []),
        ('{% extends "chosen" %}{% block y %}{% endblock %}', []),
        ("{% extends name %}{% block y %}{% endblock %}", []),
    ],
)
def test_a_block_that_nothing_shows_is_found_however_long_the_chain(
    text: str, strays: list[tuple[str, int]]
) -> None:
    assert find(text) == strays
