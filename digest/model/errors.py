"""What can go wrong, as one tree. Each error says what is wrong, where, and in `hint` what to do.

DigestError                      exit 1   HTTP 500   something of ours is wrong
├── UsageError                   exit 2   HTTP 400   the call's words are off
│   ├── QueryError               a saved query cannot be read, at a position
│   ├── UnknownName              no such query, subscription, delivery …          (HTTP 404)
│   └── Forbidden                a form that no page of ours sent                 (HTTP 403)
├── ConfigurationError           exit 3   HTTP 500   digest.toml or the environment is off
│   ├── TemplateError            a template cannot be rendered
│   └── StoreError               the database cannot be used as it is
│       ├── SchemaMismatch       it was written by another release
│       └── StoreBusy            another process holds it
│           └── AnotherWorker    and it does all the work there is
│               └── LeaseHeld    exit 75             …on a state that is kept on a branch
└── OutsideError                 exit 4   HTTP 502   the outside world did not answer well
    ├── ArxivError               …and that is arXiv
    │   ├── ArxivUnreachable     no connection, reset, or no answer in time
    │   ├── ArxivThrottled       asked to slow down: 429, 406, 503, "Rate exceeded."
    │   ├── ArxivRefused         403: the robot block; stop for hours
    │   ├── ArxivRejected        the request itself is wrong and stays wrong
    │   ├── ArxivFaulted         500, or an error feed that may pass
    │   ├── ArxivMoved           a redirect: the configured address is out of date
    │   └── ArxivUnreadable      the body is not what was asked for, or contradicts an earlier one
    │       ├── ArxivTruncated   it breaks off, or is not well-formed
    │       ├── ArxivHostile     it carries a DTD, an entity, or too many bytes
    │       └── ArxivShort       fewer entries than the counts say, or none
    └── DeliveryError            a message could not be handed over
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from digest.model.said import NOTHING, Said, Saying

_POINTED: Final = 30
"""Characters shown of a long query on each side of the place that is meant: they fit 80 columns."""


class DigestError(Exception):
    """Something went wrong inside Digest.

    What decides what follows reads `said` and `advice`, which have codes; `message` and `hint`
    are their words, for people.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str | Said = "", *, hint: str | Said = "") -> None:
        if not message:
            message, *_ = (type(self).__doc__ or "").strip().split("\n")
        super().__init__(message)
        self.said = message if isinstance(message, Said) else Said.plain(message)
        self.advice = hint if isinstance(hint, Said) else Said.plain(hint)

    @property
    def message(self) -> str:
        """What is wrong and where, as one sentence."""
        return str(self.said)

    @property
    def hint(self) -> str:
        """What to do about it, in words; "" if nothing can be done."""
        return str(self.advice)

    def __str__(self) -> str:
        return self.message


class UsageError(DigestError):
    """The command or request cannot be understood."""

    exit_code = 2
    http_status = 400


