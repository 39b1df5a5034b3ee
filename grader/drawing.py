"""How Hypothesis draws the cases of a suite: the same ones each time, everywhere."""

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

EXAMPLES = 60
SETTINGS = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=False,
    report_multiple_bugs=False,
    verbosity=Verbosity.quiet,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def load() -> None:
    """Make these settings the ones in force where a test names none."""
    settings.register_profile("suite", SETTINGS)
    settings.load_profile("suite")
    # Hypothesis also draws constants that it finds in the project's loaded modules, so that the
    # cases would depend on which of them happen to be loaded, and parsing them all takes time.
    if hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


def warm_up() -> None:
    """Pay now for what Hypothesis does once in a process, before processes are forked."""

    @settings(SETTINGS, max_examples=1)
    @given(st.lists(st.integers()))
    def draws_once(_: list[int]) -> None:
        return

    draws_once()
