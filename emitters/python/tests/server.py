"""A satchel up and its gateway in a temporary folder. SATCHEL_TEST_BINARY names the binary."""

import os
import subprocess
import tempfile

BINARY = os.environ["SATCHEL_TEST_BINARY"]


class Server:
    """Close it, or use it in a with statement."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory()
        self._data = self._home.name + "/data"
        self._running: list[subprocess.Popen[str]] = []
        try:
            self._start("up", "--nats-port", "0", "--http-addr", "127.0.0.1:0")
            self.token = self.new_token("shell", "--scope", "memory.read,memory.write,memory.erase")
            self.url = self._start("gateway", "--addr", "127.0.0.1:0").split()[1].removesuffix("/openapi.json,")
        except BaseException:
            self.close()
            raise

    def new_token(self, *args: str) -> str:
        command = [BINARY, "token", "add", *args, "--dir", self._data]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def close(self) -> None:
        for p in reversed(self._running):
            p.terminate()
            p.wait(60)
            p.stdout.close()
        self._home.cleanup()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, *args: str) -> str:
        command = [BINARY, *args, "--dir", self._data]
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._running.append(p)
        line = p.stdout.readline()
        if not line:
            raise RuntimeError(f"satchel {args[0]} did not start")
        return line
