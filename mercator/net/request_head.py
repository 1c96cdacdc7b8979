"""What a GET says: request line, Host, and the fields that are the same for every request."""

from __future__ import annotations

import re
from typing import NamedTuple

from mercator.errors import ConfigError
from mercator.net.decoding import ACCEPT_ENCODING
from mercator.net.idle_connections import Endpoint
from mercator.values import FetchRequest

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_URL = re.compile(
    r"(https?)://((\[[0-9A-Fa-f:.]+\]|[^\[\]/?#@:\\]+)(?::(\d{1,5}))?)((?:[/?][!-~]*)?)"
)
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


class Target(NamedTuple):
    """Where a request goes, and what its head says of it. Threads: immutable."""

    endpoint: Endpoint
    authority: str
    path: str


class RequestHeads:
    """Makes the heads of one crawler's requests. Threads: immutable.

    `user_agent` is the header's whole value; raises ConfigError when it holds control characters.
    """

    def __init__(self, user_agent: str) -> None:
        if not _FIELD_VALUE.fullmatch(user_agent):
            raise ConfigError(f"user_agent may not hold control characters: {user_agent!r}")
        self._fields = (
            ("User-Agent", user_agent),
            ("Accept", _ACCEPT),
            ("Accept-Encoding", ACCEPT_ENCODING),
            ("Connection", "keep-alive"),
        )
        self._fields_text = _field_lines(self._fields)

    def head(self, target: Target, request: FetchRequest) -> bytes:
        """Request line and header fields as they are sent; an extra header replaces one of ours.

        Raises ValueError for an extra header that would break the head up.
        """
        fields = self._fields_text
        if request.extra_headers:
            for name, value in request.extra_headers:
                if not _FIELD_NAME.fullmatch(name) or not _FIELD_VALUE.fullmatch(value):
                    raise ValueError(f"no header field: {name!r}: {value!r}")
            given = {name.lower() for name, _ in request.extra_headers}
            kept = tuple(field for field in self._fields if field[0].lower() not in given)
            fields = _field_lines(kept + request.extra_headers)
        return f"GET {target.path} HTTP/1.1\r\nHost: {target.authority}\r\n{fields}\r\n".encode()


def target_of(request: FetchRequest) -> Target:
    """The parts of the URL that the wire needs. Raises ValueError."""
    if not request.addresses:
        raise ValueError(f"no address to connect to for {request.url!r}")
    match = _URL.fullmatch(request.url.partition("#")[0])
    if match is None or not match[2].isascii() or not match[2].isprintable() or " " in match[2]:
        raise ValueError(f"no absolute http or https URL: {request.url!r}")
    scheme, authority, host, port, path = match.groups()
    own_port = int(port) if port else (443 if scheme == "https" else 80)
    if own_port > 65535:
        raise ValueError(f"no port {own_port} to connect to: {request.url!r}")
    return Target(
        Endpoint(scheme == "https", host.strip("[]"), request.port or own_port),
        authority,
        path if path[:1] == "/" else "/" + path,
    )


def _field_lines(fields: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in fields)
