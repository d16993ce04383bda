from rich.cells import cell_len

from digest.render.terminal import lay_out
from digest.render.text import apply_styles, styled


def test_what_stands_right_is_set_to_the_edge_or_below_if_there_is_no_room() -> None:
    assert lay_out("  1  left\tright", 20) == ["  1  left      right"]
    assert lay_out("  1  left and more\tright here", 20) == ["  1  left and more", "     right here"]


def test_long_lines_are_broken_under_their_own_beginning() -> None:
    assert lay_out("  1  one two three four", 14) == ["  1  one two", "     three", "     four"]


def test_a_style_that_runs_over_a_line_is_ended_and_opened_again() -> None:
    lines = lay_out(styled("one two", "bold"), 4)
    assert [apply_styles(line, color=True) for line in lines] == ["\x1b[1mone\x1b[0m", "\x1b[1mtwo\x1b[0m"]


def test_wide_letters_take_two_columns() -> None:
    assert all(cell_len(line) <= 10 for line in lay_out("论" * 30, 10))
