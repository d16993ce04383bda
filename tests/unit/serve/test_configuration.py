"""What is said of a file that can be used, but not all of it."""

from __future__ import annotations

from digest.serve.configuration import ConfigReport


def test_what_cannot_be_read_is_said_with_what_is_done_instead() -> None:
    unreadable = (("gpu", "OR has nothing after it\nti:(gpu OR"), ("perf", "never closed"))
    report = ConfigReport(
        unreadable=unreadable,
        used_as_before=("gpu",),
        unread=(("what team excludes", "no full name"),),
    )
    assert report.doubts == (
        (
            "saved query gpu can't be read and is still used as it was before:\nOR has "
            "nothing after it\nti:(gpu OR"
        ),
        "saved query perf can't be read and is left out:\nnever closed",
        "what team excludes can't be read; what was there before stays in use:\nno full name",
    )


def test_an_edit_names_the_command_that_shows_what_the_old_text_missed() -> None:
    for before, command in (
        ("", "`digest try seg` shows"),
        ("ti:x", "`digest try seg --against ti:x` shows"),
    ):
        assert command in ConfigReport(changed={"seg": before}).remarks[0]
