"""A memory block of LlamaIndex on Satchel: `Memory.from_defaults(memory_blocks=[SatchelMemoryBlock(memory=memory)])`.

The block gives what Satchel knows about the newest message of the user, and remembers the messages that leave the
short-term memory. A pack has at most `budget` tokens (cl100k_base). Where LlamaIndex asks the block to be shorter,
it asks anew with a smaller budget, of the same state of the log; a block of under 64 tokens is left out.

- Messages are remembered as texts: images, audio, tool calls and system messages are not.
- LlamaIndex never shortens a block of priority 0. The priority of this one is 1 by default.
- What policy hides is not in the block, and personal data may be masked.
"""

from __future__ import annotations

import asyncio
from typing import Any, Optional
from uuid import uuid4

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock

from ..client import Pack, Satchel
from ._items import LABELS, query_of, write

_LEAST = 64  # tokens of a pack that is worth its place
_KEPT = 256  # blocks that can be shortened later


class SatchelMemoryBlock(BaseMemoryBlock[str]):
    """A block with a context pack. It is safe to share between memories of one event loop."""

    name: str = "satchel"
    priority: int = 1
    memory: Satchel = Field(exclude=True, description="The client, not an AsyncSatchel.")
    budget: int = Field(default=2000, ge=_LEAST, description="Tokens of the block, at most.")
    labels: tuple[str, ...] = Field(default=LABELS, description="Security labels of the messages that are remembered.")
    _asked: dict[str, tuple[str, Pack]] = PrivateAttr(default_factory=dict)

    async def _aget(self, messages: Optional[list[ChatMessage]] = None, **_: Any) -> str:
        texts = [m.content for m in messages or () if m.role == "user" and m.content]
        return await self._ask(query_of(texts[-1]), self.budget) if texts else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            if message.content and message.role != "system":
                await asyncio.to_thread(self._remember, message, message.content)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> Optional[str]:
        """The content anew, shorter by as many tokens at least; None where too little would be left."""
        if content not in self._asked:
            return None
        question, pack = self._asked[content]
        budget = pack.tokens - tokens_to_truncate
        return await self._ask(question, budget, as_of=pack.position) or None if budget >= _LEAST else None

    async def _ask(self, question: str, budget: int, as_of: int | None = None) -> str:
        pack = await asyncio.to_thread(self.memory.context, question, budget=budget, as_of=as_of)
        if not pack.result["payload"]["results"]:
            return ""
        while len(self._asked) >= _KEPT:
            del self._asked[next(iter(self._asked))]
        self._asked[pack.text] = question, pack
        return pack.text

    def _remember(self, message: ChatMessage, text: str) -> None:
        fields: dict[str, Any] = {"speaker": message.role.value}
        if session := message.additional_kwargs.get("session_id"):
            fields["session"] = str(session)[:256]
        write(self.memory, "li." + uuid4().hex, text, labels=self.labels, **fields)
