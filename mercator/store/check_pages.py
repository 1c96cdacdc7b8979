"""Check, third part: what pages share and point to, the content-seen test and the links."""

from __future__ import annotations

from functools import partial

from mercator.ports import Txn
from mercator.rows import ContentRow, LinkRow
from mercator.store.checkup import Checkup
from mercator.store.findings import Fault
from mercator.values import UrlKey

LINK_ROWS_PER_READ = 16
"""A page may have ten thousand links."""


def check_content(run: Checkup) -> None:
    """`content` names for every stored body a page that has it. Cost: two passes, two look-ups a row.

    Comes after the pages: which of them are left is settled there.
    """
    for sha256, row in run.rows(lambda txn: txn.content):
        with run.tables.read() as txn:
            page = txn.pages.get(row.first)
        if page is None or page.sha256 != sha256:
            run.findings.add(
                Fault.CONTENT_WRONG, sha256.hex(), f"first had by {row.first.hex()}; dropped"
            )
            run.mend(partial(_drop_content, sha256=sha256))
            run.commit(full_only=True)
    run.commit()
    for key, page in run.rows(lambda txn: txn.pages):
        with run.tables.read() as txn:
            known = txn.content.get(page.sha256) is not None
        if not known:
            run.findings.add(
                Fault.CONTENT_MISSING,
                key.hex(),
                f"{page.sha256.hex()} is not in the table; entered",
            )
            first = ContentRow(key, page.warc_file, page.warc_offset)
            run.mend(partial(_enter_content, sha256=page.sha256, row=first))
            run.commit(full_only=True)
    run.commit()


def check_links(run: Checkup) -> None:
    """Links come from URLs that have a row and lead to such. Cost: a look-up a link.

    A link whose target has no row is dropped: the target's text was in that row.
    """
    for key, links in run.rows(lambda txn: txn.links, LINK_ROWS_PER_READ):
        with run.tables.read() as txn:
            known = run.has_url(txn, key)
            kept = [
                link
                for link in links
                if not link.target or (known and run.has_url(txn, link.target))
            ]
        if not known:
            run.findings.add(
                Fault.LINKS_ORPHAN, key.hex(), f"{len(links)} links of no URL; dropped", lost=True
            )
            run.mend(partial(_drop_links, key=key))
        elif len(kept) < len(links):
            run.findings.add(
                Fault.LINK_LOST,
                key.hex(),
                f"{len(links) - len(kept)} of {len(links)} links lead to lost URLs; dropped",
                lost=True,
            )
            run.mend(partial(_put_links, key=key, links=tuple(kept)))
        run.commit(full_only=True)
    run.commit()


def _drop_content(txn: Txn, sha256: bytes) -> None:
    txn.content.delete(sha256)


def _enter_content(txn: Txn, sha256: bytes, row: ContentRow) -> None:
    txn.content.put_new(sha256, row)


def _drop_links(txn: Txn, key: UrlKey) -> None:
    txn.links.delete(key)


def _put_links(txn: Txn, key: UrlKey, links: tuple[LinkRow, ...]) -> None:
    txn.links.put(key, links)
