"""The world around a battery of runners.

A repository, a git that fails on order, and what can be sent to.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from pathlib import Path

from digest.config.values import write_signing_key
from digest.model.announcements import announcement_moment, has_announcement
from digest.model.clock import Clock
from digest.model.papers import Author
from tests.battery.kill_world import CountingMail
from tests.command_line import ROOT
from tests.fakes.archive import DemoPaper, open_window
from tests.fakes.config_file import write_config
from tests.fakes.faults import Fault, Faults
from tests.fakes.loopback import Answer, Ending, Request
from tests.fakes.mail import ReceivedMail
from tests.fakes.mailscript import Cue, Script, Step
from tests.fakes.slack import SlackReceiver
from tests.harness.arrivals import PAPER, Arrival, find_key, list_posts

BRANCH = "digest-state"
WORD = "quokkalith"
"""The hidden query's word: it stands in abstracts, and nowhere else."""

READERS = tuple(f"reader{number:02d}.quillon@vexmoor.example" for number in range(12))
"""More than one round sends."""

TOKEN = "xoxb-4417-sesquip"
SIGNING = write_signing_key(bytes(range(32)))
INCOMING = "/services/T000/B000/Xyzzy77Plugh"
_GIT = shutil.which("git") or "git"
_WRAPPER = """\
#!/bin/sh
# $RUNNER_BOX says which call of git kills or stops its caller, and how each push goes wrong.
box=$RUNNER_BOX; fault=; is_struck=; is_push=
read -r calls < "$box/calls"; calls=$((calls + 1)); echo $calls > "$box/calls"
read -r at signal order < "$box/strike"
case " $* " in *" push "*)
    read -r pushes < "$box/pushes"; pushes=$((pushes + 1)); echo $pushes > "$box/pushes"
    fault=$(sed -n "${pushes}p" "$box/faults"); is_push=yes ;;
esac
[ "$calls" = "$at" ] && is_struck=$order
case $is_push$is_struck in yesafter | yesamid) : > "$box/struck" ;; esac
if [ "$is_struck" = amid ]; then
    (exec setsid GIT "$@") < /dev/null > /dev/null 2>&1 &
fi
case $is_struck in before | amid) kill -"$signal" $PPID; \
[ "$signal$order" = STOPbefore ] || exit 128 ;; esac
case $fault in
    fail) echo "fatal: unable to access origin" >&2; exit 128 ;;
    late*) (sleep "${fault#late }"; exec setsid GIT "$@") < /dev/null > /dev/null 2>&1 &
        echo "fatal: the connection timed out" >&2; exit 128 ;;
esac
GIT "$@"; code=$?
[ "$is_struck" = after ] && kill -"$signal" $PPID
[ "$fault" = lost ] && { echo "fatal: the remote end hung up unexpectedly" >&2; exit 128; }
exit $code
"""


class Chance(Faults):
    """Faults that strike a part of all requests."""

    def __init__(self, kinds: Collection[str], draw: random.Random) -> None:
        super().__init__(kinds)
        self._draw = draw
        self._drawn = sorted(kinds)
        self.rate = 0.0

    def take(self, path: str) -> Fault | None:
        if self._draw.random() < self.rate:
            return Fault(self._draw.choice(self._drawn), seconds=0.2)
        return super().take(path)


class Trap:
    """Strikes when so many more messages have arrived, before or after the last of them is kept."""

    _left = 0
    _order = ""

    def set(self, count: int, order: str, strike: Callable[[], object]) -> None:
        self._left = count
        self._order = order
        self._strike = strike

    def spring(self, order: str) -> None:
        if order == self._order:
            self._left -= 1
            if self._left == 0:
                self._strike()


class SilentScript(Script):
    """The script of a mail server that may keep silent where it should say hello.

    A trap springs then.
    """

    def __init__(self, trap: Trap) -> None:
        super().__init__()
        self._trap = trap
        self.is_silent = False

    def take(self, step: Step, argument: str) -> Cue | None:
        if step is not Step.CONNECT or not self.is_silent:
            return super().take(step, argument)
        self._trap.spring("silence")
        return Cue(step, delay=3600)


