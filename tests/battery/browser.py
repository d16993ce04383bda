"""A real Chromium, spoken to over a pipe: what it paints, what it tells a screen reader, what it fetches.

The protocol is Chromium's own (https://chromedevtools.github.io/devtools-protocol/): JSON, each message ended
by a zero byte, on the file descriptors 3 and 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

_NAMES = (
    *("chromium", "chromium-browser", "google-chrome"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio"),
)
_BEYOND_STANDARD_FILES = 10
_LAUNCHER = """
import os, sys
for end, place in zip(sys.argv[1:3], (3, 4)):
    os.dup2(int(end), place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Return the path of a Chromium, None where there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@dataclass(frozen=True)
class View:
    """How a page is looked at.

    Attributes:
        width: of the window, in CSS pixels.
        is_dark: the reader prefers dark, and the page is told so.
        is_turned: Chromium darkens the page by itself, as mail readers do that obey no style sheet.
    """

    width: int
    is_dark: bool = False
    is_turned: bool = False


@dataclass(frozen=True)
class Sight:
    """What was seen of a page.

    Attributes:
        picture: as PNG.
        width: how wide the page came out, in CSS pixels.
        height: how high it came out.
        tops: where the elements begin that were asked for, from the top.
        spoken: what a screen reader is told, in its order: role and name.
        fetched: addresses asked for besides the page's own.
    """

    picture: bytes
    width: int
    height: int
    tops: tuple[float, ...]
    spoken: tuple[tuple[str, str], ...]
    fetched: tuple[str, ...]


class Browser:
    """One Chromium with a profile of its own, gone when closed.

    Args:
        path: its program.
    """

    def __init__(self, path: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="digest-browser-"))
        theirs, self._to = os.pipe()
        self._from, theirs_too = os.pipe()
        # Moved away from 3 and 4 first, where the launcher puts them.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, _BEYOND_STANDARD_FILES) for end in (theirs, theirs_too)]
        arguments = [path, *_FLAGS, "--remote-debugging-pipe", f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(  # noqa: S603 - a browser of the machine's own, told nothing from outside
            [sys.executable, "-c", _LAUNCHER, *map(str, ends), *arguments],
            pass_fds=ends,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs, theirs_too, *ends):
            os.close(end)
        self._last, self._rest = 0, b""
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and remove its profile."""
        self._process.terminate()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._folder, ignore_errors=True)

    def look(
        self, html: str, view: View, *, height: int | None = None, scale: float = 1, wanted: str = "h1"
    ) -> Sight:
        """Show a page and return what is seen of it: the whole of it, or the first `height` CSS pixels.

        The picture has `scale` pixels for each of them. `wanted` is the CSS selector of elements whose places are
        told.
        """
        page = self._folder / "page.html"
        page.write_text(html, encoding="utf-8")
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]

        def ask(method: str, **parameters: object) -> dict[str, Any]:
            return self._ask(method, parameters, session)

        for domain in ("Page", "Network", "Accessibility"):
            ask(f"{domain}.enable")
        ask(
            "Emulation.setDeviceMetricsOverride",
            width=view.width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if view.is_dark else "light"}
        ask("Emulation.setEmulatedMedia", features=[scheme])
        if view.is_turned:
            ask("Emulation.setAutoDarkModeOverride", enabled=True)
        self._events.clear()
        ask("Page.navigate", url=page.as_uri())
        self._wait("Page.loadEventFired")
        size = ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": view.width, "height": height or size["height"], "scale": scale}
        shot = ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        places = f"[...document.querySelectorAll({wanted!r})].map(one => one.getBoundingClientRect().top)"
        tops = ask("Runtime.evaluate", expression=places, returnByValue=True)["result"]["value"]
        nodes = ask("Accessibility.getFullAXTree")["nodes"]
        asked = [one["params"]["request"]["url"] for one in self._events if one["method"] == _ASKED]
        self._ask("Target.closeTarget", {"targetId": target})
        return Sight(
            picture=base64.b64decode(shot["data"]),
            width=int(size["width"]),
            height=int(size["height"]),
            tops=tuple(tops),
            spoken=tuple(_list_spoken(nodes)),
            fetched=tuple(url for url in asked if url != page.as_uri()),
        )

    def _ask(self, method: str, parameters: Mapping[str, object], session: str = "") -> dict[str, Any]:
        self._last += 1
        asked: dict[str, object] = {"id": self._last, "method": method, "params": parameters}
        if session:
            asked["sessionId"] = session
        try:
            os.write(self._to, json.dumps(asked).encode() + b"\0")
        except BrokenPipeError as error:
            raise RuntimeError("Chromium ended") from error
        while (answer := self._read()).get("id") != self._last:
            self._events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _wait(self, event: str) -> None:
        while not any(one["method"] == event for one in self._events):
            self._events.append(self._read())

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._from, 1 << 16)
            if not more:
                raise RuntimeError("Chromium ended")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told


_ASKED = "Network.requestWillBeSent"
_SPOKEN = ("heading", "link", "StaticText", "mark", "code")


def _list_spoken(nodes: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield what a screen reader says, from the first to the last: headings with their level."""
    by_id = {node["nodeId"]: node for node in nodes}

    def walk(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
        role = node.get("role", {}).get("value", "")
        if not node["ignored"] and role in _SPOKEN:
            level = next(
                (one["value"]["value"] for one in node.get("properties", ()) if one["name"] == "level"), ""
            )
            yield f"{role}{level}", node.get("name", {}).get("value", "")
        for child in node.get("childIds", ()):
            if child in by_id:
                yield from walk(by_id[child])

    yield from walk(nodes[0])
