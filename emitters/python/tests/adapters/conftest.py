"""One satchel for all tests of a framework, and the client of its gateway."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture
def example(server: Server) -> Callable[[str], dict[str, Any]]:
    """Run the README's example of an adapter, and return its variables."""

    def run(adapter: str) -> dict[str, Any]:
        text = (Path(__file__).parents[2] / "README.md").read_text()
        [code] = [c for c in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if f"adapters.{adapter} " in c]
        code = code.replace("http://127.0.0.1:8228", server.url).replace("satchel_…", server.token)
        variables: dict[str, Any] = {"__name__": "example"}
        exec(compile(code, f"README.md {adapter}", "exec"), variables)
        return variables

    return run
