"""What programs and providers say when a limit, a login, a quota or a context stops them.

A notice can be looked for anywhere in a text that is known to be an error, or be the whole of a text that may be
anybody's words: an agent may write about limits, and print source code that has the words.
Knows wording; must not know which program said it, nor whether it is to be believed.
"""

import re
from datetime import tzinfo

from msgspec import Struct

from budwood.agents.base import OutcomeKind
from budwood.agents.records import one_line
from budwood.agents.resets import reset_in

OVERLOADED = "the service is overloaded, which is not this account's limit; it may be tried again"


class Notice(Struct, frozen=True, kw_only=True):
    """What stopped an agent, as it was told."""

    kind: OutcomeKind
    message: str
    until_ms: int | None = None


_STATUS = r"\b(?:status|code|http|error|rejected)\W{1,4}"
_SPENT = r"""
    insufficient_quota | credit\ balance\ is\ too\ low | (?:out\ of|insufficient|not\ enough|no)\ credits\b
    | billing[ _]hard[ _]limit | payment\ required
    | (?:exceeded|reached)\ your\ (?:monthly\ )?spend(?:ing)?\ (?:limit|cap)
"""
_QUOTA = r"(?:you\ (?:have\ )?)?exceed\w*\ (?:your|the)\ (?:current|\w+)\ quota"
_LIMIT = rf"""
    you(?:'ve|\ have)\ (?:hit|reached|exceeded)\ (?:your|the)\ (?:[\w'-]+\ ){{0,4}}limit
    | (?:usage|rate|session|weekly|daily|monthly|hourly|\d+-hour|request|opus|sonnet)[ _-]limit
      \ (?:is\ )?(?:reached|exceeded|hit)\b
    | rate[_ ]?limit(?:_?error|_exceeded|ed\b)
    | request\ rejected\ \(429\) | exceeded\ retry\ limit.{{0,40}}429
    | {_STATUS}429\b | \(429\) | \b429\W{{1,4}}(?:too\ many|resource|rate) | too\ many\ requests | toomanyrequests
    | resource[_ ]exhausted | quota\ exceeded\ for | exhausted\ your\ (?:daily\ )?(?:quota|capacity)
"""
_AUTH = rf"""
    (?:invalid|incorrect|missing|no|bad)\ (?:x-|auth\ )?(?:api|bearer)[ _-](?:key|token) | invalid_api_key
    | api[ _]key\ (?:not\ valid|is\ invalid|not\ found|is\ missing|expired) | api_key_invalid
    | unexpected\ status\ 40[13]\b | {_STATUS}40[13]\b
    | \b401\W{{1,4}}(?:unauthorized|invalid|\{{) | \b403\W{{1,4}}forbidden
    | authentication[_ ]?(?:error|failed|required) | unauthori[sz]ed | unauthenticated
    | not\ able\ to\ authenticate\ you
    | not\ logged\ in | please\ (?:run\ [`'"]?/login|log\ in|sign\ in|login) | set\ an\ auth\ method | providerautherror
    | (?:oauth|access|refresh)\ token\ (?:has\ |was\ )?(?:been\ )?(?:expired|revoked|invalid|already\ used)
"""
_CONTEXT = r"""
    prompt\ is\ too\ long | context_length_exceeded | context_?window_?exceeded | contextoverflow
    | (?:exceed\w*|ran\ out\ of\ room\ in|larger\ than)\ (?:the\ )?(?:model's\ )?(?:maximum\ )?context
    | maximum\ context\ length | input\ token\ count\ .{0,40}exceeds | has\ hit\ a\ token\ limit
"""
_REFUSED = r"""
    content[_ ](?:filter|policy) | violat\w+\ (?:our\ |the\ )?usage\ polic | usage\ policy\b
    | blocked\ (?:by|due\ to)\ safety
    | \bprohibited_content\b | unable\ to\ respond\ to\ this\ request
"""
_OVERLOAD = rf"overloaded | {_STATUS}5(?:29|03)\b | model\ is\ at\ capacity"
_WEAK_QUOTA = r"(?<!disk\ )\bquota\b"


