"""Check: what a host's row counts, against the URLs that it counts."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from mercator.ports import Txn
from mercator.rows import HostRow
from mercator.store.checkup import Checkup
from mercator.store.findings import Fault
from mercator.urls.url_key import host_id
from mercator.values import HostId


@dataclass(slots=True)
class HostSums:
    """What the URLs of one host add up to; `example` gives the name of a host without a row."""

    host: HostId
    stored: int = 0
    failed: int = 0
    pending: int = 0
    body_bytes: int = 0
    example: str = ""


def judge_host(run: Checkup, txn: Txn, sums: HostSums) -> None:
    """The counters in a host's row are those of its URLs; a host with any of them has a row."""
    counted = (sums.stored, sums.failed, sums.pending, sums.body_bytes)
    row = txn.hosts.get(sums.host) if sums.host else None
    if row is None:
        if not any(counted):
            return
        row = HostRow(_host_name(sums.host, sums.example))
        run.findings.add(Fault.HOST_WRONG, row.host, "it has URLs but no row; made anew", lost=True)
    elif (row.stored, row.failed, row.pending, row.body_bytes) == counted:
        return
    else:
        run.findings.add(
            Fault.HOST_WRONG,
            row.host,
            f"stored {row.stored}, failed {row.failed}, pending {row.pending}, bytes "
            f"{row.body_bytes}; its URLs say {', '.join(map(str, counted))}",
        )
    host = sums.host
    mended = row._replace(
        stored=sums.stored,
        failed=sums.failed,
        pending=sums.pending,
        body_bytes=sums.body_bytes,
    )
    run.mend(lambda txn: txn.hosts.put(host, mended))


def check_other_hosts(run: Checkup) -> None:
    """Hosts of which no URL is known have nothing to count."""
    for host, row in run.rows(lambda txn: txn.hosts):
        if not (row.stored or row.failed or row.pending or row.body_bytes):
            continue
        with run.tables.read() as txn:
            has_urls = any(True for _ in txn.urls.scan(prefix=host))
        if not has_urls:
            _judge_empty_host(run, host, row)
        run.commit(full_only=True)
    run.commit()


def _judge_empty_host(run: Checkup, host: HostId, row: HostRow) -> None:
    run.findings.add(Fault.HOST_WRONG, row.host, "it counts URLs but has none; set to 0", lost=True)
    mended = row._replace(stored=0, failed=0, pending=0, body_bytes=0)
    run.mend(lambda txn: txn.hosts.put(host, mended))


def _host_name(host: HostId, url: str) -> str:
    """The host's name, out of one of its URLs."""
    try:
        name = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    bracketed = f"[{name}]"
    return bracketed if host_id(bracketed) == host else name
