from digest.config import Config, show_settings
from digest.config.settings import SETTINGS
from tests.settings_table import settings_table_markdown
from tests.unit.config.conftest import Load

SECRETS = {
    "DIGEST_MAIL_PASSWORD": "hush-password",
    "DIGEST_SLACK_TOKEN": "hush-token",
    "DIGEST_ALARMS_PING_URL": "https://watch.example.org/hush",
    "DIGEST_STORE_URL": "postgresql://digest:hush-url@db.example.org/digest",
}
TEXT = """\
[mail]
smtp = "smtps://me@mx.example.org"
[slack.webhooks]
team = "https://hooks.slack.com/services/T0001/B0002/hushhook"
[queries]
perf = "cat:cs.PF"
[[subscriptions]]
name = "perf-team"
follow = ["perf"]
to = ["feed", "console"]
show = "all"
"""


def rows_of(config: Config) -> dict[str, tuple[str, str]]:
    return {row.key: (row.value, row.origin) for row in show_settings(config)}


def test_every_setting_is_shown_with_its_value_and_where_it_comes_from(load: Load) -> None:
    rows = rows_of(load(TEXT, **SECRETS))
    assert {setting.key for setting in SETTINGS} <= set(rows)
    assert rows["arxiv.contact"] == ("ops@example.org", "digest.toml")
    assert rows["web.bind"] == ("127.0.0.1:8000", "default")
    assert rows["mail.smtp"] == ("smtps://me@mx.example.org", "digest.toml")
    assert rows["defaults.kinds"] == ("new, cross-listed", "default")
    assert rows["defaults.show"] == ("all", "default")


def test_saved_queries_and_subscriptions_are_shown_with_what_they_inherit(load: Load) -> None:
    rows = rows_of(load(f"{TEXT}exclude_papers = ['2611.14886']\n", **SECRETS))
    assert rows["subscriptions.perf-team.exclude_papers"] == ("2611.14886", "digest.toml")
    assert rows["queries.perf"] == ("cat:cs.PF", "digest.toml")
    assert rows["subscriptions.perf-team.to"] == ("feed, console", "digest.toml")
    assert rows["subscriptions.perf-team.show"] == ("all", "digest.toml")
    assert rows["subscriptions.perf-team.when"] == ("on announcement", "defaults.when")


def test_a_secret_is_never_shown_only_that_it_is_set_and_where(load: Load) -> None:
    config = load(TEXT, **SECRETS)
    rows = rows_of(config)
    assert rows["slack.token"] == ("set (from DIGEST_SLACK_TOKEN)", "DIGEST_SLACK_TOKEN")
    assert rows["slack.webhooks.team"] == ("set (from digest.toml)", "digest.toml")
    assert rows["store.url"] == (
        "postgresql://digest:***@db.example.org/digest",
        "DIGEST_STORE_URL",
    )
    assert rows_of(load())["slack.token"] == ("not set", "default")
    assert "hush" not in str(show_settings(config))


def test_the_manuals_tables_have_a_row_for_every_setting_below_the_name_of_its_table() -> None:
    tables = {}
    for part in settings_table_markdown().split("## ")[1:]:
        title, _, rest = part.partition("\n")
        tables[title.strip("`")] = rest.split("\n\n")[0]
    for setting in SETTINGS:
        title = f"[{setting.table}]" if setting.table else "At the top of the file"
        row = f"| `{setting.name}` | {setting.help.replace('|', chr(92) + '|')}"
        assert (row in tables[title]) != setting.is_environment_only
    assert "| `NAME` |" in tables["[slack.webhooks]"]
    assert "| `to` |" in tables["[[subscriptions]]"]
    assert "| `when` |" not in tables["[[subscriptions]]"]
