"""Webhooks in `digest.toml` and in the environment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.config import show_settings
from digest.config.values import read_signing_key, write_signing_key
from digest.model.errors import ConfigurationError
from tests.unit.config.conftest import CONTACT, Load, Refuse

SECRET = write_signing_key(bytes(32))


@given(st.binary(min_size=24, max_size=64))
def test_a_secret_stands_for_its_key(key: bytes) -> None:
    assert read_signing_key(write_signing_key(key)) == key


@pytest.mark.parametrize(
    "text", ["", "abc", "whsec_", "whsec_????", "whsec_YWJj", write_signing_key(bytes(65))]
)
def test_what_is_no_secret_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_signing_key(text)
    assert "digest webhook secret" in caught.value.hint
    assert not text or text == "whsec_" or text not in caught.value.message


def test_address_and_secret_come_from_the_file_or_from_variables(load: Load) -> None:
    text = '[webhooks.lab]\nurl = "https://lab.example.org/hook?a=1"\n'
    config = load(text, DIGEST_WEBHOOKS_LAB_SECRET=SECRET)
    hook = config.webhooks["lab"]
    assert hook.url == "https://lab.example.org/hook?a=1"
    assert hook.secret == bytes(32)
    assert SECRET not in repr(config)
    shown = {row.key: row.value for row in show_settings(config)}
    assert shown["webhooks.lab.url"].startswith("set (from ")
    assert shown["webhooks.lab.secret"] == "set (from DIGEST_WEBHOOKS_LAB_SECRET)"


def test_a_webhook_that_only_a_subscription_names_may_come_whole_from_variables(load: Load) -> None:
    text = '[[subscriptions]]\nname = "x"\nfollow = "cat:cs.PF"\nto = "webhook:lab"\n'
    address = {"DIGEST_WEBHOOKS_LAB_URL": "https://lab.example.org/hook"}
    assert [*load(text, DIGEST_WEBHOOKS_LAB_SECRET=SECRET, **address).webhooks] == ["lab"]
    lacking = load(text, **address)
    assert not lacking.webhooks
    assert lacking.warnings == (
        "webhook:lab needs webhooks.lab.secret: set DIGEST_WEBHOOKS_LAB_SECRET",
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('webhooks = "x"\n', "must be a table, not"),
        ('[webhooks]\nlab = "https://a.example/"\n', "must be a table, not"),
        ('[webhooks.Lab]\nurl = "https://a.example/"\n', "can't be a name"),
        ('[webhooks.lab]\nadress = "https://a.example/"\n', "there is no such setting"),
        ('[webhooks.lab]\nurl = "http://a.example/"\n', "must start with https://"),
        ('[webhooks.lab]\nurl = "ftp://a.example/"\n', "is not a web address"),
        ('[webhooks.lab]\nurl = "https://me:pw@a.example/"\n', "is not a web address"),
        ('[webhooks.lab]\nurl = "https://a.example/#x"\n', "is not a web address"),
        ("[webhooks.lab]\nurl = 3\n", "must be text"),
        ('[webhooks.lab]\nurl = "https://a.example/"\nsecret = "whsec_x"\n', "base64"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(refuse: Refuse, text: str, complaint: str) -> None:
    error = refuse(top=text + CONTACT)
    assert complaint in error.message
    assert "webhooks" in error.message
