"""Asks DNS what a sender's domain publishes, and judges it: SPF, DKIM and DMARC.

Sources: RFC 7208 (SPF), RFC 6376 (DKIM), RFC 7489 (DMARC).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

import dns.exception
import dns.resolver

from digest.config.providers import find_provider
from digest.inspect.findings import Finding, Verdict

_SECONDS = 8.0
"""For one question, all name servers of the machine together."""

_NOT_CHECKED = "SPF, DKIM and DMARC are not checked"

_KEY = re.compile(r"(?:^|;)\s*p\s*=\s*([^;\s]*)")


def inspect_domain(
    domain: str, *, selector: str, mail_host: str, server: tuple[str, int] | None
) -> Iterator[Finding]:
    """Yield what the domain publishes for receivers of its mail, and what it should.

    Args:
        selector: names the DKIM key; "" where the provider tells, or nobody.
        mail_host: of the mail server, which tells the provider.
        server: address and port of the name server; None for those of this machine.
    """
    try:
        resolver = dns.resolver.Resolver(configure=server is None)
        if server is not None:
            resolver.nameservers, resolver.port = [server[0]], server[1]
        ask = partial(_ask, resolver)
        records = ask(domain)
        if records is None:
            # Some networks have names of their own only: then the whole top-level domain is missing, too.
            is_private = ask(domain.rpartition(".")[2]) is None
            said = f"{_NOT_CHECKED}: the name servers here know no public names"
            no_domain = Finding(Verdict.PROBLEM, "DNS", f"there is no domain {domain}", "Mend `mail.from`.")
            yield Finding(Verdict.UNCHECKED, "DNS", said) if is_private else no_domain
            return
        provider = find_provider(mail_host)
        wanted = f"include:{provider.spf}" if provider and provider.spf else "mx"
        other = "" if wanted != "mx" else ", or what your mail provider names"
        yield _check_only_record("SPF", _select(records, "v=spf1"), f"at {domain}: v=spf1 {wanted} ~all{other}")
        selector = selector or (provider.selector if provider else "")
        if provider and domain in provider.domains:
            yield Finding(Verdict.OK, "DKIM", f"{provider.name} signs mail from its own domain")
        elif selector:
            name = f"{selector}._domainkey.{domain}"
            yield check_dkim(ask(name) or [], name)
        else:
            todo = "Set `mail.dkim_selector`: your mail provider names it."
            yield Finding(Verdict.UNCHECKED, "DKIM", "not checked: the selector is not known", todo)
        labels = domain.split(".")  # where a domain has no policy, that of the nearest one above counts
        above = (".".join(["_dmarc", *labels[first:]]) for first in range(max(len(labels) - 1, 1)))
        policies = (_select(ask(name) or [], "v=DMARC1") for name in above)
        published = next(filter(None, policies), [])
        yield _check_only_record("DMARC", published, f"at _dmarc.{domain}: v=DMARC1; p=none")
    except dns.exception.DNSException:
        yield Finding(Verdict.UNCHECKED, "DNS", f"{_NOT_CHECKED}: no name server answers here")


def _ask(resolver: dns.resolver.Resolver, name: str) -> list[str] | None:
    """Return the TXT records of a name, None where there is no such name."""
    try:
        answer = resolver.resolve(f"{name}.", "TXT", lifetime=_SECONDS)
    except dns.resolver.NXDOMAIN:
        return None
    except dns.resolver.NoAnswer:
        return []
    return [b"".join(one.strings).decode("utf-8", "replace") for one in answer]


def _select(records: Sequence[str], version: str) -> list[str]:
    """Return the records of a kind: its version comes first."""
    return [one for one in records if re.match(rf"{re.escape(version)}(?:[\s;]|$)", one.strip(), re.IGNORECASE)]


def check_dkim(records: Sequence[str], name: str) -> Finding:
    """Judge the TXT records where a DKIM key should stand."""
    keys = [match[1] for match in map(_KEY.search, records) if match]
    if any(keys):
        return Finding(Verdict.OK, "DKIM", "the key is published", more=name)
    if keys:
        todo = "Let your mail server sign with another key, and name its selector."
        return Finding(Verdict.PROBLEM, "DKIM", f"the key at {name} is revoked", todo)
    todo = "Publish the TXT record that your mail provider gives you, or mend `mail.dkim_selector`."
    return Finding(Verdict.PROBLEM, "DKIM", f"there is no key at {name}", todo)


def _check_only_record(check: str, found: Sequence[str], proposed: str) -> Finding:
    if len(found) == 1:
        return Finding(Verdict.OK, check, "published", more=found[0])
    if found:
        said = f"there are {len(found)} records, so receivers ignore them all"
        return Finding(Verdict.PROBLEM, check, said, "Make one record of them.")
    return Finding(Verdict.WARNING, check, "missing", f"Publish a TXT record {proposed}.")
