"""A real Chromium, and a world to be met with it. `.ci/browser` runs what needs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from digest.model.clock import ManualClock
from tests.battery.browser import find_chromium
from tests.browser.looking import PATIENCE, Windows
from tests.browser.world import NOW, World, live_in, live_through_a_month
from tests.harness.installation import copy_database

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    assert path is not None, "Chromium is not installed: apt-get install chromium"
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a database that has met a month of announcements, to be copied."""
    folder = tmp_path_factory.mktemp("month")
    live_through_a_month(folder)
    return folder


@pytest.fixture
def world(month: Path, tmp_path: Path) -> Iterator[World]:
    copy_database(month, tmp_path)
    with live_in(tmp_path, ManualClock(NOW)) as world:
        yield world


@pytest.fixture
def windows(browser: Browser) -> Iterator[Windows]:
    """Windows to open, which fail a test where one of their pages complained."""
    with Windows(browser) as windows:
        yield windows
    assert windows.complaints == []
