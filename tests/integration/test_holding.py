"""What is refused waits, is tried again by itself, and is sent: all of it, once, in order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from digest.deliver.rules import Step
from digest.model.clock import ManualClock
from digest.model.errors import Refusal
from digest.model.messages import DeliveryState
from digest.serve.steps import PassReport, run_pass
from digest.store import attempts
from digest.store.attempts import StoredDelivery
from tests.fakes.loopback import Answer, LoopbackServer
from tests.fakes.workspace import SlackChannel
from tests.harness.serving import wait_until
from tests.integration.alarming import operator_mails
from tests.integration.web.world import EVENING, World, make_paper

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
PAPERS = "slack:C000PAPERS"
LAB = "slack:C000LAB000"
CHANNEL = SlackChannel("C000PAPERS", "papers")
TITLES = (
    "Tail latency on shared GPUs",
    "A paper of Sunday",
    "A paper of Monday",
    "A paper of Tuesday",
)
MORNINGS = [EVENING + days * DAY for days in (0, 3, 4, 5)]
SUBMITTED = [datetime(2026, 11, day, 12, 0, tzinfo=UTC) for day in (20, 22, 24)]


@pytest.fixture
def days(world: World) -> World:
    """Have a paper come out on each of three days after the first; all goes out at once."""
    for title, submitted in zip(TITLES[1:], SUBMITTED, strict=True):
        world.arxiv.add(make_paper(15_900 + submitted.day, title, submitted))
    world.slack.workspace.channels["C000LAB000"] = SlackChannel("C000LAB000", "lab")
    write(world, PAPERS, LAB)
    return world


def write(world: World, *to: str) -> None:
    world.write_config(to=to, when="at once")


def live(world: World, *moments: datetime) -> list[PassReport]:
    """Make a pass at each of some moments."""
    assert isinstance(world.clock, ManualClock)
    reports = []
    for moment in moments:
        world.clock.set(max(moment, world.clock.now()))
        with closing(world.open()) as site:
            reports.append(run_pass(site, poll_anyway=True))
    return reports


def stored(world: World) -> list[StoredDelivery]:
    with closing(world.open()) as site, site.store.read() as conn:
        return attempts.load_stored_deliveries(conn)[::-1]


def held(world: World) -> set[tuple[str, Refusal | None]]:
    return {
        (str(one.delivery.destination), one.delivery.refusal)
        for one in stored(world)
        if one.delivery.state is DeliveryState.HELD
    }


def read_posts(world: World, channel: str = "C000PAPERS") -> list[str]:
    """Return which day's title each post to a channel begins with, those in threads aside."""
    posts = [one for one in world.slack.messages if one.channel == channel and not one.thread_ts]
    return [next(title for title in TITLES if title in json.dumps(one.payload)) for one in posts]


def list_replies(world: World) -> list[str]:
    return [one.client_msg_id for one in world.slack.messages if one.thread_ts]


PLACES = (
    *("not_in_channel", "is_archived", "channel_not_found", "restricted_action", "no_permission"),
    *("restricted_action_read_only_channel", "channel_is_limited_access", "messages_tab_disabled"),
    *(
        "team_access_not_granted",
        "access_denied",
        "team_not_found",
        "user_not_found",
        "cannot_dm_bot",
    ),
)
ACCOUNTS = (
    *(
        "token_revoked",
        "token_expired",
        "account_inactive",
        "invalid_auth",
        "not_authed",
        "missing_scope",
    ),
    *("not_allowed_token_type", "accesslimited", "ekm_access_denied", "enterprise_is_restricted"),
    *("two_factor_setup_required", "app_access_restricted", "metadata_must_be_sent_from_app"),
)


def test_what_a_channel_refuses_is_sent_there_when_it_is_mended_and_stops_no_other(
    days: World,
) -> None:
    rooms = {f"C000PLACE{number:02}": code for number, code in enumerate(PLACES)}
    days.slack.workspace.channels |= {id_: SlackChannel(id_, id_.lower()) for id_ in rooms}
    days.slack.workspace.refusals |= rooms
    write(days, LAB, *(f"slack:{id_}" for id_ in rooms))
    first, second = live(days, *MORNINGS[:2])
    assert held(days) == {(f"slack:{id_}", Refusal.PLACE) for id_ in rooms}
    assert read_posts(days, "C000LAB000") == list(TITLES[:2])
    assert [len(one.held.ids) for one in (first, second)] == [2 * len(rooms), 4 * len(rooms)], (
        "with their threads"
    )
    assert days.slack.calls.count("chat.postMessage") == 4 + 2 * len(rooms), (
        "the newer one is not tried"
    )
    days.slack.workspace.refusals.clear()
    live(days, MORNINGS[2])
    for id_ in rooms:
        assert read_posts(days, id_) == list(TITLES[:3])
    assert held(days) == set()


