"""What a client gets: the sequences of a request, as far as they have come."""

from dataclasses import dataclass, field

from reference.output import TokenLogprobs


@dataclass(slots=True)
class CompletionOutput:
    """One sequence; ``text``, ``token_ids`` and ``logprobs`` are all of it, or what is new.

    ``cumulative_logprob`` sums the sampled tokens' from the first one on, in both cases.
    """

    index: int
    text: str
    token_ids: list[int]
    logprobs: list[TokenLogprobs] | None = None
    cumulative_logprob: float | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None

    def finished(self) -> bool:
        """Whether the sequence has ended."""
        return self.finish_reason is not None

    def extend(self, newer: "CompletionOutput") -> None:
        """Adds what came after it."""
        self.text += newer.text
        self.token_ids.extend(newer.token_ids)
        if newer.logprobs:
            self.logprobs = (self.logprobs or []) + newer.logprobs
        self.cumulative_logprob = newer.cumulative_logprob
        self.finish_reason = newer.finish_reason
        self.stop_reason = newer.stop_reason


@dataclass(slots=True)
class RequestOutput:
    """What is new of a request, under the id that its client gave it."""

    request_id: str
    prompt: str | None
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput] = field(default_factory=list)
    finished: bool = False

    def add(self, next_output: "RequestOutput", aggregate: bool) -> None:
        """Takes in what came after it: added to each sequence, or in place of it.

        >>> first = RequestOutput("a", None, [1], [CompletionOutput(0, "he", [7])])
        >>> second = RequestOutput("a", None, [1], [CompletionOutput(0, "llo", [8])], True)
        >>> first.add(second, aggregate=True)
        >>> first.outputs[0].text, first.finished
        ('hello', True)
        """
        self.finished = self.finished or next_output.finished
        places = {each.index: place for place, each in enumerate(self.outputs)}
        for newer in next_output.outputs:
            place = places.get(newer.index)
            if place is None:
                self.outputs.append(newer)
            elif aggregate:
                self.outputs[place].extend(newer)
            else:
                self.outputs[place] = newer
