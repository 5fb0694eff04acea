"""SatchelMemoryBlock keeps to its budget, and LlamaIndex's Memory works with it."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.utils import get_tokenizer

from satchel_memory import AsyncSatchel, Satchel
from satchel_memory.adapters.llamaindex import SatchelMemoryBlock

SEED = 20261126
BUDGETS = 200
QUESTION = [ChatMessage(role="user", content="when is kiln 7 fired?")]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]


def tokens(text: str) -> int:
    return len(get_tokenizer()(text))


@pytest.fixture(scope="module")
def kilns(memory: Satchel) -> Satchel:
    r = random.Random(SEED)
    for i in range(60):
        glazes = [f"glaze {r.randrange(99)} at {r.randrange(900, 1300)} degrees," for _ in range(r.randrange(20))]
        glaze = " ".join(glazes)
        memory.remember(f"Kiln {i} is fired on {DAYS[i % 5]}. {glaze}", wait="indexed" if i == 59 else "accepted")
    return memory


def test_budgets(kilns: Satchel) -> None:
    """No block is over its budget, nor over what is left of it when it is shortened."""
    r = random.Random(SEED)

    async def one(budget: int) -> tuple[int, bool]:
        block = SatchelMemoryBlock(memory=kilns, budget=budget)
        text = await block.aget(QUESTION)
        assert tokens(text) <= budget
        less = r.randrange(1, max(2, tokens(text)))
        shorter = await block.atruncate(text, less) if text else None
        assert shorter is None or tokens(shorter) <= tokens(text) - less
        return tokens(text), shorter is not None

    async def every() -> list[tuple[int, bool]]:
        budgets = [r.randrange(64, 3000) for _ in range(BUDGETS)]
        turns = asyncio.Semaphore(6)

        async def bounded(budget: int) -> tuple[int, bool]:
            async with turns:
                return await one(budget)

        return await asyncio.gather(*(bounded(b) for b in budgets))

    done = asyncio.run(every())
    assert len(done) == BUDGETS and max(n for n, _ in done) > 1000
    assert sum(shortened for _, shortened in done) > BUDGETS // 2


def test_same_state(kilns: Satchel) -> None:
    """A shorter block knows nothing that was written after the longer one."""

    async def twice() -> None:
        block = SatchelMemoryBlock(memory=kilns, budget=900)
        text = await block.aget(QUESTION)
        kilns.remember("Kiln 7 is fired on Sunday now.", labels=["level:internal"])
        assert "Sunday" not in (await block.atruncate(text, 100))
        assert "Sunday" in await block.aget(QUESTION)
        assert await block.atruncate(text, tokens(text) - 63) is None
        assert await block.atruncate("another block's text", 1) is None

    asyncio.run(twice())


def test_memory(memory: Satchel) -> None:
    """What leaves the short-term memory is in the block of a later question, within the limit of tokens."""

    async def talk() -> None:
        block = SatchelMemoryBlock(memory=memory, budget=300)
        chat = Memory.from_defaults(session_id="talk", token_limit=700, token_flush_size=100, memory_blocks=[block],
                                    chat_history_token_ratio=0.3)
        await chat.aput(ChatMessage(role="user", content="My parrot is called Olaf."))
        await chat.aput(ChatMessage(role="assistant", content="A fine name."))
        for i in range(30):
            await chat.aput(ChatMessage(role="user", content=f"Question {i}: how deep is the sea at station {i}?"))
            await chat.aput(ChatMessage(role="assistant", content=f"It is {i * 40 + 7} metres deep at station {i}."))
        assert not any("Olaf" in (m.content or "") for m in await chat.aget())
        seen = await chat.aget(input="What is my parrot called?")
        assert "Olaf" in (seen[0].content or "") and seen[0].role == "system"
        assert sum(tokens(m.content or "") for m in seen) <= 700
        assert [i["metadata"]["speaker"] for i in memory.items(session="talk")][-2:] == ["assistant", "user"]

    asyncio.run(talk())


def test_long(kilns: Satchel) -> None:
    """A message that is too long for a question is asked about by its beginning and its end."""
    long = ChatMessage(role="user", content="🌊" * 50_000 + " when is kiln 7 fired?")
    assert "Kiln 7 " in asyncio.run(SatchelMemoryBlock(memory=kilns).aget([long]))


def test_nothing(memory: Satchel) -> None:
    block = SatchelMemoryBlock(memory=memory)
    assert asyncio.run(block.aget([])) == ""
    assert asyncio.run(block.aget([ChatMessage(role="system", content="Be brief.")])) == ""


def test_refusals(memory: Satchel) -> None:
    with pytest.raises(ValueError, match="Satchel"):
        SatchelMemoryBlock(memory=AsyncSatchel(memory.url, "x"))
    with pytest.raises(ValueError, match="64"):
        SatchelMemoryBlock(memory=memory, budget=10)


def test_example(example: Callable[[str], dict[str, Any]]) -> None:
    assert "Tuesdays" in example("llamaindex")["seen"][0].content
