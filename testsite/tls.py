"""Certificates for the test site, made at the start and thrown away at the end.

trustme is imported here and only when TLS is asked for: the plain site needs the standard library
alone.
"""

from __future__ import annotations

import datetime as dt
import re
import shutil
import socket
import ssl
import tempfile
from collections import OrderedDict
from pathlib import Path

from testsite.hosts import host_kind

_KEPT_NAMES = 4096
_ISSUED = re.compile(r"localhost|[a-z0-9.-]{1,59}\.test")


class Authority:
    """A certificate authority and a certificate for every name that a client asks for (SNI).

    Hosts of the kind `tlswrong` have one for another name, `tlsexpired` an old one, `tlsunknown`
    one of an authority that nobody trusts. A certificate costs about 1 ms, once a name.
    Raises ImportError where trustme is not installed.
    Threads: made and closed by any one thread, else confined to the loop's.
    """

    def __init__(self) -> None:
        import trustme

        self._known = trustme.CA()
        self._unknown = trustme.CA()
        self._folder = Path(tempfile.mkdtemp(prefix="testsite-"))
        self.ca_path = self._folder / "ca.pem"
        self._known.cert_pem.write_to_path(str(self.ca_path))
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self._first = self._context_of("localhost")
        self._first.sni_callback = self._choose

    def wrap(self, sock: socket.socket) -> ssl.SSLSocket:
        """The server's side of TLS on a connected socket; the handshake is still to be made."""
        return self._first.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)

    def close(self) -> None:
        """Removes the PEM file."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _choose(self, sock: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        if name is None:
            return None
        if _ISSUED.fullmatch(name) is None:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        sock.context = self._context_of(name)
        return None

    def _context_of(self, name: str) -> ssl.SSLContext:
        found = self._contexts.get(name)
        if found is None:
            found = self._contexts[name] = self._made(name)
            if len(self._contexts) > _KEPT_NAMES:
                self._contexts.popitem(last=False)
        return found

    def _made(self, name: str) -> ssl.SSLContext:
        kind = host_kind(name)
        authority = self._unknown if kind == "tlsunknown" else self._known
        not_after = None
        if kind == "tlsexpired":
            not_after = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
        subject = "other.test" if kind == "tlswrong" else name
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(subject, "127.0.0.1", not_after=not_after).configure_cert(context)
        return context