def test_what_is_refused_to_the_token_is_sent_everywhere_when_it_is_mended(days: World) -> None:
    days.slack.trouble = ACCOUNTS[0]
    live(days, MORNINGS[0])
    for number, code in enumerate(ACCOUNTS[1:], start=1):
        days.slack.trouble = code
        live(days, MORNINGS[0] + number * 6 * HOUR)
        assert held(days) == {(PAPERS, Refusal.ACCOUNT), (LAB, Refusal.ACCOUNT)}
    assert days.slack.calls.count("chat.postMessage") <= 2 + len(ACCOUNTS), "one for both channels"
    days.slack.trouble = ""
    live(days, MORNINGS[2])
    assert read_posts(days) == read_posts(days, "C000LAB000")
    assert set(read_posts(days)) == set(TITLES[:3])
    assert len(set(list_replies(days))) == len(list_replies(days))


def archive(world: World) -> None:
    world.slack.workspace.channels["C000PAPERS"] = replace(CHANNEL, is_archived=True)


def expel(world: World) -> None:
    world.slack.workspace.channels["C000PAPERS"] = replace(CHANNEL, is_member=False)


def close(world: World) -> None:
    world.slack.workspace.channels["C000PAPERS"] = replace(
        CHANNEL, is_member=False, is_private=True
    )


def rename(world: World) -> None:
    world.slack.workspace.channels["C000PAPERS"] = replace(CHANNEL, name="papers-old")


@pytest.mark.parametrize(
    ("spoil", "to"),
    [
        *((spoil, "slack:#papers") for spoil in (archive, expel, close, rename)),
        (close, PAPERS),
        (rename, PAPERS),
    ],
)
def test_a_channel_is_found_again_by_its_name_or_id_once_it_is_as_it_was(
    days: World, spoil: Callable[[World], None], to: str
) -> None:
    write(days, to)
    spoil(days)
    live(days, *MORNINGS[:2])
    is_named = spoil is not rename or to != PAPERS
    assert held(days) == ({(to, Refusal.PLACE)} if is_named else set()), (
        "an id stays when the name changes"
    )
    days.slack.workspace.channels["C000PAPERS"] = CHANNEL
    live(days, MORNINGS[2])
    assert read_posts(days) == list(TITLES[:3])


def test_a_scope_that_looking_up_names_needs_stops_no_channel_that_is_known_by_its_id(
    days: World,
) -> None:
    write(days, "slack:#papers", LAB)
    days.slack._scopes = frozenset({"chat:write"})
    live(days, *MORNINGS[:2])
    assert read_posts(days, "C000LAB000") == list(TITLES[:2])
    assert held(days) == {("slack:#papers", Refusal.PLACE)}


def test_a_token_that_is_missing_for_a_while_costs_nothing(days: World) -> None:
    token = days.environ.pop("DIGEST_SLACK_TOKEN")
    live(days, *MORNINGS[:2])
    assert {refusal for _, refusal in held(days)} == {Refusal.ACCOUNT}
    days.environ["DIGEST_SLACK_TOKEN"] = token
    live(days, MORNINGS[2])
    assert read_posts(days) == list(TITLES[:3])


def test_nothing_newer_coming_it_is_tried_every_six_hours_and_no_more_often(days: World) -> None:
    days.slack.workspace.refusals["C000PAPERS"] = "not_in_channel"
    began = days.slack.calls.count("chat.postMessage")
    live(days, *(MORNINGS[0] + number * HOUR for number in range(25)))
    lab = sum(one.channel == "C000LAB000" for one in days.slack.messages)
    assert days.slack.calls.count("chat.postMessage") - began - lab == 5


