from pathlib import Path

import pytest

from digest.model.subscriptions import SavedQuery
from tests.unit.config.conftest import Load, Refuse

TOP = 'arxiv.contact = "ops@example.org"\n'
SHORT = 'follow = "cat:cs.PF"\nto = "feed"\n'
QUERIES = '[queries]\nperf = "cat:cs.PF"\ngpu = "abs:GPU"\n'


def table(**keys: str) -> str:
    values = {"name": '"perf-team"', "follow": '["perf"]', "to": '"feed"', **keys}
    lines = [f"{key} = {value}\n" for key, value in values.items() if value]
    return "[[subscriptions]]\n" + "".join(lines)


@pytest.mark.parametrize(
    ("keys", "words", "hint"),
    [
        ({"name": ""}, "subscriptions no. 1.name: is missing", "Write name = "),
        ({"follow": ""}, "subscriptions.perf-team.follow: is missing", "Write follow = "),
        ({"to": ""}, "subscriptions.perf-team.to: is missing", "Write to = "),
        ({"name": '"Perf Team"'}, "'Perf Team' can't be a name", "small letters"),
        ({"name": "5"}, "subscriptions no. 1.name: must be text", ""),
        ({"follow": '["perv"]'}, "there is no saved query 'perv'", "Did you mean 'perf'?"),
        (
            {"read_first": '["perf", "perv"]'},
            "read_first: there is no saved query 'perv'",
            "Did you mean 'perf'?",
        ),
        (
            {"read_last": '"math.CO"'},
            "read_last: there is no saved query 'math.CO'",
            '"cat:math.CO"',
        ),
        ({"follow": '["zzz"]'}, "there is no saved query 'zzz'", '"all:zzz"'),
        ({"follow": '["cs.*"]'}, "there is no saved query 'cs.*'", '"cat:cs.*"'),
        ({"follow": '"cs.PF"'}, "there is no saved query 'cs.PF'", '"cat:cs.PF"'),
        ({"follow": '"   "'}, "holds an empty query", "cat:"),
        ({"follow": f'"{"GPU " * 126}"'}, "a query of more than 500 characters", "[queries]"),
        ({"follow": '["perf", "perf"]'}, "names 'perf' twice", ""),
        ({"follow": "[]"}, "follows nothing", "follow = "),
        ({"follow": "5"}, "must be text", ""),
        ({"to": "[]"}, "names no destination", "feed"),
        ({"to": '"mail: reader@example.org"'}, "is not a destination", "mailto:"),
        ({"to": '"mailto:reader"'}, "'reader' is not an e-mail address", "reader@example.org"),
        ({"to": '["feed", "feed"]'}, "names 'feed' twice", ""),
        (
            {"to": '["mailto:A@example.org", "mailto:a@EXAMPLE.org"]'},
            "names 'mailto:a@example.org' twice",
            "",
        ),
        ({"to": '"slack:papers"'}, "'slack:papers' is not a Slack channel", "slack:#papers"),
        ({"to": '"slack:papers channel"'}, "is not a Slack channel", "no space, comma or colon"),
        ({"to": '"slack:#"'}, "is not a Slack channel", "slack:#papers or"),
        ({"to": '"slack-webhook:"'}, "has no address", ""),
        ({"when": '"sometimes"'}, "'sometimes' is not a time", "weekdays at 09:00"),
        ({"when": "7"}, "must be text", ""),
        ({"kinds": '["old"]'}, "'old' is not one of new, cross-listed", ""),
        ({"when_empty": '"loud"'}, "'loud' is not one of", ""),
        ({"show": "-1"}, "whole number from 1", ""),
        ({"group_by": '"author"'}, "'author' is not one of kind, query", ""),
        ({"abstracts": '"long"'}, "'long' is not one of short, full, none", ""),
        ({"look_back": '"week"'}, "a time of 0 to 365 days", "7 days"),
        ({"title": '"a\\nb"'}, "must be one line", ""),
        ({"quiet_hours": '"nights"'}, "'nights' are not hours of a day", "22:00-07:00"),
        (
            {"quiet_hours": '"22:00-07:00"'},
            "needs a time zone, because 'on announcement' has none",
            "Europe/Berlin",
        ),
        ({"query": '"perf"'}, "subscriptions.perf-team.query: there is no such setting", "follow"),
    ],
)
def test_a_mistake_in_a_subscription_is_named_with_key_and_mending(
    refuse: Refuse, keys: dict[str, str], words: str, hint: str
) -> None:
    error = refuse(QUERIES + table(**keys))
    assert words in error.message
    assert hint in error.hint


