"""Which message in Slack a link leads to, and whether it can be the one that is asked about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from digest.cli.delivery import is_head, read_place
from digest.model.errors import UsageError
from digest.model.messages import Delivery, DeliveryState
from digest.model.subscriptions import Destination, DestinationKind

MORNING = datetime(2026, 11, 20, 9, tzinfo=UTC)
LINK = "https://team.slack.com/archives/C000PAPERS/p1795339450000100"
HEAD = Delivery(
    id=1,
    digest_id=1,
    destination=Destination(DestinationKind.SLACK, "#papers"),
    part=0,
    parts=2,
    state=DeliveryState.HELD,
    attempts=1,
    token=1,
    idempotency_key="key-1",
    not_before=MORNING,
    created_at=MORNING,
    remote_address="C000PAPERS",
)
MAIL = replace(HEAD, destination=Destination(DestinationKind.MAIL, "reader@example.org"))


@pytest.mark.parametrize("link", [LINK, f" {LINK}/ ", f"{LINK}?thread_ts=1795339450.000100&cid=C000PAPERS"])
def test_a_link_as_slack_copies_it_names_the_message(link: str) -> None:
    assert read_place(HEAD, link) == "1795339450.000100"


def test_of_a_channel_that_nobody_looked_up_any_message_is_believed() -> None:
    assert read_place(replace(HEAD, remote_address=""), LINK) == "1795339450.000100"


def test_a_part_behind_the_first_may_stand_in_its_thread() -> None:
    link = LINK.replace("0100", "0200") + "?thread_ts=1795339450.000100"
    assert read_place(replace(HEAD, part=1), link) == "1795339450.000200"


@pytest.mark.parametrize(
    ("delivery", "link", "says"),
    [
        (MAIL, LINK, "messages have no link"),
        (HEAD, "1795339450.000100", "is no link to a message"),
        (HEAD, "https://team.slack.com/archives/C000PAPERS", "is no link to a message"),
        (HEAD, "https://[team/archives/C000PAPERS/p1795339450000100", "is no link to a message"),
        (HEAD, LINK.replace("PAPERS", "OTHERS"), "another channel, C000OTHERS: delivery 1 went to C000PAPERS"),
        (HEAD, f"{LINK}?thread_ts=1795339449.000100", "that message is a reply"),
    ],
    ids=["mail", "a ts", "a channel", "no address", "elsewhere", "a reply"],
)
def test_a_link_that_cannot_be_the_message_is_refused(delivery: Delivery, link: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_place(delivery, link)


def test_only_the_first_of_several_parts_in_a_channel_has_a_thread() -> None:
    assert is_head(HEAD)
    assert not is_head(replace(HEAD, part=1))
    assert not is_head(replace(HEAD, parts=1))
    assert not is_head(MAIL)
