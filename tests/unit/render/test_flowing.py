from hypothesis import given
from hypothesis import strategies as st

from digest.render.text import flow_text, wrap_text


def read_flowed(text: str) -> str:
    """Undo format=flowed as RFC 3676 §4.4 says, with delsp=no."""
    lines: list[str] = []
    is_open = False
    for raw in text.split("\n"):
        line = raw.removeprefix(" ")
        if is_open:
            lines[-1] += line
        else:
            lines.append(line)
        is_open = line.endswith(" ") and line != "-- "
    return "\n".join(lines)


def test_paragraphs_are_broken_softly_and_read_back_whole() -> None:
    text = "word " * 60 + "end"
    flowed = flow_text(text)
    assert all(len(line) <= 78 for line in flowed.split("\n"))
    assert read_flowed(flowed) == text


def test_a_link_stays_on_its_own_line_whole() -> None:
    link = "https://digest.example.org/d/" + "x" * 120
    assert flow_text(f"See:\n{link}\n") == f"See:\n{link}\n"


def test_a_text_without_blanks_stays_with_its_number() -> None:
    assert flow_text("6. " + "论" * 90) == "6. " + "论" * 90


def test_lines_that_would_mean_something_else_are_stuffed() -> None:
    assert flow_text("> quoted\nFrom me\n indented\n-- \nname") == " > quoted\n From me\n  indented\n-- \nname"


def test_a_line_that_ends_in_blanks_does_not_run_into_the_next() -> None:
    assert flow_text("one   \ntwo") == "one\ntwo"


@given(st.lists(st.text(st.sampled_from("ab >-F  é")), max_size=6).map("\n".join))
def test_whatever_is_flowed_reads_back_but_for_trailing_blanks(text: str) -> None:
    lines = [line if line == "-- " else line.rstrip(" ") for line in text.split("\n")]
    assert read_flowed(flow_text(text)) == "\n".join(lines)


def test_hard_lines_are_no_longer_than_asked_for() -> None:
    wrapped = wrap_text("word " * 60, 40)
    assert max(len(line) for line in wrapped.split("\n")) <= 40
    assert wrapped.replace("\n", " ") == ("word " * 60).strip()
