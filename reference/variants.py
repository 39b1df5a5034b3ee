"""What vLLM did in other releases, as switches: all off is the pinned release.

Each switch is read in one place of the reference, and each belongs to a capstone: the pull request
that is given with it is what the two behaviours lie on either side of.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields


class UnknownVariant(ValueError):
    """There is no switch of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class Variants:
    """The switches. Off, the engine does what vLLM 0.30.0 does.

    Attributes:
        lone_uncapped: a request that nobody runs or waits beside is not held to
            ``long_prefill_token_threshold`` (#57951, from 0.31.0).
        adaptive_threshold: the threshold is at least an even share of the step's budget, which is
            asked for with a field of its own (#57951, from 0.31.0).
        min_tokens_first: below ``min_tokens`` nothing ends a request, not even its length
            (until 0.28.0).
        session_drops_hashes: a session that takes back its last sampled token takes back the hash
            of the block with it (#52806, from 0.32.0).
        stats_at_lookup: the prefix cache counts each lookup, also of a request that is not admitted
            and will be looked up again (#48860, until 0.26.0).
        skipped_reversed: requests passed over in a step come back in reverse order
            (#32173, until 0.13.0).
        cursor_stays: when a victim is preempted that stood before the cursor of the running loop,
            the cursor stays, and so passes over a request (#49206, until 0.27.1).
        window_caps_every_step: a sliding window bounds the blocks asked for in every step, not at
            admission alone (#41282, until 0.20.1).
        pooling_full_context: a pooling model keeps no slot for a sampled token
            (#48039, from 0.32.0).

    >>> Variants.of(["stats_at_lookup"]).names()
    ['stats_at_lookup']
    """

    lone_uncapped: bool = False
    adaptive_threshold: bool = False
    min_tokens_first: bool = False
    session_drops_hashes: bool = False
    stats_at_lookup: bool = False
    skipped_reversed: bool = False
    cursor_stays: bool = False
    window_caps_every_step: bool = False
    pooling_full_context: bool = False

    @classmethod
    def of(cls, names: Iterable[str]) -> "Variants":
        """Those switches on; raises UnknownVariant for a name that is none."""
        known = {field.name for field in fields(cls)}
        wanted = list(names)
        for name in wanted:
            if name not in known:
                raise UnknownVariant(name)
        return cls(**dict.fromkeys(wanted, True))

    def names(self) -> list[str]:
        """The names of those that are on."""
        return [field.name for field in fields(self) if getattr(self, field.name)]


#: No switch is on.
PINNED = Variants()
VARIANT_NAMES = tuple(field.name for field in fields(Variants))
