"""What a check finds, in words: checks side by side, and words without what should stay secret."""

from __future__ import annotations

import json
import logging
import re
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import quote, quote_plus, urlsplit

from digest.config import Config
from digest.config.declarations import Secrecy
from digest.config.settings import SETTINGS
from digest.config.values import write_signing_key
from digest.interest.libraries import name_source
from digest.model.clock import LOOPBACK_HOSTS, monotonic
from digest.model.destinations import Destination, DestinationKind, Medium
from digest.model.errors import DigestError
from digest.model.secrets import redact
from digest.query.tree import Prefix
from digest.query.words import STOP_WORDS

_log = logging.getLogger("digest.doctor")

CONFIGURATION = "configuration"
"""The check whose findings repeat values of `digest.toml`."""

_ERRNO = re.compile(r"\[Errno -?\d+\] ")

_REPEATING = (CONFIGURATION, "database")
"""Checks whose findings repeat others' words: values of the file, or what PostgreSQL says."""

_Shape = tuple[re.Pattern[str], str]
"""What something private looks like, and what is shown in its place."""

_OF_NAME = r"[^\s<>'\"`:/@,;()]"
_TOKEN: _Shape = (re.compile(r"\bx(?:ox[a-z]|app)[-.][\w.-]+"), "<token>")
_SHAPES_IN_LOGS: tuple[_Shape, ...] = (
    _TOKEN,
    (re.compile(rf"(?<!{_OF_NAME}){_OF_NAME}+@[\w.-]*\w"), "<address>"),
    (re.compile(r"(?<![\w/&])#[^\s#,:;.()'\"`]+"), "#…"),
    (re.compile(r"\b[CDGUW][A-Z0-9]{7,}\b"), "<channel>"),
    (re.compile(r"(the proxy https?://)(?:\[[^\]]*\]|[^\s,:]+)"), r"\1<proxy>"),
    (
        re.compile(r"(logging in to \S+ as )\S+|(the connection to ).{1,300}(?= is not secure)"),
        r"\1\2<name>",
    ),
)
"""What shows by its shape: tokens, mail addresses, channels and their ids, proxies, users."""

_SHAPES: tuple[_Shape, ...] = (
    *_SHAPES_IN_LOGS,
    (re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)"), "<host>"),
    (re.compile(r"(?<![^\s'\"`(=])/(?:[\w.@+-]+/)+[\w@+-]*(?:\.\w+)*"), "<path>"),
)
"""The same, with hosts and paths."""

_EXAMPLES = re.compile(r"(\b(?:you|ops|reader|ada)@(?:…|example\.(?:org|com)\b))")
"""Addresses that hints name: nobody has them."""

_QUOTED: tuple[_Shape, ...] = (
    (re.compile(r"(?<!\w)'[^'\n]+'(?!\w)"), "'…'"),
    (re.compile(r'"[^"\n]+"'), '"…"'),
)
_QUOTED_VALUE = re.compile(r"(?<!\w)'(?:\w+://)?([^'\n]+)'(?!\w)")
"""A value in single quotes; of an address what follows its scheme."""

_VALUES: tuple[_Shape, ...] = (
    (re.compile(rf"\b(?:{'|'.join(DestinationKind)}):[^\s,;]+"), "…"),
    (re.compile(r"\b(https?|postgresql)://[^\s,;)\"'`]+"), r"\1://…"),
)
"""Values of the file, as mistakes in it repeat them."""


_IS_QUERY = re.compile(rf"\b(?:{'|'.join(Prefix)}):")
_WORD = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")
_SHORTEST = 3
"""Letters of the shortest word, and of the shortest value, that is hidden wherever it stands."""

_PLAIN_WORDS = {*map(str.lower, Prefix), *STOP_WORDS, "andnot"}