def test_after_seven_days_it_is_given_up_and_named_and_not_before(days: World) -> None:
    days.slack.workspace.refusals["C000PAPERS"] = "is_archived"
    began = MORNINGS[0]
    reports = live(days, *(began + number * timedelta(hours=12) for number in range(18)))
    named = [
        [one.destination.address for one in report.deliver.failures if one.step is Step.GIVE_UP]
        for report in reports
    ]
    gave_up = next(number for number, one in enumerate(named) if one)
    assert timedelta(days=7) <= timedelta(hours=12) * gave_up <= timedelta(days=7, hours=12)
    assert set(named[gave_up]) == {"C000PAPERS"}
    states = [one.delivery.state for one in stored(days) if str(one.delivery.destination) == PAPERS]
    assert states[:2] == [DeliveryState.DEAD] * 2, "with its thread"
    assert all(report.held.ids for report in reports), "the later days wait on"
    days.slack.workspace.refusals.clear()
    live(days, began + 10 * DAY)
    assert read_posts(days) == list(TITLES[1:])


def test_wrong_content_is_given_up_at_once_and_blocks_nothing(days: World) -> None:
    days.slack.workspace.refusals["C000PAPERS"] = "invalid_blocks"
    live(days, MORNINGS[0])
    days.slack.workspace.refusals.clear()
    live(days, MORNINGS[1])
    assert read_posts(days) == [TITLES[1]]
    assert held(days) == set()


def test_a_thread_that_is_gone_costs_its_own_part_alone(days: World) -> None:
    days.slack.faults.add("ratelimited", path="chat.postMessage", skip=1, times=1)
    write(days, PAPERS)
    live(days, MORNINGS[0])
    days.slack.workspace._messages.clear()
    live(days, MORNINGS[0] + HOUR)
    live(days, MORNINGS[1])
    assert held(days) == set()
    assert read_posts(days) == [TITLES[1]]


def test_a_probe_whose_answer_is_lost_is_found_and_the_others_follow(days: World) -> None:
    write(days, PAPERS)
    archive(days)
    live(days, *MORNINGS[:2])
    days.slack.workspace.channels["C000PAPERS"] = CHANNEL
    days.slack.faults.add("drop_after", path="chat.postMessage")
    live(days, MORNINGS[1] + 7 * HOUR, MORNINGS[1] + 8 * HOUR)
    assert read_posts(days) == list(TITLES[:2])


def test_what_goes_to_a_channel_that_the_file_no_longer_names_is_not_tried(days: World) -> None:
    write(days, PAPERS)
    archive(days)
    live(days, MORNINGS[0])
    days.slack.workspace.channels["C000PAPERS"] = CHANNEL
    write(days, LAB)
    live(days, MORNINGS[1])
    assert read_posts(days) == []
    states = {one.delivery.state for one in stored(days) if str(one.delivery.destination) == PAPERS}
    assert states == {DeliveryState.SUPPRESSED}


# Mail: a real SMTP server that says it.


def read_mails(world: World, reader: str) -> list[str]:
    mails = [one for one in world.mail.mails if one.recipients == (f"{reader}@example.org",)]
    return [next(title for title in TITLES if title in one.message.as_string()) for one in mails]


READERS = ("mailto:ada@example.org", "mailto:bo@example.org", "mailto:cy@example.org")


@pytest.mark.parametrize(
    ("step", "reply"),
    [
        ("CONNECT", "554 5.7.1 no mail from here"),
        ("MAIL", "553 5.1.8 sender not allowed"),
    ],
)
def test_a_mail_server_that_refuses_our_sender_is_asked_with_one_mail_and_then_gets_all(
    days: World, step: str, reply: str
) -> None:
    days.environ["DIGEST_MAIL_CONNECTIONS"] = "1"
    write(days, *READERS)
    days.mail.script.reply(step, reply, times=2)
    live(days, *MORNINGS[:2])
    assert days.mail.script.waiting == 0
    assert held(days) == {(reader, Refusal.ACCOUNT) for reader in READERS}
    live(days, MORNINGS[2])
    for name in ("ada", "bo", "cy"):
        assert read_mails(days, name) == list(TITLES[:3])


def test_a_refused_login_is_tried_with_one_mail(days: World) -> None:
    days.mail.login = ("me", "right")
    days.environ["DIGEST_MAIL_PASSWORD"] = "wrong"
    days.environ["DIGEST_MAIL_SMTP"] = days.mail.url.replace("://", "://me@")
    write(days, *READERS)
    live(days, *MORNINGS[:2])
    assert {refusal for _, refusal in held(days)} == {Refusal.ACCOUNT}
    days.environ["DIGEST_MAIL_PASSWORD"] = "right"
    live(days, MORNINGS[2])
    assert read_mails(days, "bo") == list(TITLES[:3])


