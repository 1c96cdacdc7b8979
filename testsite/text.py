"""Seeded prose: sentences made of a small vocabulary, drawn with a long tail as in real text.

`random.Random.random()` is the only source of chance: it is the one generator method whose sequence
Python promises to keep, and pages must be the same bytes on every version.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random

# fmt: off
_COMMON = (
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "was", "on", "are", "as",
    "with", "they", "at", "be", "this", "from", "have", "or", "by", "one", "had", "not",
    "but", "what", "all", "were", "when", "we", "there", "can", "an", "your", "which",
    "their", "said", "if", "do", "will", "each", "about", "how", "up", "out", "them", "then",
    "many", "some", "so", "these", "would", "other", "into", "has", "more", "two", "time",
    "could", "no", "make", "than", "first", "been", "its", "who", "now", "people", "my",
    "made", "over", "did", "down", "only", "way", "find", "use", "may", "water", "long",
    "little", "very", "after", "words", "called", "just", "where", "most", "know",
)
_ACCENTED = (
    "café", "naïve", "Straße", "über", "señor", "façade", "Ærø", "œuvre", "Łódź", "été",
)
_ONSETS = (
    "b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p",
    "pl", "qu", "r", "s", "sh", "st", "t", "tr", "v", "w",
)
_VOWELS = (
    "a", "e", "i", "o", "u", "ai", "ea", "io", "ou",
)
_CODAS = (
    "", "", "", "l", "m", "n", "nd", "r", "s", "st", "t", "th",
)
# fmt: on

SENTENCES = 4096
_WORDS = 2048


def pick(chance: Random, choices: tuple[str, ...]) -> str:
    """One of the choices, evenly."""
    return choices[int(chance.random() * len(choices))]


@lru_cache(maxsize=8)
def words(seed: int) -> tuple[str, ...]:
    """The vocabulary of a seed, common words first."""
    chance = Random(f"words/{seed}")
    known = dict.fromkeys(_COMMON)
    while len(known) < _WORDS:
        syllables = 2 + int(chance.random() * 2)
        word = "".join(
            pick(chance, _ONSETS) + pick(chance, _VOWELS) + pick(chance, _CODAS)
            for _ in range(syllables)
        )
        known[word] = None
    return (*known, *_ACCENTED)


@lru_cache(maxsize=8)
def sentences(seed: int) -> tuple[str, ...]:
    """`SENTENCES` sentences of 8 to 18 words; about 0.1 s for a new seed, then kept."""
    chance = Random(f"sentences/{seed}")
    vocabulary = words(seed)
    made = []
    for _ in range(SENTENCES):
        count = 8 + int(chance.random() * 11)
        # The cube of an even draw favours the front of the list, the common words.
        drawn = [vocabulary[int(len(vocabulary) * chance.random() ** 3)] for _ in range(count)]
        made.append(" ".join(drawn).capitalize() + ".")
    return tuple(made)
