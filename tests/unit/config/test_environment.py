from pathlib import Path

import pytest

from digest.config import show_settings
from digest.config.values import write_signing_key
from tests.unit.config.conftest import Load, Refuse


def test_a_secret_can_be_read_from_a_file_without_its_last_line_break(
    load: Load, tmp_path: Path
) -> None:
    secret = tmp_path / "token"
    secret.write_bytes(b"xoxb-from-file\r\n")
    config = load(DIGEST_SLACK_TOKEN_FILE=str(secret))
    assert config.slack.token == "xoxb-from-file"
    assert config.origins["slack.token"] == "DIGEST_SLACK_TOKEN_FILE"


@pytest.mark.parametrize(
    "around",
    ["\ufeff{}", "{}\u00a0\n", " {}\r\n\r\n", "\u200b{} \u2060\t", "\ufeff \u00a0{}\u2028"],
)
def test_blanks_and_unseen_signs_around_a_secret_are_none_of_it(
    load: Load, tmp_path: Path, around: str
) -> None:
    text = around.format("hunter2")
    (tmp_path / "password").write_text(text, encoding="utf-8")
    smtp = {"DIGEST_MAIL_SMTP": "smtps://me@mail.example.org"}
    assert load(DIGEST_MAIL_PASSWORD_FILE="password", **smtp).mail.password == "hunter2"
    assert load(DIGEST_MAIL_PASSWORD=text, **smtp).mail.password == "hunter2"


@pytest.mark.parametrize(
    ("sign", "name"),
    [
        *(("\t", "a tab"), ("\n", "a line break"), ("\u00a0", "a no-break space")),
        ("\0", "a control character U+0000"),
        *(("\u200b", "a zero width space"), ("\x1b", "a control character U+001B")),
    ],
)
def test_a_sign_inside_a_secret_that_cannot_be_seen_is_told_by_its_name(
    refuse: Refuse, tmp_path: Path, sign: str, name: str
) -> None:
    (tmp_path / "token").write_text(f"xoxb-1{sign}2", encoding="utf-8")
    for error in (
        refuse(DIGEST_SLACK_TOKEN_FILE="token"),
        refuse(DIGEST_SLACK_TOKEN=f"xoxb-1{sign}2"),
    ):
        assert f"has {name} inside" in error.message
        assert "xoxb" not in error.message


def test_a_database_address_can_come_from_a_file_since_it_may_hold_a_password(
    load: Load, tmp_path: Path
) -> None:
    (tmp_path / "url").write_text("postgresql://digest:hush@db.example.org/digest\n")
    assert (
        load(DIGEST_STORE_URL_FILE="url").store.url
        == "postgresql://digest:hush@db.example.org/digest"
    )


def test_a_secret_given_both_ways_is_refused(refuse: Refuse, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("xoxb-2")
    error = refuse(DIGEST_SLACK_TOKEN="xoxb-1", DIGEST_SLACK_TOKEN_FILE="token")
    assert "DIGEST_SLACK_TOKEN: is set, and so is DIGEST_SLACK_TOKEN_FILE" in error.message
    assert "xoxb" not in error.message
    assert "Unset one" in error.hint


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "can't be read: No such file"),
        *((b"", "holds no text"), (b"\n", "holds no text")),
        (b"\xef\xbb\xbf\r\n", "holds no text"),
        ("hunter2".encode("utf-16"), "is not UTF-8 text"),
    ],
)
def test_a_secret_file_that_holds_no_secret_is_refused(
    refuse: Refuse, tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "password"
    if content is not None:
        path.write_bytes(content)
    error = refuse(DIGEST_MAIL_PASSWORD_FILE=str(path))
    assert error.message.startswith(f"DIGEST_MAIL_PASSWORD_FILE: {path} {words}")
    assert error.hint


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[slack]\ntoken = "xoxb-1"', "slack.token"),
        ('[store]\nurl = "postgresql://d:hush@localhost/d"', "store.url"),
        (
            '[slack.webhooks]\nteam = "https://hooks.slack.com/services/T1/B2/abc"',
            "slack.webhooks.team",
        ),
        (
            (
                '[webhooks.lab]\nurl = "https://a.example/"\n'
                f'secret = "{write_signing_key(bytes(32))}"'
            ),
            "webhooks.lab.secret",
        ),
    ],
)
def test_a_secret_in_the_file_is_taken_with_a_warning(load: Load, text: str, key: str) -> None:
    variable = f"DIGEST_{key.replace('.', '_').upper()}"
    assert load(text).warnings == (
        f"digest.toml holds {key}, a secret: move it to {variable} or {variable}_FILE",
    )


def test_a_database_address_without_a_password_is_no_secret(load: Load) -> None:
    assert load('[store]\nurl = "postgresql://digest@localhost/digest"').warnings == ()


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("DIGEST_MAIL_PASWORD", "DIGEST_MAIL_PASSWORD"),
        ("DIGEST_STORE_URI", "DIGEST_STORE_URL"),
        ("DIGEST_SLACK_TOKEN_FIEL", "DIGEST_SLACK_TOKEN_FILE"),
        ("DIGEST_MAIL_SMTP_FILE", "DIGEST_MAIL_SMTP"),
    ],
)
def test_a_misspelt_variable_is_refused_and_the_nearest_named(
    refuse: Refuse, variable: str, nearest: str
) -> None:
    error = refuse(**{variable: "x"})
    assert f"{variable}: sets nothing" in error.message
    assert error.hint == f"Did you mean {nearest}?"


