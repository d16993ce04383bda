"""What a screen advises can be pasted.

Each command is tried in the state that advises it, and helps.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from digest.cli import run_cli
from tests.conftest import IS_NIGHTLY
from tests.integration.cli.fortnight import NOW, World

ADVISED = re.compile(r"`digest ((?!serve|demo|init)[^`]+)`")
SCREENS = (
    "status --all, run, delivery list, subscription list, query list, feed list, coverage,"
    " doctor --quick"
)
SLIPS = """subscription show perf-tem, query show perff, delivery show 999, delivery retry 7,
delivery cancel 7, delivery retry, explain 2611.15012 perf-tem, explain perf-team 2611.15012,
explain 2611.15012,
feed rotate gpu-mail, explain 2611.15012 x@y.example, preview gpu-static --date 2020-01-01,
subscription edit gpu-mail, query remove gpu,
subscription pause gpu-static, subscription pause gpu-mail,
subscription unsubscribe gpu-mail reader@digest.example, feed revoke perf-team,
templates list nosuch, templates list, send gpu-mail, staus, query lst"""
OLD_MAIL = """[[subscriptions]]
name = "old-mail"
follow = ["follow", "gpu"]
to = "mailto:old@digest.example"
"""
_COPIED = (
    "digest_id, destination, not_before, token, owner, name, remote_address, remote_id,"
    " created_at, share"
)
SECOND_PART = f"""INSERT INTO deliveries
(part, parts, idempotency_key, attempts, state, last_error, ended_at, {_COPIED})
SELECT 1, 2, 'other', 0, state, '["earlier part","1",' || last_error || ']', ended_at, {_COPIED}
FROM deliveries WHERE id = 13"""


def live(world: World, *calls: str, sql: tuple[str, ...] = ()) -> None:
    """Let an installation live on: calls, and what a test can't wait for."""
    for call in calls:
        run_cli(shlex.split(call))
    with world.open_store().begin() as conn:
        for statement in sql:
            conn.exec_driver_sql(statement)


def hold_mails(world: World, before: str = "", after: str = "") -> None:
    template = world.folder / "templates" / "email" / "text.txt"
    template.parent.mkdir(parents=True)
    template.write_text("{{ no_such_thing }}")
    world.edit("[arxiv]", 'templates = "templates"\n[arxiv]')
    live(
        world, "delivery retry 4 13", sql=("UPDATE deliveries SET body = NULL WHERE id IN (4, 13)",)
    )
    run_cli(["run"])
    world.edit(before or "[arxiv]", after or "[arxiv]")


def lose_answers(world: World, *sql: str) -> None:
    world.mail.script.clear()
    world.mail.script.drop("END", times=9)
    live(world, "delivery retry 13", "run", sql=sql)


def fail_outside(world: World, fault: str = "") -> None:
    """Have arXiv, or else Slack and a mail server, refuse what they are asked."""
    if fault:
        world.arxiv.faults.add(fault, times=9)
    else:
        world.edit(
            '"mailto:reader@digest.example"', '["slack:#papers", "mailto:reader@digest.example"]'
        )
        world.slack.trouble = "token_revoked"
        world.mail.script.reply(
            "RCPT", "451 4.3.0 try later", times=9, match="reader@digest.example"
        )
        world.arxiv.replace("2611.15012", comment="now with a second half")
        world.clock.set(NOW + timedelta(days=4))
    run_cli(["run", "--now"])


def rename_left(world: World) -> None:
    live(world, "subscription unsubscribe gpu-mail reader@digest.example")
    world.edit('name = "gpu-mail"', 'name = "gpu-post"')


