"""Every error that Mercator raises, as one tree.

::

    MercatorError
    +-- UsageError              wrong usage or configuration; nothing was written  (exit 2)
    |   +-- ConfigError         a field of CrawlConfig is unknown or does not fit
    +-- StoreError              the store cannot be used                            (exit 3)
    |   +-- StoreMissingError       there is no store at that path
    |   +-- StoreVersionError       written by another format version
    |   +-- StoreInUseError         another process (or another Crawl here) has it open
    |   +-- StoreFilesystemError    a network file system, or a path that is no folder
    |   +-- StorePermissionError    may not be read or written
    |   +-- StoreDamagedError       rows or files contradict each other
    |   +-- StoreFullError          the disk or the map is full
    +-- StateError              a call that does not fit the crawl's state, e.g. a second start
    +-- CrawlFailedError        the engine ended by a fault of its own               (exit 1)

Expected ends of a fetch are not errors: they are values (`FetchFailure`, `Reason`).
An error's text says what happened and how to mend it, on one line.
"""

from __future__ import annotations


class MercatorError(Exception):
    """Root of the tree; catch this to catch all that Mercator raises on purpose."""

    exit_code = 1


class UsageError(MercatorError):
    """Wrong usage: a seed that is no URL, contradictory arguments. Nothing was written."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration field is unknown, has the wrong type, or lies outside its range."""


class StoreError(MercatorError):
    """The store cannot be used. Nothing in it was overwritten."""

    exit_code = 3


class StoreMissingError(StoreError):
    """There is no store at the path."""


class StoreVersionError(StoreError):
    """The store was written with a format version that this program does not know."""


class StoreInUseError(StoreError):
    """The store is open elsewhere; `pid` is the process that holds it (0 when unknown)."""

    def __init__(self, text: str, pid: int = 0) -> None:
        super().__init__(text)
        self.pid = pid


class StoreFilesystemError(StoreError):
    """The path lies on a network file system, or is not a folder."""


class StorePermissionError(StoreError):
    """The path may not be read or written by this user."""


class StoreDamagedError(StoreError):
    """Rows or files contradict each other; `check --repair` mends what can be mended."""


class StoreFullError(StoreError):
    """The disk, or the store's map, is full. What was committed before is whole."""


class StateError(MercatorError):
    """The call does not fit the state of the crawl (for instance a second `start`)."""


class CrawlFailedError(MercatorError):
    """The engine met a fault of its own and stopped; the store is whole up to the last commit."""