class _Wording:
    """What is said about one kind of trouble."""

    def __init__(
        self, kind: OutcomeKind, pattern: str, *, signs: str, whole: bool = True, comes_back: bool = False
    ) -> None:
        self.kind = kind
        self.pattern = re.compile(pattern, re.I | re.X)
        self.signs = tuple(signs.split("|"))
        """One of these is in every such text: to look for them costs a hundredth of the pattern."""
        self.whole = whole
        """Whether it is rare enough to make a line a notice that begins with it."""
        self.comes_back = comes_back
        """Whether it may be a quota that fills up again."""


_WORDINGS = (
    _Wording(OutcomeKind.QUOTA, _SPENT, signs="quota|credit|billing|payment|spend"),
    _Wording(OutcomeKind.QUOTA, _QUOTA, signs="quota", comes_back=True),
    _Wording(OutcomeKind.LIMIT, _LIMIT, signs="limit|429|too many|toomany|exhausted|quota"),
    _Wording(OutcomeKind.AUTH, _AUTH, signs="api|auth|bearer|token|401|403|log|sign in"),
    _Wording(OutcomeKind.CONTEXT, _CONTEXT, signs="too long|context|token"),
    _Wording(OutcomeKind.QUOTA, _WEAK_QUOTA, signs="quota", whole=False, comes_back=True),
    _Wording(OutcomeKind.REFUSED, _REFUSED, signs="content|polic|safety|unable", whole=False),
    _Wording(OutcomeKind.FAILED, _OVERLOAD, signs="overloaded|529|503|capacity"),
)
"""The first that fits counts."""
_LEAD = re.compile(
    r"[\W_]*(?:(?:api|stream|fatal|http|provider|claude|ai|error|litellm\.\w+|\d{3}|\w+error|\w+exception)\b[\W_]+)*",
    re.I,
)
_WHOLE_CHARS = 400
_END_CHARS = 4_000
"""A longer text says why at its beginning or at its end."""
_COMES_BACK = re.compile(r"resource[_ ]exhausted|per[ _]?(?:minute|day|hour)|daily", re.I)


def notice_in(text: str, *, now_ms: int, zone: tzinfo) -> Notice | None:
    """Find what an error text gives as the reason, or None."""
    if len(text) > 2 * _END_CHARS:
        text = f"{text[:_END_CHARS]} … {text[-_END_CHARS:]}"
    said = text.replace("’", "'")
    low = said.lower()
    for wording in _WORDINGS:
        if any(sign in low for sign in wording.signs) and wording.pattern.search(said):
            return _noticed(said, wording, now_ms=now_ms, zone=zone)
    return None


def whole_notice(text: str, *, now_ms: int, zone: tzinfo) -> Notice | None:
    """Return the notice that a text is, from its first word on; a text that merely has one in it is none."""
    said = text.replace("’", "'").strip()
    if "\n" in said or len(said) > _WHOLE_CHARS:
        return None
    low = said.lower()
    lead = _LEAD.match(said)
    starts = {0} if lead is None else {0, lead.end()}
    for wording in _WORDINGS:
        seems = wording.whole and any(sign in low for sign in wording.signs)
        if seems and any(wording.pattern.match(said, start) for start in starts):
            return _noticed(said, wording, now_ms=now_ms, zone=zone)
    return None


def _noticed(said: str, wording: _Wording, *, now_ms: int, zone: tzinfo) -> Notice:
    kind, until_ms = wording.kind, reset_in(said, now_ms=now_ms, zone=zone)
    if wording.comes_back and (until_ms is not None or _COMES_BACK.search(said)):
        kind = OutcomeKind.LIMIT
    if kind is OutcomeKind.FAILED:
        return Notice(kind=kind, message=one_line(f"{OVERLOADED}: {said}"))
    return Notice(kind=kind, message=one_line(said), until_ms=until_ms if kind is OutcomeKind.LIMIT else None)


def kind_of_status(status: float | None) -> OutcomeKind | None:
    """Tell what an HTTP status means for an account, or None."""
    return _STATUSES.get(int(status)) if status is not None else None


_STATUSES = {
    401: OutcomeKind.AUTH,
    402: OutcomeKind.QUOTA,
    403: OutcomeKind.AUTH,
    413: OutcomeKind.CONTEXT,
    429: OutcomeKind.LIMIT,
}
