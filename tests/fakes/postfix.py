"""The machine's own Postfix, with an instance in a folder of its own on a free port; that takes root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/spool
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
command_directory = /usr/sbin
daemon_directory = {daemons}
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
myhostname = mail.example.org
mydestination =
alias_maps =
alias_database =
default_transport = discard
smtpd_client_connection_count_limit = 0
smtpd_relay_restrictions = permit_mynetworks, reject
"""
_MASTER = """
127.0.0.1:{port} inet n - n - 50 smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""


@contextmanager
def postfix() -> Iterator[int]:
    """Run a Postfix that throws away what it has queued; give its port."""
    folder = Path(tempfile.mkdtemp(prefix="digest-postfix-"))
    folder.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    daemons = _ask("postconf", "-d", "-h", "daemon_directory")
    for name in ("config", "spool", "data"):
        (folder / name).mkdir()
    shutil.chown(folder / "data", "postfix")
    (folder / "config" / "main.cf").write_text(_MAIN.format(folder=folder, daemons=daemons), encoding="ascii")
    (folder / "config" / "master.cf").write_text(_MASTER.format(port=port), encoding="ascii")
    try:
        _ask("postfix", "-c", str(folder / "config"), "start")
        try:
            yield port
        finally:
            _ask("postfix", "-c", str(folder / "config"), "stop")
    finally:
        shutil.rmtree(folder)


def _ask(name: str, *arguments: str) -> str:
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert path is not None, name
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - the machine's own
    if done.returncode:
        raise SystemExit(f"{name} {' '.join(arguments)}: {done.stderr or done.stdout}")
    return done.stdout.strip()
