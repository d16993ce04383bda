from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.config import addresses
from digest.config.settings import INCOMING
from digest.model.destinations import TRAITS, DestinationKind
from digest.model.errors import ConfigurationError

FOLDER = Path("/srv/digest")
SLACK = DestinationKind.SLACK_WEBHOOK
DISCORD = DestinationKind.DISCORD
HOOK = "https://hooks.slack.com/services/T0001/B0002/abcDEF123"
DISCORD_HOOK = "https://discord.com/api/webhooks/1100000000000000001/abcDEF123"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        *(
            ("", True),
            ("http://127.0.0.1:8000/x", True),
            ("https://localhost", True),
            ("http://[::1]:80/", True),
        ),
        ("smtp://localhost:25", True),
        ("http://127.0.0.1.example.org", False),
        ("http://localhost@example.org", False),
        ("https://example.org/?127.0.0.1", False),
        ("http://10.0.0.1", False),
    ],
)
def test_only_this_machine_is_loopback(url: str, *, expected: bool) -> None:
    assert addresses.is_loopback(url) is expected


@pytest.mark.parametrize("text", ["someone", "example.org/digest"])
def test_who_can_be_reached_neither_by_mail_nor_on_the_web_is_told_both_forms(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a mail address or web page") as caught:
        addresses.read_reachable(text)
    assert "you@example.org or https://" in caught.value.hint


@given(
    st.text(
        st.characters(codec="ascii", exclude_characters="@:/", categories=["L", "N"]), max_size=8
    ),
    st.text(
        st.characters(codec="ascii", exclude_characters="@", exclude_categories=["Cc"]), min_size=4
    ).filter(lambda text: text not in "postgresql://@db.example.org/digest?***"),
)
def test_a_masked_url_never_shows_its_password(name: str, password: str) -> None:
    masked = addresses.mask_password(f"postgresql://{name}:{password}@db.example.org/digest")
    assert masked == f"postgresql://{name}:***@db.example.org/digest"


def test_a_password_among_the_options_is_masked_too() -> None:
    url = "postgresql://db.example.org/digest?user=d&password=hush&sslmode=require"
    assert addresses.mask_password(url) == url.replace("hush", "***")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://export.arxiv.org/api/query", "https://export.arxiv.org/api/query"),
        ("http://127.0.0.1:8080/oai/", "http://127.0.0.1:8080/oai"),
        ("https://api.example.org/", "https://api.example.org"),
    ],
)
def test_a_web_address_loses_its_trailing_slash(text: str, url: str) -> None:
    assert addresses.read_http_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "example.org",
            "ftp://example.org",
            "https://",
            "https://exa mple.org",
            "http://example.org:99999",
        ),
        *(
            "http://example.org:port",
            "http://example.org:0",
            "http://[::1",
            "http://name@example.org",
        ),
        *("http://name:hush@example.org", "http://example.org/?q=1", "http://example.org/#a"),
        "javascript:alert(1)",
    ],
)
def test_what_is_no_plain_web_address_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        addresses.read_http_url(text)
    assert "hush" not in caught.value.message
    assert caught.value.hint


def test_a_machines_name_is_a_host_name_in_small_letters_and_no_address() -> None:
    assert addresses.read_host_name("Mail-1.Example.ORG") == "mail-1.example.org"
    for wrong in (
        "172.17.0.2",
        "[::1]",
        "a_b.org",
        "-a.org",
        "a-.org",
        "a..org",
        ".a",
        "a b",
        "é.org",
    ):
        with pytest.raises(ConfigurationError, match="is not a host name"):
            addresses.read_host_name(wrong)


def test_slacks_address_ends_in_a_slash_and_is_https_unless_on_this_machine() -> None:
    assert addresses.read_slack_url("https://slack.com/api") == "https://slack.com/api/"
    assert addresses.read_slack_url("http://127.0.0.1:9/api/") == "http://127.0.0.1:9/api/"
    with pytest.raises(ConfigurationError, match="must start with https://"):
        addresses.read_slack_url("http://slack.com/api/")


