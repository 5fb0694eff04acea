"""A session of the OpenAI Agents SDK on Satchel: `Runner.run(agent, text, session=SatchelSession("s1", memory))`.

Each item of the conversation is an item of Satchel, so packs and searches of other agents find it where policy
lets them. A method returns when the next read sees what it did. What differs from the SDK's SQLiteSession:

- Items come back as policy shows them: personal data and secrets may be masked.
- An item that is beyond doubt an injected instruction is not returned, such as "ignore all previous instructions".
- Items are in the order of their writers' clocks. Not all of a list is stored when add_items raises.
- Two callers that pop at once may get the same item.
- pop_item and clear_session hide items; the log keeps them. `memory.forget` erases items for good; those of a
  session bear its label. A principal hides its own items alone (PolicyDenied).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, cast
from uuid import uuid4

from agents import TResponseInputItem
from agents.memory import SessionSettings

from ..client import Satchel
from ._items import LABELS, digest, hide, newest, write

_SESSION = 256  # characters of the session of an item


class SatchelSession:
    """One conversation. labels are those of every item, and label is the one of this session."""

    def __init__(
        self,
        session_id: str,
        memory: Satchel,
        *,
        labels: Sequence[str] = LABELS,
        session_settings: SessionSettings | None = None,
    ) -> None:
        if not isinstance(memory, Satchel):
            raise TypeError("give a Satchel, not an AsyncSatchel: the session has coroutines of its own")
        if not session_id:
            raise ValueError("give a session_id: all sessions without one would be the same")
        self.session_id, self.session_settings = session_id, session_settings or SessionSettings()
        self._memory, self.label = memory, "chat:" + digest(session_id)
        self._fields: dict[str, Any] = {"session": session_id[:_SESSION] if session_id.isprintable() else ""}
        self._labels = [*labels, self.label]

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest items, oldest first: as many as limit says, or the settings of the session, or all."""
        most = self.session_settings.limit if limit is None else limit
        if most == 0:
            return []
        found = await asyncio.to_thread(self._newest, max(most or 0, 0))
        return [_turn(item) for item in reversed(found)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the end."""
        await asyncio.to_thread(self._add, list(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it; None where there is none."""
        found = await asyncio.to_thread(self._newest, 1)
        if not found:
            return None
        await asyncio.to_thread(self._hide, found[0])
        return _turn(found[0])

    async def clear_session(self) -> None:
        """Remove all items."""
        found = await asyncio.to_thread(self._newest, 0)
        await asyncio.gather(*(asyncio.to_thread(self._hide, item) for item in found))

    def _newest(self, limit: int) -> list[dict[str, Any]]:
        return newest(self._memory, self.label, limit, _holding)

    def _add(self, items: list[TResponseInputItem]) -> None:
        at = datetime.now(timezone.utc)
        for item in items:
            at = max(at + timedelta(microseconds=1), datetime.now(timezone.utc))
            write(self._memory, "oa." + uuid4().hex, {"item": item}, labels=self._labels, time=at, **self._fields)

    def _hide(self, item: dict[str, Any]) -> None:
        hide(self._memory, item["id"], labels=self._labels, **self._fields)


def _holding(item: dict[str, Any]) -> dict[str, Any] | None:
    """The item of Satchel, if it holds one of a conversation."""
    return item if isinstance(item["content"], dict) and "item" in item["content"] else None


def _turn(item: dict[str, Any]) -> TResponseInputItem:
    return cast(TResponseInputItem, item["content"]["item"])
