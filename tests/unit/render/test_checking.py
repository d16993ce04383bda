from pathlib import Path

from digest.render import Renderer
from digest.render.check import sample_contexts
from digest.render.contexts import CONTEXTS


def test_the_shipped_templates_pass(renderer: Renderer) -> None:
    assert renderer.check() == ()


def test_every_template_has_contexts_of_its_own_kind_to_be_checked_with() -> None:
    for name, kind in CONTEXTS.items():
        contexts = list(sample_contexts(name))
        assert contexts, name
        assert {type(context) for context in contexts} == {kind}


def test_a_template_that_fails_on_a_quiet_day_only_is_found(tmp_path: Path) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/subject.txt").write_text("{{ top.title }}")
    (problem,) = Renderer([tmp_path]).check()
    assert problem.name == "email/subject.txt"
    assert "subject.txt, line 1" in problem.message


def test_a_slack_template_beyond_the_limits_is_found(tmp_path: Path) -> None:
    (tmp_path / "slack").mkdir()
    (tmp_path / "slack/digest.txt").write_text("# {{ digest.title }}")
    problems = {problem.name: problem.message for problem in Renderer([tmp_path]).check()}
    assert problems["slack/digest.txt"].startswith("slack/digest.txt: Slack would refuse it: /text: 0 characters")


def test_what_others_take_in_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/frame.html").write_text("{{ nobody }}")
    (problem,) = Renderer([tmp_path]).check()
    assert "frame.html, line 1: 'nobody' is undefined" in problem.message
