"""The configuration: what each field takes, and one line for whatever it does not take."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercator.config import CrawlConfig
from mercator.errors import ConfigError

FIELDS = {f.name: f for f in dataclasses.fields(CrawlConfig) if f.init}
NUMBERS = [
    name
    for name, type_ in typing.get_type_hints(CrawlConfig).items()
    if name in FIELDS and type_ in (int, float, int | None, float | None)
]


def one_line(error: pytest.ExceptionInfo[ConfigError]) -> str:
    """The error's text, which must be one line."""
    text = str(error.value)
    assert text
    assert text.isprintable()
    return text


def refusal(**fields: Any) -> str:
    """What is said of fields that do not fit."""
    with pytest.raises(ConfigError) as error:
        CrawlConfig(**fields)
    return one_line(error)


# -- the fields ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_has_a_reason(name: str) -> None:
    reason = FIELDS[name].metadata["reason"]
    assert len(reason.split()) >= 3
    assert reason.isprintable()


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_takes_its_own_default(name: str) -> None:
    default: Any = FIELDS[name].default
    assert getattr(CrawlConfig(**{name: default}), name) == default


def test_a_default_configuration_gives_nothing() -> None:
    config = CrawlConfig()
    assert config.given == frozenset()
    assert config.as_dict() == {
        name: list(f.default) if isinstance(f.default, tuple) else f.default
        for name, f in FIELDS.items()
    }


def test_a_whole_number_stands_for_one_with_a_fraction() -> None:
    delay_s = CrawlConfig(delay_s=2).delay_s
    assert (delay_s, type(delay_s)) == (2.0, float)


def test_a_list_becomes_a_tuple() -> None:
    assert CrawlConfig(include=["a", "b"]).include == ("a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize("none", [None, "none"])
@pytest.mark.parametrize("name", ["max_pages", "max_depth", "max_time_s", "rate_per_s", "contact"])
def test_none_lifts_a_limit(name: str, none: str | None) -> None:
    """As a word too: TOML has no null."""
    lifted: dict[str, Any] = {name: none}
    config = CrawlConfig(**lifted)
    assert getattr(config, name) is None
    assert config.given == {name}


@pytest.mark.parametrize(
    "fields",
    [
        {"max_pages": 1},
        {"max_depth": 0},
        {"delay_s": 0},
        {"retries": 0},
        {"front_levels": 255},
        {"front_levels": 2, "front_weights": (1, 1)},
        {"retry_base_s": 5, "retry_cap_s": 5},
        {"rate_per_s": 0.001, "burst": 9},
        {"random_seed": -(1 << 63)},
        {"allow_net": ("127.0.0.0/8", "::1/128", "10.0.0.1")},
        {"resolve": ("*.test=127.0.0.1:80", "h=::1", "h2=[::1]:8080", "h3=10.0.0.1")},
        {"delay_s": 1e9},
        {"rate_per_s": 1e12},
        {"content_types": ("*", "text/html", "*+xml")},
        {"user_agent": "my-bot_"},
        {"contact": "https://example.org/bot"},
        {"contact": "mailto:me@example.org"},
    ],
    ids=str,
)
def test_the_edge_of_what_fits_fits(fields: dict[str, Any]) -> None:
    assert CrawlConfig(**fields).given == set(fields)


def test_a_configuration_cannot_be_written() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CrawlConfig().threads = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda config: pickle.loads(pickle.dumps(config))]
)
def test_a_copy_remembers_what_was_given(copied: Any) -> None:
    config = CrawlConfig(threads=3)
    again = copied(config)
    assert again == config
    assert again.given == {"threads"}


def test_what_was_given_does_not_count_when_comparing() -> None:
    assert CrawlConfig(threads=32) == CrawlConfig()


# -- what does not fit -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"max_pagse": 3}, "unknown configuration key 'max_pagse'; did you mean 'max_pages'?"),
        ({"delay": 3}, "unknown configuration key 'delay'; did you mean 'delay_s'?"),
        ({"zzzz": 3}, "unknown configuration key 'zzzz'"),
        ({"given": 3}, "unknown configuration key 'given'"),
    ],
    ids=str,
)
def test_an_unknown_key_names_the_nearest_known_one(fields: dict[str, Any], says: str) -> None:
    assert refusal(**fields) == says


