"""The Scrapy side of the comparison, run as a child: `python -m bench.scrapy_crawl PORT SEEDS FEED`.

Its best settings: 64 requests at once, 8 a domain, no delay, and of what its documentation says about
broad crawls (https://docs.scrapy.org/en/latest/topics/broad-crawls.html) all that makes it faster:
no cookies, retries, redirects or log. Statistics, telnet, memory watch and referrers are off too.
robots.txt is obeyed; links are followed with its LinkExtractor; URL and body of each page go to a
JSONL feed. Frontier and seen set stay in memory: it has less to do than Mercator.

The hosts' names lead to the site by a name resolver that answers at once, port included: Twisted asks
it for each new connection only, so a request costs what it costs on the real web, less the DNS.
"""
# mypy: ignore-errors
# Scrapy is an extra that whoever checks types need not have.

from __future__ import annotations

import argparse
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import HostResolution
from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer

SETTINGS = {
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "REFERER_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "MEMUSAGE_ENABLED": False,
    "DOWNLOADER_STATS": False,
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
    "EXTENSIONS": {
        "scrapy.extensions.corestats.CoreStats": None,
        "scrapy.extensions.logstats.LogStats": None,
        "scrapy.extensions.logcount.LogCount": None,
    },
    "DNS_RESOLVER": "bench.scrapy_crawl.SiteResolver",
}


@implementer(IHostnameResolver)
class SiteResolver:
    """Every name is the test site. Threads: confined to the reactor's."""

    def __init__(self, reactor, port):
        self._reactor = reactor
        self._port = port

    @classmethod
    def from_crawler(cls, crawler, reactor):
        """As Scrapy makes what DNS_RESOLVER names."""
        return cls(reactor, crawler.settings.getint("SITE_PORT"))

    def install_on_reactor(self):
        """As Scrapy asks of it."""
        self._reactor.installNameResolver(self)

    def resolveHostName(self, receiver, name, *_args, **_kwargs):  # noqa: N802 (Twisted's name)
        """The address, without waiting."""
        resolution = HostResolution(name)
        receiver.resolutionBegan(resolution)
        receiver.addressResolved(IPv4Address("TCP", "127.0.0.1", self._port))
        receiver.resolutionComplete()
        return resolution


class PagesSpider(scrapy.Spider):
    """Follows every link and keeps every page. Threads: confined to the reactor's."""

    name = "pages"

    def __init__(self, seeds, *, drop_known):
        super().__init__()
        self._seeds = seeds
        self._known = set(seeds) if drop_known else None
        self._extractor = LinkExtractor()

    async def start(self):
        """The seeds, seen like any other request."""
        for url in self._seeds:
            yield scrapy.Request(url)

    def parse(self, response):
        """A page: its item, then its links."""
        yield {"url": response.url, "body": response.text}
        known = self._known
        for link in self._extractor.extract_links(response):
            if known is not None:
                if link.url in known:
                    continue
                known.add(link.url)
            yield scrapy.Request(link.url)


def main():
    """Crawls to the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("seeds", type=Path)
    parser.add_argument("feed", type=Path)
    parser.add_argument(
        "--drop-known", action="store_true", help="drop known links before a Request is built"
    )
    options = parser.parse_args()
    feed = {"format": "jsonlines", "encoding": "utf8", "overwrite": True}
    process = CrawlerProcess({**SETTINGS, "SITE_PORT": options.port, "FEEDS": {options.feed: feed}})
    seeds = options.seeds.read_text().split()
    process.crawl(PagesSpider, seeds, drop_known=options.drop_known)
    process.start()


if __name__ == "__main__":
    main()
