"""What the screens say of a day that fails, from the digest's hour to the next morning."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from digest.model.clock import ManualClock
from tests.acceptance.conftest import arxiv, clock, install, old_papers  # noqa: F401 - fixtures
from tests.acceptance.test_failed_days import BERLIN, NINE, NO_SAMPLE, begin, fail
from tests.fakes.arxiv import DemoArxiv
from tests.golden.conftest import Golden
from tests.harness.installation import Installation
from tests.harness.papers import TUESDAY, announce

_OF_THIS_RUN = (
    (r"[\d,]+ kB", "400 kB"),
    (r"(?m)^.*\b(?:poll|parse|compare|match|plan|render|deliver)\b .*\n", ""),
)
"""What differs from run to run, and the lines of progress."""


def test_the_screens_say_what_waits_for_what_and_when_it_goes(
    arxiv: DemoArxiv,  # noqa: F811 - the fixture
    clock: ManualClock,  # noqa: F811 - the fixture
    install: Callable[..., Installation],  # noqa: F811 - the fixture
    golden: Golden,
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    here.environ["COLUMNS"] = "80"
    begin(arxiv, here, clock)
    announce(arxiv, TUESDAY, 22, 23)
    fail(arxiv)
    nine = TUESDAY + NINE
    said: list[str] = []

    def show(at: timedelta, *commands: str, expect: int = 0) -> None:
        clock.set(max(nine + at, clock.now()))
        here.close()
        for command in commands:
            text = here.command(*command.split(), expect=expect)
            for pattern, instead in _OF_THIS_RUN:
                text = re.sub(pattern, instead, text)
            said.append(f"$ digest {command}    # {clock.now():%a %H:%M} UTC\n{text}")

    show(timedelta(0), "run", expect=4)
    show(timedelta(minutes=1), "status", "subscription list")
    announce(arxiv, TUESDAY + timedelta(days=1), 24)
    show(timedelta(hours=17, minutes=30), "run", expect=4)
    arxiv.faults.clear()
    show(timedelta(hours=21), "run", "status", "subscription list")
    here.command("subscription", "pause", "perf-team", "--until", "2026-03-09")
    show(timedelta(hours=22), "run", "subscription list")
    here.command("subscription", "resume", "perf-team")
    show(timedelta(hours=24), "run")
    show(timedelta(hours=25), "run")
    golden("failed-day.terminal.txt", "\n".join(said))
