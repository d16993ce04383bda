from pathlib import Path

import pytest

from digest.config import find_config, open_config, open_config_or_defaults, read_environment
from digest.errors import ConfigurationError


def test_the_command_line_beats_the_variable_and_the_variable_beats_the_folder() -> None:
    assert find_config("a.toml", {"DIGEST_CONFIG": "b.toml"}) == Path("a.toml")
    assert find_config(None, {"DIGEST_CONFIG": "b.toml"}) == Path("b.toml")
    assert find_config(None, {"DIGEST_CONFIG": ""}) == Path("digest.toml")
    assert find_config(None, {}) == Path("digest.toml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in read_environment():
        if name.startswith("DIGEST_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_process_reads_its_own_environment_and_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "digest.toml").write_text('[arxiv]\ncontact = "ops@example.org"\n')
    monkeypatch.setenv("DIGEST_MAIL_FROM_NAME", "From the environment")
    config = open_config()
    assert config.mail.from_name == "From the environment"
    assert config.path == Path("digest.toml")
    assert config.folder == folder
    assert config.store.url == f"sqlite:///{folder}/digest.db"


def test_a_process_without_a_file_is_told_so_unless_it_needs_none(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no digest\.toml"):
        open_config()
    config = open_config_or_defaults()
    assert (config.path, config.folder) == (None, folder)


def test_a_file_that_was_named_must_be_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no other\.toml"):
        open_config_or_defaults(folder.relative_to(folder) / "other.toml")
    monkeypatch.setenv("DIGEST_CONFIG", "named.toml")
    with pytest.raises(ConfigurationError, match=r"there is no named\.toml"):
        open_config_or_defaults()
