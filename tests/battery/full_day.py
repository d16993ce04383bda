"""A full day as one mail.

What `digest run` sends if 56 papers match, the nearest to a library first.
"""

from __future__ import annotations

import json
import random
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from digest.model.clock import ManualClock
from digest.model.papers import Author
from digest.serve.steps import run_pass
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import write_config
from tests.fakes.mail import MailSink
from tests.fakes.writing import Writer
from tests.harness.kept_sites import KeptSite
from tests.harness.papers import made_up

DAY = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ANNOUNCED = datetime(2026, 11, 20, 1, 0, tzinfo=UTC)
"""20:00 Eastern time of Thu 19 Nov."""

_OTHERS = 90
"""So many more papers are announced, which nobody here follows.

The top tenth of all gets the dots.
"""


def list_papers() -> list[dict[str, Any]]:
    return [paper | {"authors": tuple(map(Author, paper["authors"]))} for paper in DAY["papers"]]


def write_papers() -> Iterator[DemoPaper]:
    """Yield the papers of the day, and the others."""
    writer = Writer(random.Random(56))  # noqa: S311 - the same papers every time
    others = [writer.write()._asdict() for _ in range(_OTHERS)]
    papers = [*list_papers(), *(paper for paper in others if "quant-ph" not in paper["categories"])]
    for number, fields in enumerate(papers):
        yield made_up(0, ANNOUNCED, announced=ANNOUNCED, id=f"2611.{15_300 - number}", **fields)


def receive_mail() -> bytes:
    """Return the mail that the group's digest is."""
    with tempfile.TemporaryDirectory(prefix="digest-day-") as name, MailSink() as mail:
        folder = Path(name)
        clock = ManualClock(ANNOUNCED - timedelta(days=1))
        (folder / "lab.json").write_text(json.dumps(DAY["library"]), encoding="utf-8")
        with DemoArxiv(list(write_papers()), clock) as arxiv:
            text = write_config(
                arxiv.url, DAY["queries"], [DAY["subscription"]], mail={"smtp": mail.url}
            )
            (folder / "digest.toml").write_text(text, encoding="utf-8")
            kept = KeptSite()
            for after in (timedelta(0), timedelta(days=1, hours=3)):
                clock.advance(after)
                run_pass(kept.open(folder, clock))
            kept.close()
        return mail.mails[-1].raw
