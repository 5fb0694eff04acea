"""The client: one class that blocks, and one with the same methods as coroutines."""

from __future__ import annotations

import asyncio
import http.client
import json
import time as clock
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Iterable, Sequence

from .errors import DeadlineExceeded, NotFound, Unavailable, ValidationError, from_reply


@dataclass(frozen=True)
class Pack:
    """A context pack: what a model should see, and what was left out by reason."""

    text: str
    pack_id: str
    position: int
    tokens: int
    left_out: dict[str, int]
    warnings: list[str]
    result: dict[str, Any]  # the whole reply

    @classmethod
    def of(cls, result: dict[str, Any]) -> Pack:
        p = result["payload"]
        drops = Counter(d["reason"] for d in p["drop_report"].get("drops") or [])
        return cls(p["text"], p["pack_id"], p["positions"]["pack"], p["pack"]["token_actual"], dict(drops), p["explainability"].get("warnings") or [], result)


class Satchel:
    """A client of satchel gateway. It is safe to use from several threads."""

    def __init__(self, url: str, token: str, *, timeout: float = 35.0, retries: int = 3) -> None:
        self.url, self._token, self._timeout, self._retries = url.rstrip("/"), token.strip(), timeout, retries
        if not self.url.startswith(("http://", "https://")):
            raise ValidationError("validation_error", f"url {url!r} must begin with http:// or https://", "url")
        if not self._token.isascii() or not self._token.isprintable():
            raise ValidationError("validation_error", "the token has characters that no token has", "token")

    def remember(self, text: str | dict[str, Any] | list[Any], *, kind: str = "memory", type: str = "episodic", time: datetime | str | None = None,
                 labels: Sequence[str] = (), session: str = "", speaker: str = "", links: Iterable[dict[str, str]] = (), key: str = "",
                 wait: str = "indexed", **fields: Any) -> dict[str, Any]:
        """Store one item and return its receipt. fields are further members of the item."""
        if key and time is None:
            raise ValueError("a key needs a time: sent again, the item would carry another one")
        item: dict[str, Any] = {"content": text, "kind": kind, "type": type, **fields}
        for name, value in (("created_at", _rfc3339(time)), ("security_label", _list("labels", labels)), ("session", session), ("speaker", speaker), ("links", list(links))):
            if value:
                item[name] = value
        return self._call("POST", "/v1/memories?wait=" + urllib.parse.quote(wait), item, headers={"Idempotency-Key": key} if key else {}, again=bool(key))

    def context(self, question: str, *, budget: int = 2000, session: str = "", purpose: str = "", min_position: int = 0, min_score: float | None = None,
                as_of: int | datetime | str | None = None, tz: str = "", **payload: Any) -> Pack:
        """Ask for a context pack. tz is the zone of the asker's days, as Asia/Tokyo. payload are further members of the request's payload."""
        body: dict[str, Any] = {"query": {"text": question}, "token_budget": budget, **payload}
        for name, value in (("session", session), ("purpose", purpose), ("min_position", min_position), ("tz", tz)):
            if value:
                body[name] = value
        if min_score is not None:
            body["min_score"] = min_score
        if as_of is not None:
            body["as_of" if isinstance(as_of, int) else "as_of_time"] = as_of if isinstance(as_of, int) else _rfc3339(as_of)
        return Pack.of(self._call("POST", "/v1/context", {"payload": body}, again=True))

    def search(self, query: str, *, limit: int = 10, kinds: Sequence[str] = (), **fields: Any) -> list[dict[str, Any]]:
        """Find items, best first."""
        body = {"query": query, "limit": limit, **({"memory_types": _list("kinds", kinds)} if kinds else {}), **fields}
        return self._call("POST", "/v1/search", body, again=True)["results"]

    def get(self, item: str) -> dict[str, Any] | None:
        """One item, or None where there is none that you may see."""
        try:
            return self._call("GET", "/v1/memories/" + _part(item), again=True)["items"][0]
        except NotFound:
            return None

    def items(self, *, session: str = "", labels: Sequence[str] = (), kinds: Sequence[str] = (), limit: int = 0) -> list[dict[str, Any]]:
        """The current items that pass the filters, newest first: all of them, or as many as limit says."""
        asked = [(name, value) for name, value in (("session", session), *(("label", v) for v in _list("labels", labels)), *(("kind", v) for v in _list("kinds", kinds))) if value]
        found: list[dict[str, Any]] = []
        after = ""
        while True:
            page = {"limit": str(min(limit - len(found), 100) if limit else 100), **({"after": after} if after else {})}
            reply = self._call("GET", "/v1/memories?" + urllib.parse.urlencode([*asked, *page.items()]), again=True)
            found += reply["items"]
            after = reply.get("next", "")
            if not after or (limit and len(found) >= limit):
                return found

    def pack(self, pack: str) -> Pack:
        """An earlier pack, as it was shown."""
        return Pack.of(self._call("GET", "/v1/packs/" + _part(pack), again=True))

    def explain(self, pack: str, item: str) -> dict[str, Any]:
        """Why an item is, or is not, in a pack, and what would change that."""
        return self._call("GET", f"/v1/packs/{_part(pack)}/items/{_part(item)}", again=True)

    def recover(self, pack: str, items: Sequence[str]) -> dict[str, Any]:
        """Items whole that a pack left out."""
        return self._call("POST", f"/v1/packs/{_part(pack)}/recover", {"item_ids": _list("items", items)}, again=True)

    def correct(self, item: str, *, text: str = "", by: str = "", reason: str) -> dict[str, Any]:
        """Replace an item by a text, or by another item."""
        return self._call("POST", f"/v1/memories/{_part(item)}/correct", {**({"text": text} if text else {}), **({"by": by} if by else {}), "reason": reason})

    def forget(self, items: Sequence[str], *, reason: str, dry_run: bool = False) -> dict[str, Any]:
        """Erase items for good; the receipt says store by store what is gone. A dry run says what would go."""
        return self._call("POST", "/v1/forget", {"items": _list("items", items), "reason": reason, "dry_run": dry_run})

    def status(self) -> dict[str, Any]:
        """The size of the log, and up to which position each index has everything."""
        return self._call("GET", "/v1/status", again=True)

    def head(self) -> dict[str, Any]:
        """The signed head of the log."""
        return self._call("GET", "/v1/log/head", again=True)

    def _call(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None, again: bool = False) -> Any:
        try:
            data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        except UnicodeEncodeError as wrong:
            raise ValidationError("validation_error", f"the request is not Unicode text: {wrong.reason}") from None
        sent = {"Authorization": "Bearer " + self._token, "Content-Type": "application/json", **(headers or {})}
        for attempt in range(self._retries + 1):
            request = urllib.request.Request(self.url + path, data=data, headers=sent, method=method)
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError as refused:
                with refused:
                    error = from_reply(refused.code, _json(refused.read()))
                    pause = float(refused.headers.get("Retry-After") or 1)
                if refused.code not in (429, 503) or not again or attempt == self._retries:
                    raise error from None
            except http.client.HTTPException:
                raise Unavailable("storage_error", f"what listens at {self.url} does not speak HTTP") from None
            except TimeoutError:
                raise DeadlineExceeded("deadline_exceeded", "the gateway did not answer in time") from None
            except urllib.error.URLError as away:
                if not again or attempt == self._retries:
                    raise Unavailable("storage_error", f"the gateway at {self.url} does not answer: {away.reason}") from None
                pause = 0.2 * 2**attempt
            clock.sleep(pause)
        raise AssertionError("unreachable")


class AsyncSatchel:
    """Satchel with coroutines: each call runs in a thread of the event loop."""

    def __init__(self, url: str, token: str, **options: Any) -> None:
        self._client = Satchel(url, token, **options)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name.startswith("_") or not callable(method):
            raise AttributeError(name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return call


def _rfc3339(at: datetime | str | None) -> str:
    if at is None or isinstance(at, str):
        return at or ""
    return (at if at.tzinfo else at.astimezone()).astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _list(name: str, values: Iterable[str]) -> list[str]:
    if isinstance(values, str):
        raise ValidationError("validation_error", f"{name} must be a list, not a text", name)
    return list(values)


def _part(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _json(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
