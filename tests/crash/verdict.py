"""The verdict on a round: which promise was broken, by the store, the site's log and a calm run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mercator.records import Status
from tests.crash.archive import Archive, read_archive
from tests.crash.evidence import Asked, Evidence, asked
from tests.crash.round import Course
from testsite.audit import audit
from testsite.log import Entry

ENDS = ("stored", "redirects", "gone", "failed", "robots_refused", "refused")
SUMS = (*ENDS, "seen", "known_again", "pending", "in_flight", "duplicates_exact", "hosts")
"""Counters that do not depend on the order in which pages came."""


class Verdict(NamedTuple):
    """Counts of what went wrong, and `broken`: a sentence for each broken promise.

    `repeated_fetches` are requests more than in the calm run, `unrecorded` those that the ledger does
    not name; both may be up to `allowed_repeats`. Threads: immutable.
    """

    kills: int
    lost: int
    duplicate_pages: int
    repeated_fetches: int
    unrecorded: int
    allowed_repeats: int
    gap_violations: int
    robots_violations: int
    store_equal: bool
    broken: tuple[str, ...]


NOTHING = Verdict(0, 0, 0, 0, 0, 0, 0, 0, True, ())
"""The verdict on no round at all."""


def together(one: Verdict, other: Verdict) -> Verdict:
    """The verdict on two rounds, or two groups of rounds."""
    numbers = {
        name: getattr(one, name) + getattr(other, name)
        for name in Verdict._fields
        if name != "store_equal"
    }
    return Verdict(store_equal=one.store_equal and other.store_equal, **numbers)


def judge(course: Course, calm: Course) -> Verdict:
    """Holds a round against the promises; `calm` is the same crawl without a kill."""
    final, model = course.final, calm.final
    assert final is not None, "a crawl that has ended has a store"
    assert model is not None, "a crawl that has ended has a store"
    kills = len(course.burials)
    allowed = kills * 2 * course.scene.threads
    log, calm_log = _asked(course.log), _asked(calm.log)
    archive = read_archive(course.store) if course.scene.warc else None
    lost = sorted(_lost(course, final, model))
    duplicates = sorted(_duplicates(course, final, archive))
    unequal = tuple(_differences(final, model))
    repeated = (log - calm_log).total()
    unrecorded = (log - final.requests).total()
    unkind = audit(course.log, delay_s=course.scene.delay_s, whole_crawl=True)
    gaps = [line for line in unkind if " began " in line]
    broken = [
        *course.complaints,
        *(f"lost: {url}" for url in lost),
        *(f"twice: {what}" for what in duplicates),
        *unkind,
        *unequal,
        *_unsound(course, final),
        *_ledger_faults(course, final, log),
        *_unknown_requests(course),
        *(_archive_faults(final, archive) if archive else ()),
    ]
    if max(repeated, unrecorded) > allowed:
        broken.append(f"{repeated} repeated, {unrecorded} unrecorded, {allowed} allowed")
    return Verdict(
        kills=kills,
        lost=len(lost),
        duplicate_pages=len(duplicates),
        repeated_fetches=repeated,
        unrecorded=unrecorded,
        allowed_repeats=allowed,
        gap_violations=len(gaps),
        robots_violations=len(unkind) - len(gaps),
        store_equal=not unequal,
        broken=tuple(broken),
    )


def _asked(log: Iterable[Entry]) -> Counter[Asked]:
    return Counter((entry["host"], entry["path"]) for entry in log)


def _lost(course: Course, final: Evidence, model: Evidence) -> set[str]:
    """URLs that were there once and are not, that are stored no longer, or that never ended."""
    lost = {url for url, (state, _) in final.urls.items() if state == "pending"}
    lost |= model.urls.keys() - final.urls.keys()
    for evidence in _evidence(course):
        lost |= evidence.urls.keys() - final.urls.keys()
        lost |= evidence.pages.keys() - final.pages.keys()
    return lost


def _duplicates(course: Course, final: Evidence, archive: Archive | None) -> set[str]:
    """Pages with two records, of which one was replaced, or with a response record too many."""
    twice = {f"{final.page_rows - len(final.pages)} page rows"} - {"0 page rows"}
    for evidence in _evidence(course):
        for url, page in evidence.pages.items():
            if url in final.pages and page != final.pages[url]:
                twice.add(url)
    if archive:
        more = archive.answers - final.answers
        twice |= {f"response record of {host}{path}" for host, path in more}
    return twice


def _differences(final: Evidence, model: Evidence) -> Iterator[str]:
    """Where the store is not that of the calm run. `/status` shows another text each time."""
    for url in sorted(model.urls.keys() | final.urls.keys()):
        mine, its = final.urls.get(url), model.urls.get(url)
        if mine != its:
            yield f"{url} is {mine}, undisturbed {its}"
        page, other = final.pages.get(url), model.pages.get(url)
        if page and other and page.sha256 != other.sha256 and not url.endswith("/status"):
            yield f"{url} has another body"
    for name in SUMS:
        mine, its = getattr(final.status, name), getattr(model.status, name)
        if mine != its:
            yield f"{name} is {mine}, undisturbed {its}"
    if final.status.reasons != model.status.reasons:
        yield f"reasons are {final.status.reasons}, undisturbed {model.status.reasons}"


def _unsound(course: Course, final: Evidence) -> Iterator[str]:
    """What `check` found after each kill and at the end, and sums that are none."""
    for number, evidence in enumerate([*_evidence(course), final]):
        for fault in evidence.faults:
            yield f"check after kill {number}: {fault}"
        if not _adds_up(evidence.status):
            yield f"the counters after kill {number} do not add up: {evidence.status.as_dict()}"


def _adds_up(status: Status) -> bool:
    ends = sum(getattr(status, name) for name in ENDS)
    with_reason = status.gone + status.failed + status.robots_refused + status.refused
    return (
        status.seen == ends + status.pending + status.in_flight
        and sum(status.reasons.values()) == with_reason
    )


def _ledger_faults(course: Course, final: Evidence, log: Counter[Asked]) -> Iterator[str]:
    """The ledger names nothing that the site was not asked, and lacks after each kill no more than
    what was on lease then."""
    invented = final.requests - log
    if invented:
        yield f"the ledger names requests that were never made: {dict(invented)}"
    most = 2 * course.scene.threads
    before = 0
    for number, (death, requests, evidence) in enumerate(course.burials, 1):
        missing = requests - (evidence.requests.total() if evidence else 0)
        if not 0 <= missing - before <= most:
            yield f"kill {number} ({death}) cost the ledger {missing - before} rows, {most} allowed"
        before = missing
    if final.openings > len(course.burials):
        yield f"the ledger notes {final.openings} crashes"


def _unknown_requests(course: Course) -> Iterator[str]:
    """A page is asked for when its row is durable, not before."""
    for number, (_, requests, evidence) in enumerate(course.burials, 1):
        asked_for = {what for what in _asked(course.log[:requests]) if what[1] != "/robots.txt"}
        known = {asked(url) for url in evidence.urls} if evidence else set()
        if asked_for - known:
            yield f"asked before kill {number}, without a row: {asked_for - known}"


def _archive_faults(final: Evidence, archive: Archive) -> Iterator[str]:
    """Every answer in the ledger has its response record, and each page's is where its row says."""
    yield from archive.faults
    missing = final.answers - archive.answers
    if missing:
        yield f"answers without a response record: {dict(missing)}"
    for page in final.pages.values():
        there = archive.records.get((page.warc_file or "", page.warc_offset or 0))
        if there != (page.url, page.sha256):
            yield f"{page.url}: at its place in {page.warc_file} is {there}"


def _evidence(course: Course) -> list[Evidence]:
    return [burial.evidence for burial in course.burials if burial.evidence is not None]
