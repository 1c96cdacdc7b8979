"""Whatever text or bytes come, guard, map and fetcher answer with a value."""

from __future__ import annotations

import ipaddress

from hypothesis import given, settings
from hypothesis import strategies as st

from mercator.clock import RealClock
from mercator.errors import ConfigError
from mercator.net.answer import parse_head
from mercator.net.body import BodyMemory
from mercator.net.faults import AnswerError
from mercator.net.fetcher import HttpFetcher
from mercator.net.guard import AddressGuard
from mercator.net.resolve_map import ResolveMap
from mercator.values import FetchRequest, FetchResult
from tests.unit.net.loopback import Conversation, LoopbackServer

GUARD = AddressGuard(("127.0.0.0/8", "2001:db8::/32"))
addresses = st.ip_addresses().map(str)
address_like = st.one_of(addresses, st.text(max_size=40), st.text("0123456789abcdefx.:%/[] "))


@given(address_like)
def test_the_guard_answers(text: str) -> None:
    verdict = GUARD.refuses(text)
    assert verdict is GUARD.refuses(text)


@given(st.ip_addresses(v=4))
def test_the_guard_knows_an_address_in_any_clothes(address: ipaddress.IPv4Address) -> None:
    verdict = GUARD.refuses(str(address))
    assert GUARD.refuses(f"::ffff:{address}") is verdict
    assert GUARD.refuses(f"64:ff9b::{address}") is verdict
    six_to_four = ipaddress.IPv6Address(0x2002 << 112 | int(address) << 80 | 1)
    assert GUARD.refuses(str(six_to_four)) is verdict


@given(st.ip_addresses(v=4))
def test_the_guard_refuses_at_least_what_the_library_calls_private(
    address: ipaddress.IPv4Address,
) -> None:
    if not address.is_global and address not in ipaddress.ip_network("127.0.0.0/8"):
        assert GUARD.refuses(str(address))


@given(
    st.lists(
        st.one_of(
            st.text(max_size=40),
            st.builds(
                "{}={}:{}".format,
                st.text("*.abtest-", min_size=1, max_size=12),
                address_like,
                st.integers(-1, 70_000),
            ),
        ),
        max_size=4,
    ),
    st.text(max_size=40),
)
def test_the_map_answers_or_says_why_not(entries: list[str], host: str) -> None:
    try:
        names = ResolveMap(entries)
    except ConfigError:
        return
    answer = names.answer(host)
    if answer is not None:
        ipaddress.ip_address(answer[0])
        assert 0 <= answer[1] < 65536


head_lines = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"HTTP/1.1 200 OK",
            b"HTTP/1.0 404",
            b"HTTP/1.1 103 Early Hints",
            b"Content-Length: 5",
            b"Content-Length: -5",
            b"Content-Length: 5, 6",
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: gzip, chunked",
            b"Content-Encoding: gzip",
            b"Content-Encoding: br",
            b"Content-Encoding: zstd",
            b"Content-Encoding: deflate",
            b"Content-Type: text/html",
            b"Connection: close",
            b" folded",
            b": nameless",
        ]
    ),
)
heads = st.lists(head_lines, min_size=1, max_size=8).map(b"\r\n".join)


@given(heads)
def test_any_head_parses_or_is_named(block: bytes) -> None:
    try:
        head = parse_head(block + b"\r\n\r\n")
    except AnswerError:
        return
    assert 100 <= head.status <= 999
    for name, value in head.headers:
        assert not {"\r", "\n", "\0"} & {*name, *value}


bodies = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(
        [b"5\r\nhello\r\n0\r\n\r\n", b"hello", b"\x1f\x8b\x08\0\0\0\0\0\0\3", b"\x28\xb5\x2f\xfd"]
    ),
)
answers = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda head, body: b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body, heads, bodies),
)


def test_any_answer_is_a_result_or_a_failure() -> None:
    sent: list[bytes] = []

    def handler(talk: Conversation) -> None:
        talk.request()
        talk.send(sent[-1])

    budget = BodyMemory(1 << 20)
    fetcher = HttpFetcher(user_agent="m", clock=RealClock(), bodies=budget, pool_capacity=1)

    with LoopbackServer(handler) as server:

        @settings(max_examples=300, deadline=None)
        @given(answers)
        def law(answer: bytes) -> None:
            sent.append(answer)
            got = fetcher.fetch(
                FetchRequest(
                    url="http://site.test/",
                    addresses=("127.0.0.1",),
                    port=server.port,
                    timeout_s=5.0,
                    max_body_bytes=100,
                )
            )
            if isinstance(got, FetchResult):
                assert got.body.size <= 100
                got.body.close()
            assert budget.used_bytes == 0

        law()
    fetcher.close()
