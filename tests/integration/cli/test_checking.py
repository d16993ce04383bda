"""What `digest query check` says of what is pasted or read from a file, and of words that nothing stored has."""

from __future__ import annotations

from pathlib import Path

import pytest

from digest.announcements import Kind
from digest.comparing import Change
from digest.store import papers as paper_store
from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import NOW, World
from tests.unit.made_up import make_paper

LIBRARY = """\
@article{one, author = {Ingrith Solvane and Lindquell, Keiko}}
@article{two, author = {Solvane, Ingrith}}
@misc{three, title = {Nobody's}}
@misc{broken, author = {Unclosed, Name, title={Z}
@misc{four, author = {{Turm Team}}}
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "library.bib"
    path.write_text(LIBRARY, encoding="utf-8")
    return path


def test_of_a_bib_file_it_is_told_what_was_read_and_what_was_not(digest: Shell, library: Path) -> None:
    said = digest("query", "check", "--file", str(library))
    assert said.lines[:7] == [
        "the file        4 entries, 3 authors",
        "note            without author or editor: three",
        "note            @misc{broken, …} on line 4 can't be read: its author is never closed",
        "read as         any of",
        '                  author:"ingrith solvane"',
        '                  author:"keiko lindquell"',
        '                  au:"turm team"',
    ]


@pytest.mark.usefixtures("world")
def test_a_comparison_says_on_the_side_what_of_a_bib_file_cannot_be_read(digest: Shell, library: Path) -> None:
    said = digest("query", "diff", "gpu", "--file", str(library), "--from", "store")
    assert "note: @misc{broken, …} on line 4 can't be read: its author is never closed\n" in said.err
    assert "broken" not in said.out


def test_the_same_of_a_bib_file_as_json(digest: Shell, library: Path) -> None:
    assert digest("query", "check", "--file", str(library), "--json").json["library"] == {
        "entries": 4,
        "authors": 3,
        "without_author": ["three"],
        "broken": [{"entry": "@misc{broken", "line": 4, "why": "its author is never closed"}],
    }
    assert digest("query", "check", "ti:a1", "--json").json["library"] is None


def test_of_a_long_library_the_first_troubles_are_named_and_the_others_counted(
    digest: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "long.bib"
    lonely = "".join(f"@misc{{l{number}, title = {{x}}}}\n" for number in range(7))
    broken = "".join(f"@misc{{b{number}, title = {{x\n" for number in range(6))
    path.write_text(f"@misc{{k, author = {{Ingrith Solvane}}}}\n{lonely}{broken}", encoding="utf-8")
    said = digest("query", "check", "--file", str(path)).out
    assert "without author or editor: l0, l1, l2, l3, l4 and 2 more\n" in said
    assert said.count("is never closed") == 5
    assert "note            1 more can't be read\n" in said


def test_words_that_arxiv_is_asked_for_besides_a_beginning_are_accounted_for(digest: Shell) -> None:
    said = digest("query", "check", "abs:transf*").lines
    assert said[2:4] == [
        "arXiv is asked  (abs:transf* OR abs:transful)",
        "                (transf* is held against stems there; transful brings words with shorter ones)",
    ]
    assert "held against stems" not in digest("query", "check", "co:transf* OR abs:superv*").out


@pytest.mark.parametrize("command", ["query check", "query preview --days 11", "try"])
def test_a_word_that_stored_papers_only_begin_with_is_offered_with_a_star(
    world: World, digest: Shell, command: str
) -> None:
    store = world.open_store()
    titles = ("Dequantization", "Dequantizing it", "The dequantized")
    with store.begin() as conn:
        changes = [Change(Kind.NEW, make_paper(f"2611.2000{n}", title=title)) for n, title in enumerate(titles)]
        paper_store.save_changes(conn, changes, run_id=1, at=NOW)
    store.close()
    said = digest(*command.split(), "ti:dequantiz")
    told = " ".join(line.removeprefix("note").strip() for line in (said.out + said.err).splitlines())
    assert (
        "no stored paper has the word dequantiz, and 3 have words that begin so: ti:dequantiz* finds them" in told
    )


def test_a_long_title_is_explained_within_the_width_of_a_terminal(digest: Shell, world: World) -> None:
    title = " ".join(f"word{number}" for number in range(40))
    store = world.open_store()
    with store.begin() as conn:
        change = Change(Kind.NEW, make_paper("2611.20001", title=title))
        paper_store.save_changes(conn, [change], run_id=1, at=NOW)
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
