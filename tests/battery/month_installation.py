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

from tests.fakes.config_file import write_config
from tests.fakes.mail import MailSink

ROOT = Path(__file__).parents[2]
_ARCHIVES = (
    "math cs cond-mat astro-ph physics quant-ph hep-ph stat hep-th math-ph gr-qc q-bio hep-ex nucl-th nlin nucl-ex"
    " q-fin hep-lat econ eess"
)
WHOLE = " OR ".join(f"cat:{archive}" for archive in _ARCHIVES.split(" "))
"""Every archive there is, and so every paper."""

DATABASE = "digest.db"
FEED = "feeds/rare.atom"
"""Where the product keeps what it knows, and one of its feeds, in its folder."""

_HANGS = 120.0
"""Real seconds after which a run is taken for one that hangs."""

_LOOK = 0.01


@dataclass(frozen=True)
class Subscribed:
    """What a subscription asks for.

    Attributes:
        name: its own, and that of its saved query.
        category: of its saved query; "" for every paper.
        kinds: what it is told of.
        to: where its digests go.
        more: whatever else the file says of it.
        speaks_each_announcement: every announcement has to bring a digest or a note of its own.
    """

    name: str
    category: str
    kinds: tuple[str, ...]
    to: tuple[str, ...]
    more: dict[str, object]
    speaks_each_announcement: bool = False

    @property
    def address(self) -> str:
        """Where its mails go, "" where it gets none."""
        return next((one.removeprefix("mailto:") for one in self.to if one.startswith("mailto:")), "")

    def list_wishes(self) -> dict[str, object]:
        """Return its lines in `digest.toml`."""
        return {"name": self.name, "follow": [self.name], "to": self.to, "kinds": self.kinds, **self.more}


_KINDS = ("new", "cross-listed", "replaced", "withdrawn")
_EACH = {"when": "on announcement"}
_NOTED = {"when_empty": "note"}
SUBSCRIBED = (
    Subscribed("everything", "", _KINDS, ("file:pages/",), {**_EACH, "show": 5}, speaks_each_announcement=True),
    Subscribed(
        "rare",
        "nlin.CG",
        _KINDS,
        ("mailto:rare@example.org", "feed", f"file:{FEED}"),
        {**_EACH, **_NOTED},
        speaks_each_announcement=True,
    ),
    Subscribed(
        "learning",
        "stat.ML",
        ("new",),
        ("mailto:learning@example.org",),
        {"when": "weekdays at 09:00 Europe/Berlin", **_NOTED, "show": 400},
    ),
    Subscribed(
        "lattice", "hep-lat", ("new", "cross-listed"), ("mailto:lattice@example.org", "feed"), {"when": "at once"}
    ),
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
        queries = {one.name: f"cat:{one.category}" if one.category else WHOLE for one in SUBSCRIBED}
        wishes = [one.list_wishes() for one in SUBSCRIBED]
        text = write_config(self.arxiv_url, queries, wishes, mail={"smtp": self.mail.url})
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
