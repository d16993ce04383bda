"""A self-signed certificate for 127.0.0.1, made on the spot by the machine's `openssl`."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from digest.model.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key as PEM files; clients trust `path`."""

    path: Path
    key: Path

    def load(self) -> ssl.SSLContext:
        """Return what a server needs to present it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path, self.key)
        return context


def has_openssl() -> bool:
    """Whether certificates can be made here."""
    return shutil.which("openssl") is not None


def make_certificate(folder: Path) -> Certificate:
    """Write `demo.crt` and `demo.key`, for 127.0.0.1, localhost and outside.test, to a folder."""
    program = shutil.which("openssl")
    if program is None:
        raise ConfigurationError(
            "no openssl is installed here", hint="Run the mail sink without encryption."
        )
    made = Certificate(folder / "demo.crt", folder / "demo.key")
    command = [
        program,
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += [
        "-keyout",
        str(made.key),
        "-out",
        str(made.path),
        "-days",
        "30",
        "-subj",
        "/CN=localhost",
    ]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:outside.test"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)  # noqa: S603
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip()
        raise ConfigurationError(f"openssl could not make a certificate: {words}")
    return made
