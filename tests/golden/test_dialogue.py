"""`digest init` on a terminal of eighty columns, from the first question to the file it wrote."""

from __future__ import annotations

import stat
from pathlib import Path

from tests.command_line import run_digest
from tests.fakes.mail import MailSink
from tests.golden.conftest import Golden
from tests.integration.cli.fortnight import NOW, surrounded
from tests.terminal import hold_dialogue


def test_the_dialogue_is_unchanged_and_what_it_wrote_runs(golden: Golden, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with (
        surrounded(tmp_path, NOW) as world,
        MailSink(starttls=True, login=("you", "hunter2")) as server,
    ):
        environ = {
            "DIGEST_ARXIV_API_URL": world.arxiv.api_url,
            "DIGEST_ARXIV_OAI_URL": world.arxiv.oai_url,
            "DIGEST_TEST_CLOCK": world.arxiv.clock_url,
            "DIGEST_MAIL_CA_FILE": str(server.certificate),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "TZ": "Europe/Berlin",
        }
        _, _, place = server.url.partition("//")
        queries = [
            ("> ", "tail latency zebra"),
            ("another", "cat:cs.PF AND abs:GPU"),
            ("another", ""),
        ]
        reader = [("go?", "1"), ("address", "you@example.org"), ("sends it", "7")]
        mail_server = [("port?", place), ("encrypt", "1"), ("none.", "you"), ("From", "")]
        first_try = [("Password", "wrong"), ("When", ""), ("now?", "y")]
        second_try = [("change?", "1"), ("Password", "hunter2")]
        typed = [*queries, *reader, *mail_server, *first_try, *second_try]
        code, screen = hold_dialogue(folder, environ, "init", typed=typed)
        assert code == 0, screen
        assert stat.S_IMODE((folder / "mail.password").stat().st_mode) == 0o600
        done = run_digest(folder, environ, "run").returncode
        test, first = server.mails
    assert (test.login, first.recipients, done) == ("you", ("you@example.org",), 0)
    text = f"{screen}\n{(folder / 'digest.toml').read_text()}".replace(
        place, "mail.example.org:587"
    )
    golden("init.terminal.txt", text)
