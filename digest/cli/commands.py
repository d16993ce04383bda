"""The table of commands, in four groups, and what to say to a command that does not exist."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable
from copy import copy
from importlib import import_module

import click

from digest.model.errors import UsageError

GROUPS = {
    "Start": {
        "demo": ("digest.cli.demo", "see it work, without network or keys"),
        "try": ("digest.cli.query:command_try", "see what a query brings; nothing is stored"),
        "missed": ("digest.cli.missed", "papers of the last month near your library"),
        "init": ("digest.cli.init", "set up your own, step by step"),
        "add": ("digest.cli.add", "save a query, and who gets what it finds"),
    },
    "Every day": {
        "run": ("digest.cli.run", "do all that is due, once"),
        "serve": ("digest.cli.serve", "keep doing it; pages, feeds, one-click unsubscribe"),
        "status": ("digest.cli.status", "what works, what does not, what comes next"),
        "preview": ("digest.cli.preview", "a digest before it goes out"),
        "explain": ("digest.cli.explain", "why a paper came, or did not"),
        "send": ("digest.cli.preview:command_send", "send a digest to yourself"),
    },
    "Manage": {
        "subscription": ("digest.cli.subscription", "who gets what, where and when"),
        "library": ("digest.cli.library", "papers you keep, which put digests in order"),
        "query": ("digest.cli.query", "saved queries: how each is read, what it found"),
        "feed": ("digest.cli.feed", "feeds and their secret addresses"),
        "delivery": ("digest.cli.delivery", "messages on their way: send again, cancel"),
        "export": ("digest.cli.export", "papers as BibTeX or RIS"),
        "templates": ("digest.cli.templates", "change how digests look"),
    },
    "Maintain": {
        "doctor": ("digest.cli.doctor", "what is set up well, and what to mend"),
        "config": ("digest.cli.config", "the settings in use"),
        "coverage": ("digest.cli.coverage", "what was checked at arXiv, day by day"),
        "db": ("digest.cli.db", "the database: check, backup, restore"),
        "slack": ("digest.cli.slack", "what Slack needs to let the bot in"),
        "webhook": ("digest.cli.webhook", "a secret to sign JSON messages with"),
        "help": ("digest.cli.help", "the manual: help TOPIC"),
    },
}
"""Module and sentence of each command, by group and name, in the order a newcomer needs them."""

COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

EXAMPLES = {
    "explain": "digest explain 2611.15012\n"
    "digest explain 2611.15012 perf-team\n"
    "digest explain 2611.15012 'cat:cs.PF AND abs:GPU'",
    "subscription pause": "digest subscription pause perf-team --until 2026-11-30",
    "subscription unsubscribe": "digest subscription unsubscribe gpu-mail reader@example.org",
    "library add": "digest library add perf-team 2611.15012 --less",
    "query show": "digest query show gpu\ndigest query show 'cat:cs.PF AND abs:GPU'",
    "delivery list": "digest delivery list --state failed --state needs-you",
    "delivery retry": "digest delivery retry 381 382\ndigest delivery retry --held",
    "db restore": "digest db restore backups/digest-20261120T080500Z.db --sent-until now",
    "db copy": "digest db copy --to postgresql://localhost/digest",
}
"""What to type, by command: if its usage says too little, and its own text shows none."""

REPLACEMENTS = {
    **dict.fromkeys(("list", "ls"), "subscription list"),
    **dict.fromkeys(("outbox", "queue", "messages"), "delivery list"),
    "test": "doctor --send",
    **dict.fromkeys(("check", "validate", "lint", "health"), "doctor"),
    **dict.fromkeys(("update", "fetch", "poll", "sync", "cron"), "run"),
    **dict.fromkeys(("start", "daemon", "web", "watch"), "serve"),
    **dict.fromkeys(("stats", "info", "logs"), "status"),
    **dict.fromkeys(("search", "find"), "try QUERY"),
    **dict.fromkeys(("recommend", "related", "similar"), "missed LIBRARY"),
    "why": "explain PAPER QUERY",
    **dict.fromkeys(
        ("subscribe", "new", "save", "subscription add", "query add", "feed add"), "add"
    ),
    "edit": "subscription edit NAME",
    **dict.fromkeys(("remove", "rm", "delete", "subscription delete"), "subscription remove NAME"),
    "unsubscribe": "subscription unsubscribe NAME ADDRESS",
    **dict.fromkeys(("pause", "stop"), "subscription pause NAME"),
    "resume": "subscription resume NAME",
    **dict.fromkeys(("retry", "resend"), "delivery retry ID"),
    "cancel": "delivery cancel ID",
    **dict.fromkeys(("bibtex", "ris"), "export"),
    **dict.fromkeys(("zotero", "library list"), "library show"),
    **dict.fromkeys(("setup", "install", "configure"), "init"),
    **dict.fromkeys(("settings", "show"), "config show"),
    "undo": "config undo",
    "migrate": "db migrate",
    "backup": "db backup",
    "restore": "db restore FILE",
    "version": "--version",
    **dict.fromkeys(("docs", "manual"), "help"),
}
"""What to type instead of a word that another tool has."""

SECOND_NAME = "preprint-digest"
"""What the command is called beside `digest`: the name of what is installed, so `uvx` runs it."""


def find_name() -> str:
    """Return the name by which the command was called: one of its two."""
    return SECOND_NAME if sys.argv[0].endswith(SECOND_NAME) else "digest"


def name_command() -> str:
    """Return what to type for `digest`: its path where the shell would not find it by name."""
    import shutil  # noqa: PLC0415 - its imports are a tenth of what a help text costs
    from pathlib import Path  # noqa: PLC0415 - the same

    called = Path(sys.argv[0])
    name = find_name()
    if "archive-v0" in called.parts:  # the cache from which uvx runs what is not installed
        return f"uvx {name}"
    if shutil.which(name) or called.name != name:
        return name
    here = Path.cwd()
    if called.is_relative_to(here):
        return str(called.relative_to(here))
    return str(called)


def quote_as_called(hint: str) -> str:
    """Return a hint with the commands it quotes as they are called here."""
    if "digest " not in hint:
        return hint
    return re.sub(r"(?m)(^ *|`)digest ", rf"\1{name_command()} ", hint)


def explain_unknown(typed: str, known: Iterable[str], group: str = "") -> UsageError:
    """Return the error for a word that is no known command of a group ("" at the top)."""
    from difflib import get_close_matches  # noqa: PLC0415 - for what is typed wrong alone

    before = f"{group} " if group else ""
    said = f"{before}{typed}".strip()
    instead = REPLACEMENTS.get(said.lower())
    near = get_close_matches(typed.lower(), list(known), n=1)
    if instead:
        hint = f"Use `digest {instead}`."
    elif near:
        hint = f"Did you mean `digest {before}{near[0]}`?"
    else:
        hint = f"`digest {before}--help` shows them all."
    return UsageError(f'There is no command "{said}".', hint=hint)


class CommandGroup(click.Group):
    """A group that shows examples of its commands, and answers an unknown one with what to use."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command with its example; None if none has that name."""
        found = self._find_command(ctx, cmd_name)
        if found is None:
            return None
        path = f"{_name_group(ctx)} {cmd_name}".strip()
        if path in EXAMPLES:
            example = textwrap.indent(EXAMPLES[path], "  ")
            found.epilog = f"\b\nFor example:\n{example}"
        if find_name() != "digest":
            found = copy(found)
            found.help = quote_as_called(found.help or "")
            found.epilog = quote_as_called(found.epilog or "")
        return found

    def _find_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say what to type instead."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise explain_unknown(args[0], self.list_commands(ctx), _name_group(ctx))
        return super().resolve_command(ctx, args)


def _name_group(ctx: click.Context) -> str:
    """Return the words that were typed for a group after the program's name; "" at the top."""
    words = ctx.command_path.split()
    return " ".join(words[1:])


class CommandTable(CommandGroup):
    """The top of all commands: knows their names and sentences, and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order a newcomer needs them."""
        return list(COMMANDS)

    def _find_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        name: str,
    ) -> click.Command | None:
        if name not in COMMANDS:
            return None
        place, _ = COMMANDS[name]
        module, _, attribute = place.partition(":")
        found: click.Command = getattr(import_module(module), attribute or "command")
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands first: a person who asks for help needs one of them."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the groups without importing any command."""
        width = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            rows = [(f"{name:<{width}}", sentence) for name, (_, sentence) in group.items()]
            with formatter.section(title):
                formatter.write_dl(rows)
