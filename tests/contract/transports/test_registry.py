"""One line per transport, and for each line a module and a test file."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import digest.deliver.transports
from digest.config import load_config
from digest.config.settings import INCOMING
from digest.deliver.transports.registry import TRANSPORTS, open_transport
from digest.model.clock import SystemClock
from digest.model.destinations import TRAITS, DestinationKind, Medium
from digest.model.errors import ConfigurationError
from digest.model.messages import Transport

ROOM = Path(digest.deliver.transports.__file__).parent
TESTS = Path(__file__).parents[2]


def test_each_kind_of_destination_but_the_pulled_feed_has_a_line() -> None:
    pulled = {kind for kind, traits in TRAITS.items() if traits.medium is Medium.FEED}
    assert set(TRAITS) == set(DestinationKind)
    assert set(TRANSPORTS) == set(TRAITS) - pulled
    assert pulled == {DestinationKind.FEED}


@pytest.mark.parametrize("path", [way.path for way in TRANSPORTS.values()])
def test_each_line_names_a_class_with_a_transports_methods_in_a_module_of_its_own(
    path: str,
) -> None:
    name, _, class_name = path.partition(":")
    module = import_module(name)
    assert module.__file__ is not None
    assert Path(module.__file__).parent == ROOM
    offered = getattr(module, class_name)
    assert offered.__module__ == name
    for method in ("resolve", "send", "find", "close"):
        assert callable(getattr(offered, method))
        assert getattr(offered, method).__doc__


@pytest.mark.parametrize(
    "path", [way.path for kind, way in TRANSPORTS.items() if kind not in INCOMING]
)
def test_each_line_has_a_test_file_that_imports_its_class_but_webhooks_which_are_all_tried(
    path: str,
) -> None:
    module, _, class_name = path.partition(":")
    files = (TESTS / "integration" / "transports").glob("test_*.py")
    assert any(
        f"from {module} import {class_name}" in file.read_text(encoding="utf-8") for file in files
    )


def test_each_transport_in_the_room_has_a_line() -> None:
    found = set()
    for file in ROOM.glob("*.py"):
        module = import_module(f"digest.deliver.transports.{file.stem}")
        found |= {
            f"{module.__name__}:{name}"
            for name, value in vars(module).items()
            if name.endswith("Transport")
            and value is not Transport
            and value.__module__ == module.__name__
        }
    assert found == {way.path for way in TRANSPORTS.values()}


def test_nothing_is_sent_to_a_feed() -> None:
    with pytest.raises(ConfigurationError, match="fetch it themselves") as caught:
        open_transport(DestinationKind.FEED, load_config(None, {}), SystemClock())
    assert "mailto" in caught.value.hint


def test_the_registry_loads_no_transport_before_it_is_opened() -> None:
    heavy = "smtplib ssl slack_sdk urllib.request email_validator digest.deliver.transports.smtp"
    code = (
        "import sys, digest.deliver.transports.registry as r; "
        "from digest.model.destinations import DestinationKind as K; "
        f"print([n for n in {heavy.split()!r} if n in sys.modules]); "
        "r.construct(r.TRANSPORTS[K.CONSOLE].path, {}); "
        "paths = [f'digest.deliver.transports.{name}' for name in ('console', 'slack')]; "
        "print(*(path in sys.modules for path in paths))"
    )
    python = [sys.executable, "-c", code]
    done = subprocess.run(python, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert done.stdout.split("\n")[:2] == ["[]", "True False"]
