"""What runs the model for the engine core, in the same process."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from reference.model_runner import AdmittedRequest, ModelRunner
from reference.output import SchedulerOutput

#: What an executor that sleeps has let go of.
SLEEPING_TAGS = frozenset({"weights", "kv_cache"})


class SleepState:
    """Whether an executor sleeps, and what of it.

    >>> state = SleepState()
    >>> state.sleep()
    >>> state.wake_up(["weights"])
    >>> state.is_sleeping, state.sleeping_tags
    (True, {'kv_cache'})
    """

    def __init__(self) -> None:
        self.sleeping_tags: set[str] = set()

    @property
    def is_sleeping(self) -> bool:
        """Whether anything is still let go of."""
        return bool(self.sleeping_tags)

    def sleep(self, _level: int = 1) -> None:
        """Lets go of weights and cache; an executor that sleeps already does nothing."""
        if not self.is_sleeping:
            self.sleeping_tags = set(SLEEPING_TAGS)

    def wake_up(self, tags: Sequence[str] | None = None) -> None:
        """Takes back what the tags name, or all; nothing if one of them is awake or unknown."""
        if not tags:
            self.sleeping_tags.clear()
        elif self.sleeping_tags.issuperset(tags):
            self.sleeping_tags.difference_update(tags)


class Executor(Protocol):
    """What the engine core needs of whoever runs the model."""

    @property
    def is_sleeping(self) -> bool: ...
    def sleep(self, level: int = 1) -> None: ...
    def wake_up(self, tags: Sequence[str] | None = None) -> None: ...
    def execute_model(self, scheduler_output: SchedulerOutput) -> Mapping[str, Sequence[int]]:
        """The tokens that a step samples, by request."""

    def take_draft_token_ids(self) -> Mapping[str, Sequence[int]] | None:
        """The drafts that the last step made; None from one that makes none."""


class UniProcExecutor(SleepState):
    """Runs the model where it is called. ``requests`` has all that may be admitted."""

    def __init__(
        self,
        model_runner: ModelRunner,
        requests: Mapping[str, AdmittedRequest],
        makes_drafts: bool = False,
    ) -> None:
        super().__init__()
        self._model_runner = model_runner
        self._requests = requests
        self._makes_drafts = makes_drafts

    def execute_model(self, scheduler_output: SchedulerOutput) -> dict[str, list[int]]:
        """The tokens that a step samples, by request."""
        return self._model_runner.execute_model(scheduler_output, self._requests)

    def take_draft_token_ids(self) -> dict[str, list[int]] | None:
        """The drafts that the last step made."""
        return self._model_runner.take_draft_token_ids() if self._makes_drafts else None
