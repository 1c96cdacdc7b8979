"""The names that the policies `standard` and `aggressive` drop. Data only.

`LISTS_VERSION` is written into every store: a key depends on these lists, so a store goes on with
the lists it was made with. Change a list, and the version changes with it.
"""

from __future__ import annotations

from typing import Final

LISTS_VERSION: Final = "1"

TRACKING_PREFIXES: Final = ("hsa_", "mtm_", "pk_", "utm_")
"""Campaign parameters of whole families: HubSpot ads, Matomo (old and new), Urchin/Google."""

TRACKING_NAMES: Final = frozenset(
    (
        "__hsfp",
        "__hssc",
        "__hstc",
        "_ga",
        "_gl",
        "_hsenc",
        "_hsmi",
        "_openstat",
        "dclid",
        "ef_id",
        "epik",
        "fbclid",
        "gbraid",
        "gclid",
        "gclsrc",
        "hsctatracking",
        "igshid",
        "li_fat_id",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "msclkid",
        "oly_anon_id",
        "oly_enc_id",
        "rdt_cid",
        "s_kwcid",
        "spm",
        "spm_id_from",
        "srsltid",
        "ttclid",
        "twclid",
        "vd_source",
        "vero_id",
        "wbraid",
        "wickedid",
        "yclid",
        "ysclid",
    )
)
"""Click and campaign identifiers that say how a reader came, never what is shown. Names that some
sites use for content (ref, source, campaign) are not here: dropping them would lose pages."""

SESSION_PREFIXES: Final = ("aspsessionid",)
"""Classic ASP appends random letters to the name."""

SESSION_NAMES: Final = frozenset(
    ("asp.net_sessionid", "cfid", "cftoken", "jsessionid", "phpsessid")
)
"""Names that only frameworks use, dropped with any value."""

TOKEN_SESSION_NAMES: Final = frozenset(
    ("oscsid", "s", "sessid", "session_id", "sessionid", "sid", "zenid")
)
"""Names that sites also use for content (`?s=tokyo` is a search, `?sid=12` a station): dropped only
with a value that looks like a token."""

TOKEN_VALUE: Final = r"(?=[0-9]*[A-Fa-f])[0-9A-Fa-f]{16,}"
"""16 or more hexadecimal digits, at least one of them a letter: a plain number is an id."""

PATH_SESSION_NAMES: Final = frozenset(("jsessionid", "phpsessid"))
"""Path parameters (`;name=value`) that are dropped with any value; `sid` only with a token."""

PATH_TOKEN_SESSION_NAMES: Final = frozenset(("sid",))

COOKIELESS_SEGMENT: Final = r"\((?:[SAF]\([A-Za-z0-9_-]{16,}\))+\)"
"""ASP.NET's cookieless session (S), anonymous (A) and forms (F) tickets: a whole path segment."""

INDEX_DOCUMENT: Final = r"(?:index|default)\.(?:html?|shtml|xhtml|php5?|aspx?|jsp|cgi|cfm)"
"""What a directory answers with by itself; compared without regard to case."""
