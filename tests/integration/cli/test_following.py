"""Who bears a name among the stored papers, as a person reads it and as a program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World


@pytest.mark.usefixtures("world")
def test_who_bears_a_name_is_told_with_the_query_that_follows_them(digest: Shell) -> None:
    said = digest("query", "author", "Solvane, Ingrith")
    assert said.lines[0].startswith('author:"ingrith solvane" among ')
    assert said.lines[-1] == "solvane = 'author:\"ingrith solvane\"'"


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


def test_without_a_database_it_says_what_makes_one(digest: Shell, world: World) -> None:
    Path(world.folder / "digest.db").unlink()
    assert "digest run" in digest("query", "author", "Ingrith Solvane", expect=3).err