class Verdict(StrEnum):
    """How a check ended, the worst last."""

    OK = "ok"
    UNCHECKED = "not checked"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    `more` names addresses, channels or queries, for the operator's own eyes.
    """

    verdict: Verdict
    check: str
    said: str
    todo: str = ""
    more: str = ""


Find = Callable[[], Iterable[Finding]]


def run_checks(checks: Mapping[str, Find], seconds: float) -> Iterator[Finding]:
    """Run all checks side by side, for that many seconds at most.

    Yield what they find in their order. None of them stops another: an error is a finding.
    """
    until = monotonic() + seconds
    running = {name: _start(name, find) for name, find in checks.items()}
    for name, future in running.items():
        left = max(until - monotonic(), 0.0)
        try:
            yield from future.result(left)
        except TimeoutError:
            said = f"there was no answer within {seconds:g} seconds"
            yield Finding(Verdict.PROBLEM, name, said, "Call it again later.")


def _start(name: str, find: Find) -> Future[list[Finding]]:
    future: Future[list[Finding]] = Future()

    def run() -> None:
        future.set_result(_run(name, find))

    # A daemon, unlike an executor's threads: one that hangs must not keep the command from ending.
    threading.Thread(target=run, daemon=True).start()
    return future


def _run(name: str, find: Find) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(find())
    except DigestError as error:
        said = _ERRNO.sub("", error.message)
        found.append(Finding(Verdict.PROBLEM, name, said, error.hint))
    except Exception as error:  # noqa: BLE001 - one check must not hide what the others find
        _log.debug("the check %s failed", name, exc_info=True)
        said = f"the check itself failed ({type(error).__name__})"
        todo = "`digest --verbose doctor` logs where. Report it."
        found.append(Finding(Verdict.PROBLEM, name, said, todo))
    return found


def hide_private(finding: Finding, private: Mapping[str, str]) -> Finding:
    """Return a finding without what should not be shared: addresses, channels, query texts.

    Of what to do about it, only these go (see `list_private`): its own words and examples stay.
    """
    shapes = _SHAPES
    hidden_in_todo = dict(private)
    if finding.check in _REPEATING:
        shapes = (*_QUOTED, *_VALUES, *_SHAPES)
        quoted = dict.fromkeys(_QUOTED_VALUE.findall(finding.said), "…")
        hidden_in_todo = {**quoted, **private}
    todo, _, _of_the_file = finding.todo.partition("\n")
    return replace(
        finding,
        said=_hide(finding.said, private, shapes),
        todo=_hide(todo, hidden_in_todo, ()),
        more="",
    )


def hide_secrets(finding: Finding, secrets: Mapping[str, str]) -> Finding:
    """Return a finding without secrets; see `list_secrets`."""
    shapes = (_TOKEN,)
    return replace(
        finding,
        said=_hide(finding.said, secrets, shapes),
        todo=_hide(finding.todo, secrets, shapes),
        more=_hide(finding.more, secrets, shapes),
    )


def _hide(text: str, private: Mapping[str, str], shapes: Iterable[_Shape]) -> str:
    for literal in sorted(private, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(literal)}(?![\w-])", private[literal], text)
    for shape, instead in shapes:
        text = shape.sub(instead, text)
    return text


def list_secrets(config: Config) -> dict[str, str]:
    """Return what no screen shows at all, each with what is shown in its place."""
    secrets: list[str] = []
    for setting in SETTINGS:
        if setting.secrecy is Secrecy.SECRET:
            value = setting.find(config)
            is_key = isinstance(value, bytes)
            secrets.append(b64encode(value).decode() if is_key else value)
    for webhook in config.webhooks.values():
        secrets.append(webhook.url)
        secrets.append(write_signing_key(webhook.secret))
    for urls in config.incoming.values():
        secrets.extend(urls.values())
    return {secret: "<secret>" for secret in secrets if secret}


def list_private(config: Config) -> dict[str, str]:
    """Return what is not shown to strangers, each with what is shown in its place; secrets too."""
    queries = [text for _, text in config.list_texts()]
    private = _list_hosts(config)
    private |= _list_addresses(config)
    private[config.arxiv.contact] = "<address>"
    private |= dict.fromkeys(queries, "<query>")
    private |= list_secrets(config)
    private[str(config.folder)] = "."
    for subscription in config.subscriptions:
        for source in (*subscription.library, *subscription.not_like):
            private[name_source(config, source)] = "<library>"
    return {literal: word for literal, word in private.items() if literal}


def _list_hosts(config: Config) -> dict[str, str]:
    """Return the names of machines and of the sender's domain."""
    server = urlsplit(config.mail.smtp)
    database = urlsplit(config.store.url)
    _, _, domain = config.mail.from_address.rpartition("@")
    hosts = {
        server.hostname: "<mail server>",
        config.mail.helo: "<host>",
        domain: "<domain>",
        config.web.host: "<host>",
        database.hostname: "<host>",
    }
    private = {}
    for host, word in hosts.items():
        if not host or host in LOOPBACK_HOSTS:
            continue
        # A host may be called `mail`: such a word is a name only in an address.
        if host.isidentifier():
            private[f"/{host}"] = f"/{word}"
        else:
            private[host] = word
    return private


