"""What a battery came to: what is wrong, by the check that found it, and what was counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

_SHOWN = 5


@dataclass
class Verdict:
    """What is wrong, by the check that found it, and the figures it was found in."""

    findings: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)

    def accuse(self, check: str, detail: str) -> None:
        self.findings[check].append(detail)

    def list_findings(self) -> Iterator[str]:
        """Yield every check that found something, and some examples of each."""
        for check, details in sorted(self.findings.items()):
            yield f"BREACH {check}: {len(details):,}"
            yield from (f"  {detail}" for detail in details[:_SHOWN])

    def list_lines(self) -> Iterator[str]:
        """Yield what was counted, and what is wrong."""
        yield from (f"{count:>8,}  {what}" for what, count in self.counts.items())
        yield from self.list_findings()
