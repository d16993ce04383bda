"""The wheel carries what the tree holds: the package, the templates and the migrations, nothing else."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def listing() -> set[str]:
    wheel = os.environ.get("DIGEST_WHEEL")
    if not wheel:
        pytest.skip("DIGEST_WHEEL names no wheel: .ci/packaging builds one")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def tracked(folder: str) -> set[str]:
    done = subprocess.run(  # noqa: S603 - git, with fixed arguments
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder],  # noqa: S607 - the same
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line for line in done.stdout.splitlines() if line}


def test_the_wheel_holds_exactly_the_package_and_the_templates(listing: set[str]) -> None:
    assert listing == tracked("digest") | {f"digest/{name}" for name in tracked("templates")}


def test_the_wheel_says_that_it_is_typed_and_holds_templates_and_migrations(listing: set[str]) -> None:
    assert "digest/py.typed" in listing
    assert any(name.startswith("digest/templates/email/") for name in listing)
    assert any("/migrations/versions/" in name for name in listing)
