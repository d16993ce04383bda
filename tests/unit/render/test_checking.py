from pathlib import Path

import pytest

from digest.render.check import check_templates, list_seen
from digest.render.contexts import CONTEXTS, find_context
from digest.render.renderer import Renderer


def test_the_shipped_templates_pass_and_each_is_rendered(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = set[str]()
    render = renderer.templates.render

    def note(name: str, context: object) -> str:
        rendered.add(name)
        return render(name, context)  # type: ignore[arg-type]  # as it came

    monkeypatch.setattr(renderer.templates, "render", note)
    assert check_templates(renderer) == ()
    assert rendered == {name for name in renderer.templates.names() if find_context(name)}


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        (
            "email/subject.txt",
            "{{ groups[0].title }}",
            "subject.txt, line 1",
        ),  # on a quiet day only
        ("slack/digest.txt", "# {{ digest.title }}", "Slack would refuse it: there is no fallback"),
        (
            "web/unsubscribed.html",
            "{% if undo_until and not contact %}{{ no }}{% endif %}",
            "cribed.html, line 1",
        ),
        ("web/frame.html", "{{ nobody }}", "frame.html, line 1: there is no 'nobody' here"),
    ],
)
def test_a_template_that_fails_is_told(
    tmp_path: Path, name: str, source: str, message: str
) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(source)
    problems = [problem.message for problem in check_templates(Renderer([tmp_path]))]
    assert any(message in problem for problem in problems)
    assert len({*problems}) == len(problems) < 3


@pytest.mark.parametrize("name", CONTEXTS)
def test_every_name_a_template_sees_is_there_with_its_meaning(name: str) -> None:
    seen = list_seen(name)
    assert {*seen[""]} == {*CONTEXTS[name].__dataclass_fields__}
    assert all(seen[""].values())


def test_of_every_value_with_parts_the_parts_are_there() -> None:
    seen = list_seen("email/digest.html")
    assert {"digest", "group", "paper", "rest", "links"} <= {*seen}
    assert "at most 300 characters" in seen["paper"]["title"]
    assert list_seen("email/style.css") == {}
