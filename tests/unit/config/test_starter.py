"""What `digest init` must know, which of it is open, and the file it writes."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.config.addresses import read_destination, read_smtp_url
from digest.config.display import write_toml
from digest.config.providers import OUTLOOK, OWN, PROVIDERS, Provider, guess_provider
from digest.config.starter import (
    Answers,
    Question,
    complete_schedule,
    drop_unused,
    list_open,
    log_in,
    make_name,
    write_starter,
)
from digest.model.errors import ConfigurationError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
READER = read_destination("mailto:you@gmail.com")
ALL = Answers(
    queries=("cat:cs.PF",), to=(read_destination("console"),), when="at once", contact="x@y.org"
)


def test_nothing_is_open_once_all_is_known_and_each_destination_opens_its_own_questions() -> None:
    assert list_open(Answers()) == [Question.QUERY, Question.TO, Question.CONTACT]
    assert list_open(ALL) == []
    mail = replace(ALL, to=(READER,))
    assert list_open(mail) == [Question.PROVIDER, Question.FROM]
    at_gmail = log_in(mail, PROVIDERS["gmail"], "")
    assert list_open(at_gmail) == [Question.PASSWORD]
    by_own_server = replace(mail, smtp="smtp://localhost:25", sender="you@gmail.com")
    assert list_open(by_own_server) == []
    slack = replace(ALL, to=(read_destination("slack:#papers"),))
    assert list_open(slack) == [Question.TOKEN]
    without_token = replace(slack, token_file=None)
    assert list_open(without_token) == []
    feed = replace(ALL, to=(read_destination("feed"),), when="")
    assert list_open(feed) == [Question.BASE_URL]


def test_where_one_logs_in_with_an_address_mail_comes_from_it() -> None:
    mail = replace(ALL, to=(READER,))
    known = log_in(mail, PROVIDERS["fastmail"], "me@fastmail.com")
    assert known.sender == "me@fastmail.com"
    assert known.smtp == "smtps://me@fastmail.com@smtp.fastmail.com:465"
    ses = log_in(mail, PROVIDERS["ses"], "AKIA/1", "eu-west-1")
    assert ses.sender == ""
    assert ses.smtp == "smtp+starttls://AKIA%2F1@email-smtp.eu-west-1.amazonaws.com:587"
    with pytest.raises(ConfigurationError, match="is not a mail server"):
        log_in(mail, PROVIDERS["ses"], "AKIA/1", "us east 1")
    without_region = log_in(mail, PROVIDERS["ses"], "AKIA/1")
    assert without_region.smtp == ""
    without_login = log_in(mail, PROVIDERS["mailgun"], "")
    assert without_login.smtp == ""


@pytest.mark.parametrize(
    "provider", [one for one in PROVIDERS.values() if one not in (OWN, OUTLOOK)]
)
def test_every_provider_says_what_it_takes_and_where_to_get_it(provider: Provider) -> None:
    mail = replace(ALL, to=(READER,))
    known = log_in(mail, provider, "me@example.org", "eu-west-1")
    assert read_smtp_url(known.smtp) == known.smtp
    assert provider.page.startswith("https://")
    assert provider.credential_label
    assert provider.notes


def test_after_a_change_of_mind_only_what_is_of_use_is_kept() -> None:
    with_password = replace(ALL, to=(READER,), password_file="mail.password")
    mail = log_in(with_password, PROVIDERS["gmail"], "")
    assert drop_unused(mail) == mail
    changed = drop_unused(replace(mail, to=ALL.to))
    assert changed.smtp == ""
    assert changed.sender == ""
    assert changed.password_file == ""
    by_own_server = drop_unused(replace(mail, smtp="smtp://localhost:25"))
    assert by_own_server.password_file == ""


def test_a_domain_tells_the_provider() -> None:
    assert guess_provider("you@googlemail.com") is PROVIDERS["gmail"]
    assert guess_provider("you@outlook.com") is OUTLOOK
    assert guess_provider("you@example.org") is None


def test_a_schedule_without_a_zone_gets_the_machines_own() -> None:
    assert complete_schedule("daily at 07:30", "Asia/Tokyo") == "daily at 07:30 Asia/Tokyo"
    assert complete_schedule("daily at 07:30 UTC", "Asia/Tokyo") == "daily at 07:30 UTC"
    assert complete_schedule("at once", "Asia/Tokyo") == "at once"
    with pytest.raises(ConfigurationError, match="'now and then Asia/Tokyo' is not a time"):
        complete_schedule("now and then", "Asia/Tokyo")
    with pytest.raises(ConfigurationError, match="Mars/Phobos"):
        complete_schedule("daily at 07:30", "Mars/Phobos")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("GPU performance", "gpu-performance"),
        ("cs.PF", "cs-pf"),
        ("Übersicht für μ", "ubersicht-fur"),
        ("!?", "papers"),
    ],
)
def test_words_make_a_name(text: str, name: str) -> None:
    assert make_name(text) == name


def test_five_lines_make_a_digest() -> None:
    mail = replace(ALL, to=(READER,), when="at once", contact="")
    known = log_in(mail, PROVIDERS["gmail"], "")
    _, *lines = write_starter(known, {}).splitlines()
    assert lines == [
        'follow = "cat:cs.PF"',
        'to = "mailto:you@gmail.com"',
        'when = "at once"',
        'mail.from = "you@gmail.com"',
        'mail.smtp = "smtp+starttls://you@gmail.com@smtp.gmail.com:587"',
    ]


def test_the_file_holds_what_was_answered_and_nothing_else() -> None:
    queries = ("cat:cs.PF", "ti:x")
    places = (read_destination("slack:#papers"), read_destination("feed"))
    known = replace(ALL, queries=queries, to=places, token_file="slack.token", when="")
    written = write_starter(known, {"store.url": "sqlite:///gpu.db"})
    assert tomllib.loads(written) == {
        "follow": ["cat:cs.PF", "ti:x"],
        "to": ["slack:#papers", "feed"],
        "slack": {"token_file": "slack.token"},
        "arxiv": {"contact": "x@y.org"},
        "store": {"url": "sqlite:///gpu.db"},
    }


@given(TEXTS)
def test_any_query_comes_back_from_the_file_as_it_was_given(query: str) -> None:
    written = write_starter(replace(ALL, queries=(query,)), {})
    read = tomllib.loads(written)
    assert read.get("follow", "") == query


@given(st.recursive(st.one_of(TEXTS, st.integers(), st.booleans()), st.lists, max_leaves=5))
def test_any_value_reads_back_from_the_toml_written_for_it(value: object) -> None:
    read = tomllib.loads(f"a = {write_toml(value)}")
    assert read["a"] == value
