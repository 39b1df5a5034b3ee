"""The log probabilities of one sequence, as they come in."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from reference.output import TokenLogprobs
from reference.sampling_params import SamplingParams


@dataclass(slots=True)
class LogprobsProcessor:
    """Collects them; ``num_logprobs`` is None when they were not asked for.

    >>> processor = LogprobsProcessor(num_logprobs=1)
    >>> processor.update([{7: (-0.5, 1)}, {8: (-0.25, 2), 9: (-0.125, 1)}])
    >>> processor.cumulative_logprob, processor.last(1)
    (-0.75, [{8: (-0.25, 2), 9: (-0.125, 1)}])
    """

    num_logprobs: int | None
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    _sum: float = 0.0

    @classmethod
    def from_params(cls, params: SamplingParams) -> "LogprobsProcessor":
        """The processor of a new request."""
        return cls(params.logprobs)

    @property
    def cumulative_logprob(self) -> float | None:
        """The sum over the sampled tokens."""
        return None if self.num_logprobs is None else self._sum

    def update(self, new_logprobs: Sequence[TokenLogprobs] | None) -> None:
        """Adds those of a step's tokens; in each the sampled token comes first."""
        for candidates in new_logprobs or ():
            self._sum += next(iter(candidates.values()))[0]
            self.logprobs.append(candidates)

    def all(self) -> list[TokenLogprobs] | None:
        """Those of every token so far."""
        return None if self.num_logprobs is None else list(self.logprobs)

    def last(self, count: int) -> list[TokenLogprobs] | None:
        """Those of the last ``count`` tokens, which may be none."""
        if self.num_logprobs is None:
            return None
        return self.logprobs[len(self.logprobs) - count :] if count else []
