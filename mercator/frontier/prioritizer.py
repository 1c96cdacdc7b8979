"""Prioritizer: the level 1..F of a new URL (step 6)."""

from __future__ import annotations


class DepthPrioritizer:
    """The default behind `ports.Prioritizer`: shallow first, linked from other hosts earlier.

    The level is the depth plus one, one level earlier for a URL that another host links to (an in-link
    from a distinct host is the cheapest sign of worth), two levels later for hosts where most
    requests fail, so that a dying host does not take turns from live ones. A sitemap's priority
    (0..1) moves a URL by up to one level. Source: Heydon & Najork 1999 leave the policy open; breadth
    first finds high-PageRank pages early (Najork & Wiener 2001).

    Threads: immutable.
    """

    def __init__(self, levels: int) -> None:
        self.levels = levels

    def level(
        self,
        *,
        depth: int,
        cross_host: bool,
        host_stored: int,
        host_failed: int,
        sitemap_priority: float | None = None,
    ) -> int:
        """1 (drawn most often) to `levels`."""
        level = depth + 1
        if cross_host:
            level -= 1
        if host_failed > 10 and host_failed > host_stored:
            level += 2
        if sitemap_priority is not None:
            level += round(1 - 2 * sitemap_priority)
        return min(max(level, 1), self.levels)
