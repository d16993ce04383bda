"""Who a `.bib` file names: nobody who is not in it, whatever is broken, and however large it is."""

import pytest

from digest.errors import QueryError
from digest.query.pasting import read_bibliography

LONG = 100_000


@pytest.mark.parametrize(
    ("field", "query"),
    [
        # signs that part names as surely as `and` does
        ("Smith, John & Foo, Kim", 'author:"Smith, John" OR author:"Foo, Kim"'),
        (r"John Smith \& Kim Foo and Bar, Wen", 'author:"John Smith" OR author:"Kim Foo" OR author:"Bar, Wen"'),
        ("Smith, John; Foo, Kim;", 'author:"Smith, John" OR author:"Foo, Kim"'),
        (r"{Turm \& Sons}", 'au:"Turm & Sons"'),
        # others
        ("Lee, Ann and et al.", 'author:"Lee, Ann"'),
        ("Lee, Ann and et~al", 'author:"Lee, Ann"'),
        ("Lee, Ann et al.", 'author:"Lee, Ann"'),
        ("Ann Lee, et al.", 'author:"Ann Lee"'),
        ("Plato and others", 'au:"Plato"'),
        # names told part by part
        ("given=Hans, family=Weiß", 'author:"Weiß, Hans"'),
        (
            "family = {Foo}, given = {Hans Karl}, prefix = von der and given=Kim, family=Bar, given-i=K",
            'author:"von der Foo, Hans Karl" OR author:"Bar, Kim"',
        ),
        ("family=Plato", 'au:"Plato"'),
        # one name, though both sides of its comma have two words
        ("García Márquez, Gabriel José", 'author:"García Márquez, Gabriel José"'),
        ("Smith, John, Jr.", 'author:"Smith, John"'),
        ("G&ouml;del, Kurt", 'author:"Gödel, Kurt"'),
        ("TURM Collaboration and Ann Lee", 'au:"TURM Collaboration" OR author:"Ann Lee"'),
    ],
)
def test_names_are_parted_where_that_is_surely_meant(field: str, query: str) -> None:
    library = read_bibliography(f"@misc{{k, author = {{{field}}}}}")
    assert (library.query, library.broken) == (query, ())


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("John Smith, Keiko Foo, Bo Peep", "its author names several people with commas between"),
        ("John Smith, Keiko Foo", "its author names several people with commas between"),
        ("Smith, John, Foo, Kim & Lee, Ann", "its author names several people with commas between"),
        (r"Turm \& Sons", "its author has a & where no two full names stand beside it"),
        ("given=Hans, suffix=Jr", "its author tells a name part by part, and not its family="),
    ],
)
def test_an_entry_whose_names_nobody_can_tell_apart_is_named_and_makes_up_nobody(field: str, why: str) -> None:
    library = read_bibliography(f"@misc{{a, author = {{{field}}}}}\n@misc{{b, author = {{Lee, Ann}}}}")
    assert (library.query, library.entries) == ('author:"Lee, Ann"', 1)
    (broken,) = library.broken
    assert (broken.text, broken.line) == ("@misc{a", 1)
    assert why in broken.message


@pytest.mark.parametrize(
    ("text", "query", "broken"),
    [
        # a quotation mark left open spoils its own entry, wherever the next one begins
        ('@a{k, author = "Lee, Ann, title = {x}} @b{l, author = {Berg, Bo}}', 'author:"Berg, Bo"', ["@a{k"]),
        ('@a{k, author = "Lee, Ann}\r@b{l, author = {Berg, Bo}}', 'author:"Berg, Bo"', ["@a{k"]),
        ('@a{k, author = "Lee, Ann, note = "x"}\n@b{l, author = {Berg, Bo}}', 'author:"Berg, Bo"', ["@a{k"]),
        # keys with blanks, none at all, and remarks between fields
        ("@article{Smith et al 2020, author = {Ann Lee}}", 'author:"Ann Lee"', []),
        ("@misc{author = {Ann Lee}}", 'author:"Ann Lee"', []),
        ("@misc{k,\n% title = {x},\n  mr/class = {y}, author = {Ann Lee},\n}", 'author:"Ann Lee"', []),
        ("@misc{k title = {x}}\n@misc{l, author = {Ann Lee}}", 'author:"Ann Lee"', ["@misc{…"]),
    ],
)
def test_what_is_strange_in_one_entry_spoils_no_other(text: str, query: str, broken: list[str]) -> None:
    library = read_bibliography(text)
    assert (library.query, [one.text for one in library.broken]) == (query, broken)


@pytest.mark.parametrize(
    "text",
    [
        "@a{" + " " * LONG,
        "@a(" * LONG,
        "\n@a{b, c={" * LONG,
        '\n@a{b, c="{' * LONG,
        "@a{k, " + "%" * LONG,
        "@a{k, a" + " " * LONG + "b",
        "@a{k, a = " + "# " * LONG,
        "@a{k, author = {" + "{" * LONG,
        "@a{k, author = {" + ", " * LONG + "}}",
        "\n@" + " " * LONG,
    ],
)
def test_a_file_that_goes_on_and_on_is_read_to_its_end(text: str) -> None:
    """Read more than a few times over, one of these would keep whoever reads it for minutes."""
    with pytest.raises(QueryError, match="names no author"):
        read_bibliography(text)


def test_strings_that_double_each_other_are_refused_before_they_fill_the_memory() -> None:
    doubling = "".join(f"@string{{s{number + 1} = s{number} # s{number}}}\n" for number in range(64))
    library = read_bibliography(f'@string{{s0 = "x"}}\n{doubling}@misc{{k, author = s64 # {{Lee, Ann}}}}')
    assert library.query == 'author:"Lee, Ann"'
    assert library.broken[0].message == "@string{…, …} on line 21 can't be read: its s20 is too long"
