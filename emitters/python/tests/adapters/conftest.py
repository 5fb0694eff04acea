"""One satchel for all tests of a framework, and the client of its gateway."""

from collections.abc import Iterator

import pytest
from server import Server

from satchel_memory import Satchel


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture(scope="session")
def memory(server: Server) -> Satchel:
    return Satchel(server.url, server.token)
