r"""Each regular expression is linear.

Whatever strangers write, twice as much takes about twice as long.

Python's `re` goes back and tries again. A pattern such as `\s+$` reads n blanks n times: 100 kB of
blanks in one comment take seconds, and everything else waits. `tests.patterns` says how patterns
and texts are found.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import digest
from digest.config.settings import INCOMING
from digest.deliver.transports import smtp_replies
from digest.demo import servers
from digest.inspect.findings import build_mask
from digest.interest import files
from digest.interest.forms import TAGGED
from digest.model import secrets
from digest.model.destinations import TRAITS
from digest.model.messages import compile_marks
from digest.query import dialects, names, pasted, words
from digest.tex import places
from tests.patterns import (
    AnyPattern,
    Found,
    Made,
    fill,
    find_patterns,
    find_slow,
    list_modules,
    list_texts,
    make_run,
    time_run,
)

pytestmark = pytest.mark.timeout(
    600
)  # processor time counts, but others may take most of these seconds

NAME_PART = (
    "digest.query.names: f'(?=\\\\w){run}(?:(?:\\\\.?[{_HYPHENS}]|[{_APOSTROPHES}]){run})*{ending}'"
)
CATEGORY_TITLE = (
    "digest.query.pasted: f'(?i)\\\\b{title} *\\\\({name}\\\\)|\\\\b{name} *\\\\({title}\\\\)'"
)
WORD = (
    "digest.query.words: f'[{_IDEOGRAPHS}][{marks}]*|(?<!_)(?!_+(?!{letter})){run}(?:{join}{run})*'"
)
WORDS = ("gpu", "tail latency", "reader@example.org")


def read_closure(function: Callable[..., object], name: str) -> Any:  # noqa: ANN401 - what it holds
    return inspect.getclosurevars(function).nonlocals[name]


@cache
def list_made() -> dict[str, Made]:
    """Return the patterns that only a run makes, as it makes them."""
    return {
        **list_made_of_settings(),
        **list_made_of_findings(),
        **list_made_of_libraries(),
        **list_made_of_queries(),
    }


OURS = {servers._RECORD}
"""What reads a file of ours alone: the papers of the demo."""

BOUNDS: dict[AnyPattern, int] = {
    places._UNSURE: places._NEAR,
    places._END: places._NEAR,
    places._LOOSE: places._NEAR,
    places._BEFORE: places._NEAR,
}
"""What is not linear -> how many letters it is given at most."""

MOST_AT_BOUND = 5.0
"""How many times as long a pattern may take at its bound as a linear one.

