"""Writes that the next read sees, and items that nothing finds any more. Shared by the adapters."""

from __future__ import annotations

import hashlib
import json
from base64 import b32encode
from datetime import datetime, timezone
from typing import Any, Callable, Sequence, TypeVar
from uuid import uuid4

from ..client import Satchel
from ..errors import DeadlineExceeded, ValidationError

T = TypeVar("T")
LABELS = ("level:internal",)
_HALF = 4000  # characters of the beginning and of the end of a long question
_LONG_AGO = datetime(2000, 1, 1, tzinfo=timezone.utc)


def digest(*parts: str) -> str:
    """A name that is the same for the same parts alone. It has only characters that ids and labels may have."""
    return b32encode(hashlib.sha256(json.dumps(parts).encode()).digest()).decode().rstrip("=")


def write(
    memory: Satchel,
    item: str,
    content: dict[str, Any] | str,
    *,
    labels: Sequence[str],
    time: datetime | None = None,
    key: str = "",
    **fields: Any,
) -> int:
    """Store a version of an item, wait until it can be found, and return its position in the log.

    The write has a key, so that the client may send it again to a service that is busy or away. It is a new one,
    unless one is given: the same key stores nothing twice.
    """
    try:
        json.dumps(content, allow_nan=False)
    except (TypeError, ValueError) as wrong:
        raise ValidationError("validation_error", f"{wrong}: give values that JSON has", "/content") from None
    at = time or datetime.now(timezone.utc)
    receipt = memory.remember(content, id=item, labels=labels, key=key or uuid4().hex, time=at, wait="indexed", **fields)
    if receipt["level"] not in ("indexed", "proved"):
        late = f"the item is {receipt['level']}, but not indexed yet: read it later"
        raise DeadlineExceeded("deadline_exceeded", late)
    return int(receipt["position"])


def query_of(text: str) -> str:
    """A text to ask with; of one that is too long for a question, the beginning and the end."""
    return text if len(text) <= 2 * _HALF else text[:_HALF] + "\n" + text[-_HALF:]


def hide(memory: Satchel, item: str, *, labels: Sequence[str], **fields: Any) -> None:
    """Store a version of an item that has no content and has expired. The log keeps the earlier versions.

    The labels have to be those of the earlier versions: policy refuses to take protection away.
    """
    write(memory, item, {"deleted": True}, labels=labels, time=_LONG_AGO, ttl=1, **fields)


def newest(memory: Satchel, label: str, limit: int, read: Callable[[dict[str, Any]], T | None]) -> list[T]:
    """What read makes of the items with a label, newest first: as many as limit says, 0 for all.

    Items of which read makes None do not count: anybody who may write can choose the label.
    """
    most = limit
    while True:
        items = memory.items(labels=[label], limit=most)
        found = [value for value in map(read, items) if value is not None]
        if not limit or len(found) >= limit or len(items) < most:
            return found[:limit] if limit else found
        most *= 2
