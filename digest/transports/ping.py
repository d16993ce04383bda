"""A sign of life: a web address asked while all is well, so that whoever watches it notices silence."""

from __future__ import annotations

import httpx

from digest.errors import DeliveryError

TIMEOUT = 10.0
"""Seconds for connecting and for each read."""

_REFUSED = 400


def send_ping(url: str) -> None:
    """Ask the address once: no redirects, no proxy, and nothing of the answer counts but its status.

    Raises:
        DeliveryError: nobody answered, or with an error. The address, which may be a secret, is not repeated.
    """
    try:
        with httpx.stream("GET", url, timeout=TIMEOUT, follow_redirects=False, trust_env=False) as answer:
            status = answer.status_code  # what follows is not waited for: it may never end
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DeliveryError(
            f"the ping address can't be reached ({type(error).__name__})",
            hint="See alarms.ping_url; the next sign of life is tried in a minute.",
        ) from error
    if status >= _REFUSED:
        raise DeliveryError(
            f"the ping address answered {status}",
            hint="See alarms.ping_url: is it still the right one?",
        )
