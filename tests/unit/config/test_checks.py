from dataclasses import replace
from pathlib import Path

import pytest

from digest.config.addresses import REACHED
from digest.config.settings import SETTINGS
from digest.model.destinations import TRAITS, DestinationKind
from digest.model.polls import MOST_SEARCHED
from tests.unit.config.conftest import CONTACT, Load, Refuse

LOCAL = {
    "DIGEST_ARXIV_API_URL": "http://127.0.0.1:9/api/query",
    "DIGEST_ARXIV_OAI_URL": "http://127.0.0.1:9/oai",
    "DIGEST_TEST_CLOCK": "http://127.0.0.1:9/_control/now",
}
HOOK = "https://hooks.slack.com/services/T0001/B0002/abcDEF123"


def subscribe(to: str, name: str = "one") -> str:
    return (
        f'[queries]\nq = "cat:cs.PF"\n[[subscriptions]]\nname = "{name}"\nfollow = "q"\nto = {to}\n'
    )


def test_the_real_arxiv_is_not_asked_without_a_way_to_reach_the_operator(refuse: Refuse) -> None:
    error = refuse("", top='[arxiv]\ncontact = ""\n')
    assert "arxiv.contact: is empty" in error.message
    assert "block" in error.hint
    assert "arxiv.contact: is empty" in refuse("", top="").message


def test_more_queries_than_arxivs_search_is_asked_for_need_a_harvest(
    load: Load, refuse: Refuse
) -> None:
    top = f'{CONTACT}source = "query"\n'
    most = [f'q{number} = "ti:w{number}"' for number in range(MOST_SEARCHED)]
    assert len(load("\n".join(["[queries]", *most]), top=top).queries) == MOST_SEARCHED
    error = refuse("\n".join(["[queries]", *most, 'more = "ti:more"']), top=top)
    assert 'arxiv.source: is "query", and there are 31 saved queries' in error.message
    assert 'source = "harvest"' in error.hint


def test_an_arxiv_on_this_machine_needs_no_way_to_reach_anybody(load: Load) -> None:
    assert load("", top="", **LOCAL).arxiv.contact == ""


@pytest.mark.parametrize(
    ("place", "hosts"),
    [
        ("db.example.org/d", "db.example.org"),
        ("digest@/d?host=db1,::1,db2&port=5432,5432,5432", "db1, db2"),
        ("/d?host=db3.example.org", "db3.example.org"),
        ("127.0.0.1:5433/d", ""),
        ("/d?host=/var/run/postgresql", ""),
        ("db.example.org/d?sslmode=verify-full", ""),
    ],
)
def test_a_database_elsewhere_that_may_be_talked_to_in_the_clear_is_remarked_on(
    load: Load, place: str, hosts: str
) -> None:
    remarks = " ".join(load(DIGEST_STORE_URL=f"postgresql://{place}").warnings)
    assert (f"connection to {hosts} is not secure" in remarks) is bool(hosts)
    assert ("sslmode" in remarks) is bool(hosts)


def test_mail_needs_a_sender_as_soon_as_somebody_gets_mail(load: Load, refuse: Refuse) -> None:
    assert "mail.from: is missing" in refuse(subscribe('"mailto:a@example.org"')).message
    assert load(subscribe('"mailto:a@example.org"'), DIGEST_MAIL_FROM="d@example.org").subscriptions


def test_whoever_lets_people_subscribe_needs_a_page_and_a_sender_for_them(
    load: Load, refuse: Refuse
) -> None:
    page = {"DIGEST_WEB_BASE_URL": "https://d.example.org"}
    sender = {"DIGEST_MAIL_FROM": "d@example.org"}
    assert "web.base_url is missing" in refuse(DIGEST_WEB_SIGNUP="open", **sender).message
    assert "mail.from is missing" in refuse(DIGEST_WEB_SIGNUP="example.org", **page).message
    assert load(DIGEST_WEB_SIGNUP="open", **page, **sender).web.signup.admits("ada@example.com")
    assert load(DIGEST_WEB_SIGNUP="closed").web.signup.is_off


