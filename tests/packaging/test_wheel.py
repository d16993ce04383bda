"""The wheel carries what the tree holds.

The package, the templates and the migrations, nothing else.
"""

from __future__ import annotations

import os
import zipfile

import pytest

from tests.unit.test_layout import tracked


@pytest.fixture(scope="module")
def listing() -> set[str]:
    wheel = os.environ.get("DIGEST_WHEEL")
    if not wheel:
        pytest.skip("DIGEST_WHEEL names no wheel: .ci/packaging builds one")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_exactly_the_package_and_the_templates(listing: set[str]) -> None:
    package = {name for name in tracked() if name.startswith("digest/")}
    templates = {f"digest/{name}" for name in tracked() if name.startswith("templates/")}
    assert listing == package | templates
    assert "digest/py.typed" in listing
