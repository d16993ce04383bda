"""What the outbox's commands refuse before they look at any database."""

from __future__ import annotations

import pytest

from digest.cli import run_cli


@pytest.mark.parametrize("verb", ["show", "retry", "cancel"])
@pytest.mark.parametrize("number", ["0", "-1", str(2**63), "9" * 30])
def test_a_number_that_no_delivery_can_have_is_a_slip_of_the_pen(
    verb: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["delivery", verb, "--", number]) == 2
    assert "is not in the range" in capsys.readouterr().err
