"""Who bears a name among the stored papers, as a person reads it and as a program does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from digest.announcements import Kind
from digest.comparing import Change
from digest.store import papers as paper_store
from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import NOW, World
from tests.unit.made_up import make_paper


@pytest.mark.usefixtures("world")
def test_who_bears_a_name_is_told_with_the_query_that_follows_them(digest: Shell) -> None:
    said = digest("query", "author", "Solvane, Ingrith")
    assert said.lines[0].startswith('author:"ingrith solvane" among ')
    assert said.lines[-1] == "solvane = 'author:\"ingrith solvane\"'"


def test_a_name_is_offered_that_no_saved_query_has(digest: Shell, world: World) -> None:
    asked = ("query", "author", "Ingrith Solvane")
    for taken, offered in (("solvane", "ingrith-solvane"), ("ingrith-solvane", "solvane-2")):
        save_query(world, taken, "ti:taken")
        key, _, text = digest(*asked).lines[-1].partition(" = ")
        assert (key, text) == (offered, "'author:\"ingrith solvane\"'")
    save_query(world, "hers", 'author:"Solvane, Ingrith"')
    assert digest(*asked).lines[-1] == "The query that follows it is saved already, as hers."


def save_query(world: World, name: str, text: str) -> None:
    """Write a saved query into the file, below the others."""
    path = Path(world.folder / "digest.toml")
    path.write_text(path.read_text().replace("[queries]\n", f"[queries]\n{name} = '{text}'\n", 1))


@pytest.mark.usefixtures("world")
def test_the_same_as_json(digest: Shell) -> None:
    found = digest("query", "author", "Ingrith Solvane", "--json").json
    assert found["query"] == 'author:"ingrith solvane"'
    assert found["your_categories"] == ["cat:cs.PF"]
    (one,) = found["people"]
    assert one["follow"]["papers"] == len(one["papers"]) == sum(one["names"].values())


@pytest.mark.usefixtures("world")
def test_co_authors_and_categories_narrow_it(digest: Shell) -> None:
    every = digest("query", "author", "Ingrith Solvane", "--json").json["people"][0]
    category = min(every["categories"], key=every["categories"].get)
    found = digest("query", "author", "Ingrith Solvane", "--category", category, "--json").json
    assert found["query"] == f'author:"ingrith solvane" AND cat:{category}'
    assert len(found["people"][0]["papers"]) == every["categories"][category]
    said = digest("query", "author", "Ingrith Solvane", "--with", "Nobody Atall", "--category", category)
    assert (
        said.lines[-1] == f'solvane = \'author:"ingrith solvane" AND (cat:{category} OR author:"nobody atall")\''
    )


@pytest.mark.usefixtures("world")
def test_a_name_nobody_bears_says_where_to_look(digest: Shell) -> None:
    said = digest("query", "author", "Nobody Atall")
    assert said.lines[-1] == "arXiv may know more: digest try 'author:\"nobody atall\"'"


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    "arguments", [("Solvane",), ("I. Solvane", "--with", "Bo"), ("I. Solvane", "--category", "???")]
)
def test_what_is_no_full_name_or_category_is_refused(digest: Shell, arguments: tuple[str, ...]) -> None:
    assert digest("query", "author", *arguments, expect=2).err.startswith("error: ")


def test_however_many_forms_a_name_has_no_line_is_wider_than_a_terminal(digest: Shell, world: World) -> None:
    names = [f"Keiko {letter}. Ostrevold" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    save_papers(world, [((name,), ("cs.PF",)) for name in names])
    said = digest("query", "author", "Keiko Ostrevold")
    assert all(line.endswith("·") for line in said.lines[1 : said.lines.index("") - 1])
    met = " ".join(said.out.partition("\n\n")[0].split())
    assert met.endswith(f" met as {' · '.join(f'{name} 1' for name in names)}")
    assert max(map(len, said.lines)) <= 100


def save_papers(world: World, written: Sequence[tuple[Sequence[str], Sequence[str]]]) -> None:
    """Store made-up papers from their authors and categories, in the order of their ids."""
    papers = [
        make_paper(f"2611.2{number:04d}", title=f"Made-up paper {number}", authors=authors, categories=categories)
        for number, (authors, categories) in enumerate(written, 1)
    ]
    store = world.open_store()
    with store.begin() as conn:
        paper_store.save_changes(conn, [Change(Kind.NEW, paper) for paper in papers], run_id=1, at=NOW)
    store.close()


def test_a_name_in_a_script_without_blanks_is_told_from_no_name(digest: Shell) -> None:
    said = digest("query", "author", "王伟", expect=2).err
    assert "no blank between given and last name" in said
    assert '"Wei Wang"' in said


def test_without_a_database_it_says_what_makes_one(digest: Shell, world: World) -> None:
    for file in world.folder.glob("digest.db*"):
        file.unlink()
    assert "digest run" in digest("query", "author", "Ingrith Solvane", expect=3).err


NAMESAKES = (
    (("Keiko M. Ostrevold", "Ada Müller"), ("cs.PF", "cs.DC")),
    (("K. Ostrevold", "Ada Müller"), ("cs.PF",)),
    (("Kevin Ostrevold", "Bo Liu"), ("cs.PF",)),
    (("Keiko Ostrevold",), ("math.CO",)),
    (("K. Ostrevold",), ("cs.PF",)),
)

SCREEN = """\
author:"k ostrevold" among 513 stored papers
met as      K. Ostrevold 2 · Keiko M. Ostrevold 1 · Keiko Ostrevold 1 · Kevin Ostrevold 1

2 people share this name in your categories, 1 more elsewhere.

1  Keiko M. Ostrevold (K. Ostrevold), 2 papers, 2026
   categories  cs.PF 2 · cs.DC 1
   with        Ada Müller 2
   latest      2611.20002 Made-up paper 2
   to follow   author:"keiko m ostrevold" AND cat:cs.PF
               brings 2 of 2 papers, and 1 that may be anybody's

2  Kevin Ostrevold, 1 paper, 2026
   categories  cs.PF 1
   with        Bo Liu 1
   latest      2611.20003 Made-up paper 3
   to follow   author:"kevin ostrevold" AND author:"bo liu"
               brings 1 of 1 paper

1 more outside your categories: --all shows who.

1 paper fits several of them: 2611.20005

To save one of them, write what follows it below [queries] in digest.toml; the first would be:
ostrevold = 'author:"keiko m ostrevold" AND cat:cs.PF'
"""


def test_several_people_of_one_name_are_told_apart(digest: Shell, world: World) -> None:
    save_papers(world, NAMESAKES)
    assert digest("query", "author", "K. Ostrevold").out == SCREEN
    assert digest("query", "author", "K. Ostrevold", "--all").out.count("to follow") == 3
