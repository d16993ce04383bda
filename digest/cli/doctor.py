"""`digest doctor`: what is set up well, what to mend and how; a test message if one is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial

import click

from digest.cli.commands import quote_as_called
from digest.cli.context import choose_clock, opened, opened_client, set_up_logging
from digest.cli.output import Part, answers, labelled, showing_progress, style
from digest.config import Config, open_config
from digest.config.addresses import read_operator_destinations, resolve_destinations
from digest.config.draft import Mistakes
from digest.inspect.doctor import (
    check_arxiv,
    check_database,
    check_disk,
    check_feeds,
    check_libraries,
    check_own_templates,
    check_proxy,
    check_queries,
    list_network_checks,
)
from digest.inspect.findings import (
    CONFIGURATION,
    Find,
    Finding,
    Verdict,
    hide_private,
    hide_secrets,
    list_private,
    list_secrets,
    run_checks,
)
from digest.model.clock import Clock
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import ConfigurationError, DigestError, StoreError, UsageError
from digest.model.numbers import count
from digest.serve.alarms import ping, send_test
from digest.site import Site
from digest.store import open_store

_SECONDS = 75.0
"""For all checks together. Each has shorter limits: arXiv's gate may keep a request waiting for
30 seconds."""

_MARKS = {
    Verdict.OK: style("✓", fg="green"),
    Verdict.WARNING: style("!", fg="yellow", bold=True),
    Verdict.PROBLEM: style("✗", fg="red", bold=True),
    Verdict.UNCHECKED: "–",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What every check found.

    `verdict` is the worst of it, `is_shared` that it goes to strangers.
    """

    verdict: Verdict
    checks: tuple[Finding, ...]
    is_shared: bool

    @property
    def exit_code(self) -> int:
        """1 if something must be mended."""
        return int(self.verdict is Verdict.PROBLEM)


def _show(report: Report) -> Iterator[Part]:
    lines = []
    for one in report.checks:
        said = [one.said, one.more]
        if one.todo:
            todo = one.todo if report.is_shared else quote_as_called(one.todo)
            said.append(f"→ {todo}")
        text = "\n".join(filter(None, said))
        lines.append((f"{_MARKS[one.verdict]} {one.check}", text))
    yield labelled(lines, is_bold=False)
    yield f"\n{_sum_up(report)}"


def _sum_up(report: Report) -> str:
    counts = Counter(one.verdict for one in report.checks)
    met = [verdict for verdict in (Verdict.PROBLEM, Verdict.WARNING) if counts[verdict]]
    bad = [count(counts[verdict], verdict.value) for verdict in met]
    said = f"{', '.join(bad) or 'All is well'}."
    if counts[Verdict.UNCHECKED]:
        said += f" {counts[Verdict.UNCHECKED]} not checked."
    return said


@click.command()
@click.option("--quick", is_flag=True, help="Local checks only: no network. A healthcheck.")
@click.option(
    "--send", is_flag=True, help="Then send a test message to alarms.to and to each webhook."
)
@click.option(
    "--to",
    "destinations",
    metavar="PLACE",
    multiple=True,
    help="With --send: send there too, as slack:#papers.",
)
@click.option("--share", is_flag=True, help="Leave out addresses, channels and query texts.")
@answers(_show)
@click.pass_context
def command(
    ctx: click.Context, *, quick: bool, send: bool, destinations: tuple[str, ...], share: bool
) -> Report:
    """Check everything, and say what to mend and how.

    Configuration, queries, libraries, templates, database, mail server, the sender's domain, Slack,
    arXiv, clock, disk and public address. Nothing is changed, and only --send sends anything.

    Tokens and passwords are never shown. --share leaves out addresses, channels and query texts,
    too, so that you can paste the output into a report.

    \b
    digest doctor --quick
    digest doctor --share
    digest doctor --send --to mailto:you@example.org

    --send sends a message that says it is a test. It goes to the places in alarms.to and to each
    webhook, and to each PLACE. A channel of your readers gets one only if you name it.

    ✓ is well, ! is worth a look, ✗ must be mended, – was not checked. Exit code 1 if there is
    a ✗, else 0.
    """  # noqa: D301 - click reads the backspace, which must be one
    if destinations and not send:
        raise UsageError(
            "--to says where a test message goes", hint="Add --send, or leave --to away."
        )
    extra = read_operator_destinations(list(destinations))
    set_up_logging(ctx)
    config, about_config = _read(ctx, share=share)
    found = list[Finding]()
    send_to = extra if send else None
    with showing_progress() as tell:
        for finding in _examine(ctx, config, about_config, quick=quick, send_to=send_to):
            tell(f"{finding.check}: {finding.verdict}", 0)  # a check counts no rows
            found.append(finding)
    found = _hide_all(found, config, share=share)
    worst = max((one.verdict for one in found), key=list(Verdict).index)
    return Report(worst, tuple(found), share)


