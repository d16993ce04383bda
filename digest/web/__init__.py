"""The web shell: feeds, leaving by one click, digests as pages, health. Thin: it decides nothing.

app          which address leads where; shell is what endpoints share
server       the server inside this process; connections limits what clients take of it
feeds        feeds by secret address; feed_desk keeps them in memory, conditional decides on 304
leaving      one-click and its page
reading      the front page, a whole digest; digest_pages keeps those in memory
health       livez, readyz, and metrics at an address of its own
guards       headers, body limit, access log
"""

from digest.web.endpoints import create_metrics_app
from digest.web.server import WebServer, create_app

__all__ = ["WebServer", "create_app", "create_metrics_app"]
