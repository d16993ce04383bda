"""What `digest query check` and `explain` print of long titles and mistakes elsewhere."""

from __future__ import annotations

from pathlib import Path

from digest.compare import content_hash
from digest.model.announcements import Change, Kind
from digest.store import papers as paper_store
from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import NOW, World
from tests.unit.made_up import make_paper


def test_a_long_title_is_explained_within_the_width_of_a_terminal(digest: Shell, world: World) -> None:
    title = " ".join(f"word{number}" for number in range(40))
    store = world.open_store()
    with store.begin() as conn:
        change = Change(Kind.NEW, make_paper("2611.20001", title=title))
        paper_store.save_changes(conn, [change], content_hash, run_id=1, at=NOW)
    store.close()
    head = digest("query", "explain", "ti:word0", "2611.20001").out.partition("matches")[0]
    assert " ".join(head.split()) == f"2611.20001v1 {title}"
    assert max(map(len, head.splitlines())) <= 100


def test_mistakes_of_the_configuration_take_one_line_beside_the_answer(digest: Shell, fresh: Path) -> None:
    (fresh / "digest.toml").write_text("[arxiv]\ncontct = 3\n[mail]\nfoo = 1\n")
    said = digest("query", "check", "cat:cs.PF")
    assert said.lines[0] == "read as         cat:cs.PF"
    assert said.err == (
        "note: digest.toml: 3 things to mend (digest config check); the query is checked without it\n"
    )