def test_variables_a_container_platform_sets_do_not_stop_anything(load: Load) -> None:
    config = load(
        DIGEST_PORT_8000_TCP_ADDR="10.0.0.1", DIGEST_WEB_PORT="tcp://10.0.0.1:80", HOME="/root"
    )
    assert [line.partition(" ")[0] for line in config.warnings] == [
        "DIGEST_PORT_8000_TCP_ADDR", "DIGEST_WEB_PORT",
    ]  # fmt: skip


def test_the_variables_of_the_command_line_and_the_tests_are_known(load: Load) -> None:
    assert load(DIGEST_CONFIG="digest.toml", DIGEST_REAL_DATA="../shared").warnings == ()


def test_a_wrong_value_in_a_variable_is_named_by_the_variable(refuse: Refuse) -> None:
    error = refuse(DIGEST_WEB_BASE_URL="digest.example.org")
    assert error.message.startswith(
        "DIGEST_WEB_BASE_URL: 'digest.example.org' is not a web address"
    )
    error = refuse(DIGEST_WEB_BASE_URL="digest.example.org", DIGEST_WEB_BIND="everywhere")
    assert error.message.startswith("the environment: 2 things to correct")


def test_a_secrets_file_is_named_in_its_table_unless_a_variable_gives_the_secret(
    load: Load, tmp_path: Path
) -> None:
    (tmp_path / "mail.password").write_text("hush-1\n")
    text = '[mail]\nsmtp = "smtps://me@mx.example.org"\npassword_file = "mail.password"\n'
    config = load(text)
    assert config.mail.password == "hush-1"
    assert config.origins["mail.password"] == "mail.password"
    assert config.warnings == ()
    assert load(text, DIGEST_MAIL_PASSWORD="hush-2").mail.password == "hush-2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('password_file = "nowhere"', "can't be read: No such file"),
        ("password_file = 3", "must be text"),
        ('password = "x"\npassword_file = "y"', "is set, and so is password"),
    ],
)
def test_a_secrets_file_that_cannot_be_used_is_refused_under_its_own_key(
    refuse: Refuse, text: str, words: str
) -> None:
    message = refuse(f'[mail]\nsmtp = "smtps://me@mx.example.org"\n{text}\n').message
    assert "mail.password_file: " in message
    assert words in message


VALUES = {
    "DIGEST_VALUE_READER": "Ada@Example.org\n",
    "DIGEST_VALUE_QUERY": "abs:$O(n)$ AND abs:sorting",
}
FROM_VALUES = """
mail.from = "$READER"
title = "$READER"
follow = ["$QUERY", "abs:$\\\\alpha$"]
to = ["mailto:$READER", "slack:$CHANNEL"]
"""


def test_texts_of_the_file_come_from_variables_of_their_names(load: Load, tmp_path: Path) -> None:
    (tmp_path / "channel").write_text("#quiet\n")
    config = load(
        top=FROM_VALUES, DIGEST_VALUE_CHANNEL_FILE="channel", DIGEST_SLACK_TOKEN="xoxb-1", **VALUES
    )
    (one,) = config.subscriptions
    assert list(map(str, one.destinations)) == ["mailto:ada@example.org", "slack:#quiet"]
    assert one.queries == ("abs:$O(n)$ AND abs:sorting", "abs:$\\alpha$")
    assert config.mail.from_address == "ada@example.org"
    assert one.title == "Ada@Example.org"
    assert config.warnings == ()
    shown = {row.key: (row.value, row.origin) for row in show_settings(config)}
    assert shown["to"] == (
        "mailto:$READER, slack:$CHANNEL",
        "digest.toml, DIGEST_VALUE_READER, DIGEST_VALUE_CHANNEL_FILE",
    )
    assert shown["mail.from"] == ("$READER", "DIGEST_VALUE_READER")
    assert "example.org" not in str(shown).lower()
    assert "sorting" not in str(shown)


def test_a_variable_that_the_file_names_and_nobody_sets_is_an_error_at_each_place(
    refuse: Refuse,
) -> None:
    error = refuse(top=FROM_VALUES, DIGEST_VALUE_QUERY="abs:sorting", DIGEST_VALUE_READER=" ")
    assert "4 things to correct" in error.message
    for place in ("mail.from", "title", "to"):
        assert f"{place}: $READER has no value" in error.message
    assert "to: $CHANNEL has no value" in error.message
    assert "Set DIGEST_VALUE_READER, or DIGEST_VALUE_READER_FILE" in error.message


def test_a_wrong_value_is_reported_under_its_variable(refuse: Refuse) -> None:
    error = refuse('[mail]\nfrom = "$FROM"\n', DIGEST_VALUE_FROM="nobody")
    assert error.message.startswith("DIGEST_VALUE_FROM: ")


def test_a_value_that_the_file_does_not_name_is_remarked_on(load: Load) -> None:
    text = (
        'title = "$5 and $READERS"\nfollow = "cat:cs.PF"\n'
        'to = "feed"\narxiv.contact = "a@example.org"\n'
    )
    config = load(text, top="", **VALUES)
    assert config.subscriptions[0].title == "$5 and $READERS"
    assert [one.split(" is set")[0] for one in config.warnings] == [*sorted(VALUES)]
