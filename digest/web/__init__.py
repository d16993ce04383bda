"""The web shell: pages, feeds, unsubscribing by one click, health. It decides nothing."""

from digest.web.endpoints import create_metrics_app
from digest.web.server import WebServer, create_app

__all__ = ["WebServer", "create_app", "create_metrics_app"]
