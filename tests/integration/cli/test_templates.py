"""Templates of one's own: listed, copied to be changed, and tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from digest.render.templates import find_shipped_templates
from tests.integration.cli.conftest import Shell

pytestmark = pytest.mark.usefixtures("fresh")

SHIPPED = find_shipped_templates()


def write(name: str, text: str) -> None:
    path = Path("templates", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def use_own() -> None:
    Path("digest.toml").write_text(
        'templates = "templates"\n[arxiv]\ncontact = "ops@example.org"\n'
    )


def test_every_template_is_listed_with_what_it_is_for_and_what_it_sees(digest: Shell) -> None:
    listed = digest("templates", "list", "--json").json
    shipped = [path.relative_to(SHIPPED) for path in SHIPPED.rglob("*") if path.is_file()]
    names = [path.as_posix() for path in shipped]
    assert [one["name"] for one in listed] == sorted(names)
    for one in listed:
        assert one["purpose"]
        assert not one["is_own"]
    (mail,) = (one for one in listed if one["name"] == "email/digest.html")
    assert {"digest", "groups", "links"} <= {*mail["sees"]}
    assert {"masthead", "papers", "foot"} <= {*mail["blocks"]}
    assert "email/alarm.txt" in "".join(digest("templates", "list").lines)


def test_one_that_is_no_utf_8_is_named_when_all_are_listed(digest: Shell) -> None:
    use_own()
    write("email/paper.html", "")
    Path("templates/email/paper.html").write_bytes(b"caf\xe9")
    assert "email/paper.html" in digest("templates", "list", expect=3).err


def test_a_copy_is_what_is_shipped_to_the_letter_and_the_next_steps_are_said(digest: Shell) -> None:
    said = digest("templates", "export", "email/style.css", "slack/digest.txt")
    assert said.lines[0] == "Wrote 2 templates to templates."
    assert said.lines[1].startswith('  to do  templates = "templates"')
    for name in ("email/style.css", "slack/digest.txt"):
        assert Path("templates", name).read_bytes() == (SHIPPED / name).read_bytes()
    use_own()
    assert "2 of them your own" in digest("doctor", "--quick").out
    assert "to do" not in digest("templates", "export", "web/style.css").out


def test_all_of_them_are_copied_where_none_is_named(digest: Shell) -> None:
    digest("templates", "export", "--to", "mine")
    copied = {path.relative_to("mine") for path in Path("mine").rglob("*")}
    assert copied == {path.relative_to(SHIPPED) for path in SHIPPED.rglob("*")}


def test_nothing_is_written_over_unless_that_is_said(digest: Shell) -> None:
    write("email/style.css", "p { color: red }")
    said = digest("templates", "export", "email/media.css", "email/style.css", expect=2)
    assert "email/style.css is in templates already; nothing was written" in said.err
    assert not Path("templates/email/media.css").exists()
    digest("templates", "export", "email/style.css", "--force")
    assert (
        Path("templates/email/style.css").read_bytes() == (SHIPPED / "email/style.css").read_bytes()
    )


def test_what_extends_a_shipped_one_changes_nothing_until_a_block_is_written(digest: Shell) -> None:
    digest("templates", "export", "--extend")
    written = [path for path in Path("templates").rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"digest.html", "error.html", "frame.html"}
    assert all("{% extends" in path.read_text() for path in written)
    use_own()
    assert f"{len(written)} of them your own" in digest("doctor", "--quick").out


def test_what_has_no_blocks_can_only_be_copied_whole(digest: Shell) -> None:
    said = digest("templates", "export", "--extend", "slack/thread.txt", expect=2)
    assert "no blocks" in said.err
    assert "digest templates export slack/thread.txt" in said.err
    assert not Path("templates").exists()


def test_what_a_template_sees_is_shown_with_its_meaning(digest: Shell) -> None:
    shown = digest("templates", "list", "email/digest.html").out
    assert "fragments  each shown paper, by its number: `email/paper.html`" in shown
    assert "\ndigest\n" in shown
    assert "\n  headline  " in shown
    found = digest("templates", "list", "email/digest.html", "--json").json
    assert found["uses"][""]["groups"] == "the papers shown, under their headings."
    assert {"digest", "group", "paper", "rest", "links", "coverage"} <= {*found["uses"]}
    assert "that includes it" in digest("templates", "list", "email/style.css").out
    assert (
        "Did you mean 'email/paper.html'?"
        in digest("templates", "list", "email/papr.html", expect=2).err
    )
