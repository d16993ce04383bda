from pathlib import Path

import pytest

from digest.config import (
    find_config,
    find_state_folder,
    open_config,
    open_config_or_defaults,
    read_environment,
)
from digest.model.errors import ConfigurationError


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


def test_a_process_reads_its_own_environment_and_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert config.path is None
    assert config.folder == folder


def test_a_file_that_was_named_must_be_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no other\.toml"):
        open_config_or_defaults(folder.relative_to(folder) / "other.toml")
    monkeypatch.setenv("DIGEST_CONFIG", "named.toml")
    with pytest.raises(ConfigurationError, match=r"there is no named\.toml"):
        open_config_or_defaults()


def test_what_is_remembered_without_a_database_is_kept_where_the_desktop_keeps_such_things(
    tmp_path: Path,
) -> None:
    home = {"HOME": str(tmp_path / "home")}
    assert find_state_folder(home) == tmp_path / "home" / ".local" / "state" / "digest"
    folder = find_state_folder({**home, "XDG_STATE_HOME": str(tmp_path / "state")})
    assert folder == tmp_path / "state" / "digest"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert find_state_folder({**home, "XDG_STATE_HOME": "relative"}) == find_state_folder(home)


def test_a_state_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(ConfigurationError, match="can't be made") as caught:
        find_state_folder({"XDG_STATE_HOME": str(tmp_path / "taken")})
    assert "XDG_STATE_HOME" in caught.value.hint
