from collections.abc import Callable
from pathlib import Path

import pytest

from digest.config import Config, load_config
from digest.model.errors import ConfigurationError

CONTACT = '[arxiv]\ncontact = "ops@example.org"\n'


Load = Callable[..., Config]
Refuse = Callable[..., ConfigurationError]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Read a configuration of this text, below what arXiv needs (`top`), and of these variables."""

    def load_text(text: str = "", /, *, top: str = CONTACT, **environ: str) -> Config:
        path = tmp_path / "digest.toml"
        path.write_text(top + text, encoding="utf-8")
        return load_config(path, environ)

    return load_text


@pytest.fixture
def refuse(load: Load) -> Refuse:
    """Read a configuration that has to be refused; return the error."""

    def refuse_text(text: str = "", /, *, top: str = CONTACT, **environ: str) -> ConfigurationError:
        with pytest.raises(ConfigurationError) as caught:
            load(text, top=top, **environ)
        return caught.value

    return refuse_text