def _list_addresses(config: Config) -> dict[str, str]:
    """Return where digests and alarms go: files, mail addresses, and channels by number."""
    places = list(config.alarms.to)
    for subscription in config.subscriptions:
        places.extend(subscription.destinations)
    files = [place.address for place in places if place.traits.medium is Medium.PAGE]
    people = [place.address for place in places if place.traits.is_personal]
    channels = dict.fromkeys(place.address for place in places if is_channel(place))
    private = dict.fromkeys(files, "<file>")
    private |= dict.fromkeys(people, "<address>")
    for number, channel in enumerate(channels, 1):
        private[channel] = f"<channel {number}>"
    return private


def is_channel(place: Destination) -> bool:
    """Whether the address of a destination is a channel of others itself, not a name for one."""
    traits = place.traits
    return not (traits.is_named or traits.is_personal or traits.is_own)


def list_public_log(config: Config) -> dict[str, str]:
    """Return what no log that strangers read may hold.

    Beside what is private, these are words of queries, and values from variables.
    """
    queries = [text for _, text in config.list_texts()]
    warned_of = _find_quoted(" ".join(config.warnings))
    values = _list_values([*config.given.values(), *warned_of])
    return values | _list_words(queries) | list_private(config)


def list_unread(said: str, file: str, variables: Iterable[str]) -> dict[str, str]:
    """Return what no public log may hold where the configuration can't be read.

    It is guessed from what the error says, from the file's text, and from the variables.
    """
    values = [*_find_quoted(said), *_find_quoted(file), *variables]
    queries = [value for value in values if _IS_QUERY.search(value)]
    return _list_words(queries) | _list_values(values)


def build_mask(private: Mapping[str, str]) -> Callable[[str], str]:
    """Return what hides in a text all that is private, and all that looks so.

    It is found as it is, and as JSON and URLs spell it.
    """
    words = _spell_everywhere(private)
    longest_first = sorted(words, key=len, reverse=True)
    any_of = "|".join(re.escape(spelling) for spelling in longest_first)
    if not any_of:
        any_of = "(?!)"  # matches nothing
    # A word may follow what JSON or a URL writes for a sign: `\\n`, `%22`.
    begin = r"(?:(?<![^\W_])|(?<=\\[bfnrt])|(?<=%[0-9a-f]{2}))"
    pattern = re.compile(rf"{begin}({any_of})(?:e?s)?(?![^\W_])", re.IGNORECASE)

    def choose_word(found: re.Match[str]) -> str:
        return words.get(found[1].lower(), "…")

    def mask(text: str) -> str:
        parts = []
        for part in _EXAMPLES.split(pattern.sub(choose_word, text)):
            if _EXAMPLES.fullmatch(part):
                parts.append(part)
            else:
                parts.append(redact(_hide(part, {}, _SHAPES_IN_LOGS)))
        return "".join(parts)

    return mask


def _spell_everywhere(private: Mapping[str, str]) -> dict[str, str]:
    """Return what is private in each spelling that a log may have, in lower case."""
    spelled = {}
    for literal, word in private.items():
        in_json = json.dumps(literal)[1:-1]
        for spelling in (literal, in_json, quote(literal), quote_plus(literal)):
            spelled[spelling.lower()] = word
    return spelled


def _list_words(texts: Iterable[str]) -> dict[str, str]:
    found = set()
    for text in texts:
        for match in _WORD.findall(text):
            whole = match.lower()
            found.add(whole)
            found.update(re.split("[.-]", whole))
    words = {}
    for word in found - _PLAIN_WORDS:
        letters = [sign for sign in word if sign.isalpha()]
        if len(letters) >= _SHORTEST:
            words[word] = "<query>"
    return words


def _find_quoted(text: str) -> list[str]:
    quoted: list[str] = []
    for shape, _ in _QUOTED:
        quoted.extend(found[0][1:-1] for found in shape.finditer(text))
    return quoted


def _list_values(texts: Iterable[str]) -> dict[str, str]:
    return {text: "<value>" for text in texts if len(text) >= _SHORTEST}
