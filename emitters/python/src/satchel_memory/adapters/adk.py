"""A memory service of Google's ADK on Satchel: `Runner(…, memory_service=SatchelMemoryService(memory))`.

The text of each event is an item of Satchel, so packs and searches of other agents find it where policy lets them.
A method returns when the next search sees what it did. What differs from ADK's InMemoryMemoryService:

- Memories are texts: the texts of an event in one part, without thoughts, files and calls. custom_metadata is not kept.
- A search finds memories by meaning and by words, and returns the best first, at most ten. It leaves out what scores
  less than min_score, which is the probability that a memory is about the query.
- Memories come back as policy shows them: personal data and secrets may be masked. A memory that is beyond doubt an
  injected instruction is not returned, such as "ignore all previous instructions".
- A session that is added again adds its new events. The memory keeps an event as it was first added, also when the
  session has another one under its id or does not have it any more. An event id is one memory of a user.
- add_memory works. A memory with an id takes the place of the earlier one with this id.
- delete_memory hides a memory; the log keeps it. `memory.forget([item_id(app_name, user_id, id)], reason=…)` erases
  it. An event that was deleted or erased is not added again.
- A principal changes and deletes its own memories alone (PolicyDenied).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote, unquote
from uuid import uuid4

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from ..client import Satchel
from ..errors import Conflict, ValidationError
from ._items import LABELS, digest, hide, query_of, write

_MOST = 10  # memories of a search, as in ADK's own services
_BUDGET = 1_000_000  # tokens of a pack
_SESSION = 256  # characters of the session of an item
_URI = "adk:"


def item_id(app_name: str, user_id: str, memory_id: str) -> str:
    """The id of the item that holds a memory of a user."""
    return "adk." + digest(app_name, user_id, memory_id)


class SatchelMemoryService(BaseMemoryService):
    """The memory of all apps and users. labels are those of every memory."""

    def __init__(self, memory: Satchel, *, labels: Sequence[str] = LABELS, min_score: float = 0.03) -> None:
        if not isinstance(memory, Satchel):
            raise TypeError("give a Satchel, not an AsyncSatchel: the service has coroutines of its own")
        self._memory, self._labels, self._min_score = memory, list(labels), min_score

    async def add_session_to_memory(self, session: Session) -> None:
        """Add the events of a session that are not in memory yet."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add the events that are not in memory yet."""
        said: dict[str, Event] = {}
        for event in events:
            if _text(event.content):
                said.setdefault(event.id, event)
        fresh = list(said.values())
        if len(fresh) > 1:  # as a rule most of a session is there already
            label, within = _label(app_name, user_id), _session(session_id)
            kept = await asyncio.to_thread(self._memory.items, labels=[label], session=within)
            known = {item["id"] for item in kept}
            fresh = [event for event in fresh if item_id(app_name, user_id, event.id) not in known]

        def add(event: Event) -> None:
            at = datetime.fromtimestamp(event.timestamp, timezone.utc)
            fields = {"key": item_id(app_name, user_id, event.id), "session": _session(session_id)}
            try:
                self._write(app_name, user_id, event.id, event.content, event.author, time=at, **fields)
            except Conflict:
                pass  # it was added before, and may have been deleted since

        await asyncio.gather(*(asyncio.to_thread(add, event) for event in fresh))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add memories with text; the others are passed over."""
        for memory in memories:
            if _text(memory.content):
                name, at = memory.id or uuid4().hex, _time(memory.timestamp)
                said = memory.content, memory.author
                await asyncio.to_thread(self._write, app_name, user_id, name, *said, time=at)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The memories of a user that are about the query, best first."""
        if not query.strip():
            return SearchMemoryResponse()
        asked = {"text": query_of(query), "filters": {"labels": _label(app_name, user_id)}}
        options: dict[str, Any] = {"query": asked, "limit": _MOST, "include_scores": True, "compaction": "off"}
        pack = await asyncio.to_thread(self._memory.context, "", budget=_BUDGET, min_score=self._min_score, **options)
        found = sorted(pack.result["payload"]["results"], key=lambda item: -item["score"])
        entries = (_entry(item, app_name, user_id) for item in found)
        return SearchMemoryResponse(memories=[entry for entry in entries if entry])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a memory of a user by its id. Without one, nothing is done."""
        if memory_id:
            await asyncio.to_thread(self._hide, app_name, user_id, item_id(app_name, user_id, memory_id))

    def _hide(self, app_name: str, user_id: str, item: str) -> None:
        if self._memory.get(item):
            hide(self._memory, item, labels=[*self._labels, _label(app_name, user_id)])

    def _write(
        self,
        app_name: str,
        user_id: str,
        memory_id: str,
        content: types.Content | None,
        author: str | None,
        **fields: Any,
    ) -> None:
        item, labels = item_id(app_name, user_id, memory_id), [*self._labels, _label(app_name, user_id)]
        names = {"source_uri": _URI + quote(memory_id, safe="")}
        write(self._memory, item, _text(content), labels=labels, speaker=author or "", provenance=names, **fields)


def _label(app_name: str, user_id: str) -> str:
    """The label of all memories of a user in an app."""
    return "adk:" + digest(app_name, user_id)


def _session(session_id: str | None) -> str:
    """The session of an item; none where no item can have it."""
    return session_id[:_SESSION] if session_id and session_id.isprintable() else ""


def _text(content: types.Content | None) -> str:
    """The texts of a content."""
    parts = (content and content.parts) or []
    return "\n".join(part.text for part in parts if part.text and part.text.strip() and not part.thought)


def _time(timestamp: str | None) -> datetime:
    if not timestamp:
        return datetime.now(timezone.utc)
    try:
        return datetime.fromisoformat(timestamp).astimezone(timezone.utc)
    except ValueError:
        wrong = f"timestamp {timestamp!r} is not a time as ISO 8601 has it, such as 2026-03-03T10:00:00+00:00"
        raise ValidationError("validation_error", wrong, "timestamp") from None


def _entry(item: dict[str, Any], app_name: str, user_id: str) -> MemoryEntry | None:
    """The memory that an item holds, if its id is that of a memory of the user."""
    about = item["metadata"]
    memory_id = unquote(about.get("source_uri", "").removeprefix(_URI))
    if item["id"] != item_id(app_name, user_id, memory_id):
        return None
    if not isinstance(item["content"], str):
        return None
    author = about.get("speaker")
    role = "user" if author == "user" else "model"
    return MemoryEntry(
        id=memory_id,
        content=types.Content(role=role, parts=[types.Part(text=item["content"])]),
        author=author,
        timestamp=_local(about["created_at"]),
    )


def _local(created_at: str) -> str:
    """A time as ADK writes it: local, without a zone."""
    return datetime.fromisoformat(created_at).astimezone().replace(tzinfo=None).isoformat()
