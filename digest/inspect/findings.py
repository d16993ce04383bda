"""What a check finds, in words; checks side by side; and words without what should not be pasted."""

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
from digest.config.values import write_signing_key
from digest.interest.libraries import name_source
from digest.model.clock import LOOPBACK_HOSTS, monotonic
from digest.model.destinations import DestinationKind
from digest.model.errors import DigestError
from digest.model.secrets import redact
from digest.query.tree import Prefix
from digest.query.words import STOP_WORDS

_log = logging.getLogger("digest.doctor")

CONFIGURATION = "configuration"
"""The check whose findings repeat values of `digest.toml`."""

_ERRNO = re.compile(r"\[Errno -?\d+\] ")

_OF_NAME = r"[^\s<>'\"`:/@,;()]"
_SHAPES = (
    (re.compile(r"\bx(?:ox[a-z]|app)[-.][\w.-]+"), "<token>"),
    (re.compile(rf"(?<!{_OF_NAME}){_OF_NAME}+@[\w.-]*\w"), "<address>"),
    (re.compile(r"(?<![\w/&])#[^\s#,:;.()'\"`]+"), "#…"),
    (re.compile(r"\b[CDGUW][A-Z0-9]{7,}\b"), "<channel>"),
    (re.compile(r"(the proxy https?://)(?:\[[^\]]*\]|[^\s,:]+)"), r"\1<proxy>"),
    (
        re.compile(r"(logging in to \S+ as )\S+|(the connection to ).{1,300}(?= is not secure)"),
        r"\1\2<name>",
    ),
    (re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)"), "<host>"),
    (re.compile(r"(?<![^\s'\"`(=])/(?:[\w.@+-]+/)+[\w@+-]*(?:\.\w+)*"), "<path>"),
)
"""What shows by its shape: tokens, mail addresses, users, hosts, channels and their ids, proxies, paths."""

_EXAMPLES = re.compile(r"(\b(?:you|ops|reader|ada)@(?:…|example\.(?:org|com)\b))")
"""Addresses that hints name: nobody has them."""

