"""What a group of layers asks of the KV cache: how far back its attention looks, and its blocks."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class KVCacheSpec:
    """Layers that cache alike, ``block_size`` tokens a block.

    >>> SlidingWindowSpec(block_size=4, sliding_window=8).to_dict()
    {'kind': 'sliding_window', 'block_size': 4, 'sliding_window': 8}
    """

    block_size: int
    kind: ClassVar[str]

    def get_num_skipped_tokens(self, _num_computed_tokens: int) -> int:
        """Leading tokens that no query after so many computed ones will read."""
        return 0

    def max_admission_blocks_per_request(
        self, _max_in_flight_tokens: int, _max_model_len: int
    ) -> int | None:
        """Blocks that one request holds at most, however long it is; None for no such bound.

        Besides what attention reads it holds those of the tokens in flight: blocks are freed when
        the model has come back.
        """
        return None

    def to_dict(self) -> dict[str, Any]:
        """The spec as it stands in a workload."""
        sizes = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind, **sizes}


@dataclass(frozen=True, slots=True)
class FullAttentionSpec(KVCacheSpec):
    """Every query reads all tokens before it."""

    kind: ClassVar[str] = "full_attention"


@dataclass(frozen=True, slots=True)
class SlidingWindowSpec(KVCacheSpec):
    """Every query reads the last ``sliding_window`` tokens, itself included.

    >>> SlidingWindowSpec(block_size=4, sliding_window=4).get_num_skipped_tokens(7)
    4
    """

    sliding_window: int
    kind: ClassVar[str] = "sliding_window"

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return max(0, num_computed_tokens - self.sliding_window + 1)

    def max_admission_blocks_per_request(
        self, max_in_flight_tokens: int, max_model_len: int
    ) -> int:
        num_tokens = min(self.sliding_window - 1 + max_in_flight_tokens, max_model_len)
        # One more, because a window need not begin where a block does.
        return -(-num_tokens // self.block_size) + 1


@dataclass(frozen=True, slots=True)
class ChunkedLocalAttentionSpec(KVCacheSpec):
    """Every query reads its own chunk of ``attention_chunk_size`` tokens, up to itself.

    >>> spec = ChunkedLocalAttentionSpec(block_size=4, attention_chunk_size=8)
    >>> spec.get_num_skipped_tokens(7), spec.get_num_skipped_tokens(13)
    (0, 8)
    """

    attention_chunk_size: int
    kind: ClassVar[str] = "chunked_local_attention"

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return num_computed_tokens - num_computed_tokens % self.attention_chunk_size

    def max_admission_blocks_per_request(
        self, max_in_flight_tokens: int, max_model_len: int
    ) -> int:
        num_tokens = min(self.attention_chunk_size + max_in_flight_tokens, max_model_len)
        return -(-num_tokens // self.block_size)


SPECS: tuple[type[KVCacheSpec], ...] = (
    FullAttentionSpec,
    SlidingWindowSpec,
    ChunkedLocalAttentionSpec,
)
