from pathlib import Path

import pytest

from digest.model.errors import TemplateError
from digest.render.environments import find_shipped_templates


def test_a_wheel_carries_its_templates_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "digest"
    (package / "templates").mkdir(parents=True)
    (tmp_path / "templates").mkdir()
    assert find_shipped_templates(package) == package / "templates"


def test_a_checkout_has_them_at_its_top(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert find_shipped_templates(tmp_path / "digest") == tmp_path / "templates"


def test_a_folder_that_only_happens_to_be_called_templates_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    with pytest.raises(TemplateError, match="missing") as caught:
        find_shipped_templates(tmp_path / "digest")
    assert "again" in caught.value.hint
