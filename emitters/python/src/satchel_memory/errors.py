"""The errors of the contract. Each has the code, the message, the failing field and all problems."""

from __future__ import annotations

from typing import Any


class SatchelError(Exception):
    """A refused request. code is that of the contract, such as "policy_denied". Where undecided is true, policy gave
    no verdict: try again later."""

    undecided = False

    def __init__(self, code: str, message: str, field: str = "", problems: list[dict[str, Any]] | None = None, status: int = 0) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.field, self.problems, self.status = code, message, field, problems or [], status


class ValidationError(SatchelError):
    """The request is wrong; field is the JSON pointer of what is."""


class Unauthenticated(SatchelError):
    """There is no token, or it is not known, or has expired."""


class InsufficientScope(SatchelError):
    """The token does not have the scope."""


class PolicyDenied(SatchelError):
    """Policy refuses the request."""


class NotFound(SatchelError):
    """What the request names is not there."""


class Conflict(SatchelError):
    """The key was used for another event."""


class TooLarge(SatchelError):
    """The request is too large."""


class Overloaded(SatchelError):
    """The service has no place for the request now."""


class Unavailable(SatchelError):
    """The service, or a store of it, does not answer."""


class DeadlineExceeded(SatchelError):
    """The request took too long."""


_CLASSES: dict[str, type[SatchelError]] = {
    "validation_error": ValidationError, "invalid_context_type": ValidationError, "unauthenticated": Unauthenticated,
    "insufficient_scope": InsufficientScope, "policy_denied": PolicyDenied, "not_found": NotFound, "template_not_found": NotFound,
    "conflict": Conflict, "too_large": TooLarge, "overloaded": Overloaded, "storage_error": Unavailable, "deadline_exceeded": DeadlineExceeded,
}


def from_reply(status: int, body: dict[str, Any]) -> SatchelError:
    """The exception for an error of the contract."""
    code = str(body.get("code") or f"http_{status}")
    kind = _CLASSES.get(code, SatchelError)
    error = kind(code, str(body.get("message") or "the gateway refused the request"), str(body.get("field") or ""), body.get("problems"), status)
    error.undecided = body.get("undecided") is True
    return error