class TrappedMail(CountingMail):
    """A mail server in which a trap waits. It knows which mails were handed to it, kept or not."""

    script: SilentScript

    def __init__(self, trap: Trap) -> None:
        super().__init__()
        self._trap = trap
        self.script = SilentScript(trap)
        self.tried = set[str]()

    def keep(self, mail: ReceivedMail) -> int:
        self.tried.add(find_key(mail))
        self._trap.spring("before")
        number = super().keep(mail)
        self._trap.spring("after")
        return number


class TrappedSlack(SlackReceiver):
    """A Slack in which a trap waits, and that knows when each post came."""

    def __init__(self, trap: Trap, clock: Clock) -> None:
        super().__init__(clock, token=TOKEN, history_lag=5.0)
        self._trap = trap
        self._times = list[float]()

    @property
    def arrivals(self) -> list[Arrival]:
        return [replace(one, at=at) for one, at in zip(list_posts(self), self._times, strict=True)]

    def _answer(self, request: Request) -> Answer:
        if not request.path.endswith("chat.postMessage"):
            return super()._answer(request)
        self._trap.spring("before")
        answer = super()._answer(request)
        self._times += [time.monotonic()] * (len(self.messages) - len(self._times))
        self._trap.spring("after")
        return answer


class Hooks:
    """A program with a keyed webhook, and a channel's incoming webhook.

    Both lose a part of their answers.
    """

    def __init__(self, trap: Trap, draw: random.Random) -> None:
        self._trap = trap
        self._draw = draw
        self.rate = 0.0
        self.arrivals = list[Arrival]()

    def take(self, request: Request) -> Answer:
        place = "slack-webhook:team" if request.path == INCOMING else "webhook:lab"
        key = request.headers.get("webhook-id", hashlib.sha256(request.body).hexdigest())
        self._trap.spring("before")
        papers = frozenset(PAPER.findall(request.body.decode()))
        self.arrivals.append(Arrival(key, place, papers, time.monotonic()))
        self._trap.spring("after")
        return Answer(ending=Ending.DROP) if self._draw.random() < self.rate else Answer(b"ok")


def make_papers(draw: random.Random, first: date, days: int) -> Iterator[DemoPaper]:
    """Yield the papers of so many days; three in five have the hidden word."""
    numbers: Counter[str] = Counter()
    for number in range(days):
        day = first + timedelta(number)
        if not has_announcement(day):
            continue
        month = f"{day:%y%m}"
        for _ in range(draw.choice((1, 2, 3, 5))):
            numbers[month] += 1
            submitted = open_window(day)[1] - timedelta(minutes=draw.randrange(1, 50))
            abstract = "We measure, and report what we found. "
            if draw.random() < 0.6:
                abstract += f"It is a {WORD}. "
            yield DemoPaper(
                id=f"{month}.{numbers[month]:05d}",
                announced=announcement_moment(day),
                submitted=(submitted.astimezone(UTC),),
                title=f"Measuring queues, part {numbers[month]} of {month}",
                abstract=abstract,
                authors=(Author("Ada Example"), Author("Bo Sample")),
                categories=(draw.choice(("cs.PF", "cs.DC")),),
            )


def list_wanted(paper: DemoPaper) -> list[str]:
    """Return the destinations that want a paper."""
    wanted = []
    if WORD in paper.abstract:
        wanted += [*(f"mailto:{one}" for one in READERS), "slack:#papers"]
    if paper.categories[0] == "cs.PF":
        wanted += ["webhook:lab", "slack-webhook:team"]
    return wanted