STATES: dict[str, Callable[[World], object]] = {
    "failed": lambda _: None,
    "in parts": partial(live, sql=("UPDATE deliveries SET parts = 2 WHERE id = 13", SECOND_PART)),
    "held": hold_mails,
    "ended": partial(hold_mails, before=OLD_MAIL, after="\n"),
    "unknown": lose_answers,
    "in doubt": lambda world: lose_answers(
        world,
        "UPDATE deliveries SET state = 'held' WHERE id = 13",
        "UPDATE attempts SET outcome = 'in doubt'",
    ),
    "refused": fail_outside,
    **{f"arXiv {fault}": partial(fail_outside, fault=fault) for fault in ("403", "429", "500")},
    "overdue": lambda world: world.clock.set(NOW + timedelta(days=8)),
    "restored": lambda world: live(world, "db backup ./b.db", "db restore ./b.db --sent-until now"),
    "no database": lambda world: (world.folder / "digest.db").unlink(),
    "edited": lambda world: world.edit('"cat:cs.PF"', '"cat:cs.XY OR cat:cs.CLL"'),
    "renamed and left": rename_left,
    "slips": lambda _: None,
}


class Pasting:
    """Calls screens and what they advise, and keeps what went wrong."""

    def __init__(self, world: World, capsys: pytest.CaptureFixture[str], kept: Path) -> None:
        self._world = world
        self._capsys = capsys
        self._kept = kept
        self.tried = set[str]()
        self.wrong = list[str]()

    def call(self, line: str) -> tuple[int, str]:
        self._world.clock.sleep(1)
        self._capsys.readouterr()
        code = run_cli(shlex.split(line))
        return code, "".join(self._capsys.readouterr())

    def paste(self, line: str, of: str) -> str:
        """Mend what is wrong outside, and call what a screen advises."""
        for script in (self._world.mail.script, self._world.arxiv.faults):
            script.clear()
        self._world.slack.trouble = ""
        for template in self._world.folder.glob("templates/email/*"):
            template.unlink()
        code, answer = self.call(line)
        self.tried.add(line)
        # It says what must be mended, as asked; and a run, what needs somebody.
        is_told = ("doctor" in line.split() and code == 1) or (code == 4 and "delivery" in answer)
        if (code and not is_told) or any(
            word.isalpha() and word.isupper() for word in shlex.split(line)
        ):
            self.wrong.append(f"{of}: {line} ends with {code}: {answer}")
        return answer

    def follow(self, screen: str, depth: int = 0) -> None:
        """Call a screen, and in the state it leaves each command it advises.

        By night also what these advise.
        """
        here = self._kept / str(depth)
        shutil.copytree(self._world.folder, here / "before")
        _, said = self.call(screen)
        shutil.copytree(self._world.folder, here / "after")
        for line in dict.fromkeys(ADVISED.findall(said)):
            if line not in self.tried:
                self.paste(line, screen)
                self._put_back(here / "after")
                if IS_NIGHTLY and depth == 0:
                    self.follow(line, 1)
                    self._put_back(here / "after")
        self._put_back(here / "before")
        shutil.rmtree(here)

    def _put_back(self, kept: Path) -> None:
        shutil.rmtree(self._world.folder)
        shutil.copytree(kept, self._world.folder)
        os.chdir(self._world.folder)


@pytest.mark.parametrize("state", STATES)
def test_what_is_advised_can_be_pasted_and_helps(
    world: World, capsys: pytest.CaptureFixture[str], tmp_path: Path, state: str
) -> None:
    STATES[state](world)
    pasting = Pasting(world, capsys, tmp_path)
    for screen in re.split(r",\s", SLIPS if state == "slips" else SCREENS):
        pasting.follow(screen)
    for line in ADVISED.findall(pasting.call("status --all")[1]):
        answer = pasting.paste(line, "status, one after the other")
        for next_one in ADVISED.findall(answer)[:1] if line.startswith("delivery show") else ():
            pasting.paste(next_one, line)
    assert pasting.tried
    assert pasting.wrong == []
    pasting.call("run --now")
    left = json.loads(pasting.call("status --json")[1])["troubles"]
    assert [one["what"] for one in left if one["deliveries"]] == []
