"""The state of an installation on its branch, as one process works on it.

Reading fetches it. Who is about to write takes the lease first: a push that names the run and
until when. What was written is pushed before anything is sent, and at the end, when the lease is
given up. Nothing is sent that the last push did not hold as `sending`: who takes over a lease finds
there what may have arrived.
"""

from __future__ import annotations

import lzma
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from digest.branch.journal import (
    JOURNAL,
    LEASE,
    MARGIN,
    MOST_CHANGES,
    NONCE_BYTES,
    SNAPSHOT,
    Journal,
    apply_differences,
    copy_for_travel,
    read_journal,
    seal,
    unseal,
    write_differences,
    write_journal,
)
from digest.branch.remote import BEGAN, Blob, Remote, Tip
from digest.config import Config
from digest.model.clock import Clock, monotonic
from digest.model.destinations import DestinationKind
from digest.model.errors import (
    ConfigurationError,
    DigestError,
    OutsideError,
    SchemaMismatch,
    StoreError,
)
from digest.model.numbers import count
from digest.store import MigrationReport, Store, migrate, open_store, outbox, workers

_NOBODY = datetime(1970, 1, 1, tzinfo=UTC)
_OTHER_RELEASE = (
    "If the release here is the newer one, call `digest db migrate`, or start the workflow with it."
    " If not, install the one that requirements.txt names."
)
_IN_DOUBT = (
    "Nothing more is sent. What was sent since the last push is in doubt: "
    "the next run finds out, or sends a mail once more."
)
_PUSHES = 2
_TRIES = 3
"""How often somebody who finds that the branch was moved meanwhile fetches it."""

_CHANGES_AT_ALL = 50 * MOST_CHANGES
"""Letters of changes that can't fit into a journal, however they are compressed."""

_FOLDER = "digest-state-"
"""How the names of temporary folders begin in which the state lies decrypted."""

_WATCH = 5.0
"""Seconds between two looks at how much of the lease is left."""


