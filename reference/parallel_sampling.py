"""One request for several sequences: requests of their own on the way in, one again on the way out.

The engine core knows nothing of it. Its requests share the prompt through the prefix cache.
"""

from collections.abc import Iterable
from dataclasses import replace

from reference.outputs import CompletionOutput, RequestOutput
from reference.sampling_params import SamplingParams
from reference.wire import EngineCoreRequest


class ParentRequest:
    """The request that the client sees, and what is known of its children.

    >>> parent = ParentRequest("R", "R", SamplingParams(n=2, seed=7, output_kind="FINAL_ONLY"))
    >>> [(child, params.n, params.seed) for child, params in map(parent.get_child_info, range(2))]
    [('0_R', 1, 7), ('1_R', 1, 8)]
    >>> parent.get_outputs("1_R", CompletionOutput(1, "b", [2], finish_reason="stop"))
    ([], False)
    >>> outputs, finished = parent.get_outputs(
    ...     "0_R", CompletionOutput(0, "a", [1], finish_reason="stop")
    ... )
    >>> [each.text for each in outputs], finished
    (['a', 'b'], True)
    """

    def __init__(
        self, request_id: str, external_req_id: str, sampling_params: SamplingParams
    ) -> None:
        self.request_id = request_id
        self.external_req_id = external_req_id
        self.sampling_params = sampling_params
        self.child_requests: set[str] = set()
        self.max_num_generation_tokens = 0
        self._seedless_params: SamplingParams | None = None
        # FINAL_ONLY gives all sequences at once, in order.
        self._final: dict[int, CompletionOutput] = {}

    @property
    def n(self) -> int:
        """How many sequences are asked for."""
        return self.sampling_params.n

    def get_child_info(self, index: int) -> tuple[str, SamplingParams]:
        """The id and the parameters of the child with this index, which is expected from now on."""
        child_id = f"{index}_{self.request_id}"
        self.child_requests.add(child_id)
        return child_id, self._child_params(index)

    def _child_params(self, index: int) -> SamplingParams:
        """Its own if there is a seed, which must differ; otherwise one object serves them all."""
        params = self.sampling_params
        if params.seed is not None:
            return replace(params, n=1, seed=params.seed + index)
        if self._seedless_params is None:
            self._seedless_params = replace(params, n=1)
        return self._seedless_params

    def get_outputs(
        self, child_request_id: str, completion_output: CompletionOutput
    ) -> tuple[list[CompletionOutput], bool]:
        """What a child's output has for the client, and whether all children have ended.

        An end that was told already is not told again.
        """
        is_repeated = False
        if completion_output.finished():
            is_repeated = child_request_id not in self.child_requests
            self.child_requests.discard(child_request_id)
        finished = not self.child_requests
        if self.sampling_params.output_kind != "FINAL_ONLY":
            return ([] if is_repeated else [completion_output]), finished
        self._final[completion_output.index] = completion_output
        return ([self._final[i] for i in sorted(self._final)] if finished else []), finished

    def observe_num_generation_tokens(self, num_generation_tokens: int) -> int:
        """The largest number of tokens that any child has put out, this one included."""
        self.max_num_generation_tokens = max(num_generation_tokens, self.max_num_generation_tokens)
        return self.max_num_generation_tokens


def fan_out(request: EngineCoreRequest) -> tuple[ParentRequest, list[EngineCoreRequest]]:
    """The parent of a request, and its children in order.

    Raises:
        ValueError: the request was not given its internal id yet.
    """
    if request.external_req_id is None:
        raise ValueError("assign_request_id comes before the fan-out")
    parent = ParentRequest(request.request_id, request.external_req_id, request.sampling_params)
    children = []
    for index in range(parent.n):
        child_id, params = parent.get_child_info(index)
        children.append(replace(request, request_id=child_id, sampling_params=params))
    return parent, children


def join(
    parent: ParentRequest, child_outputs: Iterable[tuple[str, CompletionOutput]]
) -> list[RequestOutput]:
    """What the client gets of its children's outputs, each given with the child's id."""
    request_outputs = []
    for child_id, completion in child_outputs:
        outputs, finished = parent.get_outputs(child_id, completion)
        if outputs:
            output = RequestOutput(parent.external_req_id, None, [], outputs, finished)
            request_outputs.append(output)
    return request_outputs