def write_installation(*, arxiv: str, mail: str, slack: str, hooks: str) -> str:
    """Return a digest.toml that tells nobody what is hidden."""
    to = [*(f"mailto:$READER{number}" for number in range(len(READERS))), "slack:#papers"]
    hidden = {"name": "hidden", "follow": ["hidden"], "to": to, "when": "daily at 09:00 UTC"}
    hooked = {
        "name": "open",
        "follow": ["open"],
        "to": ["webhook:lab", "slack-webhook:team"],
        "when": "at once",
    }
    text = write_config(
        arxiv,
        {"hidden": "$QUERY", "open": "cat:cs.PF"},
        (hidden, hooked),
        store={"git_branch": BRANCH, "forget_unmatched_after": "3 days"},
        mail={"smtp": mail},
        slack={"url": slack},
        defaults={"look_back": "0 days"},
    )
    return f'{text}\n[webhooks.lab]\nurl = "{hooks}/lab"\n'


def make_secrets(hooks: str, key: str) -> dict[str, str]:
    """Return the secrets of a runner, which nobody else may find."""
    addresses = {f"DIGEST_VALUE_READER{number}": one for number, one in enumerate(READERS)}
    return addresses | {
        "DIGEST_VALUE_QUERY": f"abs:{WORD}",
        "DIGEST_STORE_STATE_KEY": key,
        "DIGEST_SLACK_TOKEN": TOKEN,
        "DIGEST_SLACK_WEBHOOKS_TEAM": hooks + INCOMING,
        "DIGEST_WEBHOOKS_LAB_SECRET": SIGNING,
    }


@dataclass(frozen=True)
class Origin:
    """A bare repository on disk, and a git that goes wrong as it is told."""

    folder: Path

    def begin(self, text: str) -> None:
        """Make the repository, with a digest.toml, so that it keeps every object."""
        work = self.folder / "work"
        wrapper = self.folder / "bin" / "git"
        wrapper.parent.mkdir(parents=True)
        wrapper.write_text(_WRAPPER.replace("GIT", _GIT), encoding="utf-8")
        wrapper.chmod(0o755)
        self._git("init", "--quiet", "--bare", "--initial-branch=main", str(self._path))
        for name, value in (
            ("gc.auto", "0"),
            ("receive.autogc", "false"),
            ("transfer.unpackLimit", "100000"),
        ):
            self.ask("config", name, value)
        self._git("init", "--quiet", "--initial-branch=main", str(work))
        (work / "digest.toml").write_text(text, encoding="utf-8")
        self._git("-C", str(work), "add", "digest.toml")
        who = ("-c", "user.name=x", "-c", "user.email=x@localhost")
        self._git("-C", str(work), *who, "commit", "--quiet", "--message", "Begin")
        self._git("-C", str(work), "push", "--quiet", self._path.as_uri(), "main")

    def clone(self, folder: Path) -> None:
        """Check the repository out as a runner does.

        The newest commit of the default branch alone.
        """
        shallow = ("--depth", "1", "--single-branch", "--no-tags")
        self._git("clone", "--quiet", *shallow, self._path.as_uri(), str(folder))

    def make_environment(
        self, box: Path, secrets: dict[str, str], clock_url: str
    ) -> dict[str, str]:
        usual = {name: text for name, text in os.environ.items() if not name.startswith("DIGEST_")}
        ours = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_BOX": str(box),
        }
        known = {"DIGEST_TEST_CLOCK": clock_url, "GITHUB_ACTIONS": "true", "PYTHONPATH": str(ROOT)}
        return {**usual, **secrets, **ours, **known}

    def ask(self, *arguments: str) -> bytes:
        return self._git("--git-dir", str(self._path), *arguments)

    def list_objects(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield id, kind and content of every object ever pushed, also of those no branch has."""
        command = [_GIT, "--git-dir", str(self._path), "cat-file", "--batch-all-objects", "--batch"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - ours
            assert process.stdout is not None
            while head := process.stdout.readline().decode().split():
                yield head[0], head[1], process.stdout.read(int(head[2]) + 1)[:-1]

    def list_files(self) -> list[Path]:
        """Return the files of the repository's objects as they lie on disk."""
        return [path for path in (self._path / "objects").rglob("*") if path.is_file()]

    @property
    def _path(self) -> Path:
        return self.folder / "origin.git"

    def _git(self, *arguments: str) -> bytes:
        command = [_GIT, *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603 - ours