class Branch:
    """What a process has of the state: a database in a folder of its own, and in time the lease.

    It takes the lease once it writes. If it `migrates`, a state of an older release is brought up
    here. The push that takes the lease carries it.
    """

    store: Store
    migrates = False
    migrated: MigrationReport | None = None

    def __init__(self, config: Config, clock: Clock, owner: str, folder: Path) -> None:
        self._key = config.store.state_key
        if not self._key:
            raise ConfigurationError(
                f"the state on the branch {config.store.git_branch} is encrypted, "
                "and there is no key",
                hint="Set DIGEST_STORE_STATE_KEY. `digest init --start github` made it.",
            )
        self._clock = clock
        self._owner = owner
        self._lag = {DestinationKind.SLACK: config.slack.ambiguous_wait}
        self._remote = Remote(config.folder, config.store.git_branch)
        self._path = folder / "digest.db"
        self._base = folder / "snapshot.db"
        self._journal = Journal(0, 0, "", _NOBODY, "")
        self._old = Path(config.store.url.removeprefix("sqlite:///"))
        self._snapshot = ""
        self._began = (clock.now(), monotonic())
        self._has_lease = False
        self._is_lost = False
        self._pushing = threading.RLock()

    def fetch(self, *, create: bool, start_new: bool = False) -> None:
        """Bring the state here.

        `create` it where no branch ever was, with `start_new` also where one was.
        """
        for attempt in range(_TRIES):
            self._tip = self._remote.ask()
            if not self._tip.commit:
                self._begin(create=create, start_new=start_new)
                return
            if start_new:
                raise ConfigurationError(
                    f"the branch {self._remote.branch} is there, so nothing was started new",
                    hint="Delete it at origin first. All that was sent is forgotten then.",
                )
            try:
                files = self._remote.fetch(self._tip.commit)
            except OutsideError:
                if attempt + 1 == _TRIES:
                    raise
            else:
                self._read(files)
                return

    def _begin(self, *, create: bool, start_new: bool) -> None:
        if self._tip.began and not start_new:
            raise StoreError(
                f"the branch {self._remote.branch} is gone from origin: "
                f"it was there, as the tag {BEGAN} says",
                hint="Push it back from a clone that has it. Or start new, with first digests:"
                " `digest run --start-new`, the button of the workflow.",
            )
        if not create:
            raise StoreError(
                f"nothing has run yet: origin has no branch {self._remote.branch}",
                hint="`digest run` makes it.",
            )
        if self._old.exists() and not start_new:
            with workers.lock_file(self._old):
                copy_for_travel(self._old, self._path)
        self._open(create=not self._path.exists())

    def _read(self, files: Mapping[str, Blob]) -> None:
        """Make a database of the branch's files."""
        if not {JOURNAL, SNAPSHOT} <= files.keys():
            hint = "Name another branch in git_branch under [store]."
            raise StoreError(
                f"the branch {self._remote.branch} is not the state of a Digest", hint=hint
            )
        generation, content = unseal(self._key, JOURNAL, files[JOURNAL].content)
        self._journal = read_journal(content)
        made_in, content = unseal(self._key, SNAPSHOT, files[SNAPSHOT].content)
        if (generation, made_in) != (self._journal.generation, self._journal.snapshot):
            raise StoreError(
                f"the branch {self._remote.branch} is torn: "
                "its snapshot and its journal do not belong together",
                hint="Put back the branch as it was before somebody changed it. "
                "A clone may have it.",
            )
        self._snapshot = files[SNAPSHOT].id
        self._base.write_bytes(lzma.decompress(content))
        shutil.copyfile(self._base, self._path)
        apply_differences(self._path, self._journal.changes)
        self._open(create=False)

    def _open(self, *, create: bool) -> None:
        url = f"sqlite:///{self._path}"
        try:
            if self.migrates and not create:
                done = migrate(url)
                self.migrated = done if done.before != done.after else None
            opened = open_store(url, create=create)
        except SchemaMismatch as error:
            message = error.message.replace(url, f"on the branch {self._remote.branch}")
            raise SchemaMismatch(message, hint=_OTHER_RELEASE) from error
        if hasattr(self, "store"):
            opened.close()
            self.store.reopen()
        else:
            self.store = opened

    def describe(self) -> str:
        """Say what there is at `origin`."""
        where = f"on the branch {self._remote.branch} of origin"
        if not self._tip.commit:
            return f"{where}, none yet"
        return f"{where}, pushed {count(self._journal.generation, 'time')}"

    def take_lease(self, *, accepts_clock: bool = False) -> None:
        """Become the one who may write and send; harmless if this process is.

        What a run before named and did not end is `unknown` from this push on. Raise `LeaseHeld` if
        a run has it. If it `accepts_clock`, a lease that begins in the future is none.
        """
        with self._pushing:
            if self._has_lease:
                return
            for _ in range(_TRIES):
                self._journal.refuse_living(self._clock.now(), accepts_clock=accepts_clock)
                began_at = self._clock.now()
                self._began = (began_at, monotonic())
                with self.store.begin(is_allowed=True) as conn:
                    outbox.release_claims(conn, began_at, settle=self._lag)
                if self._replace(self._owner, began_at + LEASE, is_first=True):
                    self._has_lease = True
                    return
                self.store.close()
                for left in self._path.parent.glob("*.db*"):
                    left.unlink()
                self.fetch(create=True)
            raise OutsideError(
                "others push to the branch again and again", hint="Call it again later."
            )

    def has_time(self, needed: timedelta = timedelta(0)) -> bool:
        """Whether more than that is left of the lease, by the clock that went further."""
        began_at, ticks = self._began
        by_clock = self._clock.now() - began_at
        by_machine = timedelta(seconds=monotonic() - ticks)
        left = LEASE - max(by_clock, by_machine)
        return self._has_lease and not self._is_lost and left > needed

    def watching(self, interrupt: Callable[[], None]) -> AbstractContextManager[None]:
        """Break off whatever waits for the outside world when the lease is almost over."""

        def watch() -> bool:
            is_over = not self.has_time(MARGIN / 2)
            if is_over:
                interrupt()
            return is_over

        return workers.keep_calling(watch, _WATCH)

    def rotate_key(self, key: bytes) -> None:
        """Encrypt all with another key from the next push on."""
        self.take_lease()
        self._key = key
        self._snapshot = ""

    def push(self) -> None:
        """Put the state as it is now on the branch, and keep the lease.

        After its `OutsideError` nothing more may be sent, and nothing more is pushed.
        """
        self.take_lease()
        self._replace(self._owner, self._journal.until)

    def finish(self) -> None:
        """Push what was changed, and give the lease up; harmless if nothing was."""
        if self._has_lease and not self._is_lost:
            self._replace("", _NOBODY)
            self._has_lease = False

    def _replace(self, owner: str, until: datetime, *, is_first: bool = False) -> bool:
        """Replace the commit on the branch.

        Return False if somebody else did, and this is the push that takes the lease.
        """
        with self._pushing:
            generation = self._journal.generation + 1
            journal = replace(self._journal, generation=generation, owner=owner, until=until)
            content = self._write_changes(journal)
            snapshot: bytes | str = self._snapshot
            if content is None:
                journal = replace(journal, snapshot=generation, changes="")
                content = write_journal(journal)
                snapshot = self._write_snapshot(generation)
            sealed = self._seal(JOURNAL, generation, content)
            commit, blobs = self._remote.write({JOURNAL: sealed, SNAPSHOT: snapshot})
            if not self._push_stubbornly(commit, is_first=is_first):
                return False
            self._tip = Tip(commit, self._tip.began or commit)
            self._journal = journal
            self._snapshot = blobs[SNAPSHOT]
            return True

    def _write_changes(self, journal: Journal) -> bytes | None:
        """Return the journal with what changed since the snapshot; None if that is too much."""
        if not self._snapshot:
            return None
        changes = write_differences(self._path, self._base)
        if changes is None or len(changes) > _CHANGES_AT_ALL:
            return None
        content = write_journal(replace(journal, changes=changes))
        return content if len(content) <= MOST_CHANGES else None

    def _push_stubbornly(self, commit: str, *, is_first: bool) -> bool:
        """Push twice if the first push is refused though nobody has moved the branch.

        Return False if somebody has, and this is the push that takes the lease.
        """
        for _ in range(_PUSHES):
            if self._remote.push(commit, self._tip):
                return True
            try:
                tip = self._remote.ask()
            except DigestError as error:
                raise self._lose(error) from error
            if tip.commit == commit:
                return True
            if tip != self._tip:
                if is_first:
                    return False
                raise self._lose(OutsideError("another run has replaced the state meanwhile"))
        raise self._lose(self._remote.refusal or OutsideError("the push was refused"))

    def _lose(self, error: DigestError) -> OutsideError:
        """Give up: what was named in the last push is in doubt for the next process."""
        self._is_lost = True
        hint = _IN_DOUBT if self._has_lease else error.hint
        return OutsideError(f"the state could not be kept: {error.message}", hint=hint)

    def _write_snapshot(self, generation: int) -> bytes:
        fresh = self._base.with_suffix(".fresh")
        fresh.unlink(missing_ok=True)
        copy_for_travel(self._path, fresh)
        fresh.replace(self._base)
        return self._seal(SNAPSHOT, generation, lzma.compress(self._base.read_bytes()))

    def _seal(self, name: str, generation: int, content: bytes) -> bytes:
        return seal(self._key, name, generation, content, os.urandom(NONCE_BYTES))


