"""Deaths around a message that Slack refuses for its size: its smaller parts come once, whichever moment it is.

Every death is a real `kill -9`, with Slack over HTTP and a real database; by night.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from digest.store.database import INVARIANTS
from tests.acceptance.dying import KILLED, Point
from tests.acceptance.mortals import NEWS, OLD, Mortal
from tests.conftest import IS_NIGHTLY

TOO_LITTLE = 620
"""Bytes that two of the day's papers fit into, with what stands around them, and four do not."""

POINTS = {
    "Slack has refused it → its replacement is begun": Point("digest.store.outbox_sends:supersede"),
    "its replacement is written → committed": Point("digest.store.outbox_sends:supersede", after=True),
    "its replacement is committed → the first smaller part": Point(
        "digest.deliver.step:_mark_failure", after=True
    ),
    "the smaller parent is taken → the mark": Point(
        "digest.deliver.transports.slack:SlackTransport.send", skip=1, after=True
    ),
    "the smaller parent is marked → the next part": Point("digest.deliver.step:_mark_sent", skip=1, after=True),
    "the last part's intent → the first byte": Point(
        "digest.deliver.transports.slack:SlackTransport.send", skip=2
    ),
}
CELLS = [
    pytest.param(database, name, id=f"{name} on {database}")
    for name in POINTS
    for database in ("sqlite", "postgresql")
]


def told(here: Mortal) -> list[str]:
    """Return the papers that messages in Slack tell, in order, each as often as it is told."""
    texts = [" ".join(message.block_texts) for message in here.slack.messages]
    return [id_ for text in texts for id_ in dict.fromkeys(re.findall(r"2603\.\d{5}", text))]


@pytest.mark.skipif(not IS_NIGHTLY, reason="a dozen deaths: .ci/nightly sets DIGEST_NIGHTLY")
@pytest.mark.parametrize(("database", "name"), CELLS)
def test_every_paper_is_told_once_in_one_thread_whenever_the_process_dies(
    database: str, name: str, live: Callable[[str], AbstractContextManager[Mortal]]
) -> None:
    with live(database) as here:
        here.slack.workspace.most_text = TOO_LITTLE
        here.run(POINTS[name], expect=KILLED)
        for number, moment in enumerate((timedelta(seconds=10), timedelta(minutes=2), timedelta(minutes=20))):
            here.advance(moment)
            if number == 1:
                here.let_leases_lapse()
            here.run()
        parent, *others = here.slack.messages
        assert sorted(told(here)) == [f"2603.{number:05d}" for number in range(OLD + 1, OLD + NEWS + 1)]
        assert {one.thread_ts for one in others} == {parent.ts}
        states = {str(state) for (state,) in here.ask("SELECT DISTINCT state FROM deliveries")}
        assert states == {"sent", "superseded"}
        assert {name: here.ask(query) for name, query in INVARIANTS.items() if here.ask(query) != [(0,)]} == {}