def test_a_server_that_relays_to_some_readers_only_keeps_none_of_these_waiting(days: World) -> None:
    write(days, *READERS)
    days.mail.script.reply("RCPT", "554 5.7.1 Relay access denied", times=2, match="ada@")
    live(days, *MORNINGS[:2])
    assert held(days) == {(READERS[0], Refusal.PLACE)}
    assert read_mails(days, "bo") == list(TITLES[:2])
    live(days, MORNINGS[2])
    assert read_mails(days, "ada") == list(TITLES[:3])


def test_a_refusal_of_all_readers_alike_is_held_for_each_and_given_up_after_seven_days(
    days: World,
) -> None:
    write(days, *READERS)
    days.mail.script.reply("RCPT", "550 no", times=1_000)
    reports = live(days, MORNINGS[0], MORNINGS[0] + DAY, MORNINGS[0] + 8 * DAY)
    assert [len(one.held.ids) for one in reports[:2]] == [3, 3]
    given_up = [one for one in reports[2].deliver.failures if one.step is Step.GIVE_UP]
    assert sorted(str(one.destination) for one in given_up) == sorted(READERS)


@pytest.mark.parametrize(
    ("step", "reply"),
    [
        (
            "END",
            (
                "554 Message rejected: Email address is not verified."
                " The following identities failed the check"
            ),
        ),
        ("END", "554 Transaction failed: Sending paused for this account."),
        ("END", "554 5.2.252 SendAsDenied; me@example.org not allowed to send as you@example.org"),
        ("END", "554 5.2.0 STOREDRV.Submission.Exception:SendAsDeniedException.MapiException"),
        ("END", "554 5.2.0 STOREDRV.Submission.Exception:OutboundSpamException; Failed to process"),
        ("END", "550 5.7.1 [OVH] Account has been blocked for spam"),
    ],
)
def test_a_sender_that_is_refused_after_the_data_is_held_with_one_reader_too_and_sent_once_mended(
    days: World, step: str, reply: str
) -> None:
    write(days, READERS[0])
    days.mail.script.reply(step, reply)
    live(days, MORNINGS[0])
    assert held(days) == {(READERS[0], Refusal.PLACE)}
    live(days, MORNINGS[1])
    assert read_mails(days, "ada") == list(TITLES[:2])


@pytest.mark.parametrize(
    "reply",
    [
        "550 5.7.1 <ada@example.org>: Recipient address rejected: the list is limited to members",
        "550 5.7.1 Recipient address rejected: daily limit of this list exceeded",
        "452 4.5.3 Too many messages",
        "550 Quota exceeded",
        "550 Sorry, this user's daily incoming mail limit has been reached",
    ],
)
@pytest.mark.parametrize("connections", ["1", "4"])
def test_a_limit_that_one_readers_server_names_for_days_keeps_nobody_elses_mail_back_and_ends(
    days: World, reply: str, connections: str
) -> None:
    days.environ["DIGEST_MAIL_CONNECTIONS"] = connections
    write(days, *READERS)
    days.mail.script.reply("RCPT", reply, match="ada@", times=10_000)
    for number, moment in enumerate(MORNINGS, start=1):
        live(days, moment)
        for name in ("bo", "cy"):
            assert read_mails(days, name) == list(TITLES[:number])
    live(days, *(MORNINGS[3] + number * 6 * HOUR for number in range(1, 40)))
    assert read_mails(days, "ada") == []
    states = {one.delivery.state for one in stored(days) if "ada" in str(one.delivery.destination)}
    assert states == {DeliveryState.DEAD}
    assert {name for name, _ in held(days)} == set()


@pytest.mark.parametrize(
    "reply",
    [
        "452 4.5.3 Too many messages",
        "550 Quota exceeded",
        "550 5.4.5 Daily user sending limit exceeded",
    ],
)
def test_a_limit_of_all_readers_alike_that_stands_for_longer_than_the_usual_time_loses_no_mail(
    days: World, reply: str
) -> None:
    write(days, *READERS)
    days.mail.script.reply("RCPT", reply, times=10_000)
    live(days, *MORNINGS, *(MORNINGS[3] + number * 6 * HOUR for number in range(1, 28)))
    days.mail.script.clear()
    live(days, *(MORNINGS[3] + 8 * DAY + number * 6 * HOUR for number in range(4)))
    for name in ("ada", "bo", "cy"):
        assert sorted(read_mails(days, name)) == sorted(TITLES)


