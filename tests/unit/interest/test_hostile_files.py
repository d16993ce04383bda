"""A small file stops nothing: what reading takes grows as the file does, and no faster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import process_time

import pytest

from digest.interest.entries import MOST_ENTRIES
from digest.interest.files import read_library
from digest.model.errors import ConfigurationError

ENTRY = "@article{a,\n title = {Queues},\n year = 2020\n}\n"
ITEM = '[{"title": "a", "abstract_inverted_index": {"a": '
Repeat = Callable[[int], str]

REPETITIVE: dict[str, Repeat] = {
    "blank lines between entries": lambda size: f"{ENTRY}{chr(10) * size}{ENTRY}",
    "blanks before a line": lambda size: " " * size + ENTRY,
    "blank lines, then TeX": lambda size: f"{chr(10) * size}\\",
    "lines with a blank": lambda size: " \n" * size,
    "a long kind": lambda size: "@" + "a" * size,
    "many kinds": lambda size: "@a" * size,
    "kinds on lines": lambda size: "@a,\n\n" * size,
    "kinds after braces": lambda size: "}@a" * size,
    "kinds in parentheses": lambda size: ")@a(" * size,
    "a long command": lambda size: "@misc{k, title = {{\\" + "a" * size + "{}}}}",
    "nested commands": lambda size: "@misc{k, title = {" + "{\\a{" * size + "}" * (2 * size) + "}}",
    "open commands": lambda size: "@misc{k, title = {" + "\\a {{}" * size + "}" * size + "}}",
    "nested indices": lambda size: "@misc{k, title = {" + "_{a{}" * size + "}" * size + "}}",
    "dollars": lambda size: "@misc{k, title = {" + "$" * (size + 1) + "}}",
    "joined texts": lambda size: "@misc{k, title = " + '"x" # ' * size + '"y"}',
    "joined macros": lambda size: "@string{a = " + "b # " * size + "c}" + ENTRY,
    "open entries": lambda size: "@misc{k, title = {" * size,
    "open fields": lambda size: "@misc{k,\n title = {" + "\na = {" * size,
    "open quotes": lambda size: '@misc{k, title = "' + '{"' * size,
    "closed braces": lambda size: "}" * size + ENTRY,
    "fields": lambda size: "@misc{k, " + "a = 1, " * size + "}",
    "commas": lambda size: "@misc{" + "," * size,
    "commas on lines": lambda size: "@misc{k, a = {b}" + ",\n" * size,
    "a key of words": lambda size: "@misc{" + "k " * size + "}",
    "blanks before =": lambda size: "@misc{k" + " " * size + "= ",
    "records that go on": lambda size: "TY  - JOUR\nTI  - x\n" + "more\n" * size,
    "tags": lambda size: "TY  - JOUR\n" + "TI  - x\n" * size,
    "records": lambda size: "TY  - JOUR\nER  - \n" * (size // 10),
    "blanks after a type": lambda size: "TY" + " " * size,
    "rows": lambda size: "title,doi\n" + "a\n" * (size // 10),
    "open cells": lambda size: "title,doi\n" + '"\n' * size,
    "odd cells": lambda size: "title,doi\n" + '"x"y\n' * (size // 10),
    "a long cell": lambda size: 'title,doi\n"' + "a" * size,
    "columns": lambda size: "title" + ",doi" * size,
    "open lists": lambda size: "[" * size,
    "items": lambda size: '{"title": "a"}\n' * (size // 10),
    "a long title": lambda size: '[{"title": "' + "a" * size + '"}]',
    "a long index": lambda size: ITEM + f"{[*range(size)]}}}}}]",
    "ids": lambda size: "2101.00001 " * size,
    "digits": lambda size: "2101.0000" * size,
    "parts of an address": lambda size: "a." * size + "arxiv.org/abs/x",
    "slashes": lambda size: "a-" * size + "/1234567/" * size,
    "addresses": lambda size: "arxiv.org/abs/" * size,
    "DOIs": lambda size: "doi:10.1000/" + "." * size,
    "blanks after doi": lambda size: ("doi" + " " * 20) * size,
    "marks of web pages": lambda size: "@misc{k, title = {" + "<p " * size + "}}",
    "open marks": lambda size: "<" * size,
}


@pytest.mark.parametrize("kind", REPETITIVE)
def test_the_time_that_reading_takes_grows_no_faster_than_the_file(kind: str) -> None:
    size = 5_000
    first = _measure(REPETITIVE[kind](size))
    while first < 0.02 and size < 200_000:
        size *= 2
        first = _measure(REPETITIVE[kind](size))
    larger = _measure(REPETITIVE[kind](4 * size))
    assert larger < 0.05 + 9 * first, f"four times as much takes {larger / first:.0f} times as long"


def _measure(text: str) -> float:
    """Return the seconds of processor time that a text takes: of two readings the shorter."""
    content = text.encode()
    spent = []
    for _ in range(2):
        begun = process_time()
        with suppress(ConfigurationError):
            read_library("a file", content)
        spent.append(process_time() - begun)
    return min(spent)


def test_two_thousand_blank_lines_cost_milliseconds() -> None:
    assert _measure(f"{ENTRY}{chr(10) * 2_000}{ENTRY}") < 0.05


@pytest.mark.parametrize(
    "doubled", ["@string{{a{0} = a{1} # a{1}}}\n", "@misc{{k{0}, title = {{T}}, note = a0 # a0}}\n"]
)
def test_macros_expand_to_at_most_ten_times_the_file(doubled: str) -> None:
    macros = "".join(doubled.format(number, number - 1) for number in range(1, 45))
    text = "@string{a0 = {" + "x" * 4_000 + "}}\n" + macros + ENTRY
    with pytest.raises(ConfigurationError, match=r"^lab\.bib .*more than 10 times its size"):
        read_library("lab.bib", text.encode())


@pytest.mark.parametrize(
    "entry",
    [
        ENTRY,
        "TY  - JOUR\nTI  - x\nER  - \n",
        "TY  - JOUR\nER  - \n",
        '{"title": "a"}\n',
        "2101.00001\n",
        "%0 Book\n",
        "@string{a = a # a}",
    ],
)
def test_a_file_has_at_most_twenty_thousand_entries(entry: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^lab\.bib has more than 20,000 entries"):
        read_library("lab.bib", (entry * (MOST_ENTRIES + 1)).encode())
    if "TI" in entry:
        assert read_library("lab.bib", (entry * MOST_ENTRIES).encode()).troubles == ()
