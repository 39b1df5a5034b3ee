"""Who computes how many tokens in the next step, and what becomes of the tokens that come back."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from reference.base_kv_cache_manager import BaseKVCacheManager
from reference.config import EngineConfig, Policy
from reference.output import DRAFT_PLACEHOLDER, EngineCoreOutput, EngineCoreOutputs, SchedulerOutput
from reference.request import Request, RequestStatus
from reference.request_queue import RequestQueue, create_request_queue
from reference.sched_utils import check_stop as check_stop_in_order
from reference.sched_utils import min_tokens_first, remove_all
from reference.stats import SchedulerStats
from reference.waiting_queues import WaitingQueues


class PauseState(IntEnum):
    """Whom a step may serve: everybody, those that run already, nobody."""

    UNPAUSED = 0
    PAUSED_NEW = 1
    PAUSED_ALL = 2


class ScheduleStep:
    """A step while it is being decided: what is left to spend, and what is settled."""

    __slots__ = ("budget", "has_preempted", "output")

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.has_preempted = False
        self.output = SchedulerOutput()


class Scheduler:
    """Shares each step's tokens among the requests: those that run first, then those that wait.

    There is no prefill and no decode, only requests whose ``num_computed_tokens`` runs after
    their ``num_tokens``. ``include_finished_set`` adds to each client's outputs the ids that
    finished since the last report; ``log_stats`` adds the counters of the step to one client's.
    """

    num_lookahead_tokens = 0
    #: Whether a step may be decided before the outputs of those before it have come back.
    expects_outputs = False

    def __init__(
        self,
        config: EngineConfig,
        kv_cache_manager: BaseKVCacheManager,
        request_queue: Callable[[Policy], RequestQueue] = create_request_queue,
        check_stop: Callable[[Request, int], bool] = check_stop_in_order,
        include_finished_set: bool = False,
        log_stats: bool = False,
    ) -> None:
        self.config = config
        self.kv_cache_manager = kv_cache_manager
        self.log_stats = log_stats
        self.requests: dict[str, Request] = {}
        self.running: list[Request] = []
        self.waiting_queues = WaitingQueues(config.policy, request_queue)
        self.finished_req_ids: set[str] = set()
        self.pause_state = PauseState.UNPAUSED
        variants = config.variants
        self._check_stop = min_tokens_first(check_stop) if variants.min_tokens_first else check_stop
        self._preempted_req_ids: set[str] = set()
        self._grammar_errors: list[str] = []
        self._finished_by_client: dict[int, set[str]] | None = {} if include_finished_set else None

    # What clients ask for

    def add_request(self, request: Request) -> None:
        """Takes a request in; it waits. Raises ValueError when its id is in use."""
        if request.request_id in self.requests:
            raise ValueError(f"request id {request.request_id!r} is in use")
        self.requests[request.request_id] = request
        self.waiting_queues.add_request(request)

    def finish_requests(
        self, request_ids: str | Iterable[str] | None, finished_status: RequestStatus
    ) -> list[Request]:
        """Ends requests from outside, all of them for None; unknown ids are passed over.

        Returns:
            The requests that this ended.
        """
        if request_ids is None:
            request_ids = list(self.requests)
        elif isinstance(request_ids, str):
            request_ids = [request_ids]
        ended = [self.requests[i] for i in dict.fromkeys(request_ids) if i in self.requests]
        running = {r for r in ended if r.status is RequestStatus.RUNNING}
        if running:
            self.running = remove_all(self.running, running)
        if len(running) < len(ended):
            self.waiting_queues.remove_requests(r for r in ended if r not in running)
        for request in ended:
            request.status = finished_status
            self._free_request(request)
        return ended

    def update_draft_token_ids(self, draft_token_ids: Mapping[str, Sequence[int]]) -> None:
        """Offers each request tokens to verify in its next step."""
        for request_id, drafts in draft_token_ids.items():
            request = self.requests.get(request_id)
            if request is not None:
                # A prompt that is not through yet has nothing to draft from.
                request.spec_token_ids = [] if request.is_prefill_chunk else list(drafts)

    def reset_prefix_cache(self, reset_running_requests: bool = False) -> bool:
        """Empties the prefix cache; False, and nothing done, while any block is in use.

        With ``reset_running_requests`` all that runs is preempted first, so that no block is.
        """
        if reset_running_requests:
            # The last one first, so that they wait in the order in which they ran.
            while self.running:
                self._preempt_request(self.running.pop(), drop_stale_output=True)
        return self.kv_cache_manager.reset_prefix_cache()

    def set_pause_state(self, pause_state: PauseState) -> None:
        """Says whom the steps from now on may serve."""
        self.pause_state = pause_state

    def get_num_unfinished_requests(self) -> int:
        """How many requests there are to serve; those held up by a pause do not count."""
        if self.pause_state is PauseState.PAUSED_ALL:
            return 0
        num_waiting = len(self.waiting_queues) if self.pause_state is PauseState.UNPAUSED else 0
        return len(self.running) + num_waiting

    def has_unfinished_requests(self) -> bool:
        """Whether any request runs or waits, and may."""
        return self.get_num_unfinished_requests() > 0

    def has_requests(self) -> bool:
        """Whether another step is due, be it only to hand out the ids that finished."""
        return bool(self.finished_req_ids) or self.has_unfinished_requests()

    # A step's decisions

    def schedule(self) -> SchedulerOutput:
        """Decides the next step."""
        # Both limits are charged alike, so the smaller one is the budget.
        step = ScheduleStep(min(self.config.token_budget, self.config.max_num_batched_tokens))
        if self.pause_state is PauseState.PAUSED_ALL:
            step.budget = 0
        self._schedule_running(step)
        if not step.has_preempted and self.pause_state is PauseState.UNPAUSED:
            self._schedule_waiting(step)
        output = step.output
        if self.running:
            first = self.running[0].request_id
            output.num_common_prefix_blocks = self.kv_cache_manager.get_num_common_prefix_blocks(
                first
            )
        output.preempted_req_ids = self._preempted_req_ids
        output.finished_req_ids = self.finished_req_ids
        self._preempted_req_ids = set()
        self.finished_req_ids = set()
        self._update_after_schedule(output)
        return output

    def _schedule_running(self, step: ScheduleStep) -> None:
        running = self.running
        allocate_slots = self.kv_cache_manager.allocate_slots
        num_lookahead_tokens = self.num_lookahead_tokens
        threshold = self.config.long_prefill_token_threshold
        last_position = self.config.max_model_len - 1
        expects_outputs = self.expects_outputs
        num_scheduled_tokens = step.output.num_scheduled_tokens
        num_computed_tokens = step.output.num_computed_tokens
        index = 0
        while index < len(running) and step.budget > 0:
            request = running[index]
            num_computed = request.num_computed_tokens
            num_new = request.num_tokens + len(request.spec_token_ids) - num_computed
            if expects_outputs:
                num_new = self._add_expected_outputs(request, num_new)
            if 0 < threshold < num_new:
                num_new = threshold
            # Conditional expressions, not min(): every request of every step comes this way.
            num_left = last_position - num_computed
            num_left = num_left if num_left < step.budget else step.budget
            num_new = num_new if num_new < num_left else num_left
            if num_new <= 0:
                # It waits for its own outputs; those behind it need not.
                index += 1
                continue
            new_blocks = allocate_slots(request, num_new, num_lookahead_tokens=num_lookahead_tokens)
            if new_blocks is None:
                new_blocks = self._preempt_until_it_fits(request, num_new, step)
                if new_blocks is None:
                    break
                index = running.index(request)
            request_id = request.request_id
            num_scheduled_tokens[request_id] = num_new
            num_computed_tokens[request_id] = num_computed
            step.budget -= num_new
            if new_blocks:
                step.output.new_block_ids[request_id] = new_blocks
            if request.spec_token_ids:
                self._schedule_drafts(request, num_new, step.output)
            index += 1

    def _add_expected_outputs(self, _request: Request, num_new: int) -> int:
        """The tokens to schedule when those count that the model has not come back with."""
        return num_new

    def _schedule_drafts(self, request: Request, num_new: int, output: SchedulerOutput) -> None:
        """Keeps the drafts for which there was budget; the request has none left afterwards."""
        num_known = request.num_tokens + request.num_output_placeholders
        num_drafts = num_new + request.num_computed_tokens - num_known
        if num_drafts > 0:
            drafts = request.spec_token_ids[:num_drafts]
            output.scheduled_spec_decode_tokens[request.request_id] = drafts
        request.spec_token_ids = []

    def _preempt_until_it_fits(self, request: Request, num_new: int, step: ScheduleStep) -> Any:
        """Preempts one request after another; None when ``request`` itself was the last resort."""
        step.has_preempted = True
        while True:
            victim = self._take_victim()
            self._unschedule(victim, step)
            self._preempt_request(victim)
            if victim is request:
                return None
            new_blocks = self.kv_cache_manager.allocate_slots(
                request, num_new, num_lookahead_tokens=self.num_lookahead_tokens
            )
            if new_blocks is not None:
                return new_blocks

    def _take_victim(self) -> Request:
        if self.config.policy == "fcfs":
            return self.running.pop()
        # Among equals the first in running order, whatever its id.
        victim = max(self.running, key=lambda r: (r.priority, r.arrival_time))
        self.running.remove(victim)
        return victim

    def _unschedule(self, request: Request, step: ScheduleStep) -> None:
        """Takes back what this step had given to a request."""
        output = step.output
        step.budget += output.num_scheduled_tokens.pop(request.request_id, 0)
        output.num_computed_tokens.pop(request.request_id, None)
        output.new_block_ids.pop(request.request_id, None)
        output.scheduled_spec_decode_tokens.pop(request.request_id, None)

    def _preempt_request(self, request: Request, drop_stale_output: bool = False) -> None:
        """Sends a request that is no longer in ``running`` back to the front of the waiting.

        It keeps its tokens and their hashes, so that it may find its own blocks again.
        ``drop_stale_output`` tells what becomes of outputs that are still to come back.
        """
        self.kv_cache_manager.free(request.request_id)
        request.status = RequestStatus.PREEMPTED
        request.num_computed_tokens = 0
        request.spec_token_ids = []
        request.drop_stale_output = drop_stale_output
        request.num_preemptions += 1
        self.waiting_queues.waiting.prepend_request(request)
        self._preempted_req_ids.add(request.request_id)

    def _schedule_waiting(self, step: ScheduleStep) -> None:
        queues = self.waiting_queues
        passed_over = queues.new_queue()
        while step.budget > 0 and len(self.running) < self.config.max_num_seqs:
            queue = queues.select()
            if queue is None:
                break
            request = queue.peek_request()
            if self._is_passed_over(request):
                passed_over.prepend_request(queue.pop_request())
                continue
            if not self._try_admit(request, step):
                # Nobody overtakes the head.
                break
            queue.pop_request()
        if len(passed_over):
            # They were reversed on the way in and are reversed back here.
            returning: Iterable[Request] = passed_over
            if self.config.variants.skipped_reversed:
                returning = reversed(list(passed_over))
            queues.skipped_waiting.prepend_requests(returning)

    def _is_passed_over(self, request: Request) -> bool:
        """Whether a request cannot be admitted yet, for reasons of its own; others may be."""
        return request.status.is_blocked and not self._try_promote(request)

    def _try_promote(self, request: Request) -> bool:
        """Whether a blocked request has what it waited for; it can be admitted then."""
        structured_output = request.structured_output_request
        if structured_output is None or structured_output.grammar is None:
            return False
        if isinstance(structured_output.grammar, Exception):
            self._grammar_errors.append(request.request_id)
            return False
        request.status = RequestStatus.WAITING
        return True

    def _try_admit(self, request: Request, step: ScheduleStep) -> bool:
        config, manager, output = self.config, self.kv_cache_manager, step.output
        hit_blocks, num_hit_tokens = manager.get_computed_blocks(request)
        if config.variants.stats_at_lookup:
            manager.record_prefix_cache_stats(request, num_hit_tokens)
        num_new = request.num_tokens - num_hit_tokens
        padding: list[int] = []
        if num_new == 1 and self._is_padded(num_hit_tokens, output):
            padding = [DRAFT_PLACEHOLDER] * config.num_speculative_tokens
            num_new += len(padding)
            if num_new > step.budget:
                return False
        if 0 < config.long_prefill_token_threshold < num_new:
            num_new = config.long_prefill_token_threshold
        if num_new > step.budget:
            if not config.enable_chunked_prefill:
                return False
            num_new = step.budget
        new_blocks = manager.allocate_slots(
            request,
            num_new,
            num_new_computed_tokens=num_hit_tokens,
            new_computed_blocks=hit_blocks,
            num_lookahead_tokens=self.num_lookahead_tokens,
            full_sequence_must_fit=config.scheduler_reserve_full_isl,
            has_scheduled_reqs=bool(self.running),
        )
        if new_blocks is None:
            return False
        if not config.variants.stats_at_lookup:
            manager.record_prefix_cache_stats(request, num_hit_tokens)
        request_id = request.request_id
        if request.status is RequestStatus.PREEMPTED:
            output.scheduled_resumed_reqs.append(request_id)
        else:
            output.scheduled_new_reqs.append(request_id)
        output.num_scheduled_tokens[request_id] = num_new
        output.num_computed_tokens[request_id] = num_hit_tokens
        output.num_cached_tokens[request_id] = num_hit_tokens
        output.block_ids[request_id] = manager.get_block_ids(request_id)
        if padding:
            output.scheduled_spec_decode_tokens[request_id] = padding
        step.budget -= num_new
        request.status = RequestStatus.RUNNING
        request.num_computed_tokens = num_hit_tokens
        self.running.append(request)
        return True

    def _is_padded(self, num_hit_tokens: int, output: SchedulerOutput) -> bool:
        """Whether an admission of one token gets drafts that mean nothing.

        Where all others verify drafts, a batch of equal shapes is worth more than the tokens.
        """
        num_padded = 1 + self.config.num_speculative_tokens
        if num_padded == 1 or num_hit_tokens + num_padded >= self.config.max_model_len:
            return False
        ran = [self.requests[i] for i in output.num_scheduled_tokens if i not in output.block_ids]
        if any(request.is_prefill_chunk for request in ran):
            return False
        return bool(ran) or num_hit_tokens > 0

    def _update_after_schedule(self, output: SchedulerOutput) -> None:
        """Counts the tokens as computed already, so that the next step can be decided."""
        requests = self.requests
        for request_id, num_new in output.num_scheduled_tokens.items():
            request = requests[request_id]
            request.num_computed_tokens += num_new
            request.is_prefill_chunk = request.num_computed_tokens < request.num_tokens

    # What comes back

    def update_from_output(
        self, scheduler_output: SchedulerOutput, sampled_token_ids: Mapping[str, Sequence[int]]
    ) -> dict[int, EngineCoreOutputs]:
        """Appends the sampled tokens and ends the requests that they stop.

        A prefill chunk has no tokens, or no entry. Tokens of a request that was aborted while the
        model ran are dropped.

        Returns:
            For each client with news, its outputs in schedule order.
        """
        outputs: defaultdict[int, list[EngineCoreOutput]] = defaultdict(list)
        stopped: set[Request] = set()
        drafts = scheduler_output.scheduled_spec_decode_tokens
        for request_id in scheduler_output.num_scheduled_tokens:
            request = self.requests.get(request_id)
            sampled = sampled_token_ids.get(request_id)
            if request is None or not sampled:
                continue
            num_drafts = len(drafts[request_id]) if request_id in drafts else 0
            new_token_ids, is_stopped = self._take_in(request, sampled, num_drafts)
            output = EngineCoreOutput(request_id, new_token_ids)
            outputs[request.client_index].append(output)
            if is_stopped:
                output.finish_reason = request.finish_reason
                output.stop_reason = request.stop_reason
                self._free_request(request)
                stopped.add(request)
        if stopped:
            self.running = remove_all(self.running, stopped)
        if self._grammar_errors:
            self._fail_grammars(outputs)
        return self._wrap(outputs)

    def _take_in(
        self, request: Request, sampled: Sequence[int], num_drafts: int
    ) -> tuple[list[int], bool]:
        """The sampled tokens up to the one that ends the request, and whether one does."""
        if num_drafts:
            num_accepted = len(sampled) - 1
            request.num_computed_tokens -= num_drafts - num_accepted
        check_stop, max_model_len = self._check_stop, self.config.max_model_len
        for count, token in enumerate(sampled, 1):
            request.append_output_token_id(token)
            if check_stop(request, max_model_len):
                return list(sampled[:count]), True
        return list(sampled), False

    def _fail_grammars(self, outputs: dict[int, list[EngineCoreOutput]]) -> None:
        failed, self._grammar_errors = self._grammar_errors, []
        for request in self.finish_requests(failed, RequestStatus.FINISHED_ERROR):
            output = EngineCoreOutput(request.request_id, [], finish_reason=request.finish_reason)
            outputs.setdefault(request.client_index, []).append(output)

    def _wrap(self, outputs: dict[int, list[EngineCoreOutput]]) -> dict[int, EngineCoreOutputs]:
        wrapped = {client: EngineCoreOutputs(of_client) for client, of_client in outputs.items()}
        if self._finished_by_client:
            for client, finished in self._finished_by_client.items():
                wrapped.setdefault(client, EngineCoreOutputs()).finished_requests = finished
            self._finished_by_client = {}
        if self.log_stats:
            one_client = next(iter(wrapped), 0)
            wrapped.setdefault(one_client, EngineCoreOutputs()).scheduler_stats = self.make_stats()
        return wrapped

    def make_stats(self) -> SchedulerStats:
        """The counters of the step; reading them sets the cache's back to zero."""
        return SchedulerStats(
            num_running_reqs=len(self.running),
            num_waiting_reqs=len(self.waiting_queues.waiting),
            num_skipped_waiting_reqs=len(self.waiting_queues.skipped_waiting),
            kv_cache_usage=self.kv_cache_manager.usage,
            prefix_cache_stats=self.kv_cache_manager.make_prefix_cache_stats(),
        )

    def _free_request(self, request: Request) -> None:
        """Lets go of a finished request; its id is told with the next step."""
        self.kv_cache_manager.free(request.request_id)
        self.finished_req_ids.add(request.request_id)
        if self._finished_by_client is not None:
            finished = self._finished_by_client.setdefault(request.client_index, set())
            finished.add(request.request_id)
        del self.requests[request.request_id]
