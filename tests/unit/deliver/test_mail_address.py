"""Which addresses may enter an SMTP envelope."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import UsageError
from digest.model.subscriptions import normalise_address


@given(
    st.text(st.sampled_from("abé@.<>\r\n\t \0;,:\u2028\u202e\"'"), max_size=20)
    | st.builds("{}@{}{}".format, st.text(max_size=8), st.text(max_size=8), st.sampled_from([".org", ".local"]))
)
def test_no_accepted_address_can_end_a_command_or_name_a_second_recipient(text: str) -> None:
    try:
        address = normalise_address(text)
    except UsageError:
        return
    assert not set(address) & set(' \t\r\n\0<>,;"\u2028\u2029\x85\x0b\x0c')
    assert address.count("@") == 1