def test_every_wrong_destination_and_query_of_a_subscription_is_named_at_once(
    refuse: Refuse,
) -> None:
    wrong = table(follow='["perv", "gpu", "none"]', to='["mailto:foo", "slak:#x", "feed"]')
    error = refuse(QUERIES + wrong)
    for one in ("'perv'", "'none'", "'foo' is not an e-mail address", "'slak:#x'"):
        assert one in error.message


def test_queries_and_destinations_may_be_one_text_or_a_list(load: Load) -> None:
    texts = table(follow='"perf"', to='"feed"')
    lists = table(follow='["perf"]', to='["feed"]')
    assert load(QUERIES + texts).subscriptions == load(QUERIES + lists).subscriptions


def test_what_is_read_first_and_last_is_a_name_or_a_text_and_a_text_is_listed_with_its_place(
    load: Load,
) -> None:
    written = table(read_first='["perf", "ti:(broken"]', read_last='"ti:survey"')
    config = load(QUERIES + written)
    assert config.subscriptions[0].read_first == ("perf", "ti:(broken")
    own = config.list_texts()[-2:]
    assert dict(own) == {
        "subscriptions.perf-team.read_first": "ti:(broken",
        "subscriptions.perf-team.read_last": "ti:survey",
    }


def test_papers_and_queries_to_exclude_are_read(load: Load) -> None:
    written = table(
        exclude="'ti:(broken'", exclude_papers='["arXiv:2611.14886v2", "hep-th/9901001"]'
    )
    (subscription,) = load(QUERIES + written).subscriptions
    # A query is judged when it is used, like a saved one.
    assert subscription.exclude == ("ti:(broken",)
    papers = [str(id_) for id_ in subscription.exclude_papers]
    assert papers == ["2611.14886", "hep-th/9901001"]


def test_two_subscriptions_of_one_name_are_refused(refuse: Refuse) -> None:
    error = refuse(QUERIES + table() + table())
    said = "subscriptions.perf-team.name: two subscriptions have the name 'perf-team'"
    assert said in error.message


def test_a_query_may_be_written_where_it_is_followed_and_is_the_same_in_every_subscription(
    load: Load,
) -> None:
    text = "cat:cs.PF AND abs:GPU"
    with_more_blanks = text.replace(" AND", "  AND")
    one = table(name='"s0"', follow=f'["perf", "{with_more_blanks}"]')
    other = table(name='"s1"', follow=f'["perf", "{text}"]')
    config = load(QUERIES + one + other)
    assert config.queries[2:] == (SavedQuery(text, text),)
    followed = {subscription.queries for subscription in config.subscriptions}
    assert followed == {("perf", text)}
    places = [query.place for query in config.queries]
    assert places == ["queries.perf", "queries.gpu", f"follow '{text}'"]
    assert not any(text in key for key in config.origins)


def test_a_file_destination_is_seen_from_the_folder_and_a_name_of_slack_kept(load: Load) -> None:
    to = table(to='["file:out/", "FILE:feeds/../Gpu.ATOM", "slack:C0123456789", "console"]')
    config = load(QUERIES + to, DIGEST_SLACK_TOKEN="x")
    destinations = [str(one) for one in config.subscriptions[0].destinations]
    assert destinations == ["file:out/", "file:Gpu.ATOM", "slack:C0123456789", "console"]


SENDER = {"DIGEST_MAIL_FROM": "digest@example.org"}
MEMBERS = (
    "\ufeff# our group\r\nAda@Example.org\r\n\r\n  Bob B. <bob@example.org>  # since May\r\n"
    "ada@example.org\nno address\nc#d@example.org\ntwo@a.org three@a.org\n"
    '"Eve, E." <MAILTO:eve@example.org>,\n"mailto:fay@example.org";\n'
)


def test_a_file_of_addresses_is_read_line_by_line_and_odd_lines_are_named_and_left_out(
    load: Load, tmp_path: Path
) -> None:
    (tmp_path / "members.txt").write_text(MEMBERS, encoding="utf-8", newline="")
    to = table(to='["mailto:bob@example.org", "feed", "mailto:@members.txt"]')
    config = load(QUERIES + to, **SENDER)
    destinations = [str(one) for one in config.subscriptions[0].destinations]
    assert destinations == [
        "mailto:bob@example.org",
        "feed",
        "mailto:ada@example.org",
        "mailto:c#d@example.org",
        "mailto:eve@example.org",
        "mailto:fay@example.org",
    ]
    left_out = [warning.partition(" is left out")[0] for warning in config.warnings]
    assert left_out == ["line 6 of members.txt", "line 8 of members.txt"]
    assert config.origins["subscriptions.perf-team.to"] == "digest.toml, members.txt"


