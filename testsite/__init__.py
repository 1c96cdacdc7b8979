"""The test site: a deterministic web on loopback, the oracle of the crawler's tests and benches.

    python -m testsite --hosts 50 --pages 40 --size 30 --log site.log
    python -m mercator crawl http://h0000.test/ --resolve '*.test=127.0.0.1:8099' \\
        --allow-net 127.0.0.0/8 --scope any --store STORE

In tests: `with Site(hosts=3) as site` (`fixture.py`, or the fixtures of `tests/conftest.py`), then
`site.web.reachable(site.web.url(0))` is what a crawl must find and `site.audit(delay_s=1.0)` what
it did wrong, judged from the server's log alone. A person can look at http://127.0.0.1:8099/ too.

Hosts, by the Host header (its port is ignored; TLS by SNI): `h0000.test`, `h0001.test`, ..., and
hosts with a fault, which serve `/` and `/page/N` like the others. Each may carry a number
(`dead-7.test`). An unknown name gets 404s.

    robots503      robots.txt is 503: unknown, so nothing may be asked
    robots404      robots.txt is missing: no rules, even /private/ may be asked
    robotshang     robots.txt is never answered: unknown
    robotsreset    robots.txt is answered with a RST: unknown
    robotsdelay    Crawl-delay: 2 holds for the host
    robotsredirect robots.txt is a 302 to that of h0000.test, whose rules then hold here
    robotsloop     robots.txt redirects round in two hops: it ends, without rules
    robotsclosed   Disallow: / leaves nothing to ask
    dead           every connection is closed without an answer: it fails, and the crawl goes on
    tlswrong       certificate for another name     (these three with --tls-port; plain they are
    tlsexpired     certificate of the past           normal hosts)
    tlsunknown     certificate of an unknown authority
    status         serves /status only, to watch a crawl without taking part: the audit skips it

Paths of every host, and what each proves. N is a number of at most nine digits; a query is ignored.

    /              the way to every page        /page/N        a page, 404 from --pages on
    /robots.txt    User-agent: *, Disallow: /private/
    /private/...   robots.txt is obeyed: linked from every page, answered with 200, so the log tells
    /script-only/  text in a script is no link: 404, so the log tells

  linked from / with --specials:
    /flaky/N       a 503 is tried again: 503 at first, then 200 (per host and N)
    /redirect/N    a redirect is followed: 302 to /page/N
    /slow/N        a slow answer holds up its host only: 2 s
    /calendar/N    a trap is bounded: each day links to the next one
    /dup/N         copies are found: one body for each group N//5, five paths with the same bytes
    /gone/N        404 is gone at once
    /status        counts as JSON: requests, in_flight, connections, statuses, hosts, uptime_s

  linked from nowhere; a test makes seeds of them:
    /loop/a /loop/b  redirects in a ring            /self          redirects to itself
    /hops/N          N redirects, then a page       /offhost/N     to the next host's /page/N
    /mailto          redirect to a mail address     /badlocation   Location that does not parse
    /nolocation      302 without Location
    /retry-after/N   429 with Retry-After: N, then 200 (per host and N): the host is left alone
    /busy/N /error/N /forbidden/N /toomany/N        always 503, 500, 403, 429
    /reset/N         half of the body, then RST     /short/N       body 1,000 bytes too short
    /endless/N       a body without end, to the close (even N) or in chunks (odd N)
    /drip/N          a byte each 0.1 s              /hang/N        no answer
    /bigheader/N     header fields without end      /nothead       garbage for a status line
    /badgzip/N       garbage (even N) or half a gzip stream (odd N), called gzip
    /bomb/N          0.2 MB of gzip that unpack to 200 MB
    /unknowncoding/N Content-Encoding: x-none       /empty/N       200 without a body
    /type/pdf /type/png /type/none                  by Content-Type; none has no such field
    /nested/N        10,000 nested elements         /nul/N         NUL bytes in text and tags
    /charset/N       a wrong label, by N mod 4: windows-1252 called utf-8, utf-8 called iso-8859-1,
                     an unknown name, utf-8 whose meta element says utf-16
    /noindex/N /nofollow/N  in a meta element (even N) or X-Robots-Tag (odd N); only the latter
                     links to /only-nofollow/N
    /echo            the request's head as text: what the crawler sends

Invariants: the same options give the same bytes, on any machine and version. Pages carry an ETag
and answer If-None-Match. Every request leaves one log line, also a broken one (status 0 where no
status line was sent, `t_end` then the moment of the break). Nothing here judges but `audit.py`.

Threads: the server is one thread (`loop.py`); `Site` may be asked from any.

Deliberately absent: request bodies, chunked requests, HTTP/2, HEAD for anything but ordinary
answers, a time-out for idle connections, any import of the crawler.
"""
