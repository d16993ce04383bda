"""Which proxy a request goes through."""

from __future__ import annotations

import pytest

from digest.config import show_settings
from digest.config.addresses import choose_proxy
from digest.model.errors import ConfigurationError
from tests.unit.config.conftest import Load, Refuse

ARXIV = "https://export.arxiv.org/api/query"
PROXY = "http://proxy.example.org:3128"


@pytest.mark.parametrize(
    ("environ", "url", "named"),
    [
        ({}, ARXIV, ""),
        ({"HTTPS_PROXY": PROXY}, ARXIV, "HTTPS_PROXY"),
        ({"https_proxy": "proxy.example.org:3128"}, ARXIV, "https_proxy"),
        ({"https_proxy": PROXY, "HTTPS_PROXY": "http://other:1"}, ARXIV, "https_proxy"),
        ({"https_proxy": "", "HTTPS_PROXY": PROXY}, ARXIV, ""),
        ({"HTTP_PROXY": PROXY}, ARXIV, ""),
        ({"HTTP_PROXY": f"{PROXY}/"}, "http://arxiv.test/oai", "HTTP_PROXY"),
        ({"ALL_PROXY": "socks5://other:1", "HTTPS_PROXY": PROXY}, ARXIV, "HTTPS_PROXY"),
        ({"all_proxy": PROXY}, ARXIV, "all_proxy"),
        ({"all_proxy": PROXY}, "http://127.0.1.1:8000", ""),
        ({"all_proxy": PROXY}, "http://[::1]:8000", ""),
        ({"all_proxy": PROXY}, "http://localhost:8000", ""),
    ],
)
def test_the_usual_variables_name_the_proxy_of_all_but_this_machine(
    environ: dict[str, str], url: str, named: str
) -> None:
    chosen = choose_proxy(environ, "", "default", url)
    assert str(chosen) == (f"the proxy {PROXY}, from {named}" if named else "None")


@pytest.mark.parametrize(
    ("url", "exempt", "others"),
    [
        (
            ARXIV,
            (
                "*",
                "arxiv.org",
                ".ArXiv.org",
                "*.arxiv.org",
                "a.org, export.arxiv.org",
                "a.org arxiv.org:443",
            ),
            (),
        ),
        (ARXIV, (), ("export.arxiv.org:80", "xiv.org", "export", "", ",", "10.0.0.0/8")),
        (
            "https://10.1.2.3:8443/hook",
            ("10.0.0.0/8", "10.1.2.3", "10.1.2.3:8443"),
            ("11.0.0.0/8", "10.1.2.3:80"),
        ),
        ("https://[fd00::1]/hook", ("fd00::/8", "[fd00::1]", "[fd00::1]:443"), ("fe00::1",)),
    ],
)
def test_no_proxy_names_hosts_domains_and_networks(
    url: str, exempt: tuple[str, ...], others: tuple[str, ...]
) -> None:
    for text in exempt:
        assert choose_proxy({"ALL_PROXY": PROXY, "NO_PROXY": text}, "", "", url) is None
    for text in others:
        assert choose_proxy({"ALL_PROXY": PROXY, "NO_PROXY": text}, "", "", url) is not None


@pytest.mark.parametrize(
    "address", ["socks5://ada:hush@127.0.0.1:1080", "http://ada:hush@", "http://a:hush@b@c:1"]
)
def test_what_is_no_http_proxy_is_refused_where_it_counts_and_not_repeated(
    refuse: Refuse, address: str
) -> None:
    refused = "ALL_PROXY is not the address of an HTTP proxy"
    with pytest.raises(ConfigurationError, match=refused) as caught:
        choose_proxy({"ALL_PROXY": address}, "", "", ARXIV)
    of_file = refuse(f'[network]\nproxy = "{address}"')
    for error in (caught.value, of_file):
        assert "socks" in error.hint
        assert "hush" not in f"{error.message} {error.hint}"


def test_the_setting_beats_the_variables_and_shows_its_password_nowhere(load: Load) -> None:
    config = load(
        '[network]\nproxy = "ada:hush@proxy.example.org:3128"', HTTPS_PROXY="http://other.org:1"
    )
    chosen = config.choose_proxy(ARXIV)
    assert str(chosen) == f"the proxy {PROXY}, from digest.toml"
    shown = show_settings(config)
    assert "hush" not in f"{config!r} {chosen!r} {shown}"
    assert any("DIGEST_NETWORK_PROXY" in warning for warning in config.warnings)


def test_the_setting_can_come_from_a_secrets_file(load: Load) -> None:
    folder = load().folder
    (folder / "proxy").write_text(f"{PROXY}\n")
    config = load(DIGEST_NETWORK_PROXY_FILE="proxy", NO_PROXY="slack.com")
    of_arxiv = config.choose_proxy(ARXIV)
    assert str(of_arxiv) == f"the proxy {PROXY}, from DIGEST_NETWORK_PROXY_FILE"
    of_slack = config.choose_proxy("https://slack.com/api/")
    assert of_slack is None
