import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from digest.config.lines import Path, find_lines

EVERYTHING = '''\
# a comment with [brackets] and key = "value"
title = "a = b"   # c = d
"quoted key" = 1
'single.dotted' = 2
dotted . key = 3

[arxiv]
contact = "ops@example.org" # contact = 1
[ mail ]
smtp = """
[not a table]
key = "no"\\""""
from = \'\'\'
# no comment
x = 1\'\'\'

[slack.webhooks]
team = 'https://[::1]/#a'
inline = { a = 1, b = [ "}", {c = 2} ], "d e" = { f = 3 } }

[[subscriptions]]
name = "one"
to = [   # a list
  "feed",
  "console", # second
]

[[subscriptions]]
name = "two"
[subscriptions.extra]
deep = 1979-05-27 07:32:00
[[subscriptions]]
numbers = [[1, 2], [3,
4]]
'''


def test_every_key_is_found_on_its_line_whatever_stands_around_it() -> None:
    assert tomllib.loads(EVERYTHING)
    lines = find_lines(EVERYTHING)
    expected: dict[Path, int] = {
        ("title",): 2,
        ("quoted key",): 3,
        ("single.dotted",): 4,
        ("dotted",): 5,
        ("dotted", "key"): 5,
        ("arxiv",): 7,
        ("arxiv", "contact"): 8,
        ("mail", "smtp"): 10,
        ("mail", "from"): 13,
        ("slack", "webhooks"): 17,
        ("slack", "webhooks", "team"): 18,
        ("slack", "webhooks", "inline", "b", 1, "c"): 19,
        ("slack", "webhooks", "inline", "d e", "f"): 19,
        ("subscriptions",): 21,
        ("subscriptions", 0): 21,
        ("subscriptions", 0, "to", 0): 24,
        ("subscriptions", 0, "to", 1): 25,
        ("subscriptions", 1): 28,
        ("subscriptions", 1, "extra", "deep"): 31,
        ("subscriptions", 2, "numbers", 1): 33,
        ("subscriptions", 2, "numbers", 1, 1): 34,
    }
    assert {path: lines.get(path) for path in expected} == expected


def test_lines_are_counted_alike_with_the_line_ends_of_windows() -> None:
    assert find_lines(EVERYTHING.replace("\n", "\r\n")) == find_lines(EVERYTHING)


def paths_of(value: Any, path: Path = ()) -> Iterator[Path]:  # noqa: ANN401 - whatever TOML holds
    """Yield the path of every key and element."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_of(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths_of(inner, (*path, index))


def write_key(name: str) -> str:
    escaped = "".join(f"\\U{ord(char):08x}" if char in '"\\' or not char.isprintable() else char for char in name)
    return name if name.isalnum() and name.isascii() else f'"{escaped}"'


KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(write_key)
STRINGS = st.one_of(
    st.sampled_from(['"a"', "'b'", '""', "''", '"\\""', '"# [x] = {"', "'}]'", '"""\n[x]\n"""', '""""""']),
    st.sampled_from(["'''\n#\n'''", '"""a"b"""', '"""a"""""', "'''a'''''", '"""\\"""\n"""']),
)
SCALARS = st.one_of(STRINGS, st.sampled_from(["1", "-1.5e3", "true", "1979-05-27 07:32:00", "0xFF"]))
BREAKS = st.sampled_from(["", " ", "\n", " # ]\n", "\n\n"])


def write_array(parts: list[str], space: str) -> str:
    return f"[{space}" + "".join(f"{part}{space},{space}" for part in parts) + "]"


def write_inline(pairs: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in pairs.items()) + " }"


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(write_array, st.lists(inner, max_size=3), BREAKS),
        st.dictionaries(KEYS, inner, max_size=3).map(write_inline),
    ),
    max_leaves=6,
)
PAIRS = st.dictionaries(KEYS, VALUES, max_size=4).map(
    lambda pairs: "".join(f"{key} = {value} # {key}\n" for key, value in pairs.items())
)
DOCUMENTS = st.builds(
    lambda top, tables: top + "".join(f"[[{write_key(name)}]]\n{pairs}" for name, pairs in tables),
    PAIRS,
    st.lists(st.tuples(st.sampled_from(["alpha one", "beta two"]), PAIRS), max_size=3),
)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
def test_every_key_of_any_document_has_a_line_on_which_it_is_written(text: str) -> None:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # two keys came out alike, or a line break inside an inline table
    lines = find_lines(text)
    rows = text.split("\n")
    for path in paths_of(data):
        row = rows[lines[path] - 1]
        if isinstance(path[-1], str):
            assert write_key(path[-1]) in row
    assert set(lines) == set(paths_of(data))
