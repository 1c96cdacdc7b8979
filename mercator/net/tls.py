"""The settings that https connections are made with."""

from __future__ import annotations

import os
import ssl

import certifi
from urllib3.util import create_urllib3_context

from mercator.errors import ConfigError


def client_context(ca_file: str | None) -> ssl.SSLContext:
    """urllib3's client settings (TLS 1.2 and up, names and certificates checked) with the system's
    authorities, or certifi's where the system has none. Raises ConfigError."""
    context = create_urllib3_context()
    context.set_alpn_protocols(["http/1.1"])
    paths = ssl.get_default_verify_paths()
    context.load_default_certs()
    if not paths.cafile and not (paths.capath and os.listdir(paths.capath)):
        context.load_verify_locations(cafile=certifi.where())
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"ca_file: cannot read certificates from {ca_file}: {error}"
            ) from error
    return context
