"""The large stand-in for arXiv, as a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self


class StandIn:
    """The large stand-in for arXiv, as a process of its own, under simulated time and judged pace.

    Args:
        folder: has `standin/`.
        papers: files of papers, in that folder or with their whole paths.
        now: when it begins (UTC).
        options: its other options, by name.
        log: where it complains of connections that a dead process leaves behind; None for our own
            stderr.
    """

    def __init__(
        self,
        folder: Path,
        papers: Sequence[str | Path],
        now: str,
        options: Mapping[str, object] = MappingProxyType({}),
        log: Path | None = None,
    ) -> None:
        arguments: list[str] = []
        for name in papers:
            arguments += ["--papers", str(folder / name)]
        for option, value in options.items():
            arguments += [option, str(value)]
        self._log = log.open("wb") if log else None
        self._process = subprocess.Popen(  # noqa: S603 - who runs the tests names the path
            [
                *(sys.executable, str(folder / "standin" / "arxiv_standin.py"), *arguments),
                *("--now", now, "--port", "0", "--pace-clock", "sim"),
            ],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line
        self.url = found[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def control(
        self,
        path: str,
        body: object = None,
        method: str = "GET",
    ) -> Any:  # noqa: ANN401 - JSON
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.url}/_control/{path}"
        request = urllib.request.Request(url, data=data, method=method)  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
            return json.load(answer)

    def set_now(self, moment: datetime) -> None:
        self.control(
            f"now?to={moment.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%SZ')}", method="POST"
        )

    def add(self, paper: dict[str, Any]) -> None:
        self.control("papers", [paper], method="POST")

    @property
    def violations(self) -> int:
        return int(self.control("now")["violations"])

    @property
    def clock_url(self) -> str:
        return f"{self.url}/_control/now"

    def datestamps(self) -> dict[str, str]:
        """Read the day each paper last changed publicly, by a reader of its own."""
        self.control("now?advance=60", method="POST")
        url = f"{self.url}/oai?verb=ListIdentifiers&metadataPrefix=arXivRaw"
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - loopback
            text = answer.read().decode()
        return dict(
            re.findall(
                r"<identifier>oai:arXiv.org:(.*?)</identifier>\s*<datestamp>(.*?)</datestamp>", text
            )
        )

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        if self._log:
            self._log.close()
