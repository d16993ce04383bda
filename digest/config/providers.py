"""Mail providers that `digest init` knows: their servers, and how one gets a password."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_TWO_STEP = ("Two-step sign-in must be on. Your usual password does not work.",)
_VERIFIED = "It sends only from addresses and domains that you have verified there."


@dataclass(frozen=True, slots=True)
class Provider:
    """A mail provider.

    Attributes:
        server: as in `mail.smtp`, without a login name; it may hold `{region}`. "" for none that we
            know.
        secret: what its password is called.
        login: what its login name is called; "" if one logs in with the account's address, and
            sends from it.
        spf: what the SPF record of a domain that sends by it includes.
        selector: of the DKIM key that such a domain publishes; "" if each has another one.
    """

    key: str
    name: str
    server: str
    secret: str = ""
    page: str = ""
    notes: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    login: str = ""
    spf: str = ""
    selector: str = ""

    @property
    def is_account(self) -> bool:
        """Whether one logs in with a mail address, and sends from it."""
        return bool(self.server) and not self.login

    @property
    def has_regions(self) -> bool:
        """Whether the server's name holds a region."""
        return "{region}" in self.server


def add_login(server: str, login: str) -> str:
    """Return a server as in `mail.smtp` with a login name; as it was if that is ""."""
    scheme, _, host = server.partition("://")
    return f"{scheme}://{quote(login, safe='@')}@{host}" if login else server


OWN = Provider("own", "your own server, or another provider", "", "Password")
OUTLOOK = Provider(
    *("outlook", "Outlook or Microsoft 365", "", "", ""),
    (
        "Microsoft takes no passwords from programs any more, so Digest can't log in.",
        "Choose another provider, or a relay of your organisation as your own server.",
    ),
    ("outlook.com", "hotmail.com", "live.com", "msn.com"),
)

_OFFERED = (
    Provider(
        *("gmail", "Gmail", "smtp+starttls://smtp.gmail.com:587", "App password"),
        *("https://myaccount.google.com/apppasswords", _TWO_STEP, ("gmail.com", "googlemail.com")),
        spf="_spf.google.com",
        selector="google",
    ),
    Provider(
        *("fastmail", "Fastmail", "smtps://smtp.fastmail.com:465", "App password"),
        *("https://app.fastmail.com/settings/security", ("Your usual password does not work.",)),
        ("fastmail.com", "fastmail.fm"),
        spf="spf.messagingengine.com",
        selector="fm1",
    ),
    Provider(
        *("icloud", "iCloud", "smtp+starttls://smtp.mail.me.com:587", "App-specific password"),
        *("https://account.apple.com/", _TWO_STEP, ("icloud.com", "me.com", "mac.com")),
        spf="icloud.com",
        selector="sig1",
    ),
    Provider(
        *(
            "ses",
            "Amazon SES",
            "smtp+starttls://email-smtp.{region}.amazonaws.com:587",
            "SMTP password",
        ),
        "https://console.aws.amazon.com/ses/home#/smtp",
        (_VERIFIED, "A new account also sends only to verified addresses."),
        login="SMTP user name",
        spf="amazonses.com",
    ),
    Provider(
        *("postmark", "Postmark", "smtp+starttls://smtp.postmarkapp.com:587", "Secret key"),
        "https://account.postmarkapp.com/servers",
        ("Make an SMTP token: a message stream's settings, SMTP.", _VERIFIED),
        login="Access key",
        spf="spf.mtasv.net",
    ),
    Provider(
        *("mailgun", "Mailgun", "smtp+starttls://smtp.mailgun.org:587", "SMTP password"),
        "https://app.mailgun.com/mg/sending/domains",
        (_VERIFIED, "Is your domain in the EU? Then choose your own server: smtp.eu.mailgun.org."),
        login="SMTP login",
        spf="mailgun.org",
    ),
    OWN,
    OUTLOOK,
)
PROVIDERS = {one.key: one for one in _OFFERED}
"""All of them by key, in the order in which they are offered."""


def find_provider(host: str) -> Provider | None:
    """Return the provider whose mail server has this name; None for any other server."""
    domain = host.split(".")[-2:]
    for provider in PROVIDERS.values():
        name = urlsplit(provider.server).netloc.partition(":")[0]
        if provider.server and name.split(".")[-2:] == domain:
            return provider
    return None


def guess_provider(address: str) -> Provider | None:
    """Return the provider of an address by its domain; None if the domain is nobody's we know."""
    domain = address.rpartition("@")[2]
    return next((one for one in PROVIDERS.values() if domain in one.domains), None)