def test_a_password_needs_somebody_to_log_in(refuse: Refuse) -> None:
    error = refuse('[mail]\nsmtp = "smtps://mx.example.org"\n', DIGEST_MAIL_PASSWORD="hush")
    assert "mail.smtp: has no user name" in error.message
    assert "hush" not in error.message


def test_a_login_without_its_password_is_warned_of_so_that_other_commands_still_work(
    load: Load,
) -> None:
    config = load('[mail]\nsmtp = "smtps://me@mx.example.org"\n')
    assert "needs a password: set DIGEST_MAIL_PASSWORD" in config.warnings[0]


def test_no_password_is_sent_in_the_clear_but_to_this_machine(load: Load, refuse: Refuse) -> None:
    error = refuse('[mail]\nsmtp = "smtp://me@mx.example.org"\n', DIGEST_MAIL_PASSWORD="hush")
    assert "unencrypted" in error.message
    assert (
        load('[mail]\nsmtp = "smtp://me@localhost"\n', DIGEST_MAIL_PASSWORD="hush").warnings == ()
    )


def test_a_slack_channel_without_a_token_is_warned_of(load: Load) -> None:
    assert "need a token: set DIGEST_SLACK_TOKEN" in load(subscribe('"slack:#papers"')).warnings[0]
    assert load(subscribe('"slack:#papers"'), DIGEST_SLACK_TOKEN="xoxb-1").warnings == ()


