"""`digest init --start` on a machine of one's own.

What is written and said, and whether other tools take it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from digest.config import load_config
from tests.command_line import ROOT, run_digest
from tests.golden.conftest import Golden
from tests.integration.cli.fortnight import NOW, surrounded

WHEEL = "https://example.org/preprint_digest-1.2.0-py3-none-any.whl"
MAIL = (
    "--to",
    "you@example.org",
    "--from",
    "digest@example.org",
    "--smtp",
    "smtps://you@mail.example.org:465",
)
KEPT = ("--password-file", "mail.password")
PUBLIC = ("--base-url", "https://digest.example.org")
PROGRAM = "/srv/digest/.venv/bin/digest"

Init = Callable[..., str]


@pytest.fixture
def init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Init:
    """Call `digest init --start` in a folder of ada's, with more options; return the screen."""
    monkeypatch.setattr("os.getuid", lambda: 1234)
    monkeypatch.setattr("os.getgid", lambda: 1234)
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_name="ada"))
    monkeypatch.setattr(sys, "argv", [PROGRAM])
    (tmp_path / "mail.password").write_text("hush\n")

    def call(start: str, *options: str, expect: int = 0, **environ: str) -> str:
        given = (
            "--query",
            "cat:cs.PF",
            "--when",
            "weekdays at 09:00 UTC",
            *MAIL,
            "--start",
            start,
            *options,
        )
        done = run_digest(tmp_path, environ, "init", "--no-input", *given)
        assert done.returncode == expect, done.stderr
        return done.stdout + done.stderr

    return call


def show(golden: Golden, name: str, folder: Path, screen: str, *files: str) -> None:
    text = screen
    for file in files:
        written = (folder / file).read_text()
        text += f"\n── {file}\n{written}"
    golden(f"start.{name}.txt", text.replace(str(folder), "/srv/digest"))


@pytest.mark.parametrize(
    "row",
    [
        (
            "compose-public",
            "compose",
            (*KEPT, *PUBLIC, "--package", WHEEL),
            ("compose.yaml", "Containerfile", "Caddyfile"),
        ),
        (
            "compose",
            "compose",
            (*KEPT, "--to", "file:digest.atom", "--package", WHEEL),
            ("compose.yaml",),
        ),
        ("serve", "systemd", (*KEPT, *PUBLIC), ("digest.service",)),
        (
            "timer",
            "systemd",
            ("--to", "file:/srv/www/papers.atom"),
            ("digest.service", "digest.timer"),
        ),
        ("cron", "cron", ("--to", "discord:lab"), ()),
    ],
)
def test_what_is_written_and_said_is_unchanged(
    golden: Golden,
    init: Init,
    tmp_path: Path,
    row: tuple[str, str, tuple[str, ...], tuple[str, ...]],
) -> None:
    name, start, options, files = row
    password = "" if KEPT[0] in options else "hush"
    screen = init(start, *options, DIGEST_MAIL_PASSWORD=password)
    expected = {"digest.toml", "mail.password", *files}
    if start == "compose":
        expected.add("Containerfile")
    assert {one.name for one in tmp_path.iterdir()} == expected
    _, _, next_steps = screen.partition("Wrote")
    assert len(next_steps.splitlines()) <= 11
    show(golden, name, tmp_path, screen, *files)


@pytest.mark.parametrize("start", ["compose", "systemd", "cron"])
@pytest.mark.parametrize("database", ["beside", "elsewhere", "server"])
def test_a_start_beside_a_digest_toml_says_how_what_was_sent_before_stays_known(
    golden: Golden, init: Init, tmp_path: Path, start: str, database: str
) -> None:
    init("cron", "--when", "daily at 09:00 UTC", *KEPT)
    if database == "beside":
        (tmp_path / "digest.db").touch()
    if database == "server":
        url = 'store.url = "postgresql://digest@db.example.org/digest"\n'
        config_file = tmp_path / "digest.toml"
        config_file.write_text(url + config_file.read_text())
    package = ("--package", WHEEL) if start == "compose" else ()
    done = run_digest(tmp_path, {}, "init", "--start", start, *package)
    assert done.returncode == 0, done
    golden(f"start.{start}-{database}.txt", done.stdout.replace(str(tmp_path), "/srv/digest"))


