"""The table of commands. A command is loaded when it is named; errors become words.

Exit codes: 0 done · 1 something of ours failed · 2 usage · 3 configuration · 4 the outside world.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

import click

from digest import __version__
from digest.cli.program import call_as_here
from digest.model.errors import DigestError, QueryError

_COMMANDS = {
    "demo": ("digest.cli.demo", "See the whole pipeline at work on a made-up arXiv; nothing leaves this machine."),
    "try": ("digest.cli.try_query", "Look a query up on arXiv and read the digest it would make; sends nothing."),
    "run": ("digest.cli.run", "Do everything that is due, once, and exit: for cron."),
    "serve": ("digest.cli.serve", "Keep polling, planning and delivering, and serve feeds and pages."),
    "status": ("digest.cli.status", "Say in one screen what works, what does not, and what comes next."),
    "alarm": ("digest.cli.status:command_alarm", "Alarms: a test whether they reach you."),
    "explain": ("digest.cli.explain", "Say what became of one paper on its way to one subscription."),
    "coverage": ("digest.cli.coverage", "Say what was looked at, mailing by mailing, and what is missing."),
    "init": ("digest.cli.init", "Write a commented digest.toml to start from."),
    "config": ("digest.cli.config", "Show and check the configuration."),
    "query": ("digest.cli.query", "Saved queries: check, preview, diff, explain, history."),
    "subscription": ("digest.cli.subscription", "Subscriptions: show, pause, resume, leave, return."),
    "preview": ("digest.cli.preview", "Show a subscription's digest in any shape; nothing is sent."),
    "send": ("digest.cli.preview:command_send", "Send a digest to the operator, to try how it arrives."),
    "feed": ("digest.cli.feed", "Feeds: list, secret addresses, rotate."),
    "export-refs": ("digest.cli.export_refs", "Write papers as BibTeX or RIS, for a reference manager."),
    "delivery": ("digest.cli.delivery", "The outbox: list, show, retry, arrived, drop."),
    "templates": ("digest.cli.templates", "Templates: list, export as your own, check."),
    "slack": ("digest.cli.slack", "Slack: the app's manifest, and a check of token, scopes and channels."),
    "webhook": ("digest.cli.webhook", "Signed JSON to other programs: secret, schema, test."),
    "db": ("digest.cli.db", "The database: check, backup, restore, resume, copy to PostgreSQL or back."),
    "migrate": ("digest.cli.db:command_migrate", "Bring the database up to this release."),
}


class _LazyGroup(click.Group):
    """A group that knows its commands' names and sentences, and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Import a command; None for a name there is none by."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(module), name or "command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command where there is none by the name given."""
        near = get_close_matches(args[0], _COMMANDS, n=1) if args and args[0] not in _COMMANDS else []
        if near:
            ctx.fail(f"there is no command {args[0]!r}; did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the same
        """Write the list without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="digest %(version)s")
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    envvar="DIGEST_CONFIG",
    help="The configuration; ./digest.toml where none is named.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log what happens, line by line, on standard error.")
@click.pass_context
def cli(ctx: click.Context, config_path: str | None, *, verbose: bool) -> None:
    """Watch arXiv for saved queries and tell people once, calmly and at the right moment.

    \b
    digest demo                            everything at work, on made-up papers
    digest try "cat:cs.PF AND abs:GPU"     the real arXiv, sends nothing
    digest init                            your own
    """  # noqa: D301 - click reads the backspace, which must be one
    ctx.obj = {"config_path": config_path, "verbose": verbose}


def run_cli(args: list[str] | None = None) -> int:
    """Run a command line; return its exit code. Errors become what is wrong and what to do, on stderr."""
    try:
        result = cli.main(args=args, prog_name="digest", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except DigestError as error:
        show_error(error)
        return error.exit_code
    except SystemExit:
        # With standalone mode off, click and rich leave by themselves for one reason only: whoever read our
        # output has gone. That is no failure of ours, and nothing is left to say.
        return 0
    return result if isinstance(result, int) else 0


def show_error(error: DigestError) -> None:
    """Write what is wrong and what to do next on standard error."""
    click.echo(f"{click.style('error:', fg='red', bold=True)} {error.message}", err=True)
    if isinstance(error, QueryError) and error.text:
        click.echo(error.pointer(), err=True)
    if error.hint:
        click.echo(f"{click.style('hint:', bold=True)}  {call_as_here(error.hint)}", err=True)
