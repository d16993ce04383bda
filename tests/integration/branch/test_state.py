"""The state of an installation travels on a branch.

Who has it, what is in it, what if it is torn.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from digest.branch.journal import LEASE, MARGIN
from digest.branch.step import Branch
from digest.model.destinations import DestinationKind
from digest.model.errors import LeaseHeld, OutsideError, StoreError
from digest.model.messages import DeliveryState
from digest.serve.steps import run_pass
from digest.store import outbox, workers
from tests.integration.branch.conftest import EVENING, NAMED, Repository, git

MORNING = EVENING + timedelta(hours=12, minutes=5)


def test_a_second_runner_remembers_what_the_first_has_sent(repository: Repository) -> None:
    repository(repository.clone("one"), "run")
    repository.world.clock.set(MORNING)
    repository(repository.clone("two"), "run")
    sent = len(repository.world.mail.mails), len(repository.world.slack.messages)
    assert sent == (1, 2)
    for name in ("three", "four"):
        repository(repository.clone(name), "run", "--now")
    assert (len(repository.world.mail.mails), len(repository.world.slack.messages)) == sent
    assert "Sound" in repository(repository.clone("five"), "db", "check")


def test_the_branch_has_one_commit_of_two_files_and_no_word_of_what_is_in_them(
    repository: Repository,
) -> None:
    repository(repository.clone("one"), "run")
    assert git(repository.origin, "rev-list", "--count", "digest-state").strip() == "1"
    assert git(repository.origin, "ls-tree", "--name-only", "digest-state").split() == [
        "journal",
        "snapshot",
    ]
    for name in ("journal", "snapshot"):
        blob = git(repository.origin, "rev-parse", f"digest-state:{name}").strip()
        size = int(git(repository.origin, "cat-file", "-s", blob))
        assert size <= 65_536 * 8


def test_reading_takes_no_lease_and_writing_does(repository: Repository) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    before = repository.tip()
    for command in (
        ["status"],
        ["explain", "2611.00001"],
        ["subscription", "list"],
        ["delivery", "list"],
    ):
        repository(folder, *command)
    assert repository.tip() == before
    repository(folder, "subscription", "pause", "digest")
    assert repository.tip() != before
    assert "paused" in repository(repository.clone("two"), "subscription", "list")


def test_a_run_that_finds_a_live_lease_ends_well_and_a_writing_command_with_75(
    repository: Repository,
) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    branch = repository.open(folder)
    branch.take_lease()
    held = repository.tip()
    assert "at work" in repository(folder, "run", "--now")
    assert "until" in repository(folder, "subscription", "pause", "digest", expect=75)
    assert repository.tip() == held
    repository.world.clock.advance(LEASE + MARGIN)
    repository(folder, "subscription", "pause", "digest")


def test_of_two_who_take_the_lease_at_once_one_gets_it(repository: Repository) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    first = repository.open(folder, "one")
    second = repository.open(folder, "two")
    first.take_lease()
    with pytest.raises(LeaseHeld, match="one"):
        second.take_lease()
    first.finish()
    third = repository.open(folder, "three")
    third.take_lease()
    assert third.has_time()


def test_a_database_beside_the_file_goes_along_with_the_first_push_unless_it_is_none(
    repository: Repository,
) -> None:
    folder = repository.clone("one")
    old = folder / "digest.db"
    for text in (b"", b"my own notes"):
        old.write_bytes(text)
        assert "move it away" in repository(folder, "run", expect=3)
        assert repository.tip() == ""
    old.unlink()
    lines = [
        line for line in (folder / "digest.toml").read_text().splitlines() if "store." not in line
    ]
    (folder / "plain.toml").write_text("\n".join(lines))
    repository(folder, "--config", "plain.toml", "run")
    repository.world.clock.set(MORNING)
    repository(folder, "--config", "plain.toml", "run")
    sent = len(repository.world.mail.mails), len(repository.world.slack.messages)
    with workers.lock_file(old):
        assert "already works on this database" in repository(folder, "run", expect=3)
    repository(folder, "run", "--now")
    repository(repository.clone("two"), "run", "--now")
    assert (
        (len(repository.world.mail.mails), len(repository.world.slack.messages)) == sent == (1, 2)
    )


def test_two_who_begin_at_once_make_one_branch(repository: Repository) -> None:
    folder = repository.clone("one")
    first = repository.open(folder, "one")
    second = repository.open(folder, "two")
    first.take_lease()
    with pytest.raises(LeaseHeld):
        second.take_lease()


def test_who_comes_after_a_death_finds_in_doubt_what_was_named_and_no_more(
    repository: Repository,
) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    repository.world.clock.set(MORNING)
    branch = repository.open(folder)
    site = repository.open_site(folder, branch)
    sent: list[object] = []

    class Death(BaseException):
        pass

    def die(*_: object) -> None:
        sent.append(1)
        raise Death

    for kind in (DestinationKind.MAIL, DestinationKind.SLACK):
        site.transport(kind).send = die  # type: ignore[method-assign, assignment]
    with pytest.raises(Death):
        run_pass(site)
    site.close()
    repository.world.clock.advance(LEASE + MARGIN)
    after = repository.open(folder, "two")
    after.take_lease()
    with after.store.read() as conn:
        counts = outbox.load(conn, repository.world.clock.now()).counts
    assert counts[DeliveryState.UNKNOWN] == 2
    after.finish()
    assert "Sound" in repository(folder, "db", "check")
    slack = len(repository.world.slack.messages)
    mail = len(repository.world.mail.mails)
    repository(repository.clone("two"), "run")
    assert len(repository.world.slack.messages) > slack
    assert len(repository.world.mail.mails) == mail + 1


def test_what_a_stopped_run_had_named_and_not_begun_is_in_no_doubt(repository: Repository) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    repository.world.clock.set(MORNING)
    branch = repository.open(folder)
    with closing(repository.open_site(folder, branch)) as site:

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        site.transport(DestinationKind.SLACK).send = stop  # type: ignore[method-assign, assignment]
        with pytest.raises(KeyboardInterrupt):
            run_pass(site)
    branch.finish()
    listed = repository(folder, "delivery", "list")
    assert re.findall(r"(?m)^1 +(\S+).*reader@", listed) == ["waiting"]


def test_a_branch_that_is_gone_starts_new_only_by_name(repository: Repository) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    git(repository.origin, "update-ref", "-d", "refs/heads/digest-state")
    assert "gone" in repository(folder, "run", expect=3)
    repository(folder, "run", "--start-new")
    assert "is there" in repository(folder, "run", "--start-new", expect=3)
    repository(folder, "run")


def test_foreign_and_torn_states_are_refused_and_left(repository: Repository) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    tip = repository.tip()
    key = repository.environ["DIGEST_STORE_STATE_KEY"]
    repository.environ["DIGEST_STORE_STATE_KEY"] = b64encode(bytes(32)).decode()
    assert "another key" in repository(folder, "run", expect=3)
    repository.environ["DIGEST_STORE_STATE_KEY"] = ""
    assert "no key" in repository(folder, "status", expect=3)
    repository.environ["DIGEST_STORE_STATE_KEY"] = key
    old = git(repository.origin, "rev-parse", "digest-state:journal").strip()
    repository.world.clock.set(MORNING)
    repository(folder, "subscription", "pause", "digest")
    repository(folder, "db", "rotate-key")
    new = git(repository.origin, "rev-parse", "digest-state:snapshot").strip()
    for journal, snapshot, said in ((old, new, "another key"), (old, "", "not the state")):
        lines = [("journal", journal), ("snapshot", snapshot)]
        tree = git(
            repository.origin,
            "mktree",
            given="".join(f"100644 blob {id_}\t{name}\n" for name, id_ in lines if id_),
        )
        commit = git(repository.origin, "commit-tree", "-m", "torn", tree.strip()).strip()
        git(repository.origin, "update-ref", "refs/heads/digest-state", commit)
        assert said in repository(folder, "run", expect=3)
        assert repository.tip() == commit != tip


def test_a_journal_and_a_snapshot_that_do_not_belong_together_are_refused(
    repository: Repository,
) -> None:
    folder = repository.clone("one")
    branch = repository.open(folder)
    branch.take_lease()
    old = git(repository.origin, "rev-parse", "digest-state:snapshot").strip()
    branch.rotate_key(bytes(range(32)))
    branch.finish()
    journal = git(repository.origin, "rev-parse", "digest-state:journal").strip()
    tree = git(
        repository.origin,
        "mktree",
        given=f"100644 blob {journal}\tjournal\n100644 blob {old}\tsnapshot\n",
    )
    commit = git(repository.origin, "commit-tree", "-m", "torn", tree.strip()).strip()
    git(repository.origin, "update-ref", "refs/heads/digest-state", commit)
    assert "torn" in repository(folder, "run", expect=3)


def test_rotating_the_key_shuts_out_the_old_one(repository: Repository) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    said = repository(folder, "db", "rotate-key")
    assert "another key" in repository(folder, "status", expect=3)
    found = re.search(r"New key: (\S+)", said)
    assert found
    repository.environ["DIGEST_STORE_STATE_KEY"] = found[1]
    repository.world.clock.set(MORNING)
    repository(folder, "run")
    assert len(repository.world.mail.mails) == 1


def test_an_edited_file_is_to_be_pushed(repository: Repository) -> None:
    folder = repository.clone("one")
    assert "push it" in repository(
        folder, "add", "cat:cs.DC", "--to", "console", "--name", "dc", "--yes"
    )


def test_serve_and_what_works_on_a_file_are_refused(repository: Repository) -> None:
    folder = repository.clone("one")
    assert "digest run" in repository(folder, "serve", expect=3)
    repository(folder, "run")
    tip = repository.tip()
    assert "nothing to do" in repository(folder, "db", "migrate")
    assert repository.tip() == tip
    repository(folder, "db", "backup", "copy.db")
    assert (folder / "copy.db").stat().st_size
    assert not (folder / "digest.db").exists()


def test_without_git_a_checkout_or_an_answer_it_is_said_which(
    repository: Repository, tmp_path: Path
) -> None:
    folder = repository.clone("one")
    git(folder, "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    assert "origin" in repository(folder, "run", expect=4)
    git(folder, "remote", "remove", "origin")
    assert "checkout" in repository(folder, "run", expect=3)
    repository.environ["PATH"] = str(tmp_path)
    assert "git can't be started" in repository(folder, "run", expect=3)


def test_a_push_that_is_not_taken_ends_the_run_before_anything_is_sent(
    repository: Repository,
) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    repository.world.clock.set(MORNING)
    sent = len(repository.world.mail.mails)
    hook = repository.origin / "hooks" / "pre-receive"
    hook.write_text(
        '#!/bin/sh\nn=$(cat count 2>/dev/null || echo 0)\necho $((n + 1)) > count\n[ "$n" -lt 1 ]\n'
    )
    hook.chmod(0o755)
    assert "could not be kept" in repository(folder, "run", expect=4)
    assert len(repository.world.mail.mails) == sent
    hook.unlink()
    repository.world.clock.advance(LEASE + MARGIN)
    repository(folder, "run")
    assert len(repository.world.mail.mails) == sent + 1


def test_a_lease_ends_by_whichever_clock_went_further(repository: Repository) -> None:
    branch: Branch = repository.open(repository.clone("one"))
    assert not branch.has_time()
    branch.take_lease()
    assert branch.has_time(LEASE - timedelta(minutes=1))
    repository.world.clock.advance(timedelta(minutes=50))
    assert branch.has_time()
    assert not branch.has_time(timedelta(minutes=15))
    repository.world.clock.advance(timedelta(minutes=10))
    assert not branch.has_time()
    with pytest.raises((OutsideError, StoreError)):
        repository.open(repository.clone("two"), "two").take_lease()


def test_a_run_waits_for_what_is_due_soon(repository: Repository) -> None:
    folder = repository.clone("one")
    repository(folder, "run")
    repository.world.clock.set(MORNING - timedelta(minutes=30))
    repository(folder, "run", "--wait", "20m")
    assert not repository.world.mail.mails
    repository(folder, "run", "--wait", "30m")
    assert len(repository.world.mail.mails) == 1
    assert NAMED not in repository(folder, "status")


def test_what_one_runner_holds_the_next_ones_try_and_send_in_order_once_it_is_mended(
    repository: Repository,
) -> None:
    world = repository.world
    channel = world.slack.workspace.channels["C000PAPERS"]
    world.slack.workspace.refusals[channel.id] = "not_in_channel"
    repository(repository.clone("one"), "run")
    mornings = (MORNING, MORNING + timedelta(days=4), MORNING + timedelta(days=5))
    for number, moment in enumerate(mornings):
        world.clock.set(moment)
        assert "delivery retry" in repository(
            repository.clone(f"morning {number}"), "run", expect=4
        )
    assert not list(world.slack.messages)
    world.slack.workspace.refusals.clear()
    world.clock.set(MORNING + timedelta(days=6))
    repository(repository.clone("after"), "run")
    listed = repository(repository.clone("later"), "delivery", "list", "--limit", "99", "--json")
    found: list[dict[str, dict[str, str]]] = json.loads(listed)["deliveries"][::-1]
    posts = [one["delivery"] for one in found if one["delivery"]["destination"].startswith("slack")]
    keys = [one["idempotency_key"] for one in posts]
    assert [message.client_msg_id for message in world.slack.messages] == keys
    assert len(keys) >= 4
