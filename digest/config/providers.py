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


OWN = Provider(
    key="own",
    name="your own server, or another provider",
    server="",
    secret="Password",  # noqa: S106 - what it is called
)
OUTLOOK = Provider(
    key="outlook",
    name="Outlook or Microsoft 365",
    server="",
    notes=(
        "Microsoft takes no passwords from programs any more, so Digest can't log in.",
        "Choose another provider, or a relay of your organisation as your own server.",
    ),
    domains=("outlook.com", "hotmail.com", "live.com", "msn.com"),
)

_OFFERED = (
    Provider(
        key="gmail",
        name="Gmail",
        server="smtp+starttls://smtp.gmail.com:587",
        secret="App password",  # noqa: S106 - what it is called
        page="https://myaccount.google.com/apppasswords",
        notes=_TWO_STEP,
        domains=("gmail.com", "googlemail.com"),
        spf="_spf.google.com",
        selector="google",
    ),
    Provider(
        key="fastmail",
        name="Fastmail",
        server="smtps://smtp.fastmail.com:465",
        secret="App password",  # noqa: S106 - what it is called
        page="https://app.fastmail.com/settings/security",
        notes=("Your usual password does not work.",),
        domains=("fastmail.com", "fastmail.fm"),
        spf="spf.messagingengine.com",
        selector="fm1",
    ),
    Provider(
        key="icloud",
        name="iCloud",
        server="smtp+starttls://smtp.mail.me.com:587",
        secret="App-specific password",  # noqa: S106 - what it is called
        page="https://account.apple.com/",
        notes=_TWO_STEP,
        domains=("icloud.com", "me.com", "mac.com"),
        spf="icloud.com",
        selector="sig1",
    ),
    Provider(
        key="ses",
        name="Amazon SES",
        server="smtp+starttls://email-smtp.{region}.amazonaws.com:587",
        secret="SMTP password",  # noqa: S106 - what it is called
        page="https://console.aws.amazon.com/ses/home#/smtp",
        notes=(_VERIFIED, "A new account also sends only to verified addresses."),
        login="SMTP user name",
        spf="amazonses.com",
    ),
    Provider(
        key="postmark",
        name="Postmark",
        server="smtp+starttls://smtp.postmarkapp.com:587",
        secret="Secret key",  # noqa: S106 - what it is called
        page="https://account.postmarkapp.com/servers",
        notes=("Make an SMTP token: a message stream's settings, SMTP.", _VERIFIED),
        login="Access key",
        spf="spf.mtasv.net",
    ),
    Provider(
        key="mailgun",
        name="Mailgun",
        server="smtp+starttls://smtp.mailgun.org:587",
        secret="SMTP password",  # noqa: S106 - what it is called
        page="https://app.mailgun.com/mg/sending/domains",
        notes=(
            _VERIFIED,
            "Is your domain in the EU? Then choose your own server: smtp.eu.mailgun.org.",
        ),
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
