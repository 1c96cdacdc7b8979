"""Bytes of a response to text, links and signals. Pure: no clock, no network, no disk.

`page.parse_page` is the door. Inside: `decode` says which encoding a body is in (`media_type`,
`labels`, `prescan`) and `decoders` turn it into text by the WHATWG Encoding standard; `tree_links`
reads all that a page says off one walk of one tree, `xml_links` does so for XHTML, and `soup_links`
is the second parser behind the same function, for notebooks. What the parsers find goes through
`elements`, so that the rules stand once; `headers` and `robots_meta` read the header fields.

Invariants: no bytes raise; a page is parsed once (twice where a meta far down decides the
encoding); links come in document order, each once, at most `max_links`; time and memory are in
proportion to the page, for hostile pages too, which `markup_bounds` sees to before the parser does.

Threads: all functions are pure and safe from any thread. lexbor gives the interpreter lock up while
it builds a tree; callers keep one thread at a time in the stage that parses.

Deliberately absent: resolving links (the urls room does, link by link, where their number counts),
obeying what a page asks of robots (recorded here, policy elsewhere), running scripts, guessing
encodings by statistics, feeds and other types that are no page.
"""
