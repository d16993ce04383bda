"""An installation with everything around it on this machine, for the doctor to look at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from digest.model.clock import SystemClock
from digest.store import open_store
from tests.fakes.archive import read_demo_papers
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.loopback import Answer, LoopbackServer, answer_json
from tests.fakes.mail import MailSink
from tests.fakes.nameserver import NameServer
from tests.fakes.slack import TOKEN, SlackReceiver
from tests.fakes.workspace import SlackChannel
from tests.harness.installation import Installation, installed

DOMAIN = "digest.hidden-institute.net"
CONFIG = f"""\
[arxiv]
contact = "contact@hidden-institute.net"
api_url = "{{arxiv}}/api/query"
oai_url = "{{arxiv}}/oai"

[mail]
from = "sender@{DOMAIN}"
smtp = "{{smtp}}"
ca_file = "{{ca_file}}"
dkim_selector = "spring"

[slack]
url = "{{slack}}"

[web]
base_url = "{{web}}"

[queries]
gpu = "ti:hiddenquery OR abs:hiddenword"

[webhooks.lab]
url = "{{web}}/hook"

[[subscriptions]]
name = "perf-team"
follow = ["gpu"]
to = ["slack:#hidden-channel", "mailto:reader@hidden-institute.net", "feed"]
"""
CHANNELS = ("hidden-channel", SlackChannel("C000LOUNGE", "hidden-lounge", is_member=False))
PRIVATE = ("hidden", "demo-password", TOKEN)
"""What stands in every address, channel, query and secret of it, and nowhere else."""

SECRETS = {
    "DIGEST_MAIL_PASSWORD": "demo-password",
    "DIGEST_WEBHOOKS_LAB_SECRET": "whsec_aGlkZGVuIGhpZGRlbiBoaWRkZW4gaGlkZGVu",
}
RECORDS = {
    DOMAIN: ["v=spf1 include:hidden-institute.net ~all", "another=record"],
    f"spring._domainkey.{DOMAIN}": [f"v=DKIM1; k=rsa; p={'MIIBIjANBgkqhkiG' * 24}"],
    "_dmarc.hidden-institute.net": ["v=DMARC1; p=none"],
}


@dataclass
class Examined(Installation):
    """The installation, and what answers for its domain and its addresses."""

    _: KW_ONLY
    dns: NameServer
    answers: dict[str, Answer]


@contextmanager
def open_examined(folder: Path) -> Iterator[Examined]:
    """Start everything, configure an installation that uses it, and make its database."""
    arxiv = DemoArxiv(read_demo_papers(), SystemClock())
    mail = MailSink(starttls=True, login=("login@hidden-institute.net", "demo-password"))
    slack = SlackReceiver(arxiv.clock, channels=CHANNELS)
    answers = {"/livez": answer_json({"alive": True}), "/hook": Answer(b"", 202)}
    with (
        NameServer(RECORDS) as dns,
        LoopbackServer(lambda request: answers.get(request.path, Answer(b"", 404))) as web,
        installed(
            Examined,
            folder,
            arxiv,
            mail=mail,
            slack=slack,
            environ=SECRETS | {"DIGEST_TEST_DNS": dns.address},
            dns=dns,
            answers=answers,
        ) as examined,
    ):
        smtp = mail.url.replace("://", "://login%40hidden-institute.net@")
        servers = {"arxiv": arxiv.url, "smtp": smtp, "slack": slack.url, "web": web.url}
        examined.write(CONFIG.format(**servers, ca_file=mail.certificate))
        open_store(f"sqlite:///{folder / 'digest.db'}", create=True).close()
        yield examined
