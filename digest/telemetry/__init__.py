"""What an operator sees of Digest at work: log lines, metrics, health. Never a secret, never an address.

redacting   what no log line may carry, and how it is masked
logs        one line per event, as `key=value` or JSON
metrics     counters and gauges for Prometheus
health      figures by which a running process is judged
"""

from digest.telemetry.logs import Verb, configure_logging, log_event
from digest.telemetry.metrics import Metrics
from digest.telemetry.redacting import RedactionFilter, redact

__all__ = [
    "Metrics",
    "RedactionFilter",
    "Verb",
    "configure_logging",
    "log_event",
    "redact",
]
