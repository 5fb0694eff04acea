"""Client of Satchel: memory for AI agents with access policy and an audit log you can verify."""

from .client import AsyncSatchel, Pack, Satchel
from .errors import (Conflict, DeadlineExceeded, InsufficientScope, NotFound, Overloaded, PolicyDenied, SatchelError,
                     TooLarge, Unauthenticated, Unavailable, ValidationError)

__all__ = ["AsyncSatchel", "Conflict", "DeadlineExceeded", "InsufficientScope", "NotFound", "Overloaded", "Pack", "PolicyDenied",
           "Satchel", "SatchelError", "TooLarge", "Unauthenticated", "Unavailable", "ValidationError"]