@pytest.mark.parametrize(
    ("kind", "url", "is_taken"),
    [
        (SLACK, HOOK, True),
        (SLACK, HOOK.replace("slack.com", "slack-gov.com"), True),
        (SLACK, "http://127.0.0.1:9/services/T/B/x", True),
        (SLACK, HOOK.replace("https", "http"), False),
        (SLACK, HOOK.replace("hooks.slack.com", "hooks.slack.com.example.org"), False),
        (SLACK, HOOK.replace("hooks.slack.com", "evil@hooks.slack.com"), False),
        (SLACK, HOOK.replace("hooks.slack.com", "hooks.slack.com:8443"), False),
        (SLACK, f"{HOOK}?next=https://example.org", False),
        (SLACK, HOOK.replace("services", "workflows"), False),
        (SLACK, HOOK.replace("hooks.slack.com", "10.0.0.1"), False),
        (SLACK, "", False),
        (DISCORD, DISCORD_HOOK, True),
        (DISCORD, DISCORD_HOOK.replace("discord.com", "discordapp.com"), True),
        (DISCORD, DISCORD_HOOK.replace("discord.com", "discord.com.example.org"), False),
        (DISCORD, DISCORD_HOOK.replace("https", "http"), False),
        (DISCORD, f"{DISCORD_HOOK}?thread_id=1100000000000000002", True),
        (DISCORD, f"{DISCORD_HOOK}?wait=false&thread_id=7", True),
        (DISCORD, f"{DISCORD_HOOK}?next=https://example.org", False),
        (DISCORD, f"{DISCORD_HOOK}/slack", False),
    ],
)
def test_a_webhook_is_its_services_own_or_on_this_machine_and_no_other_is_ever_repeated(
    kind: DestinationKind, url: str, *, is_taken: bool
) -> None:
    if is_taken:
        assert INCOMING[kind].read(url) == url
        return
    with pytest.raises(ConfigurationError) as caught:
        INCOMING[kind].read(url)
    assert "abcDEF123" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("kind", "url", "read"),
    [
        (SLACK, f"{HOOK}/", HOOK),
        (SLACK, f"{HOOK}#top", HOOK),
        (DISCORD, f" {DISCORD_HOOK}/ ", DISCORD_HOOK),
        (DISCORD, f"{DISCORD_HOOK}/?thread_id=7#a", f"{DISCORD_HOOK}?thread_id=7"),
        (
            DISCORD,
            "http://127.0.0.1:9/api/webhooks/1/a/?thread_id=7",
            "http://127.0.0.1:9/api/webhooks/1/a?thread_id=7",
        ),
    ],
)
def test_a_webhook_loses_its_trailing_slash_and_what_follows_a_hash(
    kind: DestinationKind, url: str, read: str
) -> None:
    assert INCOMING[kind].read(url) == read


@pytest.mark.parametrize(
    "url",
    [
        "smtp://localhost",
        "smtp://127.0.0.1:2525/",
        "smtp+starttls://me@mx.example.org:587",
        "smtps://mx:465",
    ],
)
def test_a_mail_server_is_read_as_written(url: str) -> None:
    assert addresses.read_smtp_url(url) == url


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mx.example.org", "is not a mail server"),
        ("http://mx.example.org", "is not a mail server"),
        ("smtp://", "is not a mail server"),
        ("smtp://mx:port", "is not a mail server"),
        *(("smtp://mx/queue", "holds more"), ("smtp://mx?tls=1", "holds more")),
        ("smtp://me:hush@mx", "holds more"),
        ("smtp://me:hush@mx/queue", "holds more"),
    ],
)
def test_what_is_no_mail_server_is_refused_without_its_password(url: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        addresses.read_smtp_url(url)
    assert "hush" not in caught.value.message


@pytest.mark.parametrize(
    ("url", "resolved"),
    [
        ("sqlite:///digest.db", "sqlite:////srv/digest/digest.db"),
        ("sqlite:///../digest.db", "sqlite:////srv/digest.db"),
        ("sqlite:////var/lib/digest.db", "sqlite:////var/lib/digest.db"),
        ("sqlite:///digest.db?mode=rw", "sqlite:////srv/digest/digest.db?mode=rw"),
        ("postgresql://d:p@db.example.org/digest", "postgresql://d:p@db.example.org/digest"),
        ("postgresql:///digest?host=/run/postgresql", "postgresql:///digest?host=/run/postgresql"),
        (
            "postgresql://h1:5433/digest?connect_timeout=2",
            "postgresql://h1:5433/digest?connect_timeout=2",
        ),
    ],
)
def test_a_database_file_counts_from_the_configurations_folder(url: str, resolved: str) -> None:
    assert addresses.resolve_store_url(addresses.read_store_url(url), FOLDER) == resolved


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "digest.db",
            "sqlite://",
            "sqlite:///",
            "sqlite:///:memory:",
            "sqlite://host/digest.db",
        ),
        *("mysql://me:hush@h/d", "postgres://me:hush@h/d", "postgresql://me:hush@h/"),
        "postgresql://me:hush@h1,h2/",
    ],
)
def test_what_is_no_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        addresses.read_store_url(url)
    assert "hush" not in caught.value.message
    assert "sqlite:///digest.db" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["127.0.0.1:8000", "0.0.0.0:80", "[::1]:8000", "localhost:0", "digest.local:65535"]
)
def test_a_place_to_listen_is_a_host_and_a_port(text: str) -> None:
    assert addresses.read_bind(text) == text