_QUOTED = ((re.compile(r"(?<!\w)'[^'\n]+'(?!\w)"), "'…'"), (re.compile(r'"[^"\n]+"'), '"…"'))
_VALUES = (
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
    """What one check found; `more` names addresses, channels or queries, for the operator's own eyes."""

    verdict: Verdict
    check: str
    said: str
    todo: str = ""
    more: str = ""


Find = Callable[[], Iterable[Finding]]


def run_checks(checks: Mapping[str, Find], seconds: float) -> Iterator[Finding]:
    """Run all checks side by side, for that many seconds at most, and yield what they find in their order.

    None of them stops another: an error is a finding.
    """
    until = monotonic() + seconds
    running = [(name, _start(name, find)) for name, find in checks.items()]
    for name, future in running:
        try:
            yield from future.result(max(until - monotonic(), 0.0))
        except TimeoutError:
            said = f"there was no answer within {seconds:g} seconds"
            yield Finding(Verdict.PROBLEM, name, said, "Call it again later.")


def _start(name: str, find: Find) -> Future[list[Finding]]:
    future: Future[list[Finding]] = Future()
    # A daemon, unlike an executor's threads: one that hangs must not keep the command from ending.
    threading.Thread(target=lambda: future.set_result(_run(name, find)), daemon=True).start()
    return future


def _run(name: str, find: Find) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(find())
    except DigestError as error:
        found.append(Finding(Verdict.PROBLEM, name, _ERRNO.sub("", error.message), error.hint))
    except Exception as error:  # noqa: BLE001 - a mistake in one check must not hide what the others find
        _log.debug("the check %s failed", name, exc_info=True)
        said = f"the check itself failed ({type(error).__name__})"
        found.append(
            Finding(Verdict.PROBLEM, name, said, "`digest --verbose doctor` logs where. Report it.")
        )
    return found


def hide(finding: Finding, private: Mapping[str, str]) -> Finding:
    """Return a finding without what should not be shared: addresses, channels, query texts.

    Of what to do about it, only these go (see `list_private`): its own words and examples stay.
    """
    repeats = finding.check in (
        CONFIGURATION,
        "database",
    )  # values of the file, or PostgreSQL's own words
    said = _hide(finding.said, private, (*(_QUOTED + _VALUES) * repeats, *_SHAPES))
    quoted = dict.fromkeys(
        re.findall(r"(?<!\w)'(?:\w+://)?([^'\n]+)'(?!\w)", finding.said * repeats), "…"
    )
    todo, *_of_the_file = finding.todo.split("\n")
    return replace(finding, said=said, todo=_hide(todo, {**quoted, **private}, ()), more="")


def conceal(finding: Finding, secrets: Mapping[str, str]) -> Finding:
    """Return a finding without secrets; see `list_secrets`."""
    said, todo, more = (
        _hide(one, secrets, _SHAPES[:1]) for one in (finding.said, finding.todo, finding.more)
    )
    return replace(finding, said=said, todo=todo, more=more)


def _hide(
    text: str, private: Mapping[str, str], shapes: Iterable[tuple[re.Pattern[str], str]]
) -> str:
    for literal in sorted(private, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(literal)}(?![\w-])", private[literal], text)
    for shape, instead in shapes:
        text = shape.sub(instead, text)
    return text


def list_secrets(config: Config) -> dict[str, str]:
    """Return what no screen shows at all, each with what is shown in its place."""
    secrets = [config.slack.token, config.mail.password, config.alarms.ping_url, config.zotero.key]
    secrets += [b64encode(config.store.state_key).decode()] if config.store.state_key else []
    for one in config.webhooks.values():
        secrets += [one.url, write_signing_key(one.secret)]
    secrets += [url for urls in config.incoming.values() for url in urls.values()]
    return {secret: "<secret>" for secret in secrets if secret}


def list_private(config: Config) -> dict[str, str]:
    """Return what is not shown to strangers, each with what is shown in its place; secrets too."""
    mail, server = config.mail, urlsplit(config.mail.smtp)
    hosts = {
        server.hostname: "<mail server>",
        mail.helo: "<host>",
        mail.from_address.rpartition("@")[2]: "<domain>",
        config.web.host: "<host>",
        urlsplit(config.store.url).hostname: "<host>",
    }
    places = [
        *config.alarms.to,
        *(place for one in config.subscriptions for place in one.destinations),
    ]
    channels = dict.fromkeys(one.address for one in places if one.kind is DestinationKind.SLACK)
    # A host may be called `mail`: such a word is a name only in an address.
    mark = {
        host: "/" * host.isidentifier() for host in hosts if host and host not in LOOPBACK_HOSTS
    }
    private = {
        **{f"{mark[host]}{host}": f"{mark[host]}{hosts[host]}" for host in mark},
        **{place.address: "<file>" for place in places if place.kind is DestinationKind.FILE},
        **{place.address: "<address>" for place in places if place.kind is DestinationKind.MAIL},
        **{address: f"<channel {number}>" for number, address in enumerate(channels, 1)},
        config.arxiv.contact: "<address>",
        **dict.fromkeys((text for _, text in config.list_texts()), "<query>"),
        **list_secrets(config),
        str(config.folder): ".",
    }
    sources = [source for one in config.subscriptions for source in (*one.library, *one.not_like)]
    private |= dict.fromkeys((name_source(config, source) for source in sources), "<library>")
    return {literal: word for literal, word in private.items() if literal}


def list_public_log(config: Config) -> dict[str, str]:
    """Return what no log that strangers read may hold; words of queries and values from variables, too."""
    values = _list_values([*config.given.values(), *_find_quoted(" ".join(config.warnings))])
    return values | _list_words(text for _, text in config.list_texts()) | list_private(config)


def list_unread(said: str, file: str, variables: Iterable[str]) -> dict[str, str]:
    """Return the same where the configuration can't be read: what its error, its file and the variables say."""
    values = [*_find_quoted(said), *_find_quoted(file), *variables]
    return _list_words(filter(_IS_QUERY.search, values)) | _list_values(values)


def build_mask(private: Mapping[str, str]) -> Callable[[str], str]:
    """Return what hides in a text what is private, as it is or as JSON and URLs spell it, and what looks so."""
    spelled = {
        one.lower(): word
        for literal, word in private.items()
        for one in (literal, json.dumps(literal)[1:-1], quote(literal), quote_plus(literal))
    }
    any_of = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True))) or "(?!)"
    # A word may follow what JSON or a URL writes for a sign: `\\n`, `%22`.
    begin = r"(?:(?<![^\W_])|(?<=\\[bfnrt])|(?<=%[0-9a-f]{2}))"
    pattern = re.compile(rf"{begin}({any_of})(?:e?s)?(?![^\W_])", re.IGNORECASE)

    def mask(text: str) -> str:
        text = pattern.sub(lambda match: spelled.get(match[1].lower(), "…"), text)
        return "".join(
            part if _EXAMPLES.fullmatch(part) else redact(_hide(part, {}, _SHAPES[:-2]))
            for part in _EXAMPLES.split(text)
        )

    return mask


def _list_words(texts: Iterable[str]) -> dict[str, str]:
    wholes = (whole.lower() for text in texts for whole in _WORD.findall(text))
    found = {one for whole in wholes for one in (whole, *re.split("[.-]", whole))} - _PLAIN_WORDS
    return {one: "<query>" for one in found if sum(map(str.isalpha, one)) >= _SHORTEST}


def _find_quoted(text: str) -> list[str]:
    return [found[0][1:-1] for shape, _ in _QUOTED for found in shape.finditer(text)]


def _list_values(texts: Iterable[str]) -> dict[str, str]:
    return {text: "<value>" for text in texts if len(text) >= _SHORTEST}
