"""What this program calls itself, to servers and in files."""

from __future__ import annotations

from importlib import metadata

from mercator.config import CrawlConfig


def version() -> str:
    """The installed version, "0" in a checkout that was never installed."""
    try:
        return metadata.version("mercator")
    except metadata.PackageNotFoundError:
        return "0"


def user_agent(config: CrawlConfig) -> str:
    """The User-Agent header: TOKEN/VERSION (+CONTACT)."""
    contact = f" (+{config.contact})" if config.contact else ""
    return f"{config.user_agent}/{version()}{contact}"