def test_an_address_that_does_not_exist_is_given_up_at_once_and_alone(days: World) -> None:
    write(days, *READERS)
    days.mail.script.reply("RCPT", "550 5.1.1 no such user", match="ada@")
    live(days, *MORNINGS[:2])
    assert held(days) == set()
    assert read_mails(days, "ada") == [TITLES[1]]
    (given_up,) = (one for one in stored(days) if one.delivery.state is DeliveryState.DEAD)
    assert given_up.delivery.refusal is Refusal.READER


# Webhooks: each is an address of its own.

SECRET = "whsec_aGlkZGVuIGhpZGRlbiBoaWRkZW4gaGlkZGVu"


TAKEN = {"slack-webhook": Answer(b"ok"), "discord": Answer(b"{}"), "webhook": Answer()}


@contextmanager
def listening(
    world: World, *spoiled: tuple[str, Answer]
) -> Iterator[tuple[Callable[[], None], LoopbackServer]]:
    """Have webhooks listen that answer so until they are mended, and a good one of each kind.

    They are mended by the function that is yielded.
    """
    answers = {f"/spoiled{number}": answer for number, (_, answer) in enumerate(spoiled)}
    kinds = {f"/spoiled{number}": kind for number, (kind, _) in enumerate(spoiled)}
    kinds |= {f"/good{number}": kind for number, kind in enumerate(TAKEN)}

    def mend() -> None:
        answers.clear()

    with LoopbackServer(
        lambda request: answers.get(request.path) or TAKEN[kinds[request.path]]
    ) as server:
        tables = []
        for path, kind in kinds.items():
            name = path.strip("/")
            url = f"{server.url}{path}"
            if kind == "webhook":
                tables.append(f'\n[webhooks.{name}]\nurl = "{url}"\n')
                world.environ[f"DIGEST_WEBHOOKS_{name.upper()}_SECRET"] = SECRET
            else:
                variable = "DISCORD" if kind == "discord" else "SLACK_WEBHOOKS"
                world.environ[f"DIGEST_{variable}_{name.upper()}"] = url
        to = tuple(f"{kind}:{path.strip('/')}" for path, kind in kinds.items())
        world.write_config(to=to, when="at once", extra="".join(tables))
        yield mend, server


def read_visits(server: LoopbackServer, path: str) -> list[str]:
    visits = [one for one in server.visits if one.path == path]
    return [next(title for title in TITLES if title in one.body.decode()) for one in visits]


def test_what_a_webhook_refuses_is_sent_when_it_is_mended_and_stops_no_other(days: World) -> None:
    spoiled = [
        ("slack-webhook", Answer(b"channel_is_archived", 410)),
        ("slack-webhook", Answer(b"no_service", 404)),
        ("slack-webhook", Answer(b"<html>proxy</html>", 403)),
        *(("discord", Answer(b"{}", status)) for status in (401, 403, 404)),
        *(("webhook", Answer(b"no", status)) for status in (401, 403, 404, 405, 410, 302)),
    ]
    with listening(days, *spoiled) as (mend, server):
        live(days, *MORNINGS[:2])
        assert held(days) == {
            (f"{kind}:spoiled{n}", Refusal.PLACE) for n, (kind, _) in enumerate(spoiled)
        }
        mend()
        live(days, MORNINGS[2])
        for number in range(len(spoiled)):
            refused, again, *sent = read_visits(server, f"/spoiled{number}")
            assert refused == again == TITLES[0], "the newer one waits"
            assert sent == list(TITLES[:3])
        for number in range(len(TAKEN)):
            assert read_visits(server, f"/good{number}") == list(TITLES[:3])


def test_content_that_a_webhook_does_not_take_is_given_up_and_blocks_nothing(days: World) -> None:
    spoiled = [
        ("slack-webhook", Answer(b"invalid_blocks", 400)),
        ("discord", Answer(b"Invalid Form Body", 400)),
        *(("webhook", Answer(b"no", status)) for status in (400, 413, 422)),
    ]
    with listening(days, *spoiled) as (mend, server):
        live(days, MORNINGS[0])
        mend()
        live(days, MORNINGS[1])
        for number in range(len(spoiled)):
            assert read_visits(server, f"/spoiled{number}") == list(TITLES[:2])
        assert held(days) == set()


