import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from digest.config import SETTINGS, load_config, starter_text
from digest.config.display import write_toml
from digest.config.settings import SUBSCRIPTION
from digest.model.errors import ConfigurationError, UsageError
from digest.model.subscriptions import Destination, DestinationKind

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def test_the_starter_can_be_used_as_soon_as_arxiv_knows_whom_to_reach(tmp_path: Path) -> None:
    path = tmp_path / "digest.toml"
    path.write_text(starter_text(), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"arxiv\.contact: is empty"):
        load_config(path, {})
    path.write_text(starter_text().replace('contact = ""', 'contact = "ops@example.org"'), encoding="utf-8")
    config = load_config(path, {})
    assert config.warnings == ()
    assert config.subscriptions[0].destinations == (Destination(DestinationKind.CONSOLE),)


def test_the_starter_takes_queries_an_address_and_a_channel_from_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "digest.toml"
    text = starter_text(
        queries=['abs:"tail latency"', "gpu=cat:cs.PF AND abs:GPU", "au:Nobody"],
        mail=["Reader@example.org"],
        slack=["papers", "slack:#gpu", "#perf"],
    )
    path.write_text(text, encoding="utf-8")
    config = load_config(path, {"DIGEST_SLACK_TOKEN": "xoxb-1"})
    assert {query.name: query.text for query in config.queries} == {
        "papers": 'abs:"tail latency"',
        "gpu": "cat:cs.PF AND abs:GPU",
        "papers-2": "au:Nobody",
    }
    assert [str(destination) for destination in config.subscriptions[0].destinations] == [
        "mailto:reader@example.org", "slack:#papers", "slack:#gpu", "slack:#perf",
    ]  # fmt: skip
    assert config.arxiv.contact == "reader@example.org"
    assert config.mail.from_address == "reader@example.org"


def test_a_file_beside_another_one_gets_a_database_of_its_own() -> None:
    assert tomllib.loads(starter_text(name="gpu"))["store"] == {"url": "sqlite:///gpu.db"}
    assert not tomllib.loads(starter_text())["store"]


def test_the_starter_explains_every_setting_and_turns_on_only_what_is_needed() -> None:
    text = starter_text(contact="ops@example.org")
    for setting in SETTINGS:
        assert setting.is_environment_only or " ".join(setting.help.split()) in " ".join(
            text.replace("\n# ", " ").split()
        )
    for key in (setting.name for setting in SUBSCRIPTION):
        assert f"# {key}" in text or f"{key}, " in text or f", {key}" in text
    assert set(tomllib.loads(text)["arxiv"]) == {"contact"}
    assert all(not tomllib.loads(text)[table] for table in ("store", "mail", "slack", "web", "defaults"))


def test_every_commented_default_can_be_turned_on(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "mail-ca.pem").touch()
    text = starter_text(contact="ops@example.org")
    names = {f"# {setting.name} = " for setting in SETTINGS}
    lines = [line[2:] if line.startswith(tuple(names)) else line for line in text.splitlines()]
    path = tmp_path / "digest.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    config = load_config(path, {})
    written = [setting for setting in SETTINGS if config.origins[setting.key] == "digest.toml"]
    assert len(written) == len(SETTINGS) - 5  # three secrets, test clock and test DNS stay outside the file


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(TEXTS)
def test_any_query_comes_back_from_the_starter_as_it_was_given(tmp_path: Path, query: str) -> None:
    path = tmp_path / "digest.toml"
    path.write_text(starter_text(contact="ops@example.org", queries=[f"q={query}"]), encoding="utf-8", newline="")
    assert load_config(path, {}).queries[0].text == query.strip()


@given(st.recursive(st.one_of(TEXTS, st.integers(), st.booleans()), st.lists, max_leaves=5))
def test_any_value_reads_back_from_the_toml_written_for_it(value: object) -> None:
    assert tomllib.loads(f"a = {write_toml(value)}")["a"] == value


def test_the_starter_refuses_a_wrong_address_and_a_name_given_twice() -> None:
    with pytest.raises(UsageError, match="not an e-mail address"):
        starter_text(mail=["nobody"])
    with pytest.raises(UsageError, match="two saved queries called 'a'"):
        starter_text(queries=["a=x", "a=y"])


@pytest.mark.parametrize("query", ["ML Papers=cat:stat.ML", "Küche=abs:oven", "=cat:cs.PF"])
def test_the_starter_refuses_a_name_that_can_be_none(query: str) -> None:
    with pytest.raises(UsageError, match="can't be a name") as caught:
        starter_text(queries=[query])
    assert "Names are small letters" in caught.value.hint


@pytest.mark.parametrize("query", ['ti:"E=mc2"', "https://arxiv.org/search/?query=GPU&searchtype=all"])
def test_an_equals_sign_within_a_query_names_nothing(query: str) -> None:
    assert tomllib.loads(starter_text(queries=[query]))["queries"] == {"papers": query}
