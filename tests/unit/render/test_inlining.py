import pytest

from digest.model.errors import TemplateError
from digest.render.environments import inline_styles

CSS = ".a { color: red; } mark { padding: 0; }"


def test_rules_are_written_into_elements() -> None:
    assert inline_styles('<p class="a">x</p>', CSS) == '<p class="a" style="color:red">x</p>'


def test_jinja_tags_come_back_wherever_they_stand() -> None:
    source = (
        '<!DOCTYPE html><html lang="{{ lang }}"><head><title>{{ t }}</title>'
        '<style>{% include "m.css" %}</style></head>'
        '<body>{% if a > b %}<p class="a" title="{{ x }}">{{ y }}</p>{% endif %}{# <p> #}</body></html>'
    )
    assert inline_styles(source, CSS) == source.replace('title="{{ x }}"', 'title="{{ x }}" style="color:red"')


def test_tags_stay_in_place_within_tables() -> None:
    source = "<table>{% for x in y %}<tr><td>{{ x }}</td></tr>{% endfor %}</table>"
    inlined = inline_styles(source, CSS)
    assert inlined.replace("<tbody>", "").replace("</tbody>", "") == source


@pytest.mark.parametrize("source", ['x\n<p {% if x %}dir="rtl"{% endif %}>y</p>', "\n<a href={{ x }}>y</a>"])
def test_a_tag_that_would_not_survive_inlining_is_an_error_with_its_line(source: str) -> None:
    with pytest.raises(TemplateError, match=r"line 2: \{. .* stands in an element's tag") as caught:
        inline_styles(source, CSS)
    assert 'dir="' in caught.value.hint


def test_conditional_comments_and_what_stands_in_them_are_left_alone() -> None:
    source = (
        '<!DOCTYPE html><html><head></head><body><!--[if mso]><table width="{{ w }}"><![endif]--></body></html>'
    )
    assert inline_styles(source, CSS) == source


def test_style_sheets_are_never_fetched() -> None:
    source = '<html><head><link rel="stylesheet" href="http://127.0.0.1:1/x.css"></head><body></body></html>'
    assert "stylesheet" not in inline_styles(source, CSS).replace('rel="stylesheet"', "")
