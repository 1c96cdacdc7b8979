"""The crash test: the crawler is killed by SIGKILL, resumed, and held against what was promised.

- `life.py`, `victim.py`, `nursery.py`: a crawler process, when it dies, and where it comes from.
- `scene.py`: what is crawled. `round.py`: one crawl, killed and resumed until it ends.
- `evidence.py`, `archive.py`: what a store and its WARC files hold. `verdict.py`: the promises.
- `test_kill_and_resume.py`: the short form. `bench/run_recovery.py`: the long one.

Promised: no URL is lost; one page record and one WARC record an answer; at most 2 x threads requests
a kill are made again; no gap of a host is cut short, judged by the site's log; the store is whole
after each kill, and in the end that of a crawl which nobody disturbed.

A kill cannot show that what was committed survives a power cut: the system still has all that was
written. It shows that every boundary between two steps is safe.
"""
