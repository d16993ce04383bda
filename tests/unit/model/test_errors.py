import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model import errors
from digest.model.errors import DeliveryError, DigestError, QueryError
from digest.model.said import Said

_DRAWN = re.compile(r"^(?P<stem>[│├└─ ]*)(?P<name>[A-Z]\w+)\s(?P<rest>.*)$")


def draw_tree(
    cls: type[DigestError], stem: str = "", branch: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield (stem, name) of a class and all below it, as a tree is drawn."""
    yield stem + branch, cls.__name__
    children = [child for child in cls.__subclasses__() if child.__module__ == errors.__name__]
    stem += {"": "", "├── ": "│   ", "└── ": "    "}[branch]
    for child in children:
        yield from draw_tree(child, stem, "└── " if child is children[-1] else "├── ")


def read_drawing() -> list[re.Match[str]]:
    return [
        match for line in (errors.__doc__ or "").splitlines()[2:] if (match := _DRAWN.match(line))
    ]


def all_errors() -> list[type[DigestError]]:
    return [getattr(errors, name) for _, name in draw_tree(DigestError)]


def test_the_tree_drawn_in_the_docstring_is_the_tree_of_classes() -> None:
    assert [(match["stem"], match["name"]) for match in read_drawing()] == list(
        draw_tree(DigestError)
    )


def test_the_exit_codes_and_statuses_in_the_drawing_are_those_of_the_classes() -> None:
    drawn = 0
    for match in read_drawing():
        cls: type[DigestError] = getattr(errors, match["name"])
        for number in re.findall(r"exit (\d+)", match["rest"]):
            assert cls.exit_code == int(number)
            drawn += 1
        for number in re.findall(r"HTTP (\d{3})", match["rest"]):
            assert cls.http_status == int(number)
            drawn += 1
    assert drawn >= 9


@pytest.mark.parametrize("cls", all_errors())
def test_each_error_has_an_exit_code_a_status_and_room_for_a_hint(cls: type[DigestError]) -> None:
    error = cls("the disk is full", hint="Make room.")
    assert error.exit_code in {1, 2, 3, 4, 75}
    assert 400 <= error.http_status <= 599
    assert (error.message, error.hint) == ("the disk is full", "Make room.")


@pytest.mark.parametrize(
    "cls", [cls for cls in all_errors() if cls not in {QueryError, DeliveryError}]
)
def test_an_error_raised_without_words_says_its_own_meaning(cls: type[DigestError]) -> None:
    assert cls().message == (cls.__doc__ or "").splitlines()[0]
    assert cls().hint == ""


def test_an_outside_error_never_counts_as_a_mistake_in_the_configuration() -> None:
    codes = {cls.__name__: cls.exit_code for cls in all_errors()}
    assert {codes[name] for name in codes if name.startswith("Arxiv")} == {4}
    assert {
        codes["ConfigurationError"],
        codes["StoreError"],
        codes["TemplateError"],
        codes["StoreBusy"],
    } == {3}
    assert {codes["UsageError"], codes["QueryError"], codes["UnknownName"]} == {2}


def test_the_pointer_marks_the_place_in_a_query_of_several_lines() -> None:
    error = QueryError("no such field", text="cat:cs.PF\r\n\tAND foo:bar", position=16)
    assert error.pointer() == f"cat:cs.PF   AND foo:bar\n{' ' * 16}^"


@given(st.text(), st.integers(0, 200))
def test_the_pointer_is_always_two_lines_and_stands_below_its_character(
    text: str, position: int
) -> None:
    line, caret = (
        QueryError("x", text=text, position=position).pointer().splitlines()[:2]
        if text
        else ("", "^")
    )
    place = caret.index("^")
    assert place == min(position, len(line)) or line.startswith("…")
    assert place == len(line) or line[place] in (text[position], " ")


def test_the_pointer_shows_of_a_long_query_what_is_near() -> None:
    text = "cat:cs.PF OR " * 30
    line, caret = (
        QueryError("x", text=f"{text}foo:bar OR {text}", position=len(text)).pointer().splitlines()
    )
    assert len(line) < 100
    assert line[caret.index("^") :].startswith("foo:bar OR cat")
    assert (line[0], line[-1]) == ("…", "…")


def test_a_delivery_error_is_passing_and_unambiguous_unless_it_says_otherwise() -> None:
    error = DeliveryError(Said.plain("451 try again later"))
    assert (error.permanent, error.retry_after, error.ambiguous, error.whole_transport) == (
        False,
        None,
        False,
        False,
    )
