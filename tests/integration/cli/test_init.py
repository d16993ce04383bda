"""From nothing to a configuration that runs: the questions of `digest init`, and its flags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from digest.config import Config, load_config
from tests.fakes.mail import MailSink
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import NOW, surrounded
from tests.terminal import INTERRUPT, hold_dialogue

QUERY = "cat:cs.PF AND abs:GPU"
FOLLOWED = [("> ", QUERY), ("another", "")]


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Give the variables by which arXiv, Slack and the clock of this machine are found."""
    with surrounded(tmp_path, NOW) as world:
        yield {
            "DIGEST_ARXIV_API_URL": world.arxiv.api_url,
            "DIGEST_ARXIV_OAI_URL": world.arxiv.oai_url,
            "DIGEST_TEST_CLOCK": world.arxiv.clock_url,
            "DIGEST_SLACK_URL": world.slack.url,
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "TZ": "Europe/Berlin",
            "TOKEN": world.slack.token,
        }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def read(folder: Path, environ: dict[str, str]) -> Config:
    variables = {name: text for name, text in environ.items() if name.startswith("DIGEST_")}
    config = load_config(folder / "digest.toml", variables)
    assert config.warnings == ()
    assert len((folder / "digest.toml").read_text().splitlines()) <= 25
    return config


def test_slack_is_tried_until_the_app_finds_the_channel(
    folder: Path, outside: dict[str, str]
) -> None:
    flags = ("--query", QUERY, "--when", "mondays at 08:00", "--contact", "you@example.org")
    first_try = [("go?", "2"), ("channel?", "#nowhere"), ("xoxb-", outside["TOKEN"])]
    second_try = [("now?", "y"), ("change?", "the channel"), ("go?", "2"), ("channel?", "papers")]
    code, screen = hold_dialogue(folder, outside, "init", *flags, typed=[*first_try, *second_try])
    assert code == 0, screen
    assert "✓ sent" in screen
    assert outside["TOKEN"] not in screen
    config = read(folder, outside)
    assert config.slack.token == outside["TOKEN"]
    (subscription,) = config.subscriptions
    assert (subscription.name, str(subscription.destinations[0])) == ("digest", "slack:#papers")


@pytest.mark.parametrize(
    ("address", "place"), [("", "file:digest.atom"), ("https://digest.example.org", "feed")]
)
def test_a_feed_is_a_file_where_there_is_no_public_address(
    folder: Path, outside: dict[str, str], address: str, place: str
) -> None:
    environ = {**outside, "DIGEST_ARXIV_API_URL": "http://127.0.0.1:1/api/query"}
    typed = [
        ("> ", "ti:(gpu"),
        *FOLLOWED,
        ("go?", "3"),
        ("none.", address),
        ("for arXiv", "you@example.org"),
    ]
    if address:
        del environ["DIGEST_TEST_CLOCK"]
    code, screen = hold_dialogue(folder, environ, "init", typed=typed)
    assert code == 0, screen
    assert "never closed" in screen
    assert "arXiv can't be reached" in screen
    assert str(read(folder, environ).subscriptions[0].destinations[0]) == place


def test_where_a_password_will_not_do_it_says_so_and_a_provider_knows_its_server(
    folder: Path, outside: dict[str, str]
) -> None:
    del outside["DIGEST_TEST_CLOCK"]
    (folder / "mail.password").write_text("kept\n")
    flags = ("--query", QUERY, "--to", "you@hotmail.com", "--no-test")
    provider = [("sends it", "8"), ("sends it", "Amazon")]
    region = [("region", "us east 1"), ("  > ", "eu-west-1")]
    login = [("name?", "AKIA/1"), ("From", "digest@example.org"), ("there already", "y")]
    typed = [*provider, *region, *login, ("When", "")]
    code, screen = hold_dialogue(folder, outside, "init", *flags, typed=typed)
    assert code == 0, screen
    assert screen.count("Microsoft takes no passwords") == 2
    config = read(folder, outside)
    assert config.mail.smtp == "smtp+starttls://AKIA%2F1@email-smtp.eu-west-1.amazonaws.com:587"
    assert (config.mail.from_address, config.mail.password) == ("digest@example.org", "kept")


@pytest.mark.parametrize("login", ["", "you@"])
def test_an_address_of_ones_own_server_says_how_it_encrypts(
    folder: Path, outside: dict[str, str], login: str
) -> None:
    with MailSink(login=("you", "hush") if login else None) as server:
        address = server.url.replace("//", f"//{login}")
        asked = [("Password", "hush")] if login else [("none.", "")]
        typed = [("sends it", "7"), ("port?", address), *asked]
        flags = (
            "--query",
            QUERY,
            "--to",
            "you@lab.example",
            "--from",
            "digest@lab.example",
            "--when",
            "at once",
        )
        code, screen = hold_dialogue(folder, outside, "init", *flags, "--test", typed=typed)
    assert code == 0, screen
    assert "encrypt" not in screen
    assert len(server.mails) == 1
    assert read(folder, outside).mail.smtp == address