The linear one is given 100,000 letters, which takes some 5 ms.
"""


@cache
def list_found() -> tuple[Found, ...]:
    return tuple(find_patterns(list_modules(), list_made()))


def list_made_of_settings() -> dict[str, Made]:
    any_of = "|".join(WORDS)
    named = re.compile(rf"""["']((?:[\w-]+:)?)({any_of})["']""")
    address = re.escape(WORDS[2])
    in_quotes = rf"""(["'](?:mailto:)?)(?!["']){address}(?=["'])"""
    written = re.compile(in_quotes, re.IGNORECASE)
    incoming = []
    for setting in INCOMING.values():
        pattern = read_closure(setting.read, "pattern")
        incoming.append(re.compile(pattern, re.ASCII))
    of_places = [re.compile(traits.pattern) for traits in TRAITS.values() if traits.pattern]
    return {
        "digest.cli.starts: written": Made([named]),
        "digest.config.addresses: pattern": Made(incoming),
        "digest.config.addresses: traits.pattern": Made(of_places, "fullmatch"),
        "digest.config.starter: written": Made([written]),
    }


def list_made_of_findings() -> dict[str, Made]:
    replies = [re.compile(words) for words in smtp_replies._WORDS.values()]
    record = re.compile(r"v=spf1(?:[\s;]|$)")
    mask = read_closure(build_mask(dict.fromkeys(WORDS, "…")), "pattern")
    literals = []
    for word in WORDS:
        literal = re.escape(word)
        literals.append(re.compile(rf"(?<![\w-]){literal}(?![\w-])"))
    secret = [pattern for pattern, _ in secrets._PATTERNS]
    marks = compile_marks(("a" * 22, "reader@example.org"))
    return {
        "digest.deliver.transports.smtp_replies: words": Made(replies),
        "digest.inspect.doctor: f'{re.escape(version)}(?:[\\\\s;]|$)'": Made([record]),
        "digest.inspect.findings: f'{begin}({any_of})(?:e?s)?(?![^\\\\W_])'": Made([mask], "sub"),
        "digest.inspect.findings: f'(?<![\\\\w-]){re.escape(literal)}(?![\\\\w-])'": Made(literals),
        "digest.model.messages: '|'.join(spelled).encode('ascii')": Made([marks], "sub"),
        "digest.model.secrets: pattern": Made(secret, "sub"),
    }


def list_made_of_libraries() -> dict[str, Made]:
    starts: list[AnyPattern] = []
    for row in (*files._REFUSED, *files._WIDE):
        starts.append(re.compile(row[0]))
    lines = []
    records = []
    for _, line, tag, _ in TAGGED:
        lines.append(re.compile(f"^{line}", re.MULTILINE))
        records.append(re.compile(rf"^{tag}(.*(?:\n(?!{tag}).*)*)", re.MULTILINE))
    return {
        "digest.interest.files: start": Made(starts, "match"),
        "digest.interest.files: f'^{line}'": Made(lines, "search"),
        "digest.interest.forms: f'^{tag}(.*(?:\\\\n(?!{tag}).*)*)'": Made(records, "finditer"),
    }


def list_made_of_queries() -> dict[str, Made]:
    forms = [pattern for _, pattern, _ in dialects.FORMS]
    parts = [names._part_pattern(), names._part_pattern(r"\*?")]
    row_or_value = pasted._patterns()[2]
    dividers = [re.compile(","), re.compile(r"\s+")]
    title = re.compile(r"(?i)\bSystems *\(cs\.SY\)|\bcs\.SY *\(Systems\)")
    word = words._word_pattern()
    return {
        "digest.query.dialects: pattern": Made(forms),
        NAME_PART: Made(parts, "finditer"),
        "digest.query.pasted: row_or_value": Made([row_or_value], "sub"),
        "digest.query.pasted: ',' if ',' in value else '\\\\s+'": Made(dividers),
        CATEGORY_TITLE: Made([title]),
        WORD: Made([word], "finditer"),
    }


def list_rooms() -> list[str]:
    house = Path(digest.__file__).parent
    return sorted(path.stem for path in house.iterdir() if not path.name.startswith("_"))


@pytest.mark.parametrize("room", list_rooms())
def test_each_pattern_takes_about_twice_as_long_for_a_text_twice_as_long(room: str) -> None:
    left_out = {*OURS, *BOUNDS}
    of_room = [one for one in list_found() if one.room == room]
    slow = []
    for found in of_room:
        if found.pattern in left_out:
            continue
        one = find_slow(found)
        if one is not None:
            slow.append(str(one))
    assert slow == []


def test_a_pattern_that_is_not_linear_is_quick_for_as_much_as_it_gets() -> None:
    linear = make_run(re.compile(r"\w+"), "finditer")
    usual = min(time_run(linear, "a " * 50_000) for _ in range(5))
    bounded = [found for found in list_found() if found.pattern in BOUNDS]
    for found in bounded:
        bound = BOUNDS[found.pattern]
        runs = [make_run(found.pattern, way) for way in found.list_ways()]
        for text, run in product(list_texts(found.pattern), runs):
            written = fill(text, bound)
            taken = min(time_run(run, written) for _ in range(2))
            assert taken <= MOST_AT_BOUND * usual, text


def test_what_is_left_out_is_there() -> None:
    patterns = {one.pattern for one in list_found()}
    assert patterns >= {*OURS, *BOUNDS}


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"\s+$", "search"),
        (r"^\s*,?\s*[\w-]+\s*=", "search"),
        (r"<[^>]*>", "finditer"),
        (r"[\w.]+@", "search"),
        (r"(?:a|b|ab)+c", "fullmatch"),
        (r'"(?:\\.|[^"])*"\s*\Z', "search"),
        (r"x*y*z*x*!", "fullmatch"),
        (r"(\w+\s?)*!", "match"),
    ],
)
def test_a_pattern_that_goes_back_again_and_again_is_found(pattern: str, way: str) -> None:
    found = Found(re.compile(pattern), "digest.planted:1", {way})
    assert find_slow(found) is not None


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"(?<!\s)\s+$", "search"),
        (r"<[^<>]*>", "finditer"),
        (r"(?<![\w.])[\w.]+@", "search"),
        (r"\s+$", "match"),
        (r"[^\W\d]+(?:-\w+)*", "scan"),
        (r"\d{1,200}x", "finditer"),
    ],
)
def test_a_pattern_that_reads_each_letter_a_few_times_is_not(pattern: str, way: str) -> None:
    found = Found(re.compile(pattern), "digest.linear:1", {way})
    assert find_slow(found) is None


Plant = Callable[[str], ModuleType]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Return a function that makes a module of a source."""

    def make(source: str) -> ModuleType:
        path = tmp_path / "planted.py"
        path.write_text(source, encoding="utf-8")
        spec = spec_from_file_location("digest.planted", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


@pytest.mark.parametrize(
    ("source", "ways"),
    [
        (r'import re; P = re.compile(r"\s+$"); f = P.search', ["search"]),
        (r'import re; f = lambda text: re.sub(r"\s+$", "", text)', ["finditer"]),
        (r'import re; ENDS = {"x": re.compile(r"\s+$", re.M)}', ["finditer", "fullmatch", "scan"]),
        (r'import re; P = re.compile(r"\s+$"); f = lambda text: P.match(text, 3)', ["scan"]),
        (
            r'import re as regular; f = lambda text: regular.split(pattern=r"\s+$", string=text)',
            ["finditer"],
        ),
        (
            'import re; BLANK = r"\\s"\ndef f(text): return re.search(f"{BLANK}+$", text, re.I)',
            ["search"],
        ),
    ],
)
def test_a_pattern_is_found_wherever_it_is_written(
    plant: Plant, source: str, ways: list[str]
) -> None:
    module = plant(source)
    (found,) = find_patterns([module], {})
    assert found.pattern.pattern == r"\s+$"
    assert found.list_ways() == ways


@pytest.mark.parametrize(
    "source", ["from re import sub", "import re\ndef f(made, text): return re.sub(made, '', text)"]
)
def test_a_pattern_that_can_hide_is_refused(plant: Plant, source: str) -> None:
    module = plant(source)
    with pytest.raises(LookupError):
        find_patterns([module], {})
