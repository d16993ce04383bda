"""What should have happened and has not.

The operator hears of it, over real mail, Slack and HTTP.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert

from digest.deliver.rules import Step
from digest.model.said import Said
from digest.store.alarms import AlarmName
from digest.store.schema import alarms
from tests.fakes.loopback import Answer, LoopbackServer
from tests.integration.alarming import MONDAY, operator_mails, pass_at, write_alarms
from tests.integration.web.world import LATER, SUNDAY, World


def test_an_announcement_that_does_not_come_is_told_once_and_so_is_its_end(world: World) -> None:
    write_alarms(world, "mailto:ops@example.org", "slack:#papers")
    assert pass_at(world).watch.alarms == ()
    report = pass_at(world, MONDAY)
    assert [alarm.name for alarm in report.watch.alarms] == [AlarmName.ANNOUNCEMENT]
    assert report.watch.due == report.watch.alarms
    assert pass_at(world, MONDAY + timedelta(minutes=40)).watch.due == ()
    (mail,) = operator_mails(world)
    assert mail.splitlines()[0] == "Digest: the announcement of Sun 22 Nov is not out yet"
    told = " ".join(mail.split())
    assert (
        "since Mon 23 Nov 11:05 UTC The announcement of Sun 22 Nov is not out yet. Checks go on."
        in told
    )
    (post,) = world.slack.messages
    assert post.text == "Digest: the announcement of Sun 22 Nov is not out yet"

    world.arxiv.add(LATER)
    for minutes in (300, 500):
        report = pass_at(world, MONDAY + timedelta(minutes=minutes))
    assert report.watch.alarms == ()
    first, over = operator_mails(world)
    assert first == mail
    assert over.startswith(
        "Digest: this problem is over: the announcement of Sun 22 Nov was not fetched completely\n"
    )
    body = " ".join(over.split())
    assert "It lasted from Mon 23 Nov 11:05 UTC to Mon 23 Nov 19:25 UTC." in body


def test_the_end_of_an_alarm_that_the_release_before_kept_is_told_in_its_words(
    world: World,
) -> None:
    write_alarms(world, "mailto:ops@example.org")
    pass_at(world)
    words = Said.plain("a message to a@example.org needs you: 550 no. Check it. Look.")
    now = world.clock.now()
    row = {"name": "needs you", "detail": words, "since": now, "not_before": now, "sent_at": now}
    site = world.open()
    with site.store.begin() as conn:
        conn.execute(insert(alarms), row)
    site.close()
    pass_at(world)
    (over,) = operator_mails(world)
    headline, *_ = over.splitlines()
    what = "a message to a@example.org needs you: 550 no"
    assert headline == f"Digest: this problem is over: {what}"
    assert f"It was: {what}. It lasted from" in " ".join(over.split())


def test_where_the_operator_cannot_be_told_that_is_said_and_tried_again(world: World) -> None:
    write_alarms(world, "slack:#nowhere")
    pass_at(world)
    report = pass_at(world, MONDAY)
    assert any(
        "could not be sent to slack:#nowhere: " in str(trouble) for trouble in report.troubles
    )
    write_alarms(world, "mailto:ops@example.org", "slack:#nowhere")
    for minutes in (5, 20, 40):
        pass_at(world, MONDAY + timedelta(minutes=minutes))
    assert len(operator_mails(world)) == 1, "one place that took it is enough"


def test_a_sign_of_life_is_given_while_all_is_well_and_stops_when_it_is_not(world: World) -> None:
    with LoopbackServer(Answer()) as watcher:
        write_alarms(world, ping=f"{watcher.url}/ping/some-secret?rid=1")
        assert pass_at(world).watch.failures == ()
        (asked,) = watcher.visits
        assert (asked.path, asked.params) == ("/ping/some-secret", (("rid", "1"),))
        assert pass_at(world, MONDAY).watch.alarms
        assert len(watcher.visits) == 1


def test_what_waits_too_long_in_the_outbox_is_told_by_another_way(world: World) -> None:
    write_alarms(world, "slack:#papers")
    pass_at(world)
    world.arxiv.add(LATER)
    world.mail.script.reply("RCPT", "451 4.7.1 greylisted", times=1_000)
    moment = datetime(2026, 11, 23, 3, 47, tzinfo=UTC)
    assert [one.step for one in pass_at(world, moment).deliver.failures] == [Step.RETRY]
    report = pass_at(world, moment + timedelta(minutes=61))
    assert AlarmName.OUTBOX in [alarm.name for alarm in report.watch.alarms]
    (post,) = world.slack.messages
    assert "a message to mailto:reader@example.org has been waiting since" in post.text


@pytest.mark.parametrize("when", ["on announcement", "at once"])
def test_a_digest_that_a_faulty_template_keeps_from_being_planned_is_told_with_the_fault(
    world: World, when: str
) -> None:
    extra = '\n[alarms]\nto = ["mailto:ops@example.org"]\n'
    world.write_config(to=("slack:#papers",), when=when, extra=extra)
    config = world.folder / "digest.toml"
    config.write_text(f'templates = "own"\n{config.read_text(encoding="utf-8")}', encoding="utf-8")
    template = world.folder / "own" / "slack" / "digest.txt"
    template.parent.mkdir(parents=True)
    pass_at(world)
    world.arxiv.add(LATER)
    template.write_text("{% block x %}{{ 1/0 }}{% endblock %}", encoding="utf-8")
    pass_at(world, SUNDAY)
    report = pass_at(world, SUNDAY + timedelta(hours=12))
    assert [alarm.name for alarm in report.watch.alarms] == [AlarmName.DIGEST]
    (mail,) = operator_mails(world)
    words = " ".join(mail.split())
    assert "the digest of perf-team has been due since" in words
    assert "planning failed: perf-team: " in words
    assert "division by zero" in words
    template.unlink()
    report = pass_at(world, SUNDAY + timedelta(hours=13))
    assert report.watch.alarms == ()
    assert report.deliver.sent == {"slack": 2}