def test_a_webhook_whose_answer_is_lost_waits_for_a_person_and_the_next_is_tried(
    days: World,
) -> None:
    archived = ("slack-webhook", Answer(b"channel_is_archived", 410))
    with listening(days, archived) as (mend, server):
        live(days, *MORNINGS[:2])
        mend()
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(TAKEN, "slack-webhook", Answer(b"", 500))
            live(days, MORNINGS[1] + 7 * HOUR)
        live(days, MORNINGS[1] + 8 * HOUR, MORNINGS[2])
        assert held(days) == {("slack-webhook:spoiled0", None)}, "of which nobody knows"
        assert read_visits(server, "/spoiled0")[-2:] == list(TITLES[1:3])


def test_a_webhook_that_the_settings_lack_for_a_while_gets_all(days: World) -> None:
    with listening(days) as (_, server):
        address = days.environ.pop("DIGEST_DISCORD_GOOD1")
        live(days, *MORNINGS[:2])
        assert held(days) == {("discord:good1", Refusal.PLACE)}
        days.environ["DIGEST_DISCORD_GOOD1"] = address
        live(days, MORNINGS[2])
        assert read_visits(server, "/good1") == list(TITLES[:3])


# What the operator is told, and does.

ADVISED = re.compile(r"`digest (delivery retry [^`]+)`")


def test_each_run_names_what_is_held_with_one_advice_that_works_and_ends_with_4(
    days: World,
) -> None:
    write(days, PAPERS)
    archive(days)
    clock = days.clock
    assert isinstance(clock, ManualClock)
    runs = []
    for _ in range(3):
        runs.append(days.call("run"))
        clock.set(clock.now() + HOUR)
    assert [one.returncode for one in runs] == [4, 4, 4]
    status = days.call("status")
    shown = days.call("delivery", "show", "1")
    said = [" ".join(one.stdout.split()) for one in (*runs, status)]
    assert {tuple(ADVISED.findall(text)) for text in said} == {("delivery retry --held",)}
    assert ADVISED.findall(" ".join(shown.stdout.split())) == ["delivery retry --held"]
    moments = {re.findall(r"next try is from (\S+ \S+) on", text)[0] for text in said}
    assert moments == set(
        re.findall(r"next try is from (\S+ \S+) on", " ".join(shown.stdout.split()))
    )
    days.slack.workspace.channels["C000PAPERS"] = CHANNEL
    assert days.call("delivery", "retry", "--held").returncode == 0
    done = days.call("run")
    assert (done.returncode, read_posts(days)) == (0, [TITLES[0]])
    assert "need" not in days.call("status").stdout.splitlines()[0]


COUNTED = re.compile(r"(\d+) messages?(?: to \S+)? needs? you")


def test_all_screens_count_alike_what_needs_the_operator_and_none_says_that_it_failed(
    days: World,
) -> None:
    write(days, PAPERS)
    archive(days)
    live(days, *MORNINGS[:2])
    for commands in (
        ("run", "status", "doctor --quick"),
        ("delivery retry 3", "status", "doctor --quick", "run", "status"),
    ):
        said = [" ".join(days.call(*one.split()).stdout.split()) for one in commands]
        said = [one for one, command in zip(said, commands, strict=True) if "retry" not in command]
        assert len({tuple(COUNTED.findall(one)[-1:]) for one in said[-2:]}) == 1
        assert all(COUNTED.search(one) for one in said)
        assert "fail" not in " ".join(said)
    assert days.call("run", "--json").returncode == 4


def test_doctor_warns_of_messages_that_wait_and_names_the_command(days: World) -> None:
    write(days, PAPERS)
    archive(days)
    live(days, MORNINGS[0])
    found = json.loads(days.call("doctor", "--quick", "--json").stdout)
    (one,) = (one for one in found["checks"] if one["check"] == "messages")
    assert (one["verdict"], found["verdict"]) == ("warning", "warning")
    assert ADVISED.findall(one["todo"]) == ["delivery retry --held"]
    shared = json.loads(days.call("doctor", "--quick", "--share", "--json").stdout)
    assert "C000PAPERS" not in json.dumps(shared)