def test_of_several_unknown_keys_the_first_is_named() -> None:
    assert "'aaaa'" in refusal(zzzz=1, aaaa=1)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("threads", "8", "threads must be of type int, not '8'"),
        ("threads", 8.0, "threads must be of type int, not 8.0"),
        ("threads", True, "threads must be of type int, not True"),
        ("threads", None, "threads must be of type int, not None"),
        ("delay_s", "1", "delay_s must be of type float, not '1'"),
        ("delay_s", True, "delay_s must be of type float, not True"),
        ("max_pages", "9", "max_pages must be of type int, not '9'"),
        ("warc", 1, "warc must be of type bool, not 1"),
        ("contact", 7, "contact must be of type str, not 7"),
        ("user_agent", b"me", "user_agent must be of type str, not b'me'"),
        ("include", "one", "include must be a list, not 'one'"),
        ("include", 1, "include must be a list, not 1"),
        ("include", [1], "include must be of type str, not 1"),
        ("front_weights", ["1"], "front_weights must be of type int, not '1'"),
        ("scope", "world", "scope must be one of host, domain, prefix, any, not 'world'"),
        ("scope", None, "scope must be one of host, domain, prefix, any, not None"),
        ("compress", ["gzip"], "compress must be one of gzip, none, not ['gzip']"),
    ],
)
def test_a_value_of_another_type(name: str, value: Any, says: str) -> None:
    assert refusal(**{name: value}) == says


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("max_pages", 0, "max_pages must be at least 1, not 0"),
        ("max_depth", -1, "max_depth must be at least 0, not -1"),
        ("delay_s", -0.5, "delay_s must be at least 0, not -0.5"),
        ("rate_per_s", 0, "rate_per_s must be more than 0, not 0"),
        ("timeout_s", -3.0, "timeout_s must be more than 0, not -3"),
        ("map_bytes", 4096, "map_bytes must be at least 1.04858e+06, not 4096"),
        ("front_levels", 256, "front_levels must be at most 255"),
        ("delay_s", 2e9, "delay_s must be at most 1e+09, not 2e+09"),
        ("max_time_s", 1e300, "max_time_s must be at most 1e+09, not 1e+300"),
        ("delay_factor", 1e7, "delay_factor must be at most 1e+06, not 1e+07"),
    ],
)
def test_a_number_out_of_its_range(name: str, value: Any, says: str) -> None:
    assert refusal(**{name: value}) == says


@pytest.mark.parametrize("name", [*NUMBERS, "scope", "warc", "contact"])
@pytest.mark.parametrize(
    "value", [1 << 63, -(1 << 63) - 1, 10**400, -(10**400), 10**5000], ids=range(5)
)
def test_a_number_that_no_row_can_hold(name: str, value: int) -> None:
    assert refusal(**{name: value}) == f"{name} must be a number of at most 64 bits"


def test_a_weight_that_no_row_can_hold() -> None:
    assert "64 bits" in refusal(front_levels=1, front_weights=(1 << 63,))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none(value: float) -> None:
    assert refusal(delay_s=value) == f"delay_s must be a finite number, not {value}"


@pytest.mark.parametrize(
    "pattern", ["(", "a{2,1}", "(?<=a*)b", "a{99999999999999999999}", "(" * 5000 + ")" * 5000]
)
@pytest.mark.parametrize("name", ["include", "exclude"])
def test_a_text_that_is_no_regular_expression(name: str, pattern: str) -> None:
    text = refusal(**{name: ("fine", pattern)})
    assert text.startswith(f"{name}: ")
    assert "is no regular expression: " in text


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"allow_net": ("300.0.0.0/8",)}, "allow_net: '300.0.0.0/8' does not appear to be"),
        ({"allow_net": ("10.0.0.1/8",)}, "allow_net: 10.0.0.1/8 has host bits set"),
        ({"resolve": ("h0000.test",)}, "resolve must read NAME=ADDRESS[:PORT], not 'h0000.test'"),
        ({"resolve": ("=127.0.0.1",)}, "resolve must read"),
        ({"resolve": ("h=",)}, "resolve must read"),
        ({"resolve": ("a.*=127.0.0.1",)}, "resolve must read"),
        ({"user_agent": "two words"}, "user_agent must be a product token"),
        ({"user_agent": "me/1.0"}, "user_agent must be a product token"),
        ({"user_agent": ""}, "user_agent must be a product token"),
        ({"contact": " "}, "contact must be a URL or a mail address, not ' '"),
        ({"contact": "a@b.c\r\nX: y"}, "contact must be a URL or a mail address"),
        ({"contact": "a@b.c (me)"}, "contact must be a URL or a mail address"),
        ({"contact": "somebody"}, "contact must be a URL or a mail address"),
        ({"contact": "ftp://example.org/"}, "contact must be a URL or a mail address"),
        ({"contact": "ä@example.org"}, "contact must be a URL or a mail address"),
        ({"content_types": ()}, "content_types must name a type"),
        ({"content_types": ("text/*", "html")}, "content_types: 'html' is no type such as"),
        ({"front_weights": (1, 2)}, "front_weights needs one weight of at least 1 for each of the"),
        ({"front_levels": 2, "front_weights": (1, 0)}, "front_weights needs one weight of at"),
    ],
    ids=str,
)
def test_a_text_of_another_form(fields: dict[str, Any], says: str) -> None:
    assert refusal(**fields).startswith(says)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"retry_base_s": 9, "retry_cap_s": 3}, "retry_cap_s must not be below retry_base_s"),
        ({"burst": 2}, "burst needs rate_per_s: without a rate there is no bucket"),
    ],
    ids=str,
)
def test_fields_that_contradict_each_other(fields: dict[str, Any], says: str) -> None:
    assert refusal(**fields) == says


