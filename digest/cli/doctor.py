"""`digest doctor`: what is set up well, what to mend and how, and a test message where one is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace

import click

from digest.cli.context import choose_clock, opened, opened_client, set_up_logging
from digest.cli.output import json_option, print_json, print_wrapped
from digest.cli.program import quote_as_called
from digest.config import Config, open_config
from digest.config.addresses import read_operator_destinations, resolve_destinations
from digest.config.draft import Mistakes
from digest.config.values import suggest
from digest.inspect import doctor
from digest.inspect.findings import (
    CONFIGURATION,
    Find,
    Finding,
    Verdict,
    conceal,
    hide,
    list_private,
    list_secrets,
    run_checks,
)
from digest.model.clock import Clock
from digest.model.errors import ConfigurationError, DigestError, QueryError, StoreError, UsageError, count
from digest.model.subscriptions import Destination, DestinationKind
from digest.query import NoteKind, parse_query
from digest.site import Site
from digest.store import open_store

_SECONDS = 75.0
"""For all checks together. Each has shorter limits: arXiv's gate may keep a request waiting for 30 seconds."""

_LABEL = 15
_QUERIES = "queries"
_MARKS = {
    Verdict.OK: click.style("✓", fg="green"),
    Verdict.WARNING: click.style("!", fg="yellow", bold=True),
    Verdict.PROBLEM: click.style("✗", fg="red", bold=True),
    Verdict.UNCHECKED: "–",
}
_ORDER = list(Verdict)


@click.command()
@click.option("--quick", is_flag=True, help="Local checks only: no network.")
@click.option("--send", is_flag=True, help="Then send a test message to alarms.to and to each webhook.")
@click.option(
    "--to", "destinations", metavar="PLACE", multiple=True, help="With --send: send there too, as slack:#papers."
)
@click.option("--share", is_flag=True, help="Leave out addresses, channels and query texts.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, quick: bool, send: bool, destinations: tuple[str, ...], share: bool, as_json: bool
) -> None:
    """Check everything, and say what to mend and how.

    Configuration, database, templates, mail server, the sender's domain, Slack, arXiv, clock, disk and public
    address. Nothing is changed or sent.

    Tokens and passwords are never shown. --share leaves out addresses, channels and query texts, too, so that
    you can paste the output into a report.

    \b
    digest doctor --quick
    digest doctor --share
    digest doctor --send --to mailto:you@example.org

    --send sends a message that says it is a test. It goes to the places in alarms.to and to each webhook, and
    to each PLACE. A channel of your readers gets one only if you name it.

    ✓ is well, ! is worth a look, ✗ must be mended, – was not checked. Exit code 1 if there is a ✗, else 0.
    """  # noqa: D301 - click reads the backspace, which must be one
    if destinations and not send:
        raise UsageError("--to says where a test message goes", hint="Add --send, or leave --to away.")
    extra = read_operator_destinations(list(destinations))
    set_up_logging(ctx)
    config, about_config = _read(ctx, share=share)
    secrets = list_secrets(config) if config else {}
    private = list_private(config) if config else {}
    found = list[Finding]()
    for finding in _examine(ctx, config, about_config, quick=quick, tests=extra if send else None):
        found.append(hide(finding, private) if share else conceal(finding, secrets))
        if not as_json:
            _print(found[-1] if share else replace(found[-1], todo=quote_as_called(found[-1].todo)))
    worst = max((one.verdict for one in found), key=_ORDER.index)
    if as_json:
        print_json({"verdict": worst, "checks": found})
    else:
        counts = Counter(one.verdict for one in found)
        bad = [count(counts[one], one.value) for one in (Verdict.PROBLEM, Verdict.WARNING) if counts[one]]
        unchecked = f" {counts[Verdict.UNCHECKED]} not checked." if counts[Verdict.UNCHECKED] else ""
        click.echo(f"\n{', '.join(bad) or 'All is well'}.{unchecked}")
    if worst is Verdict.PROBLEM:
        ctx.exit(1)


def _read(ctx: click.Context, *, share: bool) -> tuple[Config | None, list[Finding]]:
    """Return the configuration, None where it can't be used, and the findings about it."""
    try:
        config = open_config(ctx.obj["config_path"])
    except Mistakes as error:
        mistakes = [each.partition("\n") for each in error.each]
        return None, [Finding(Verdict.PROBLEM, CONFIGURATION, said, todo.strip()) for said, _, todo in mistakes]
    except ConfigurationError as error:
        return None, [Finding(Verdict.PROBLEM, CONFIGURATION, error.message, error.hint)]
    queries = count(len(config.queries), "saved query", "saved queries")
    said = f"{config.path} can be read: {queries}, {count(len(config.subscriptions), 'subscription')}"
    found = [Finding(Verdict.OK, CONFIGURATION, said)]
    if not config.subscriptions:
        todo = "`digest add` makes a subscription."
        found = [Finding(Verdict.WARNING, CONFIGURATION, f"{said}, so nobody gets a digest", todo)]
    found += [Finding(Verdict.WARNING, CONFIGURATION, one) for one in config.warnings]
    return config, [*found, *_check_queries(config, share=share)]


