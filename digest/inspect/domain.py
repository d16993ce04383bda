"""Asks DNS what a sender's domain publishes, and judges it: SPF, DKIM and DMARC.

Sources: RFC 7208 (SPF), RFC 6376 (DKIM), RFC 7489 (DMARC).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import dns.exception
import dns.resolver

from digest.inspect.findings import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    AskTxt = Callable[[str], list[str] | None]

_SECONDS = 8.0
"""For one question, all name servers of the machine together."""

_NOT_CHECKED = "SPF, DKIM and DMARC are not checked"

_KEY = re.compile(r"(?:^|;)\s*p\s*=\s*([^;\s]*)")

_INCLUDES = {
    "gmail.com": "_spf.google.com",
    "fastmail.com": "spf.messagingengine.com",
    "me.com": "icloud.com",
    "amazonaws.com": "amazonses.com",
    "postmarkapp.com": "spf.mtasv.net",
    "mailgun.org": "mailgun.org",
}
"""What a domain's SPF record includes, by the end of the mail server's name, where a provider sends."""


def ask_dns(server: tuple[str, int] | None = None) -> AskTxt:
    """Return what asks for the TXT records of a name; it returns None where there is no such name.

    Args:
        server: address and port of the name server; None for those of this machine.

    Raises:
        DNSException: this machine names no server; from the question itself: none of them answered.
    """
    resolver = dns.resolver.Resolver(configure=server is None)
    if server is not None:
        resolver.nameservers, resolver.port = [server[0]], server[1]

    def ask(name: str) -> list[str] | None:
        try:
            answer = resolver.resolve(f"{name}.", "TXT", lifetime=_SECONDS)
        except dns.resolver.NXDOMAIN:
            return None
        except dns.resolver.NoAnswer:
            return []
        return [b"".join(one.strings).decode("utf-8", "replace") for one in answer]

    return ask


def inspect_domain(
    domain: str, *, selector: str, mail_host: str, server: tuple[str, int] | None
) -> Iterator[Finding]:
    """Yield what the domain publishes for receivers of its mail, and what it should.

    Args:
        domain: of the sender's address.
        selector: names the DKIM key; "" where that is not known.
        mail_host: of the mail server, for the SPF record that is proposed.
        server: see `ask_dns`.
    """
    try:
        ask = ask_dns(server)
        records = ask(domain)
        if records is None:
            yield _judge_absence(ask, domain)
            return
        yield judge_spf(records, domain, mail_host)
        if selector:
            name = f"{selector}._domainkey.{domain}"
            yield judge_dkim(ask(name) or [], name)
        else:
            todo = "Set `mail.dkim_selector`: your mail provider names it."
            yield Finding(Verdict.UNCHECKED, "DKIM", "not checked: the selector is not known", todo)
        yield judge_dmarc(_find_policy(ask, domain), domain)
    except dns.exception.DNSException:
        yield Finding(Verdict.UNCHECKED, "DNS", f"{_NOT_CHECKED}: no name server answers here")


def _judge_absence(ask: AskTxt, domain: str) -> Finding:
    """Say whether it is the domain that is missing, or public DNS: some networks have names of their own only."""
    if ask(domain.rpartition(".")[2]) is None:
        return Finding(Verdict.UNCHECKED, "DNS", f"{_NOT_CHECKED}: the name servers here know no public names")
    return Finding(Verdict.PROBLEM, "DNS", f"there is no domain {domain}", "Mend `mail.from`.")


def _find_policy(ask: AskTxt, domain: str) -> list[str]:
    """Return the DMARC records of the domain, else those of the nearest domain above that has any."""
    labels = domain.split(".")
    for first in range(max(len(labels) - 1, 1)):
        found = _select(ask(".".join(["_dmarc", *labels[first:]])) or [], "v=DMARC1")
        if found:
            return found
    return []


def _select(records: Sequence[str], version: str) -> list[str]:
    """Return the records of a kind: its version comes first."""
    return [one for one in records if re.match(rf"{re.escape(version)}(?:[\s;]|$)", one.strip(), re.IGNORECASE)]


def judge_spf(records: Sequence[str], domain: str, mail_host: str) -> Finding:
    """Judge the TXT records of a domain."""
    found = _select(records, "v=spf1")
    if len(found) == 1:
        return Finding(Verdict.OK, "SPF", "published", more=found[0])
    if found:
        said = f"there are {len(found)} records, so receivers ignore them all"
        return Finding(Verdict.PROBLEM, "SPF", said, "Make one record of them.")
    include = next((name for end, name in _INCLUDES.items() if mail_host.endswith(end)), "")
    record = f"v=spf1 {f'include:{include}' if include else 'mx'} ~all"
    other = "" if include else ", or what your mail provider names"
    return Finding(Verdict.WARNING, "SPF", "missing", f"Publish a TXT record at {domain}: {record}{other}.")


def judge_dkim(records: Sequence[str], name: str) -> Finding:
    """Judge the TXT records where a DKIM key should stand."""
    keys = [match[1] for match in map(_KEY.search, records) if match]
    if any(keys):
        return Finding(Verdict.OK, "DKIM", "the key is published", more=name)
    if keys:
        todo = "Let your mail server sign with another key, and name its selector."
        return Finding(Verdict.PROBLEM, "DKIM", f"the key at {name} is revoked", todo)
    todo = "Publish the TXT record that your mail provider gives you, or mend `mail.dkim_selector`."
    return Finding(Verdict.PROBLEM, "DKIM", f"there is no key at {name}", todo)


def judge_dmarc(found: Sequence[str], domain: str) -> Finding:
    """Judge the DMARC records of a domain."""
    if len(found) == 1:
        return Finding(Verdict.OK, "DMARC", "published", more=found[0])
    if found:
        said = f"there are {len(found)} records, so receivers ignore them all"
        return Finding(Verdict.PROBLEM, "DMARC", said, "Keep one of them.")
    todo = f"Publish a TXT record at _dmarc.{domain}: v=DMARC1; p=none"
    return Finding(Verdict.WARNING, "DMARC", "missing", todo)
