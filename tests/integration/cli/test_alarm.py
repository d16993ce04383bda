"""Whether the operator hears of what is amiss."""

from __future__ import annotations

from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World

DEAD = "the message to mailto:old@digest.example failed: the mail server answered 550"


def tell(world: World, *to: str, ping: str = "") -> None:
    path = world.folder / "digest.toml"
    places = ", ".join(f'"{place}"' for place in to)
    alarms = f'\n[alarms]\nto = [{places}]\nping_url = "{ping}"\n'
    path.write_text(path.read_text(encoding="utf-8") + alarms, encoding="utf-8")


def test_whoever_is_to_be_told_is_told_by_the_next_run_and_only_then(
    world: World, digest: Shell
) -> None:
    mails = len(world.mail.mails)
    assert f"ATTENTION: {DEAD}" in digest("run").err, "nobody is told: every run says it"
    tell(world, "mailto:ops@digest.example")
    assert f"ATTENTION: {DEAD}" in digest("run").err
    assert "ATTENTION" not in digest("run").err, "it was told"
    (mail,) = world.mail.mails[mails:]
    assert mail.message["Subject"].startswith(
        "Digest: the message to mailto:old@digest.example failed: the mail"
    )


def test_what_fails_in_telling_is_said_once_in_words_and_not_as_a_log_line(
    world: World, digest: Shell
) -> None:
    tell(world, "slack:#nowhere", ping="http://127.0.0.1:9/ping")
    said = digest("run", expect=4)
    assert "logger=" not in said.err + said.out
    for what in ("there is no channel #nowhere", "the ping address can't be reached"):
        assert (said.err + said.out).count(what) == 1