def _hide_all(found: Sequence[Finding], config: Config | None, *, share: bool) -> list[Finding]:
    """Take secrets out of findings, and what is private if they are for strangers."""
    if share:
        private = {} if config is None else list_private(config)
        return [hide_private(one, private) for one in found]
    if config is None:
        return list(found)
    secrets = list_secrets(config)
    return [hide_secrets(one, secrets) for one in found]


def _read(ctx: click.Context, *, share: bool) -> tuple[Config | None, list[Finding]]:
    """Return the configuration, None if it can't be used, and the findings about it."""
    try:
        config = open_config(ctx.obj["config_path"])
    except ConfigurationError as error:
        return None, _list_mistakes(error)
    queries = count(len(config.queries), "saved query", "saved queries")
    subscriptions = count(len(config.subscriptions), "subscription")
    said = f"{config.path} can be read: {queries}, {subscriptions}"
    about_file = Finding(Verdict.OK, CONFIGURATION, said)
    if not config.subscriptions:
        todo = "`digest add` makes a subscription."
        said = f"{said}, so nobody gets a digest"
        about_file = Finding(Verdict.WARNING, CONFIGURATION, said, todo)
    warnings = [Finding(Verdict.WARNING, CONFIGURATION, one) for one in config.warnings]
    return config, [about_file, *warnings, *check_queries(config, share=share)]


def _list_mistakes(error: ConfigurationError) -> list[Finding]:
    """Return a finding for each mistake of a file.

    A mistake's first line says what is wrong, the others what to do.
    """
    each = error.each if isinstance(error, Mistakes) else [f"{error.message}\n{error.hint}"]
    found = []
    for one in each:
        said, _, todo = one.partition("\n")
        found.append(Finding(Verdict.PROBLEM, CONFIGURATION, said, todo.strip()))
    return found


def _examine(
    ctx: click.Context,
    config: Config | None,
    about_config: Sequence[Finding],
    *,
    quick: bool,
    send_to: Sequence[Destination] | None,
) -> Iterator[Finding]:
    """Yield what every check finds.

    `send_to` are more places for test messages, besides those of the configuration. None if no
    test message is sent.
    """
    yield from about_config
    if config is None:
        yield Finding(Verdict.UNCHECKED, "all else", "not checked", "Mend the configuration first.")
        return
    clock = choose_clock(config)
    checks: dict[str, Find] = {
        "database": lambda: check_database(config, clock),
        "disk": lambda: check_disk(config),
        "templates": lambda: check_own_templates(config),
        "feeds": lambda: check_feeds(config),
        "library": lambda: check_libraries(config, clock, at_zotero=False),
        "proxy": lambda: check_proxy(config),
    }
    if not quick:
        checks["arXiv"] = lambda: _check_arxiv(config, clock)
        for check in list_network_checks(config):
            checks[check.name] = partial(check.find, config, clock)
    yield from run_checks(checks, _SECONDS)
    if send_to is not None:
        with opened(ctx) as site:
            yield from _send_tests(site, send_to)


def _check_arxiv(config: Config, clock: Clock) -> Iterable[Finding]:
    """Ask arXiv through the installation's gate.

    This account's is used if the database is on a branch, or can't be opened.
    """
    try:
        store = None if config.store.git_branch else open_store(config.store.url)
    except StoreError:
        store = None
    with (
        closing(store) if store else nullcontext(),
        opened_client(config, clock, store, quiet=True) as client,
    ):
        return list(check_arxiv(client, config.arxiv.source, is_simulated=clock.is_simulated))


def _send_tests(site: Site, extra: Sequence[Destination]) -> Iterator[Finding]:
    config = site.config
    hooks = [Destination(DestinationKind.WEBHOOK, name) for name in config.webhooks]
    named = resolve_destinations(extra, config.folder)
    places = dict.fromkeys([*config.alarms.to, *hooks, *named])
    for place in places:
        yield _send_test(site, place)
    if config.alarms.ping_url:
        failures = ping(config)
        verdict = Verdict.PROBLEM if failures else Verdict.OK
        yield Finding(verdict, "sign of life", "; ".join(failures) or "the ping address answered")
    elif not places:
        yield Finding(
            Verdict.WARNING,
            "test message",
            "there is nobody to send one to",
            "Set `alarms.to`, or name a place: `digest doctor --send --to mailto:you@example.org`.",
        )


def _send_test(site: Site, place: Destination) -> Finding:
    try:
        receipt = send_test(site, place)
    except DigestError as error:
        said = f"not sent to {place}: {error.message}"
        return Finding(Verdict.PROBLEM, "test message", said, error.hint)
    return Finding(Verdict.OK, "test message", f"sent to {place}", more=receipt.detail)
