"""An installation beside a month's arXiv: its digest.toml, and real processes, some of which are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.mail import MailSink

ROOT = Path(__file__).parents[2]
RARE, LEARNING, LATTICE = "nlin.CG", "stat.ML", "hep-lat"
WHOLE = " OR ".join(
    f"cat:{archive}"
    for archive in [
        "math",
        "cs",
        "cond-mat",
        "astro-ph",
        "physics",
        "quant-ph",
        "hep-ph",
        "stat",
        "hep-th",
        "math-ph",
        "gr-qc",
        "q-bio",
        "hep-ex",
        "nucl-th",
        "nlin",
        "nucl-ex",
        "q-fin",
        "hep-lat",
        "econ",
        "eess",
    ]
)
"""Every archive there is, and so every paper."""

DATABASE = "digest.db"
FEED = "feeds/rare.atom"
"""Where the product keeps what it knows, and one of its feeds, in its folder."""

_HANGS = 120.0
"""Real seconds after which a run is taken for one that hangs."""

_LOOK = 0.01
_FILE = """
[arxiv]
contact = "ops@example.org"
api_url = "{arxiv}/api/query"
oai_url = "{arxiv}/oai"

[mail]
from = "digest@example.org"
smtp = "{mail}"

[queries]
everything = "{whole}"
rare = "cat:{rare}"
learning = "cat:{learning}"
lattice = "cat:{lattice}"

[[subscriptions]]
name = "everything"
queries = ["everything"]
to = "file:pages"
when = "on announcement"
kinds = ["new", "cross-list", "replacement", "withdrawal"]
cap = 5

[[subscriptions]]
name = "rare"
queries = ["rare"]
to = ["mailto:rare@example.org", "feed", "file:{feed}"]
when = "on announcement"
kinds = ["new", "cross-list", "replacement", "withdrawal"]
quiet_days = "note"

[[subscriptions]]
name = "learning"
queries = ["learning"]
to = "mailto:learning@example.org"
when = "weekdays at 09:00 Europe/Berlin"
kinds = ["new"]
quiet_days = "note"
cap = 400

[[subscriptions]]
name = "lattice"
queries = ["lattice"]
to = ["mailto:lattice@example.org", "feed"]
when = "at once"
"""


@dataclass(frozen=True)
class Subscribed:
    """What a subscription asked for, as the verdict needs it.

    Attributes:
        name: its own.
        category: of its saved query; "" for every paper.
        kinds: what it is told of.
        address: where its mails go, "" where it gets none.
        speaks_each_mailing: every mailing has to bring a digest or a note of its own.
    """

    name: str
    category: str
    kinds: frozenset[str]
    address: str = ""
    speaks_each_mailing: bool = False


_ALL_KINDS = frozenset({"new", "cross-list", "replacement", "withdrawal"})
SUBSCRIBED = (
    Subscribed("everything", "", _ALL_KINDS, speaks_each_mailing=True),
    Subscribed("rare", RARE, _ALL_KINDS, "rare@example.org", speaks_each_mailing=True),
    Subscribed("learning", LEARNING, frozenset({"new"}), "learning@example.org"),
    Subscribed("lattice", LATTICE, frozenset({"new", "cross-list"}), "lattice@example.org"),
)


@dataclass(frozen=True)
class Ended:
    """How one `digest run` ended: `report` is its JSON, {} where it died before it printed any."""

    code: int
    was_killed: bool
    report: dict[str, Any]
    errors: str

    @property
    def found_news(self) -> bool:
        """Whether it stored any change."""
        return bool(self.report.get("poll", {}).get("kinds"))


@dataclass
class MonthInstallation:
    """A folder with a digest.toml, a mailbox, and the processes run in it."""

    folder: Path
    arxiv_url: str
    mail: MailSink
    endings: list[Ended] = field(default_factory=list)
    usual_seconds: float = 2.0

    def __post_init__(self) -> None:
        words = {"whole": WHOLE, "rare": RARE, "learning": LEARNING, "lattice": LATTICE, "feed": FEED}
        text = _FILE.format(arxiv=self.arxiv_url, mail=self.mail.url, **words)
        (self.folder / "digest.toml").write_text(text, encoding="utf-8")

    @property
    def database(self) -> Path:
        """Where the product keeps what it knows."""
        return self.folder / DATABASE

    def run(self, deadly: Callable[[float], bool] | None = None, *, pair: bool = False) -> Ended:
        """Run `digest run` to its end, or kill it.

        Args:
            deadly: asked again and again with the real seconds since the start, whether to kill it now.
            pair: start a second one beside it, as an impatient operator would.
        """
        begun = time.monotonic()
        process = self._start()
        second = self._start() if pair else None
        was_killed = False
        while process.poll() is None:
            lived = time.monotonic() - begun
            if lived > _HANGS:
                process.kill()
            elif deadly is not None and not was_killed and deadly(lived):
                process.kill()
                was_killed = True
            time.sleep(_LOOK)
        ended = self._end(process, was_killed=was_killed)
        if not was_killed:
            self.usual_seconds = time.monotonic() - begun
        if second is not None:
            self._end(second, was_killed=False)
        return ended

    def _start(self) -> subprocess.Popen[bytes]:
        # Files rather than pipes: a pipe that nobody reads while waiting would stop the process.
        environ = {"DIGEST_TEST_CLOCK": f"{self.arxiv_url}/_control/now", "PYTHONPATH": str(ROOT)}
        number = len(list(self.folder.glob("*.out")))
        with (
            (self.folder / f"{number:04d}.out").open("wb") as out,
            (self.folder / f"{number:04d}.err").open("wb") as err,
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", "digest", "run", "--json"],
                cwd=self.folder,
                env={**os.environ, **environ},
                stdout=out,
                stderr=err,
            )
        self._files[process.pid] = self.folder / f"{number:04d}"
        return process

    def _end(self, process: subprocess.Popen[bytes], *, was_killed: bool) -> Ended:
        try:
            code = process.wait(_HANGS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        stem = self._files.pop(process.pid)
        text = stem.with_suffix(".out").read_text(encoding="utf-8")
        errors = stem.with_suffix(".err").read_text(encoding="utf-8")
        report = json.loads(text) if text.endswith("}\n") else {}
        ended = Ended(code, was_killed and code == -9, report, errors)
        self.endings.append(ended)
        return ended

    _files: dict[int, Path] = field(default_factory=dict)
