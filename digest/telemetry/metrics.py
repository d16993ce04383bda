"""Counters and gauges in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from digest.clock import monotonic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from digest.telemetry.logs import Verb

_VERB_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900)


class Metrics:
    """What one process counts. Each instance has a registry of its own; labels never hold names or addresses."""

    def __init__(self) -> None:
        import prometheus_client as prometheus  # noqa: PLC0415 - 60 ms that commands without /metrics need not pay

        registry = self._registry = prometheus.CollectorRegistry()
        self._render = prometheus.generate_latest
        self.content_type: str = prometheus.CONTENT_TYPE_LATEST
        self._verb_seconds = prometheus.Histogram(
            "digest_verb_seconds", "How long each verb took.", ["verb"], buckets=_VERB_SECONDS, registry=registry
        )
        self._papers = prometheus.Counter("digest_papers", "Changes found, by kind.", ["kind"], registry=registry)
        self._matches = prometheus.Counter(
            "digest_matches", "Papers matched for subscriptions.", registry=registry
        )
        self._deliveries = prometheus.Counter(
            "digest_deliveries", "Deliveries that came to a state.", ["transport", "state"], registry=registry
        )
        self._outbox = prometheus.Gauge("digest_outbox", "Deliveries waiting now.", ["state"], registry=registry)
        self._oldest_due = prometheus.Gauge(
            "digest_outbox_oldest_due_seconds", "How long the oldest due delivery has waited.", registry=registry
        )
        self._last_poll = prometheus.Gauge(
            "digest_last_complete_poll_timestamp_seconds",
            "When the last complete look at arXiv ended.",
            registry=registry,
        )
        self._late = prometheus.Gauge(
            "digest_mailing_late",
            "1 while a mailing of arXiv's that was expected is not there by the next morning.",
            registry=registry,
        )
        self._late_requests = prometheus.Gauge(
            "digest_arxiv_late_requests",
            "Requests to arXiv that left after their leave had lapsed: this process was paused just then.",
            registry=registry,
        )
        self._ready = prometheus.Gauge("digest_ready", "1 while this process is ready.", registry=registry)

    @contextmanager
    def time_verb(self, verb: Verb) -> Iterator[None]:
        """Count the seconds a verb takes, also where it fails."""
        began = monotonic()
        try:
            yield
        finally:
            self._verb_seconds.labels(str(verb)).observe(monotonic() - began)

    def set_late_requests(self, requests: int) -> None:
        """Set how many requests to arXiv left too late so far."""
        self._late_requests.set(requests)

    def count_papers(self, kind: str, papers: int) -> None:
        """Count changes of one kind of announcement."""
        self._papers.labels(kind).inc(papers)

    def count_matches(self, papers: int) -> None:
        """Count papers matched for subscriptions."""
        self._matches.inc(papers)

    def count_deliveries(self, transport: str, state: str, deliveries: int = 1) -> None:
        """Count deliveries of one transport that came to a state."""
        self._deliveries.labels(transport, state).inc(deliveries)

    def set_outbox(self, waiting: Mapping[str, int], oldest_due_seconds: float) -> None:
        """Say how many deliveries wait in each state, and for how long the oldest due one has; 0 for none."""
        for state, deliveries in waiting.items():
            self._outbox.labels(state).set(deliveries)
        self._oldest_due.set(oldest_due_seconds)

    def set_last_poll(self, at: datetime) -> None:
        """Say when the last complete look at arXiv ended."""
        self._last_poll.set(at.timestamp())

    def set_late(self, *, is_late: bool) -> None:
        """Say whether an expected mailing has not come out by the next morning."""
        self._late.set(is_late)

    def set_ready(self, *, is_ready: bool) -> None:
        """Say whether this process is ready."""
        self._ready.set(is_ready)

    def render(self) -> bytes:
        """Return everything in Prometheus' text format; its media type is `content_type`."""
        return self._render(self._registry)
