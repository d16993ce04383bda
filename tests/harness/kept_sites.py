"""An installation kept open from pass to pass, as `digest serve` keeps its own.

What is compiled stays so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from digest.config import load_config
from digest.model.clock import Clock
from digest.serve.installation import open_site
from digest.site import Site


@dataclass
class KeptSite:
    """Opens an installation when it is first asked for.

    Again for another folder, clock, or text of its file.

    Close it before the database is replaced, and when done.
    """

    environ: Mapping[str, str] = field(default_factory=dict)
    _opened: tuple[Path, Clock, str] | None = None
    _site: Site | None = None

    def open(self, folder: Path, clock: Clock) -> Site:
        """Return the installation of a folder as its file reads now, under a clock."""
        path = folder / "digest.toml"
        wanted = (folder, clock, path.read_text(encoding="utf-8"))
        if self._site is None or wanted != self._opened:
            self.close()
            config = load_config(path, dict(self.environ))
            self._site = open_site(config, clock, owner="test", jitter=lambda: 0.5)
            self._opened = wanted
        return self._site

    def close(self) -> None:
        """Close the installation; harmless when done twice."""
        if self._site is not None:
            self._site.close()
        self._site = None
