"""The `digest.toml` that `digest init` writes: every setting, explained, with its default commented out."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from digest.config.display import write_text, write_toml
from digest.config.settings import INHERITED, SETTINGS, SUBSCRIPTION, TABLES, Secrecy, Setting
from digest.model.errors import UsageError
from digest.model.subscriptions import NAME, NAME_RULE, normalise_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EXAMPLE_QUERY = "cat:cs.PF AND abs:GPU"
_NAMES = ("papers", *(f"papers-{number}" for number in range(2, 100)))
_WIDTH = 100
_NO_NAME = re.compile(r"""[:"'“”()/?&*\\$]""")
"""Signs that only a query has, or an address that was pasted: `https://arxiv.org/search/?query=GPU`."""


def starter_text(
    *,
    contact: str = "",
    queries: Sequence[str] = (),
    mail: Sequence[str] = (),
    slack: Sequence[str] = (),
    smtp: str = "",
    name: str = "",
) -> str:
    """Return the text of a new configuration: it can be used as soon as `contact` is filled in.

    Args:
        contact: mail address or web page for arXiv; "" leaves it to be filled in.
        queries: saved queries, each as its text or as `name=text`; an example where there are none.
        mail: addresses that get the digests.
        slack: channels that get them, with or without the #; without any destination they go to the terminal.
        smtp: the mail server's address, where it is not the usual one.
        name: of a file that may lie beside another one, without its ending: it gets a database of its own.

    Raises:
        UsageError: an address or a name is none, or there are more queries than names.
    """
    addresses = [normalise_address(one.removeprefix("mailto:")) for one in mail]
    named = _name_queries(queries or [EXAMPLE_QUERY])
    destinations = [f"mailto:{address}" for address in addresses]
    destinations += [f"slack:#{channel.removeprefix('slack:').lstrip('#')}" for channel in slack]
    filled = {"arxiv.contact": contact or (addresses[0] if addresses else "")}
    if addresses:
        filled["mail.from"] = addresses[0]
    if name:
        filled["store.url"] = f"sqlite:///{name}.db"
    if smtp:
        filled["mail.smtp"] = smtp
    return "\n".join(_write_lines(filled, named, destinations or ["console"])) + "\n"


def _name_queries(queries: Sequence[str]) -> dict[str, str]:
    """Return name → text. `name=text` names a query itself; query syntax has no equals sign of its own.

    Raises:
        UsageError: what stands before the sign can't be a name and looks like nothing else, or is taken.
    """
    named: dict[str, str] = {}
    for query in queries:
        name, equals, text = query.partition("=")
        is_named = bool(equals) and NAME.fullmatch(name.strip()) is not None
        if equals and not is_named and not _NO_NAME.search(name):
            raise UsageError(f"{name.strip()!r} can't be a name", hint=f"Write --query name=text. {NAME_RULE}")
        free = next((name for name in _NAMES if name not in named), "")
        key, value = (name.strip(), text.strip()) if is_named else (free, query.strip())
        if not key or key in named:
            raise UsageError(f"there are two saved queries called {key!r}", hint="Write --query name=text.")
        named[key] = value
    return named


def _write_lines(
    filled: Mapping[str, str], queries: Mapping[str, str], destinations: Sequence[str]
) -> Iterator[str]:
    yield "# Digest's configuration. What stands behind # is off: a default, or an example where there is none."
    yield "# Look at what counts, and where it comes from:  digest config show"
    for table, owner in TABLES.items():
        yield ""
        if table:
            yield f"[{table}]"
            yield from _comment(str(owner.__doc__))
        for setting in SETTINGS:
            if setting.table == table and not setting.is_environment_only:
                yield from _write_setting(setting, filled.get(setting.key, ""))
        if table == "slack":
            yield from _comment(
                "Incoming webhooks belong in DIGEST_SLACK_WEBHOOKS_NAME, or below [slack.webhooks]."
            )
    yield ""
    yield from _comment("Other programs get signed JSON: a table [webhooks.NAME] with url and secret.")
    yield from ("", "[queries]")
    yield from _comment('Saved queries: a name, and what arXiv\'s search would be asked. Try one: digest try "…"')
    for name, text in queries.items():
        yield f"{write_text(name) if '.' in name else name} = {write_text(text)}"
    yield from ("", "[[subscriptions]]")
    for setting in SUBSCRIPTION:
        if setting.name not in INHERITED:
            yield from _comment(f"{setting.name}: {setting.help}")
    yield from _comment(f"{', '.join(INHERITED)}: as in [defaults], for this subscription alone.")
    yield f"name = {write_text(next(iter(queries)))}"
    yield f"queries = {write_toml(list(queries))}"
    yield f"to = {write_toml(list(destinations) if len(destinations) > 1 else destinations[0])}"


def _write_setting(setting: Setting, filled: str) -> Iterator[str]:
    yield from _comment(setting.help)
    if setting.secrecy is Secrecy.SECRET:
        yield f"# Set {setting.variable} or {setting.variable}_FILE."
    elif filled or setting.key == "arxiv.contact":
        yield f"{setting.name} = {write_text(filled)}"
    else:
        yield f"# {setting.name} = {write_toml(setting.example or setting.default)}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