@pytest.mark.parametrize(
    "content", [None, b"", b"# nobody yet\n", b"no address\n", b"\xff\xfea\x00"]
)
def test_a_file_of_addresses_that_names_nobody_is_refused_so_that_nobody_is_unsubscribed_by_it(
    refuse: Refuse, tmp_path: Path, content: bytes | None
) -> None:
    members = tmp_path / "members.txt"
    if content is not None:
        members.write_bytes(content)
    to = table(to='"mailto:@members.txt"')
    error = refuse(QUERIES + to, **SENDER)
    assert f"subscriptions.perf-team.to: {members} " in error.message
    names_line = "line 1 of members.txt is left out" in error.message
    assert names_line is (content == b"no address\n")
    of_alarms = refuse('[alarms]\nto = "mailto:@members.txt"\n', **SENDER)
    assert "is a file of addresses" in of_alarms.message


def test_quiet_hours_are_inherited_and_can_be_given_up(load: Load) -> None:
    defaults = '[defaults]\nwhen = "daily at 08:00 Asia/Tokyo"\nquiet_hours = "22:00-07:00"\n'
    inherits = table()
    gives_up = table(name='"loud"', quiet_hours='""')
    has_own = table(name='"own"', quiet_hours='"12:00-13:00"')
    config = load(QUERIES + defaults + inherits + gives_up + has_own)
    found = {one.name: str(one.quiet_hours or "") for one in config.subscriptions}
    assert found == {"perf-team": "22:00-07:00", "loud": "", "own": "12:00-13:00"}


def test_hours_without_a_zone_do_not_fit_what_waits_for_no_clock_even_when_inherited(
    refuse: Refuse,
) -> None:
    defaults = '[defaults]\nwhen = "daily at 08:00 Asia/Tokyo"\nquiet_hours = "22:00-07:00"\n'
    at_once = table(when='"at once"')
    error = refuse(QUERIES + defaults + at_once)
    said = "subscriptions.perf-team.quiet_hours: needs a time zone, because 'at once' has none"
    assert said in error.message


def test_the_only_subscription_is_written_at_the_top_of_the_file(
    load: Load, refuse: Refuse
) -> None:
    config = load(f"show = 5\n{SHORT}", top=TOP)
    (only,) = config.subscriptions
    assert only.name == "digest"
    assert only.queries == ("cat:cs.PF",)
    assert only.show == 5
    assert only.look_back == 7
    assert config.origins["follow"] == "digest.toml"
    assert config.origins["look_back"] == "defaults.look_back"
    assert config.list_texts() == [("follow 'cat:cs.PF'", "cat:cs.PF")]
    (named,) = load(f'name = "perf"\n{SHORT}', top=TOP).subscriptions
    assert named.name == "perf"
    error = refuse('follow = "cat:cs.PF"\n')
    assert "at the top of the file" in error.hint, "below [arxiv]"
    error = refuse('to = "feed"\n', top=TOP)
    assert error.message.endswith("follow: is missing")


def test_beside_tables_of_subscriptions_it_is_refused_with_the_lines_to_write(
    refuse: Refuse,
) -> None:
    error = refuse(SHORT + QUERIES + table(), top=TOP)
    assert "follow: [[subscriptions]] is there, too" in error.message
    lines = '[[subscriptions]]\nname = "digest"\nfollow = "cat:cs.PF"\nto = "feed"'
    assert error.hint.endswith(lines)
    error = refuse(f'when = "at once"\n{QUERIES}{table()}', top=TOP)
    assert error.hint == "Put it below [defaults]."


def test_arxivs_contact_is_the_sender_of_mail_unless_said_otherwise(load: Load) -> None:
    sender = 'mail.from = "digest@example.org"\n'
    by_sender = load(sender, top="")
    assert by_sender.arxiv.contact == "digest@example.org"
    contact = 'arxiv.contact = "ops@example.org"\n'
    by_itself = load(f"{sender}{contact}", top="")
    assert by_itself.arxiv.contact == "ops@example.org"
