"""Where templates are: beside this package in a wheel, at the top of a checkout otherwise."""

from __future__ import annotations

from pathlib import Path

from digest.errors import TemplateError

_PACKAGE = Path(__file__).resolve().parent.parent


def find_shipped_templates(package: Path = _PACKAGE) -> Path:
    """Return the folder of the templates that came with this installation.

    A wheel carries them inside the package. An editable install has them one level up, which counts
    only beside a `pyproject.toml`: a folder that happens to be called `templates` next to an
    installed package is somebody else's.

    Raises:
        TemplateError: neither is there, so the installation is broken.
    """
    inside = package / "templates"
    if inside.is_dir():
        return inside
    beside = package.parent / "templates"
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise TemplateError(f"the templates that belong to {package} are missing", hint="Install the package again.")