@pytest.mark.parametrize(
    "text", ["", "8000", ":8000", "127.0.0.1", "127.0.0.1:65536", "::1:8000", "a b:1", "h:٨"]
)
def test_what_is_no_place_to_listen_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="not a host and port"):
        addresses.read_bind(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ops@Example.org", "ops@example.org"),
        ("https://example.org/digest/", "https://example.org/digest"),
    ],
)
def test_arxiv_can_be_given_a_mail_address_or_a_web_page(text: str, expected: str) -> None:
    assert addresses.read_reachable(text) == expected


@pytest.mark.parametrize("text", ["ops", "the ops team", "https://bücher.example", "a@b"])
def test_arxiv_is_given_nothing_that_leads_nowhere_or_breaks_a_header(text: str) -> None:
    with pytest.raises(ConfigurationError):
        addresses.read_reachable(text)


def test_a_path_counts_from_the_configurations_folder_unless_absolute() -> None:
    assert addresses.resolve_path("feeds/../a.atom", FOLDER) == FOLDER / "a.atom"
    assert addresses.resolve_path("/var/a.atom", FOLDER) == Path("/var/a.atom")
    assert addresses.resolve_path("~/a.atom", FOLDER) == Path.home() / "a.atom"
    assert addresses.resolve_path("", FOLDER) is None
    with pytest.raises(ConfigurationError, match="no such home folder"):
        addresses.resolve_path("~nobody-here/a.atom", FOLDER)


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("you@example.org", "mailto:you@example.org"),
        ("mailto:You@Example.org", "mailto:you@example.org"),
        *(("#papers", "slack:#papers"), ("feed", "feed"), ("file:gpu.atom", "file:gpu.atom")),
        ("FILE:Gpu.ATOM", "file:Gpu.ATOM"),
        ("file:///tmp/gpu.atom/", "file:///tmp/gpu.atom/"),
        ("MAILTO:You@Example.org", "mailto:you@example.org"),
        ("mailto:%20you%2Barxiv@example.org", "mailto:you+arxiv@example.org"),
        ("Slack:#papers", "slack:#papers"),
    ],
)
def test_a_mail_address_or_a_channel_may_stand_alone(typed: str, written: str) -> None:
    assert str(addresses.read_destination(typed)) == written


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        *(("nobody", "webhook:name, feed"), ("slack:", "slack:#…"), ("telegram:@me", "mailto:…")),
        *(("you@", "Write just the address"), ("mailto:A <a@b.org>", "Write just the address")),
        *(("mailto://a@b.org", "Write mailto:a@b.org"), ("slack://#papers", "Write slack:#papers")),
        *(("file://gpu.atom", "Write file:gpu.atom"), ("Feed:x", "Write just feed")),
        *(
            (f"file:{path}", ".atom, .xml, .json. A folder")
            for path in ("gpu.rss", "gpu.html", "out", "v1.2")
        ),
    ],
)
def test_what_is_no_destination_is_refused_with_what_is_one(wrong: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        addresses.read_destination(wrong)
    assert hint in caught.value.hint


def test_an_address_has_the_form_that_the_row_of_its_kind_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hint = "Write discord:12."
    row = replace(TRAITS[DISCORD], pattern="[0-9]+", what="a room", hint=hint)
    monkeypatch.setitem(TRAITS, DISCORD, row)
    assert addresses.read_destination("discord:12").address == "12"
    with pytest.raises(ConfigurationError, match="'discord:12a' is not a room") as caught:
        addresses.read_destination("discord:12a")
    assert caught.value.hint == hint


@pytest.mark.parametrize("kind", DestinationKind)
def test_a_form_of_addresses_has_words_for_its_refusal(kind: DestinationKind) -> None:
    traits = kind.traits
    assert bool(traits.pattern) == bool(traits.what) == bool(traits.hint)
