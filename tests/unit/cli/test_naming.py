from __future__ import annotations

import pytest

from digest.cli.context import require_name, suggest_name
from digest.model.errors import UnknownName


def test_a_known_name_passes() -> None:
    require_name("perf", ["gpu", "perf"], what="saved query", listing="digest query list")


def test_an_unknown_one_names_the_nearest_and_else_the_command_that_shows_all() -> None:
    with pytest.raises(UnknownName, match="there is no saved query 'pref'") as caught:
        require_name("pref", ["gpu", "perf"], what="saved query", listing="digest query list")
    assert caught.value.hint == "Did you mean 'perf'?"
    assert caught.value.exit_code == 2
    assert suggest_name("zzz", ["gpu", "perf"], "digest query list") == "`digest query list` shows them all."
    assert suggest_name("zzz", [], "digest query list") == "`digest query list` shows them all."
