import quopri

from hypothesis import given
from hypothesis import strategies as st

from digest.render.mime import join_mail, quote_printable


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n =.F")))
def test_quoted_printable_reads_back_the_same_with_short_crlf_lines(text: str) -> None:
    raw = quote_printable(text)
    assert quopri.decodestring(raw).decode("utf-8") == text.replace("\n", "\r\n")
    assert all(len(line) <= 76 for line in raw.split(b"\r\n"))
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r")
    assert not any(line.endswith((b" ", b"\t")) for line in raw.split(b"\r\n"))


def test_lines_that_mail_software_would_change_on_the_way_are_encoded() -> None:
    assert quote_printable("From me\n.\n..\n") == b"=46rom me\r\n=2E\r\n=2E.\r\n"


def test_a_mail_ends_with_its_last_boundary_and_the_boundary_occurs_nowhere_else() -> None:
    text = "--=_key--\n--=_key\n"
    raw = join_mail([("X", "y")], "key", quote_printable(text), quote_printable(text))
    assert raw.count(b"--=_key") == 3
    assert raw.endswith(b"\r\n--=_key--\r\n")
    assert raw.startswith(
        b"X: y\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/alternative;\r\n boundary="=_key"\r\n\r\n--=_key\r\n'
    )