@contextmanager
def _ending_like_ctrl_c(*signals: signal.Signals) -> Iterator[None]:
    """Let signals end a command as Ctrl-C does.

    So the lease is given up, and no database stays behind.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for one in signals:
            before[one] = signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _remove_left(where: Path) -> None:
    """Remove from a folder the decrypted states that killed processes of this account left."""
    # A database lies in one of these folders only when its process holds the lock.
    for left in {one.parent for one in where.glob(f"{_FOLDER}*/*.db")}:
        with suppress(StoreError, FileNotFoundError), workers.lock_file(left / _FOLDER):
            if left.stat().st_uid == os.getuid():
                shutil.rmtree(left)


@contextmanager
def opened_branch(
    config: Config,
    clock: Clock,
    owner: str,
    *,
    create: bool = False,
    start_new: bool = False,
    migrates: bool = False,
) -> Iterator[Branch]:
    """Fetch the state for one command.

    What the command writes is pushed at the end, even if an error ends it.
    """
    with (
        _ending_like_ctrl_c(signal.SIGTERM, signal.SIGHUP),
        TemporaryDirectory(prefix=_FOLDER) as name,
        workers.lock_file(Path(name) / _FOLDER),
    ):
        _remove_left(Path(name).parent)
        branch = Branch(config, clock, owner, Path(name))
        branch.migrates = migrates
        branch.fetch(create=create, start_new=start_new)
        branch.store.before_write = branch.take_lease
        try:
            yield branch
        finally:
            branch.finish()
            branch.store.close()
