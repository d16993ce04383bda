"""What has to be mended is read all the same for who only looks, as long as it tells which database is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from digest.config import load_config
from digest.errors import ConfigurationError

STORE = '[store]\nurl = "sqlite:////var/lib/digest/digest.db"\n'
SUBSCRIPTIONS = """
[queries]
perf = "cat:cs.PF"

[[subscriptions]]
name = "team"
queries = ["perf"]
to = "feed"

[[subscriptions]]
name = "slip"
queries = ["perf"]
to = "feed"
when = "dialy at 10:00"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "digest.toml"
    path.write_text('[arxiv]\ncontact = "ops@example.org"\n' + text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        SUBSCRIPTIONS,
        '[defaults]\nwhen = "dialy at 10:00"\n',
        "[mail]\nsmtp = 7\n",
        "[mail]\nsmpt = 'smtp://localhost'\n",
        "[web]\nbase_url = 'digest'\n",
        "[webhooks.lab]\nurl = 'nowhere'\n",
        "[slack.webhooks]\nteam = 3\n",
        "[alarms]\nto = 'mail'\n",
        "[queries]\nperf = 3\n",
        "[[subscriptions]]\nname = 'team'\n",
    ],
)
def test_a_slip_elsewhere_in_the_file_leaves_no_doubt_about_the_database(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, STORE + text)
    with pytest.raises(ConfigurationError):
        load_config(path, {})
    config = load_config(path, {}, despite_problems=True)
    assert config.store.url == "sqlite:////var/lib/digest/digest.db"
    assert [one.name for one in config.subscriptions] == (["team"] if text is SUBSCRIPTIONS else [])


@pytest.mark.parametrize(
    ("text", "environ"),
    [
        ("[stroe]\nurl = 'sqlite:////srv/digest.db'\n", {}),
        ("[store]\nulr = 'sqlite:////srv/digest.db'\n", {}),
        ("[store]\nurl = 'mysql://db/digest'\n", {}),
        ("[store\n", {}),
        ("", {"DIGEST_STORE_URL": "mysql://db/digest"}),
        ("", {"DIGEST_STORE_ULR": "sqlite:////srv/digest.db"}),
    ],
)
def test_a_slip_that_may_be_about_the_database_is_mended_first(
    tmp_path: Path, text: str, environ: dict[str, str]
) -> None:
    with pytest.raises(ConfigurationError):
        load_config(write(tmp_path, text), environ, despite_problems=True)
