from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from digest.deliver.rules import split_share
from digest.model.messages import Share

SHARES = st.builds(
    lambda first, count, is_brief: Share(first, first + count, is_brief),
    st.integers(0, 400),
    st.integers(0, 200),
    st.booleans(),
)


@given(share=SHARES)
def test_splitting_keeps_every_paper_and_their_order_and_comes_to_an_end(share: Share) -> None:
    smaller = split_share(share)
    if not smaller:
        assert share.is_brief
        return
    assert (smaller[0].first, smaller[-1].behind) == (share.first, share.behind)
    assert all(one.behind == other.first for one, other in pairwise(smaller))
    assert all(one.count < share.count or one.is_brief for one in smaller[:1])
    assert all(one.count for one in smaller[1:])


def test_the_channels_message_and_a_single_paper_are_told_in_few_words_and_then_not_at_all() -> None:
    assert split_share(Share(0, 5)) == (Share(0, 2), Share(2, 5))
    for share in (Share(0, 0), Share(7, 8)):
        (brief,) = split_share(share)
        assert brief == Share(share.first, share.behind, is_brief=True)
        assert split_share(brief) == ()


@given(share=SHARES)
def test_a_share_is_written_and_read_alike(share: Share) -> None:
    assert Share.parse(str(share)) == share
    assert Share.parse("") is None
