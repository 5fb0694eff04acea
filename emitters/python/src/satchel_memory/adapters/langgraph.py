"""LangGraph's long-term store on Satchel: `graph.compile(store=SatchelStore(memory))`.

A value is an item of Satchel, so packs and searches of other agents find it where policy lets them.
A put or delete returns when the next read sees it. What differs from LangGraph's InMemoryStore:

- Values come back as policy shows them: personal data and secrets may be masked. Do not put a masked value back.
  A value that is beyond doubt an injected instruction is not returned, such as "ignore all previous instructions".
- A value whose namespace or key has personal data, such as an e-mail address, is found by get alone.
- A put or delete is refused (PolicyDenied) where the value is another principal's, or had labels that the store
  does not give.
- Values are JSON: a tuple comes back as a list, and a key of a dict as a string.
- Search without a query returns the newest values first. With a query it returns those that a context pack
  of the query would show, best first: what is not about the query is left out.
- A namespace has 32 labels at most. The service can neither filter by value nor list namespaces, so a search
  with a filter, and list_namespaces, read all values below the prefix. A namespace without values is not listed.
- `index` has no effect: every value can be found. There is no `ttl`. created_at is the time of the last write.
- delete hides a value; the log keeps it. `memory.forget([item_id(namespace, key)], reason=…)` erases it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any
from urllib.parse import quote, unquote

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from ..client import Satchel
from ..errors import ValidationError
from ._items import LABELS, digest, hide, newest, write

_DEPTH = 32
_MOST = 1000  # items of a pack
_BUDGET = 1_000_000  # tokens of a pack
_URI = "langgraph:"

Namespace = tuple[str, ...]


def item_id(namespace: Namespace, key: str) -> str:
    """The id of the item that holds a value."""
    return "lg." + digest(*namespace, key)


class SatchelStore(BaseStore):
    """A store of LangGraph. It is safe to use from several threads. labels are those of every value."""

    __slots__ = ("_labels", "_memory")

    def __init__(self, memory: Satchel, *, labels: Sequence[str] = LABELS) -> None:
        if not isinstance(memory, Satchel):
            raise TypeError("give a Satchel, not an AsyncSatchel: the store has coroutines of its own")
        self._memory, self._labels = memory, list(labels)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations. As in LangGraph's stores, reads see what was there before the writes of the batch."""
        results: list[Result] = []
        writes: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                writes[op.namespace, op.key] = op
                results.append(None)
            elif isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._namespaces(op))
            else:
                raise ValueError(f"give a GetOp, PutOp, SearchOp or ListNamespacesOp, not a {type(op).__name__}")
        for put in writes.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _put(self, op: PutOp) -> None:
        if len(op.namespace) > _DEPTH:
            wrong = f"the namespace has more than {_DEPTH} labels: use fewer"
            raise ValidationError("validation_error", wrong, "namespace")
        item = item_id(op.namespace, op.key)
        labels = [*self._labels, *(_below(op.namespace[:depth]) for depth in range(len(op.namespace) + 1))]
        if op.value is None:
            hide(self._memory, item, labels=labels)
        else:
            names = {"source_uri": _URI + "/".join(quote(name, safe="") for name in (*op.namespace, op.key))}
            fields: dict[str, Any] = {"type": "semantic", "provenance": names}
            write(self._memory, item, {"value": dict(op.value)}, labels=labels, **fields)

    def _get(self, op: GetOp) -> Item | None:
        found = self._memory.get(item_id(op.namespace, op.key))
        return _value(found, op.namespace, op.key) if found else None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit <= 0 or op.offset < 0:
            raise ValidationError("validation_error", "limit must be above 0, and offset not below 0", "limit")
        most = 0 if op.filter else op.limit + op.offset
        values = self._ask(op) if op.query else self._list(op.namespace_prefix, most)
        if not op.filter:
            return values[op.offset : op.offset + op.limit]
        sieve = InMemoryStore()  # LangGraph's own rules of a filter, in the order given
        sieve.batch([PutOp(("values",), str(i), v.value) for i, v in enumerate(values)])
        kept = sieve.search(("values",), filter=op.filter, limit=op.limit, offset=op.offset)
        return [values[int(k.key)] for k in kept]

    def _list(self, prefix: Namespace, limit: int = 0) -> list[SearchItem]:
        """The values below a prefix, newest first; a limit of 0 means all."""
        return newest(self._memory, _below(prefix), limit, lambda item: _named(item, prefix))

    def _ask(self, op: SearchOp) -> list[SearchItem]:
        query = {"text": op.query, "filters": {"labels": _below(op.namespace_prefix)}}
        pack = self._memory.context("", budget=_BUDGET, query=query, limit=_MOST, include_scores=True, compaction="off")
        found = sorted(pack.result["payload"]["results"], key=lambda item: -item["score"])
        return [value for item in found if (value := _named(item, op.namespace_prefix))]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        sieve = InMemoryStore()  # LangGraph's own rules of a match, a depth and a page
        sieve.batch([PutOp(value.namespace, "", {}) for value in self._list(_common(op))])
        found = sieve.batch([op])[0]
        assert isinstance(found, list)
        return [namespace for namespace in found if isinstance(namespace, tuple)]


def _common(op: ListNamespacesOp) -> Namespace:
    """A prefix that all namespaces asked for have."""
    paths = [condition.path for condition in op.match_conditions or () if condition.match_type == "prefix"]
    heads = [tuple(takewhile(lambda label: label != "*", path)) for path in paths]
    return max(heads, key=len, default=())


def _below(prefix: Namespace) -> str:
    """The label of all values below a prefix."""
    return "ns:" + digest(*prefix)


def _named(item: dict[str, Any], prefix: Namespace) -> SearchItem | None:
    """The value that an item holds, if it is below a prefix and its id is that of its namespace and key."""
    names = item["metadata"].get("source_uri", "").removeprefix(_URI).split("/")
    *namespace, key = (unquote(name) for name in names)
    if tuple(namespace[: len(prefix)]) != prefix or item["id"] != item_id(tuple(namespace), key):
        return None
    return _value(item, tuple(namespace), key)


def _value(item: dict[str, Any], namespace: Namespace, key: str) -> SearchItem | None:
    """The value that an item holds, or None where it holds none."""
    match item["content"]:
        case {"value": dict(value)}:
            at = datetime.fromisoformat(item["metadata"]["created_at"])
            return SearchItem(namespace, key, value, at, at, item.get("score"))
    return None
