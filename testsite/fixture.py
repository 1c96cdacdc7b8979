"""The site inside the process, for tests and notebooks."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from testsite.audit import audit
from testsite.generator import Web
from testsite.log import Entry, parse_lines
from testsite.server import Server

_ANSWER_S = 30.0

T = TypeVar("T")


class Site:
    """A server in a thread of its own between `with Site(...) as site:` and the end of the block.

    After the block the log can still be read. A fault of the server is raised at the block's end.
    Beside busy threads the log's `t` is late and its `t_end` early by up to some milliseconds (the
    interpreter lock): always in the crawler's favour. Where that matters use `process.running`.
    Threads: safe from any thread, but one thread enters and leaves.
    """

    def __init__(
        self,
        *,
        hosts: int = 3,
        pages: int = 10,
        size_kb: int = 8,
        seed: int = 0,
        specials: bool = False,
        latency_s: float = 0.0,
        slow_s: float = 2.0,
        port: int = 0,
        tls: bool = False,
        log_path: Path | None = None,
    ) -> None:
        self.web = Web(hosts, pages, size_kb, seed, specials)
        """What is served; `web.reachable(...)` is what a crawl must find."""
        self._server = Server(
            self.web,
            port=port,
            tls_port=0 if tls else None,
            latency_s=latency_s,
            slow_s=slow_s,
            log_path=log_path,
            keep_log=True,
        )
        self.port = self._server.port
        self.tls_port = self._server.tls_port
        self._thread = threading.Thread(target=self._run, name="testsite", daemon=True)
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.loop.stop()
        self._thread.join(_ANSWER_S)
        self._server.close()
        if self._failure is not None:
            raise RuntimeError("the test site failed") from self._failure

    def __repr__(self) -> str:
        return f"<Site 127.0.0.1:{self.port} {self.web}>"

    @property
    def resolve(self) -> str:
        """The crawler's `--resolve` for http."""
        return f"*.test=127.0.0.1:{self.port}"

    @property
    def resolve_tls(self) -> str:
        """The crawler's `--resolve` for https. Raises ValueError without `tls`."""
        if self.tls_port is None:
            raise ValueError("the site was made without tls")
        return f"*.test=127.0.0.1:{self.tls_port}"

    @property
    def ca_path(self) -> Path:
        """The PEM file of the authority to trust. Raises ValueError without `tls`."""
        if self._server.authority is None:
            raise ValueError("the site was made without tls")
        return self._server.authority.ca_path

    @property
    def log(self) -> list[Entry]:
        """The same as `entries()`."""
        return self.entries()

    def entries(self) -> list[Entry]:
        """A copy of the log, in the order of the ends. An answer that a client has received whole
        is in it; a request that is still being answered is not."""
        return parse_lines(self._ask(self._server.log.lines))

    def pages(self, host: str | None = None) -> list[str]:
        """URLs of the requests in the log other than for robots.txt, as http, in that order."""
        return [
            f"http://{entry['host']}{entry['path']}"
            for entry in self.entries()
            if entry["path"] != "/robots.txt" and host in (None, entry["host"])
        ]

    def audit(self, *, delay_s: float, slack_s: float = 0.002) -> list[str]:
        """The violations in the log so far, see `testsite.audit`."""
        return audit(self.entries(), delay_s=delay_s, slack_s=slack_s)

    def status(self) -> dict[str, object]:
        """The counts that `/status` gives."""
        return self._ask(self._server.status)

    def clear(self) -> None:
        """Empties the log and the counts. What `/flaky` and `/retry-after` remember stays."""
        self._ask(self._server.clear)

    def forget(self) -> None:
        """`/flaky` and `/retry-after` begin anew."""
        self._ask(self._server.behaviours.firsts.forget)

    def _run(self) -> None:
        try:
            self._server.loop.run()
        except BaseException as error:  # kept for the thread that leaves the block
            self._failure = error
            self._server.break_off()  # or the clients would wait for an answer until they time out

    def _ask(self, question: Callable[[], T]) -> T:
        """The answer, given by the server's thread between two events."""
        if not self._thread.is_alive():
            return question()
        answers: queue.SimpleQueue[T] = queue.SimpleQueue()
        self._server.loop.call_from_thread(lambda: answers.put(question()))
        return answers.get(timeout=_ANSWER_S)