scraps = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-5, 300),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=5),
    st.sampled_from(["host", "any", "gzip", "none", "h=1.2.3.4", "10.0.0.0/8", "(", "*.x=y:1"]),
)
garbage = st.one_of(
    scraps,
    st.lists(scraps, max_size=3),
    st.lists(st.text(max_size=20), max_size=3).map(tuple),
    st.lists(st.integers(), max_size=9),
    st.dictionaries(st.text(max_size=3), scraps, max_size=2),
)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of `re`
@settings(max_examples=1000, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), garbage, min_size=1, max_size=2))
def test_garbage_gives_a_configuration_or_a_config_error(fields: dict[str, Any]) -> None:
    try:
        config = CrawlConfig(**fields)
    except ConfigError:
        return
    assert config.given == set(fields)
    assert CrawlConfig(**config.as_dict()) == config


# -- over a store's settings -----------------------------------------------------------------------


def test_what_is_given_lies_over_the_store_and_the_store_over_the_defaults() -> None:
    merged = CrawlConfig(threads=3).over({"threads": 5, "delay_s": 2.5})
    assert (merged.threads, merged.delay_s, merged.retries) == (3, 2.5, 2)
    assert merged.given == {"threads"}


def test_a_default_that_is_given_wins_over_the_store() -> None:
    assert CrawlConfig(max_pages=None).over({"max_pages": 5}).max_pages is None


def test_fields_that_only_the_store_knows_are_ignored() -> None:
    assert CrawlConfig().over({"from_a_later_version": 1, "threads": 5}) == CrawlConfig(threads=5)


def test_a_whole_stored_configuration_comes_back() -> None:
    stored = CrawlConfig(include=("a",), rate_per_s=2, burst=3, max_pages=7, scope="any")
    assert CrawlConfig().over(stored.as_dict()) == stored


def test_a_fixed_field_that_is_given_must_be_the_stores() -> None:
    with pytest.raises(ConfigError) as error:
        CrawlConfig(url_policy="standard").over({"url_policy": "aggressive"})
    assert one_line(error).startswith(
        "url_policy is 'aggressive' in this store and cannot change to 'standard'"
    )


@pytest.mark.parametrize("fields", [{}, {"url_policy": "aggressive"}])
def test_a_fixed_field_stays_as_it_is(fields: dict[str, Any]) -> None:
    assert CrawlConfig(**fields).over({"url_policy": "aggressive"}).url_policy == "aggressive"


def test_a_fixed_field_of_a_new_store_is_free() -> None:
    assert CrawlConfig(url_policy="aggressive").over({}).url_policy == "aggressive"


def test_a_setting_that_contradicts_the_stores_is_refused() -> None:
    with pytest.raises(ConfigError, match="retry_cap_s must not be below"):
        CrawlConfig(retry_base_s=9).over({"retry_cap_s": 3})


# -- a file ----------------------------------------------------------------------------------------


def written(path: Path, text: str | bytes) -> Path:
    file = path / "config.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_file_gives_its_fields_as_they_stand(tmp_path: Path) -> None:
    file = written(tmp_path, 'delay_s = 2\nallow_net = ["127.0.0.0/8"]\nwarc = false\n')
    fields = CrawlConfig.from_toml(file)
    assert fields == {"delay_s": 2, "allow_net": ["127.0.0.0/8"], "warc": False}
    assert CrawlConfig(**fields).given == set(fields)


def test_an_empty_file_gives_nothing(tmp_path: Path) -> None:
    assert CrawlConfig.from_toml(written(tmp_path, "")) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_pagse = 3\n", "unknown configuration key 'max_pagse'; did you mean 'max_pages'?"),
        ("[crawl]\nmax_pages = 3\n", "unknown configuration key 'crawl'"),
        ("given = 3\n", "unknown configuration key 'given'"),
        ("max_pages =\n", "cannot read the configuration"),
        (b"contact = '\xff'\n", "cannot read the configuration"),
        ("threads = " + "9" * 5000, "cannot read the configuration"),
        ("include = " + "[" * 5000 + "]" * 5000, "cannot read the configuration"),
    ],
    ids=range(7),
)
def test_a_file_that_does_not_fit_is_named(tmp_path: Path, text: str | bytes, says: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        CrawlConfig.from_toml(file)
    assert says in one_line(error)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        CrawlConfig.from_toml(tmp_path / name)
