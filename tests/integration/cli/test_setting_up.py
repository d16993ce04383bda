"""A configuration and a database that can be used: config, migrate."""

from __future__ import annotations

import json
import stat

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World


def test_the_configuration_is_shown_with_origins_and_without_secrets(
    world: World, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIGEST_MAIL_FROM_NAME", "The digest")
    monkeypatch.setenv("DIGEST_ALARMS_PING_URL", "http://127.0.0.1:9/let-nobody-see-this")
    said = digest("config", "show")
    rows = {line.split()[0]: line for line in said.lines}
    assert rows["mail.from_name"].split("  ")[-1].strip() == "DIGEST_MAIL_FROM_NAME"
    assert rows["queries.perf"].endswith("digest.toml")
    assert "set (from DIGEST_ALARMS_PING_URL)" in rows["alarms.ping_url"]
    text = digest("config", "show", "--json").out
    for secret in ("let-nobody-see-this", world.slack.token):
        assert secret not in said.out + text
    assert json.loads(text)["path"] == "digest.toml"


@pytest.mark.usefixtures("world")
def test_only_what_sends_or_says_how_all_stands_warns_of_a_missing_token(
    digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DIGEST_SLACK_TOKEN")
    for words in (["status"], ["run"], ["delivery", "retry", "--held"]):
        assert "warning: slack: destinations need a token" in digest(*words).err, words
    for words in (
        ["delivery", "list"],
        ["db", "check"],
        ["subscription", "list"],
        ["query", "list"],
    ):
        assert digest(*words).err == "", words


def test_the_doctor_warns_of_what_is_allowed_and_looks_like_a_slip(
    world: World, digest: Shell
) -> None:
    world.edit('broken = "ti:(gpu OR"', 'broken = "cat:cs.PFF"')
    world.edit('["gpu", "broken"]', '["gpu"]')
    first, *warnings = (
        one["said"] for one in digest("doctor", "--quick", "--json").json["checks"][:3]
    )
    assert first == "digest.toml can be read: 4 saved queries, 5 subscriptions"
    assert warnings[0] == "queries.broken: no subscription follows it"
    assert warnings[1].startswith("queries.broken: 'cs.PFF' is not a category of arXiv")


def test_migrating_makes_a_database_only_its_owner_can_read_and_says_what_it_did(
    empty: World, digest: Shell
) -> None:
    path = empty.folder / "digest.db"
    said = digest("db", "migrate")
    assert said.out.startswith("Made, at revision ")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert digest("db", "migrate").out.endswith("already, nothing to do.\n")
    report = digest("db", "migrate", "--json").json
    assert report["before"] == report["after"]