def read_compose(folder: Path) -> dict[str, Any]:
    """Read the file, and see that all it names is there."""
    read: dict[str, Any] = yaml.safe_load((folder / "compose.yaml").read_text())
    services = read["services"]
    secrets = read.get("secrets", {})
    networks = read.get("networks", {})
    for secret in secrets.values():
        assert (folder / secret["file"]).is_file()
    for service in services.values():
        assert {*service.get("secrets", ())} <= secrets.keys()
        assert {*service.get("depends_on", ())} <= services.keys()
        assert {*service.get("networks", ())} <= networks.keys()
        for volume in service["volumes"]:
            source, _, _ = volume.partition(":")
            if source.startswith("."):
                assert (folder / source).exists()
            else:
                assert source in read["volumes"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert {*service} <= {
            *services["digest"],
            "image",
            "ports",
            "networks",
            "cap_add",
            "depends_on",
        }
    used: set[str] = set()
    for service in services.values():
        used.update(service.get("secrets", ()))
    assert used == secrets.keys()
    return read


@pytest.mark.parametrize(
    "options", [KEPT, (*KEPT, *PUBLIC), ("--smtp", "smtp://mail.example.org:25")]
)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_all_that_the_compose_file_names_is_there_and_digest_knows_each_variable(
    init: Init, tmp_path: Path, options: tuple[str, ...], database: str
) -> None:
    init("compose", *options, "--package", WHEEL)
    if database == "postgresql":
        text = (tmp_path / "compose.yaml").read_text()
        commands = re.findall(r"(?m)^#   (.*)$", text)
        bash = ["bash", "-ec", "\n".join(commands)]
        subprocess.run(bash, cwd=tmp_path, check=True)  # noqa: S603 - its own words
    read = read_compose(tmp_path)
    service = read["services"]["digest"]
    secrets = {}
    for name, secret in read.get("secrets", {}).items():
        secrets[f"/run/secrets/{name}"] = str(tmp_path / secret["file"])
    environ = {name: secrets.get(value, value) for name, value in service["environment"].items()}
    config_name = Path(environ["DIGEST_CONFIG"]).name
    config = load_config(tmp_path / config_name, environ)
    assert config.warnings == ()
    assert config.mail.password == ("hush" if KEPT[0] in options else "")
    assert config.store.url.startswith(f"{database}:")
    trusted = config.web.trusted_proxies[0]
    if PUBLIC[0] in options:
        caddy = read["services"]["caddy"]
        assert config.web.host == "digest.example.org"
        assert config.web.bind == "0.0.0.0:8000"
        assert trusted == caddy["networks"]["default"]["ipv4_address"]
    else:
        assert "caddy" not in read["services"]
        assert config.web.host == ""
        assert config.web.bind == "127.0.0.1:8000"
        assert trusted == "127.0.0.1"
    words = service["healthcheck"]["test"]
    assert words[:2] == ["CMD", "digest"]
    assert run_digest(tmp_path, {}, *words[2:]).returncode == 0
    assert run_digest(tmp_path, {}, *service["command"][1:], "--help").returncode == 0


def test_a_release_that_no_index_has_makes_no_image_unless_it_is_said_where_it_is(
    init: Init, tmp_path: Path
) -> None:
    assert "is at no package index" in init("compose", *KEPT, expect=2)
    assert not (tmp_path / "digest.toml").exists()


@pytest.mark.skipif(not shutil.which("caddy"), reason="Caddy is not installed")
def test_caddy_takes_its_file(init: Init, tmp_path: Path) -> None:
    init("compose", *KEPT, *PUBLIC, "--package", WHEEL)
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile"]
    subprocess.run(command, cwd=tmp_path, check=True)  # noqa: S603 - fixed words


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
@pytest.mark.parametrize("options", [(), PUBLIC])
def test_systemd_takes_the_units_and_finds_little_that_they_may_do(
    init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(ROOT / "digest" / "__main__.py")])
    init("systemd", *KEPT, *options)
    units = [str(one) for one in tmp_path.glob("digest.*") if one.suffix in (".service", ".timer")]
    assert len(units) == 2 - bool(options)
    security = ["security", "--offline=true", "--threshold=30", str(tmp_path / "digest.service")]
    for words in (["verify", "--man=no", *units], security):
        done = subprocess.run(  # noqa: S603 - made up here
            ["systemd-analyze", *words],  # noqa: S607 - from the path
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_line_for_cron_says_nothing_of_a_run_that_went_well_and_all_of_one_that_failed(
    init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(ROOT / "digest" / "__main__.py")])
    screen = init("cron", "--smtp", "smtp://localhost:25")
    line = re.findall(r"echo '(.*)'\) \| crontab -", screen)[0]
    assert line.startswith("*/15 * * * *  ")
    command = line.removeprefix("*/15 * * * *  ")

    def call(**environ: str) -> str:
        found = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environ}
        words = ["sh", "-c", command]
        done = subprocess.run(  # noqa: S603 - as cron does
            words, cwd="/", env=found, capture_output=True, text=True, check=True
        )
        return done.stdout

    with surrounded(tmp_path / "world", NOW) as world:
        urls = {
            "DIGEST_ARXIV_API_URL": world.arxiv.api_url,
            "DIGEST_ARXIV_OAI_URL": world.arxiv.oai_url,
            "DIGEST_TEST_CLOCK": world.arxiv.clock_url,
            "DIGEST_MAIL_SMTP": world.mail.url,
            "DIGEST_MAIL_PASSWORD": "",
        }
        assert call(**urls) == ""
        assert "First check done" in (tmp_path / "run.log").read_text()
    assert "things to correct" in call(DIGEST_ARXIV_SOURCE="x", DIGEST_WEB_BIND="y")


def test_the_manual_shows_the_unit_that_is_written(
    init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_name="digest"))
    init("systemd", *KEPT, *PUBLIC)
    written = (tmp_path / "digest.service").read_text()
    unit = written.replace(str(tmp_path), "/srv/digest")
    manual = (ROOT / "digest" / "manual" / "running.md").read_text()
    assert unit in manual


def test_root_is_warned_of_a_place_that_the_new_account_could_not_read(
    init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getuid", lambda: 0)
    monkeypatch.setattr(sys, "argv", ["/root/.local/bin/digest"])
    assert "can read /root/.local/bin/digest" in init("systemd", *KEPT, expect=2)
    monkeypatch.setattr(sys, "argv", [PROGRAM])
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert f"chown -R digest: {tmp_path}" in init("systemd", *KEPT)


def test_what_uvx_runs_can_not_be_started_later(
    init: Init, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/home/ada/.cache/uv/archive-v0/x/bin/digest"])
    assert "uv tool install" in init("cron", *KEPT, expect=2)