def test_a_secret_that_any_kind_of_destination_needs_is_warned_of(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = replace(TRAITS[DestinationKind.CONSOLE], needs="zotero.key")
    monkeypatch.setitem(TRAITS, DestinationKind.CONSOLE, row)
    (warning,) = load(subscribe('["console", "feed"]')).warnings
    assert warning.startswith("console: destinations need a key: set DIGEST_ZOTERO_KEY,")
    assert load(subscribe('"console"'), DIGEST_ZOTERO_KEY="k").warnings == ()
    assert load(subscribe('"feed"')).warnings == ()


def test_a_webhook_without_an_address_is_warned_of_and_its_variable_named(load: Load) -> None:
    config = load(subscribe('"slack-webhook:my-team"'))
    variable = "DIGEST_SLACK_WEBHOOKS_MY_TEAM"
    assert config.warnings == (
        f"slack-webhook:my-team has no URL: set {variable} or {variable}_FILE",
    )
    assert config.incoming[DestinationKind.SLACK_WEBHOOK] == {}


def test_a_webhook_may_come_from_a_variable_a_file_or_the_configuration(
    load: Load, tmp_path: Path
) -> None:
    (tmp_path / "hook").write_text(HOOK + "\n")
    to = subscribe('"slack-webhook:team"')
    for config in (
        load(to, DIGEST_SLACK_WEBHOOKS_TEAM=HOOK),
        load(to, DIGEST_SLACK_WEBHOOKS_TEAM_FILE="hook"),
        load(f'[slack.webhooks]\nteam = "{HOOK}"\n' + to),
    ):
        assert config.incoming[DestinationKind.SLACK_WEBHOOK] == {"team": HOOK}
        assert HOOK not in repr(config)


def test_a_wrong_webhook_is_named_but_never_repeated(refuse: Refuse) -> None:
    error = refuse('[slack.webhooks]\nteam = "https://example.org/hush"\n')
    assert "slack.webhooks.team: is not the URL of an incoming webhook" in error.message
    assert "hush" not in error.message
    error = refuse(
        subscribe('"slack-webhook:team"'), DIGEST_SLACK_WEBHOOKS_TEAM="https://example.org/hush"
    )
    assert "DIGEST_SLACK_WEBHOOKS_TEAM: is not the URL" in error.message


def test_a_misspelt_webhook_variable_is_refused(refuse: Refuse) -> None:
    error = refuse(subscribe('"slack-webhook:team"'), DIGEST_SLACK_WEBHOOKS_TEMA=HOOK)
    assert error.hint == "Did you mean DIGEST_SLACK_WEBHOOKS_TEAM?"


def test_two_subscriptions_never_write_the_same_feed_file(load: Load, refuse: Refuse) -> None:
    second = '[[subscriptions]]\nname = "two"\nfollow = "q"\nto = "file:./feeds/../a.atom"\n'
    error = refuse(subscribe('"file:a.atom"') + second)
    assert "subscriptions.two.to: file:" in error.message
    assert "is also written by one" in error.message
    assert load(subscribe('"file:a.atom"') + second.replace("a.atom", "b.atom")).subscriptions
    assert load(subscribe('"file:mails/"') + second.replace("a.atom", "mails/")).subscriptions


def test_a_test_clock_is_taken_where_every_outside_address_is_on_this_machine(load: Load) -> None:
    config = load(
        subscribe('["slack:#papers", "slack-webhook:team", "mailto:a@example.org"]'),
        top="",
        **LOCAL,
        DIGEST_MAIL_FROM="d@example.org",
        DIGEST_MAIL_SMTP="smtp://127.0.0.1:2525",
        DIGEST_SLACK_TOKEN="xoxb-1",
        DIGEST_SLACK_URL="http://127.0.0.1:8/api/",
        DIGEST_SLACK_WEBHOOKS_TEAM="http://127.0.0.1:8/services/x",
        DIGEST_WEB_BASE_URL="http://127.0.0.1:8000",
    )
    assert config.test_clock == "http://127.0.0.1:9/_control/now"
    assert config.origins["test_clock"] == "DIGEST_TEST_CLOCK"


@pytest.mark.parametrize(
    ("variable", "url", "key"),
    [
        ("DIGEST_ARXIV_API_URL", "https://export.arxiv.org/api/query", "arxiv.api_url"),
        ("DIGEST_ARXIV_OAI_URL", "https://oaipmh.arxiv.org/oai", "arxiv.oai_url"),
        ("DIGEST_MAIL_SMTP", "smtp://mx.example.org", "mail.smtp"),
        ("DIGEST_WEB_BASE_URL", "https://digest.example.org", "web.base_url"),
        ("DIGEST_SLACK_TOKEN", "xoxb-1", "slack.url"),
        ("DIGEST_SLACK_WEBHOOKS_TEAM", HOOK, "slack.webhooks.team"),
        ("DIGEST_TEST_CLOCK", "http://clock.example.org/now", "test_clock"),
    ],
)
def test_a_test_clock_is_refused_while_anybody_outside_could_be_reached(
    refuse: Refuse, variable: str, url: str, key: str
) -> None:
    error = refuse(
        subscribe('"slack-webhook:team"'),
        **{"DIGEST_SLACK_WEBHOOKS_TEAM": "http://127.0.0.1:8/x", **LOCAL, variable: url},
    )
    assert (
        f"DIGEST_TEST_CLOCK: needs all addresses on this machine; these are not: {key}"
        in error.message
    )
    assert "127.0.0.1" in error.hint


def test_every_setting_that_is_an_address_on_the_web_is_known_to_a_test_clock() -> None:
    named = {one.key for one in SETTINGS if one.name.endswith("url")} - {"store.url"}
    assert named <= {one.key for one in SETTINGS if one.read in REACHED}


def test_a_slack_channel_alone_makes_slacks_address_an_outside_one(refuse: Refuse) -> None:
    assert "slack.url" in refuse(subscribe('"slack:#papers"'), **LOCAL).message


def test_a_wrong_contact_is_told_once_and_not_as_a_missing_one_too(refuse: Refuse) -> None:
    error = refuse('[arxiv]\ncontact = "someone"\n', top="")
    assert "'someone' is not a mail address or web page" in error.message
    assert "is empty" not in error.message
    assert "is empty" in refuse('[arxiv]\ncontact = ""\n', top="").message
    by_variable = refuse("", top="[arxiv]\n", DIGEST_ARXIV_CONTACT="someone")
    assert "is empty" not in by_variable.message