def test_the_operator_hears_once_that_messages_need_him_and_once_that_all_were_sent(
    days: World,
) -> None:
    extra = '\n[alarms]\nto = ["mailto:ops@example.org"]\n'
    days.write_config(to=(PAPERS,), when="at once", extra=extra)
    archive(days)
    live(days, *(MORNINGS[0] + number * 6 * HOUR for number in range(20)))
    (told,) = operator_mails(days)
    assert told.startswith("Digest: a message to slack:C000PAPERS needs you: ")
    days.slack.workspace.channels["C000PAPERS"] = CHANNEL
    live(days, MORNINGS[-1] + DAY)
    assert len(set(read_posts(days))) == len(TITLES)
    (over,) = (one for one in operator_mails(days)[1:] if "needs you" in one)
    assert "needs you: over It was: a message to slack:C000PAPERS needs you: " in " ".join(
        over.split()
    )


def test_the_advice_of_status_sends_all_with_one_run_after_some_were_given_up(days: World) -> None:
    write(days, PAPERS)
    archive(days)
    live(days, *(MORNINGS[0] + number * 12 * HOUR for number in range(18)))
    days.slack.workspace.channels["C000PAPERS"] = CHANNEL
    assert days.call("delivery", "retry", "--failed").returncode == 0
    done = days.call("run")
    assert (done.returncode, "need" in done.stdout) == (0, False), done.stdout
    assert read_posts(days) == list(TITLES)


def test_a_retry_of_a_message_behind_others_says_that_these_are_tried_first(days: World) -> None:
    write(days, PAPERS)
    archive(days)
    live(days, *MORNINGS[:2])
    said = " ".join(days.call("delivery", "retry", "3").stdout.split())
    assert said.endswith("What was refused there before is tried first.")
    assert [
        one.delivery.id for one in stored(days) if one.delivery.state is DeliveryState.HELD
    ] == [1, 2, 4]
    days.call("run")
    tried = [one.delivery.attempts for one in stored(days)]
    assert tried == [3, 0, 0, 0]


def test_a_retry_of_what_is_not_there_says_what_is(days: World) -> None:
    write(days, "mailto:ada@example.org", "mailto:bo@example.org")
    days.mail.script.reply("RCPT", "451 4.3.0 try later", match="ada@", times=9)
    days.mail.script.reply("RCPT", "550 5.1.1 no such user", match="bo@", times=9)
    assert days.call("run").returncode == 4
    said = " ".join(days.call("delivery", "retry", "--held").stdout.split())
    advised = ADVISED.findall(said)
    assert sorted(advised) == ["delivery retry 1", "delivery retry 2"]
    assert re.search(r"next try is from today \d\d:\d\d on", said)
    days.mail.script.clear()
    for line in advised:
        assert days.call(*line.split()).returncode == 0
    assert days.call("run").returncode == 0
    assert [read_mails(days, name) for name in ("ada", "bo")] == [[TITLES[0]]] * 2


def test_what_waits_is_sent_sooner_by_one_command(days: World) -> None:
    write(days, *READERS)
    days.mail.script.reply("RCPT", "451 4.3.0 try later", times=3)
    days.call("run")
    assert "3 " in days.call("run").stdout
    (line,) = set(ADVISED.findall(" ".join(days.call("status").stdout.split())))
    assert line == "delivery retry --waiting"
    assert days.call(*line.split()).returncode == 0
    assert days.call("run").returncode == 0
    assert len(days.mail.mails) == 3


def test_doctor_reports_and_sends_nothing_of_what_is_held(days: World) -> None:
    write(days, PAPERS)
    archive(days)
    live(days, MORNINGS[0])
    days.slack.workspace.channels["C000PAPERS"] = CHANNEL
    days.call("doctor")
    assert days.slack.messages == ()
    assert held(days) == {(PAPERS, Refusal.PLACE)}


def test_serve_tries_again_by_itself_and_counts_by_kind_and_state(days: World) -> None:
    write(days, PAPERS, "mailto:ada@example.org")
    archive(days)
    with days.serve() as served:
        wait_until(lambda: days.mail.mails and held(days), 30)
        days.slack.workspace.channels["C000PAPERS"] = CHANNEL
        days.clock.sleep(6 * 3_600)
        wait_until(lambda: read_posts(days) == [TITLES[0]], 60)
        lines = [line for line in served.log if "deliver.held" in line]
        assert len(lines) == 1