class QueryError(UsageError):
    """A saved query cannot be read.

    `position` is the 0-based offset, in code points of `text`, where reading stopped. `instead` is
    the whole text as it can be read, "" if nobody knows. `form` is what the hint writes in place of
    the term there, or of its prefix alone, as `ti:`; "" if it writes no such thing.
    """

    def __init__(
        self,
        message: str = "",
        *,
        text: str = "",
        position: int = 0,
        hint: str = "",
        instead: str = "",
        form: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.instead = instead
        self.form = form
        self.position = position

    def pointer(self) -> str:
        """Return two lines: the query, and a caret below the place that is meant.

        Of a long query only what is near is shown.
        """
        line = "".join(" " if char.isspace() else char for char in self.text)
        place = min(self.position, len(line))
        width = 2 * _POINTED
        last_start = max(0, len(line) - width)
        start = min(max(0, place - _POINTED), last_start)
        end = start + width
        before = "…" if start else ""
        behind = "…" if end < len(line) else ""
        column = len(before) + place - start
        caret = "^".rjust(column + 1)
        return f"{before}{line[start:end]}{behind}\n{caret}"


class UnknownName(UsageError):
    """Nothing goes by that name."""

    http_status = 404


class Forbidden(UsageError):
    """The form was not sent by a page of this service."""

    http_status = 403


class ConfigurationError(DigestError):
    """The configuration cannot be used as it is."""

    exit_code = 3


class TemplateError(ConfigurationError):
    """A template cannot be rendered."""


class StoreError(ConfigurationError):
    """The database cannot be used as it is."""


class SchemaMismatch(StoreError):
    """The database was written by another release."""


class StoreBusy(StoreError):
    """Another process holds the database."""


class AnotherWorker(StoreBusy):
    """Another process polls, plans and delivers on this database."""


class LeaseHeld(AnotherWorker):
    """Another run has the state."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h: the same may pass later


class OutsideError(DigestError):
    """The outside world did not answer well."""

    exit_code = 4
    http_status = 502

    def __init__(self, message: str | Said = "", *, hint: str | Said = "") -> None:
        # What others say may end in a full stop.
        bare = message.without_stop() if isinstance(message, Said) else message.rstrip(".")
        super().__init__(bare, hint=hint)


class ArxivError(OutsideError):
    """ArXiv did not answer well.

    `retry_after` is how many seconds arXiv asked us to wait, None if it said nothing usable.
    `request` names what was asked, for logs; `bare` is what is said without that. `complaint` is
    what arXiv itself says of the request, if it says anything. `reader_message` says it to readers,
    without particulars.
    """

    reader_message: ClassVar[str] = "arXiv has not answered"

    def __init__(
        self,
        message: str | Said = "",
        *,
        hint: str | Said = "",
        retry_after: float | None = None,
        request: str = "",
        complaint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
        self.request = request
        self.bare = self.said
        self.complaint = complaint

    def name_request(self, name: str) -> None:
        """Say of which request it is."""
        self.request = name
        self.said = Said.of(Saying.OF_ONE, name, self.bare)


class ArxivUnreachable(ArxivError):
    """ArXiv can't be reached."""


class ArxivThrottled(ArxivError):
    """ArXiv asked us to slow down."""


class ArxivRefused(ArxivError):
    """ArXiv blocks this client (403); going on asking would count as an attack."""


class ArxivRejected(ArxivError):
    """ArXiv will never answer this request: the request itself is wrong."""


class ArxivFaulted(ArxivError):
    """ArXiv failed inside; the same request may pass later."""


class ArxivMoved(ArxivError):
    """ArXiv answers from another address now; redirects are never followed."""


class ArxivUnreadable(ArxivError):
    """The body is not what was asked for."""

    reader_message = "arXiv has sent nothing that can be read"


class ArxivTruncated(ArxivUnreadable):
    """The body breaks off or is not well-formed."""


class ArxivHostile(ArxivUnreadable):
    """The body carries a document type, an entity, or more bytes than any page has."""


class ArxivShort(ArxivUnreadable):
    """Fewer entries came than the answer's own counts promise."""


class Refusal(StrEnum):
    """What a refusal that does not pass is of."""

    PLACE = "place"
    """The destination: the app is not in that channel, it is archived, or this webhook is gone."""

    ACCOUNT = "account"
    """The token, the login or the sender, and so each destination that is reached by it."""

    SETTINGS = "settings"
    """What was to be sent could not be made: a template is wrong, or Digest."""

    CONTENT = "content"
    """This message alone, whatever is mended."""

    READER = "reader"
    """A mail's recipient: nobody has such an address."""


PROBED = (Refusal.PLACE, Refusal.ACCOUNT)
"""What the operator may mend outside. So Digest tries again by itself."""


class DeliveryError(OutsideError):
    """A message could not be handed over.

    Args:
        said: what the other side answered, or what happened to the connection.
        permanent: trying the same again cannot help.
        retry_after: seconds the other side asked for, None if it named none.
        ambiguous: the message may have arrived all the same; never repeat it blindly.
        whole_transport: every destination of this transport is affected (a bad token, a refused
            login), or what is configured is at fault.
        too_large: the message is more than the other side takes; a shorter one may go through.
        refusal: what is refused, if it is `permanent` and known; of a whole transport its account.
        hint: what the operator can do.
        answer: the other side's own code for it; "" if it has none.
    """

    def __init__(
        self,
        said: Said,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        ambiguous: bool = False,
        whole_transport: bool = False,
        too_large: bool = False,
        refusal: Refusal | None = None,
        hint: Said = NOTHING,
        answer: str = "",
    ) -> None:
        super().__init__(said, hint=hint)
        self.answer = answer
        self.refusal = refusal or (Refusal.ACCOUNT if permanent and whole_transport else None)
        self.too_large = too_large
        self.permanent = permanent
        self.retry_after = retry_after
        self.ambiguous = ambiguous
        self.whole_transport = whole_transport
