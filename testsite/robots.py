"""robots.txt of every kind of host."""

from __future__ import annotations

from testsite.hosts import CRAWL_DELAY_S, ROBOTS_LOOP_PATH
from testsite.reply import End, Reply, not_found, odd, redirect, whole


def robots_answer(kind: str, path: str) -> Reply:
    """The answer to `/robots.txt` and to `ROBOTS_LOOP_PATH` by a host of that kind."""
    if kind == "robots503":
        return whole(503, b"Busy.\n", content_type="text/plain")
    if kind == "robots404":
        return not_found()
    if kind == "robotshang":
        return odd(0, [End.HANG])
    if kind == "robotsreset":
        return odd(0, [End.RESET])
    if kind == "robotsredirect":
        return redirect("http://h0000.test/robots.txt")
    if kind == "robotsloop":
        return redirect(ROBOTS_LOOP_PATH if path == "/robots.txt" else "/robots.txt")
    if path != "/robots.txt":
        return not_found()
    rules = "Disallow: /\n" if kind == "robotsclosed" else "Disallow: /private/\n"
    delay = f"Crawl-delay: {CRAWL_DELAY_S}\n" if kind == "robotsdelay" else ""
    body = f"User-agent: *\n{rules}{delay}".encode()
    return whole(200, body, content_type="text/plain")
