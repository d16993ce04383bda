from __future__ import annotations

from digest.cli.context import suggest_name


def test_the_nearest_name_is_suggested_and_else_the_command_that_shows_all() -> None:
    assert suggest_name("pref", ["gpu", "perf"], "digest query list") == "Did you mean 'perf'?"
    assert (
        suggest_name("zzz", ["gpu", "perf"], "digest query list")
        == "`digest query list` shows them all."
    )
    assert suggest_name("zzz", [], "digest query list") == "`digest query list` shows them all."
