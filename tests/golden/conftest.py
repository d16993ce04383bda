"""Golden files: what each medium looked like when somebody last looked at it.

`pytest tests/golden --update-golden` writes them anew and shows what changed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.render.conftest import (
    deliver,  # noqa: F401 - fixtures are found by their names here
    identity,  # noqa: F401
    renderer,  # noqa: F401
)

EXPECTED = Path(__file__).with_name("expected")
_LONGEST_LINE = 160

Golden = Callable[[str, str], None]


@pytest.fixture
def golden(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Golden:
    """Compare a text with the golden file of a name, or write the file and show the difference."""
    is_update = request.config.getoption("--update-golden", default=False)

    def compare(name: str, text: str) -> None:
        file = EXPECTED / name
        before = file.read_bytes().decode("utf-8") if file.exists() else ""
        difference = _show_difference(name, before, text)
        if is_update and before != text:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(text.encode("utf-8"))
            with capsys.disabled():
                print(f"\n{difference}")  # noqa: T201 - whoever gave the option wants to see it
        elif before != text:
            pytest.fail(
                f"{name} changed; look, then run with --update-golden\n{difference}", pytrace=False
            )

    return compare


def _show_difference(name: str, before: str, after: str) -> str:
    old_lines = before.splitlines()
    new_lines = after.splitlines()
    shown = []
    for line in difflib.unified_diff(
        old_lines, new_lines, f"golden/{name}", "now", lineterm="", n=1
    ):
        is_long = len(line) > _LONGEST_LINE
        shown.append(f"{line[:_LONGEST_LINE]}…" if is_long else line)
    return "\n".join(shown)
