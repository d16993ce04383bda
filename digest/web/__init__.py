"""The web shell: feeds, leaving by one click, digests as pages, health. Thin: it decides nothing.

endpoints    what each address answers, and what endpoints share
server       which address leads where; uvicorn inside this process
guards       what every request passes: headers, known names, body limit, access log
forms        what forms hold, and whether a page of ours sent them
connections  what clients may take of it
preferences  what comes to one person, by the link of their mails, and their saved queries
private      export, erasing, another address: by a fresh link
signup       requests for a subscription or a link, and the buttons of mailed links
feeds        feeds by secret address, kept in memory, and who is answered with 304
"""

from digest.web.endpoints import create_metrics_app
from digest.web.server import WebServer, create_app

__all__ = ["WebServer", "create_app", "create_metrics_app"]
