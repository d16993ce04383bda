"""The command `digest`: calls what was typed, and turns errors into words.

Exit codes: 0 done · 1 something of ours failed · 2 usage · 3 configuration · 4 the outside world ·
75 another run has the state on a branch.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import ExitStack

import click

from digest import __version__
from digest.cli.commands import CommandTable, find_name, quote_as_called
from digest.model.errors import DigestError, QueryError, UsageError


@click.group(
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="digest %(version)s")
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    envvar="DIGEST_CONFIG",
    help="Read the settings from FILE, not from ./digest.toml.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say what happens, line by line.")
@click.pass_context
def cli(ctx: click.Context, config_path: str | None, *, verbose: bool) -> None:
    """New papers from arXiv for your saved queries: by mail, in Slack, as a feed.

    Each paper comes once. `digest COMMAND --help` says more about a command.
    """
    if isinstance(ctx.obj, ExitStack):
        from digest.cli.output import veiled  # noqa: PLC0415 - not for `--help`

        ctx.obj.enter_context(veiled(config_path))
    ctx.obj = {"config_path": config_path, "verbose": verbose}


def run_cli(args: list[str] | None = None) -> int:
    """Run a command line; return its exit code.

    Errors become what is wrong and what to do, on standard error.
    """
    with ExitStack() as veils:
        try:
            return _run(args, veils)
        except Exception:  # noqa: BLE001 - a mistake of ours, as Python would show it
            from digest.cli.output import echo  # noqa: PLC0415 - for errors alone

            echo(traceback.format_exc(), err=True, nl=False)
            return DigestError.exit_code


def _run(args: list[str] | None, veils: ExitStack) -> int:
    try:
        result = cli.main(args=args, prog_name=find_name(), standalone_mode=False, obj=veils)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        return 130
    except click.ClickException as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            error.show()
        else:
            show_error(_word_misuse(error))
        return error.exit_code
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except DigestError as error:
        show_error(error)
        return error.exit_code
    except OSError as error:
        # Standard output has met a full disk, most likely. It is not tried again at the exit.
        sys.stdout = None  # as in a program that has none
        cause = error if error.filename else error.strerror
        show_error(
            DigestError(
                f"Digest can't go on: {cause}",
                hint="Is there room where the output goes? What was done is kept.",
            )
        )
        return DigestError.exit_code
    except SystemExit:
        # With standalone mode off, click and rich leave by themselves for one reason only: nobody
        # reads our output any more. That is no failure of ours.
        result = 0
    return result if isinstance(result, int) else 0


def _word_misuse(error: click.ClickException) -> UsageError:
    """Say what click found wrong with a call as all else is said, and where to read about it."""
    message = error.format_message().removesuffix(".")
    said = message.replace("a valid integer range", "a whole number")
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"`{ctx.command_path} --help` shows how it is called." if ctx else ""
    return UsageError(said, hint=hint)


def show_error(error: DigestError) -> None:
    """Write what is wrong and what to do next on standard error."""
    from digest.cli.output import echo, say, style  # noqa: PLC0415 - the same

    label = style("error:", fg="red", bold=True)
    say(f"{label} {error.message}", err=True)
    if isinstance(error, QueryError) and error.text:
        echo(error.pointer(), err=True)
    if error.hint:
        label = style("hint:", bold=True)
        say(f"{label}  {quote_as_called(error.hint)}", err=True)
