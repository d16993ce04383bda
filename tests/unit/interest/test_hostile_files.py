"""A small file stops nothing: what reading takes grows as the file does, and no faster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import process_time

import pytest

from digest.interest.entries import MOST_ENTRIES
from digest.interest.files import read_library
from digest.model.errors import ConfigurationError

ENTRY = "@article{a,\n title = {Queues},\n year = 2020\n}\n"
ITEM = '[{"title": "a", "abstract_inverted_index": {"a": '


@dataclass(frozen=True)
class Repetition:
    """A text that repeats a unit, and then its `closing` as often.

    Of a long unit a `share` is enough.
    """

    unit: str
    before: str = ""
    closing: str = ""
    after: str = ""
    share: int = 1

    def __call__(self, size: int) -> str:
        times = size // self.share
        return self.before + self.unit * times + self.closing * times + self.after


def write_long_index(size: int) -> str:
    return ITEM + f"{[*range(size)]}}}}}]"


REPETITIVE: dict[str, Callable[[int], str]] = {
    "blank lines between entries": Repetition("\n", before=ENTRY, after=ENTRY),
    "blanks before a line": Repetition(" ", after=ENTRY),
    "blank lines, then TeX": Repetition("\n", after="\\"),
    "lines with a blank": Repetition(" \n"),
    "a long kind": Repetition("a", before="@"),
    "many kinds": Repetition("@a"),
    "kinds on lines": Repetition("@a,\n\n"),
    "kinds after braces": Repetition("}@a"),
    "kinds in parentheses": Repetition(")@a("),
    "a long command": Repetition("a", before="@misc{k, title = {{\\", after="{}}}}"),
    "nested commands": Repetition("{\\a{", before="@misc{k, title = {", closing="}}", after="}}"),
    "open commands": Repetition("\\a {{}", before="@misc{k, title = {", closing="}", after="}}"),
    "nested indices": Repetition("_{a{}", before="@misc{k, title = {", closing="}", after="}}"),
    "dollars": Repetition("$", before="@misc{k, title = {$", after="}}"),
    "joined texts": Repetition('"x" # ', before="@misc{k, title = ", after='"y"}'),
    "joined macros": Repetition("b # ", before="@string{a = ", after="c}" + ENTRY),
    "open entries": Repetition("@misc{k, title = {"),
    "open fields": Repetition("\na = {", before="@misc{k,\n title = {"),
    "open quotes": Repetition('{"', before='@misc{k, title = "'),
    "closed braces": Repetition("}", after=ENTRY),
    "fields": Repetition("a = 1, ", before="@misc{k, ", after="}"),
    "commas": Repetition(",", before="@misc{"),
    "commas on lines": Repetition(",\n", before="@misc{k, a = {b}"),
    "a key of words": Repetition("k ", before="@misc{", after="}"),
    "blanks before =": Repetition(" ", before="@misc{k", after="= "),
    "records that go on": Repetition("more\n", before="TY  - JOUR\nTI  - x\n"),
    "tags": Repetition("TI  - x\n", before="TY  - JOUR\n"),
    "records": Repetition("TY  - JOUR\nER  - \n", share=10),
    "blanks after a type": Repetition(" ", before="TY"),
    "rows": Repetition("a\n", before="title,doi\n", share=10),
    "open cells": Repetition('"\n', before="title,doi\n"),
    "odd cells": Repetition('"x"y\n', before="title,doi\n", share=10),
    "a long cell": Repetition("a", before='title,doi\n"'),
    "columns": Repetition(",doi", before="title"),
    "open lists": Repetition("["),
    "items": Repetition('{"title": "a"}\n', share=10),
    "a long title": Repetition("a", before='[{"title": "', after='"}]'),
    "ids": Repetition("2101.00001 "),
    "digits": Repetition("2101.0000"),
    "parts of an address": Repetition("a.", after="arxiv.org/abs/x"),
    "slashes": Repetition("a-", closing="/1234567/"),
    "addresses": Repetition("arxiv.org/abs/"),
    "DOIs": Repetition(".", before="doi:10.1000/"),
    "blanks after doi": Repetition("doi" + 20 * " "),
    "marks of web pages": Repetition("<p ", before="@misc{k, title = {", after="}}"),
    "open marks": Repetition("<"),
    "a long index": write_long_index,
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
