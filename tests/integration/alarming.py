"""An installation whose operator is told of alarms."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime

from digest.serve.steps import PassReport, run_pass
from tests.integration.web.world import World

READER = ("mailto:reader@example.org",)
MONDAY = datetime(2026, 11, 23, 11, 5, tzinfo=UTC)
"""06:05 Eastern time: the announcement of Sunday evening should be there."""


def pass_at(world: World, moment: datetime | None = None) -> PassReport:
    """Make a pass, at a later moment where one is given."""
    if moment is not None:
        world.clock.sleep((moment - world.clock.now()).total_seconds())
    with closing(world.open()) as site:
        return run_pass(site)


def write_alarms(world: World, *to: str, ping: str = "") -> None:
    world.write_config(to=READER, extra=f'\n[alarms]\nto = {json.dumps(to)}\nping_url = "{ping}"\n')


def operator_mails(world: World) -> list[str]:
    """Return subject and text of every mail to the operator."""
    mails = [mail.message for mail in world.mail.mails]
    return [
        f"{mail['Subject']}\n{mail.get_content()}"
        for mail in mails
        if mail["To"] == "ops@example.org"
    ]