def _check_queries(config: Config, *, share: bool) -> Iterator[Finding]:
    """Yield the queries that can't be read and what looks like a slip; to `share`, without their words."""
    followed = {name for one in config.subscriptions for name in (*one.queries, *one.read_first, *one.read_last)}
    for one in config.queries:
        if one.name not in followed:
            yield Finding(Verdict.WARNING, _QUERIES, f"{one.place}: no subscription follows it")
    for place, text in config.list_texts():
        try:
            for note in parse_query(text).notes:
                if note.kind is not NoteKind.LICENCE or config.arxiv.source == "query":
                    said = f"a note: {note.kind}" if share else note.message
                    yield Finding(Verdict.WARNING, _QUERIES, f"{place}: {said}")
        except QueryError as error:
            found = (f"{place}: {error.message}", error.hint, error.pointer())
            yield Finding(Verdict.PROBLEM, _QUERIES, *(found if not share else (f"{place}: can't be read",)))


def _examine(
    ctx: click.Context,
    config: Config | None,
    about_config: Sequence[Finding],
    *,
    quick: bool,
    tests: Sequence[Destination] | None,
) -> Iterator[Finding]:
    """Yield what every check finds; `tests` are more places for test messages, None where none are sent."""
    yield from about_config
    if config is None:
        todo = "Mend the configuration first."
        yield Finding(Verdict.UNCHECKED, "all else", "not checked", todo)
        return
    checks: dict[str, Find] = {
        "database": lambda: doctor.check_database(config),
        "disk": lambda: doctor.check_disk(config),
        "templates": lambda: _check_templates(config),
        "feeds": lambda: doctor.check_feeds(config),
        "library": lambda: doctor.check_libraries(config, choose_clock(config), at_zotero=False),
        "proxy": lambda: doctor.check_proxy(config),
    }
    yield from run_checks(checks | ({} if quick else _list_network_checks(config)), _SECONDS)
    if tests is not None:
        with opened(ctx) as site:
            yield from _send_tests(site, tests)


def _list_network_checks(config: Config) -> dict[str, Find]:
    clock = choose_clock(config)
    checks: dict[str, Find] = {"arXiv": lambda: _check_arxiv(config, clock)}
    if config.mail.from_address:
        checks["mail server"] = lambda: doctor.check_mail(config, clock)
        checks["DNS"] = lambda: doctor.check_domain(config)
    if config.slack.token or doctor.name_channels(config):
        checks["Slack"] = lambda: doctor.check_slack(config, clock)
    checks["Zotero"] = lambda: doctor.check_libraries(config, clock, at_zotero=True)
    if config.web.base_url:
        checks["base_url"] = lambda: doctor.check_base_url(config)
    return checks


def _check_templates(config: Config) -> Iterator[Finding]:
    """Render the operator's own templates with everything they may meet."""
    from digest.render import Renderer  # noqa: PLC0415 - a tenth of a second, where there are none of one's own
    from digest.render.check import check_templates, find_unused, list_templates  # noqa: PLC0415 - the same

    if config.templates is None:
        yield Finding(Verdict.OK, "templates", "the shipped ones")
        return
    renderer = Renderer([config.templates])
    templates, problems = renderer.templates, check_templates(renderer)
    for one in problems:
        yield Finding(Verdict.PROBLEM, "templates", one.message, one.hint)
    unused = find_unused(templates)
    for name in unused:
        todo = (
            suggest(name, templates.shipped_names(), "") or "`digest templates list` shows the names that count."
        )
        yield Finding(Verdict.WARNING, "templates", f"nothing uses your {name}", todo)
    if not (problems or unused):
        own = sum(entry.is_own for entry in list_templates(templates))
        yield Finding(Verdict.OK, "templates", f"all can be used, {own} of them your own")


def _check_arxiv(config: Config, clock: Clock) -> Iterable[Finding]:
    """Ask arXiv behind the installation's gate, or behind this account's where there is no database yet."""
    try:
        store = open_store(config.store.url)
    except StoreError:
        store = None
    with closing(store) if store else nullcontext(), opened_client(config, clock, store, quiet=True) as client:
        return list(doctor.check_arxiv(client, config.arxiv.source, is_simulated=clock.is_simulated))


def _send_tests(site: Site, extra: Sequence[Destination]) -> Iterator[Finding]:
    """Send the test messages, and give the sign of life."""
    from digest.serve.alarms import ping, send_test  # noqa: PLC0415 - only where something is sent

    config = site.config
    hooks = [Destination(DestinationKind.WEBHOOK, name) for name in config.webhooks]
    destinations = list(dict.fromkeys([*config.alarms.to, *hooks, *resolve_destinations(extra, config.folder)]))
    for place in destinations:
        try:
            receipt = send_test(site, place)
            yield Finding(Verdict.OK, "test message", f"sent to {place}", more=receipt.detail)
        except DigestError as error:
            yield Finding(Verdict.PROBLEM, "test message", f"not sent to {place}: {error.message}", error.hint)
    if config.alarms.ping_url:
        failures = ping(config)
        verdict = Verdict.PROBLEM if failures else Verdict.OK
        yield Finding(verdict, "sign of life", "; ".join(failures) or "the ping address answered")
    if not destinations and not config.alarms.ping_url:
        todo = "Set `alarms.to`, or name a place: `digest doctor --send --to mailto:you@example.org`."
        yield Finding(Verdict.WARNING, "test message", "there is nobody to send one to", todo)


def _print(finding: Finding) -> None:
    said = "\n".join(filter(None, (finding.said, finding.more)))
    print_wrapped(f"{_MARKS[finding.verdict]} {finding.check:<{_LABEL}} ", said)
    if finding.todo:
        print_wrapped(f"{'':{_LABEL + 3}}→ ", finding.todo)
