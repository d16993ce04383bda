"""Ways out: one module per transport, each turning a message into a receipt or a `DeliveryError`.

A transport never decides what happens next. It says on which side of the point of no return a
failure lies (`ambiguous`), whether repeating can help (`permanent`, `retry_after`), and how far it
reaches (`whole_transport`); the pipeline does the rest.

registry        which module serves which kind of destination; opened on first use
smtp            mail; mail_address, mail_server, smtp_connection and smtp_replies are its parts
slack           Slack's Web API; slack_client and slack_errors are its parts
http            one HTTP request, and what its answer means
slack_webhook   a Slack incoming webhook, with a weaker promise
webhook         JSON to other programs, signed
folder          a file per message; static_file writes whole feeds and pages
console         a text stream
"""

from digest.deliver.transports.registry import TRANSPORTS, Transport, open_transport

__all__ = ["TRANSPORTS", "Transport", "open_transport"]