def test_an_interrupted_dialogue_writes_nothing(folder: Path, outside: dict[str, str]) -> None:
    typed = [
        *FOLLOWED,
        ("go?", "2"),
        ("channel?", "papers"),
        ("xoxb-", "xoxb-1"),
        ("When", INTERRUPT),
    ]
    code, screen = hold_dialogue(folder, outside, "init", typed=typed)
    assert code == 130
    assert "Nothing was written." in screen
    assert list(folder.iterdir()) == []


INCOMPLETE = {
    (): "--query, --to, --contact",
    ("--query", QUERY, "--to", "you@example.org"): "--provider",
    ("--query", QUERY, "--to", "you@gmail.com", "--provider", "gmail"): "--password-file",
    ("--query", QUERY, "--to", "you@example.org", "--provider", "ses"): "--region, --login",
    ("--query", QUERY, "--to", "you@example.org", "--provider", "own"): "--smtp",
    ("--query", QUERY, "--to", "#papers"): "--token-file, --contact",
    ("--query", QUERY, "--to", "feed", "--contact", "you@example.org"): "--base-url",
}


def test_without_a_terminal_it_writes_nothing_and_names_the_flags_that_are_missing(
    fresh: Path, digest: Shell
) -> None:
    for arguments, missing in INCOMPLETE.items():
        said = digest("init", *arguments, expect=2)
        assert f"needs {missing}\n" in said.err
    assert list(fresh.iterdir()) == []


def test_with_all_flags_it_asks_nothing(
    fresh: Path, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIGEST_SLACK_TOKEN", "xoxb-1")
    (fresh / "secret").write_text("hush\n")
    said = digest(
        "init", "--query", QUERY, "--query", "ti:latency", "--query", "GPU",
        "--to", "you@gmail.com", "--to", "#papers",
        "--provider", "gmail", "--password-file", "secret",
        "--when", "daily at 07:30", "--zone", "Asia/Tokyo", "other.toml",
    )  # fmt: skip
    assert "--config other.toml run" in said.out
    config = load_config(fresh / "other.toml", {"DIGEST_SLACK_TOKEN": "xoxb-1"})
    assert [query.text for query in config.queries] == [QUERY, "ti:latency", "all:GPU"]
    (subscription,) = config.subscriptions
    assert [str(one) for one in subscription.destinations] == [
        "mailto:you@gmail.com",
        "slack:#papers",
    ]
    assert str(subscription.cadence) == "daily at 07:30 Asia/Tokyo"
    assert config.mail.smtp == "smtp+starttls://you@gmail.com@smtp.gmail.com:587"
    assert (config.mail.from_address, config.mail.password) == ("you@gmail.com", "hush")
    assert config.store.url.endswith("/other.db")


def test_a_test_that_fails_without_a_terminal_writes_nothing(fresh: Path, digest: Shell) -> None:
    with MailSink() as server:
        url = server.url
        mail = ("--query", QUERY, "--to", "you@example.org", "--test", "--smtp")
        digest("init", *mail, url, "one.toml")
        assert server.mails[0].recipients == ("you@example.org",)
    digest("init", *mail, url, "two.toml", expect=4)
    assert [path.name for path in fresh.iterdir()] == ["one.toml"]


_COMPLETE = ("--query", QUERY, "--to", "console", "--contact", "you@example.org")
REFUSED = {
    ("--query", "ti:(gpu"): "never closed",
    ("--to", "nobody"): "is not a destination",
    ("--from", "https://example.org/x.whl"): "goes to --package",
    ("--from", "../x.whl"): "nobody else has your file",
    ("--package", "../x.whl"): "A file is only here",
    ("--to", "a@live.com", "--provider", "outlook"): "takes no passwords",
    (*_COMPLETE, "no/digest.toml"): "can't be written",
    (*_COMPLETE, "--password-file", "~nobody-here/x"): "no such home folder",
}


@pytest.mark.usefixtures("fresh")
def test_it_refuses_what_it_cannot_use(digest: Shell) -> None:
    for arguments, words in REFUSED.items():
        names_nobody = "nobody" in "".join(arguments)
        said = digest("init", *arguments, expect=3 if names_nobody else 2)
        assert words in said.err


def test_it_never_writes_over_a_file_and_names_the_command_that_adds(
    fresh: Path, digest: Shell
) -> None:
    path = fresh / "digest.toml"
    path.write_text("mine", encoding="utf-8")
    said = digest("init", expect=2)
    assert "digest.toml is there already, and was left as it is" in said.err
    assert "digest add" in said.err
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_file_beside_another_gets_a_database_of_its_own(fresh: Path, digest: Shell) -> None:
    said = digest(
        "init",
        "--query",
        "ti:量子",
        "--to",
        "feed",
        "--base-url",
        "",
        "--contact",
        "a@b.org",
        "my file.toml",
    )
    assert "--config 'my file.toml' run" in said.out
    config = load_config(fresh / "my file.toml", {})
    assert config.store.url.endswith("/my-file.db")
    assert [str(one) for one in config.subscriptions[0].destinations] == ["file:digest.atom"]
