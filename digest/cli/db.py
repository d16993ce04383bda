"""`digest db`: the database as a whole: looked through, moved elsewhere, taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.telling import json_option, print_json, print_table
from digest.errors import UsageError

if TYPE_CHECKING:
    from digest.store.invariants import Violation


@click.group()
def command() -> None:
    """The database as a whole: look it through, move it to another one, take it back."""


@command.command()
@json_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool) -> None:
    """Look all through the database: is it whole and sound?

    Every invariant is asked, and SQLite looks through its own file and references. Changes nothing, and works
    beside a running `digest serve`. Exit code 1 where anything is wrong.
    """
    from digest.cli.storing import opened_store  # noqa: PLC0415 - the stack is loaded by the command that needs it
    from digest.store.invariants import INVARIANTS, count_rows, find_violations  # noqa: PLC0415 - the same

    with opened_store(ctx, moved_too=True) as here, here.store.read() as conn:
        violations = find_violations(conn)
        rows = count_rows(conn)
    if as_json:
        found = {violation.name: violation.count for violation in violations}
        print_json({"sound": not violations, "violations": found, "rows": rows})
    else:
        _tell(violations, len(INVARIANTS), sum(rows.values()))
    if violations:
        ctx.exit(1)


def _tell(violations: list[Violation], asked: int, rows: int) -> None:
    if not violations:
        click.echo(f"Sound: {asked} invariants hold over {rows:,} rows, and every reference leads somewhere.")
        return
    lines = [[f"{violation.count:,}", violation.name] for violation in violations]
    print_table(["ROWS", "BREAK WHAT SHOULD ALWAYS BE TRUE"], lines, empty="")
    click.echo("Stop what works on it, keep a copy of the file, and restore the latest backup that is sound.")


@command.command()
@click.option(
    "--to", "url", required=True, metavar="URL", help="The new database, empty: postgresql://… or sqlite:///…"
)
@json_option
@click.pass_context
def copy(ctx: click.Context, url: str, *, as_json: bool) -> None:
    """Move everything to another, empty database.

    From SQLite to PostgreSQL, back, or elsewhere. Stop every Digest that works on either first. All rows go
    over in one transaction, are counted, and every invariant is asked on both sides; where anything is wrong
    nothing has changed. Afterwards the old database works no more and says where everything is; links in
    mails sent before go on working. Then write the new URL under [store] in digest.toml.
    """
    from digest.cli.progress import Progress  # noqa: PLC0415 - the same
    from digest.cli.storing import opened_store  # noqa: PLC0415 - the same
    from digest.config.addresses import mask_password  # noqa: PLC0415 - the same
    from digest.store.invariants import INVARIANTS  # noqa: PLC0415 - the same
    from digest.store.moving import move_store  # noqa: PLC0415 - the same

    with opened_store(ctx) as here, Progress(quiet=as_json) as tell:
        report = move_store(here.store, url, tell)
        before = here.store.url_masked
    after = mask_password(url)
    if as_json:
        held = dict.fromkeys(INVARIANTS, 0)
        print_json({"from": before, "to": after, "rows": report.rows, "violations": held})
        return
    lines = [[name, f"{rows:,}", f"{rows:,}"] for name, rows in report.rows.items() if rows]
    print_table(["TABLE", "HERE", "THERE"], lines, empty="")
    click.echo(f"{report.total:,} rows moved, {len(INVARIANTS)} invariants hold on both sides.")
    click.echo(f'{before} works no more. Next: write url = "{after}" under [store] in digest.toml.')


@command.command("take-back")
@click.pass_context
def take_back(ctx: click.Context) -> None:
    """Let a database that `digest db copy` moved away work here again.

    What was sent from the new place it does not know, so nothing of it is sent until `digest resume`. See
    that nothing works on the new place any more.
    """
    from digest.cli.storing import opened_store  # noqa: PLC0415 - the same
    from digest.pipeline.resuming import take_back as take_store_back  # noqa: PLC0415 - the same
    from digest.store import hold_worker  # noqa: PLC0415 - the same

    with opened_store(ctx, moved_too=True) as here, hold_worker(here.store):
        if not take_store_back(here.store, here.now):
            raise UsageError("this database was not moved: it works here", hint="`digest status` shows how it is.")
    click.echo("It works here again, and holds everything back: see digest restore --status.")
