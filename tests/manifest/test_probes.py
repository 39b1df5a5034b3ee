"""Facts read from syntax trees: each way of the probe language, and what it refuses."""

from typing import Any

import pytest
from trees_kit import OLD

from manifest.patterns import BadPattern, parse
from manifest.probes import BadProbe, Probe, ProbeFailed, modules

CONFIG = "vllm/config.py#CacheConfig"
DEFAULTS = "vllm/config.py#defaults"
POOL = "vllm/core/pool.py"
BUDGET = "budgets = {'server': VALUE}"


def read(**data: Any) -> Any:
    return Probe.of(data).read(modules(OLD.read)).value


@pytest.mark.parametrize(
    ("probe", "value"),
    [
        ({"at": "vllm/constants.py#KIB"}, 1024),
        ({"at": f"{CONFIG}.DEFAULT_BLOCK_SIZE"}, 16),
        ({"at": f"{CONFIG}.block_size"}, 16),
        ({"at": f"{CONFIG}.chunk_bytes"}, 24 * 2**20),
        ({"at": f"{CONFIG}.watermark"}, 0.0),
        ({"at": f"{CONFIG}.policy"}, "fcfs"),
        ({"at": f"{CONFIG}.skipped"}, []),
        ({"at": f"{CONFIG}.enabled"}, True),
        ({"at": CONFIG, "count": True}, 7),
        ({"at": f"{POOL}#Pool.__init__", "default": "spare"}, 2),
        ({"at": f"{POOL}#Pool", "default": "spare"}, 2),
        ({"environment": "VLLM_PATIENCE_S"}, 600),
        ({"environment": "VLLM_QUIET"}, False),
        ({"environment": "VLLM_LEVEL"}, "INFO"),
        ({"environment": "VLLM_PLUGINS"}, None),
        ({"at": f"{POOL}#score", "match": "_ += _ * VALUE * max(_, _)"}, 6.0),
        ({"at": f"{POOL}#score", "match": "max(_, _ - VALUE)"}, 0.5),
        ({"at": f"{POOL}#score", "match": "max(VALUE, ...)"}, 0.0),
        ({"at": DEFAULTS, "match": BUDGET, "if": "_ >= 160 * _"}, 16384),
        ({"at": DEFAULTS, "match": BUDGET, "if": "_ >= 70 * _"}, 8192),
        ({"at": DEFAULTS, "match": BUDGET, "else": "_ >= 70 * _"}, 2048),
        ({"at": DEFAULTS, "match": BUDGET, "nth": 3}, 2048),
        ({"at": DEFAULTS, "match": "budgets = {'server': VALUE * world_size}"}, 2048),
        ({"at": DEFAULTS, "match": "budgets = VALUE", "nth": 1, "entry": "server"}, 16384),
        ({"at": DEFAULTS, "match": "budgets = VALUE", "nth": 1, "count": True}, 2),
    ],
)
def test_each_way_reads_its_value(probe: dict[str, Any], value: Any) -> None:
    found = read(**probe)
    assert (type(found), found) == (type(value), value)


def test_a_probe_tells_the_line() -> None:
    probe = Probe.of({"at": "vllm/constants.py#KIB"})
    assert probe.read(modules(OLD.read)).line == 3


@pytest.mark.parametrize(
    ("probe", "reason", "gone"),
    [
        ({"at": "vllm/nowhere.py#X"}, "nowhere.py is not there", True),
        ({"at": "vllm/config.py#Nobody"}, "#Nobody is not there", True),
        ({"environment": "VLLM_NOTHING"}, "no variable VLLM_NOTHING", True),
        ({"at": f"{POOL}#score", "match": "_ // VALUE"}, "nothing there fits", False),
        ({"at": f"{POOL}#score", "match": "_ > VALUE", "if": "nobody"}, "nothing", False),
        ({"at": DEFAULTS, "match": BUDGET}, "several things fit", False),
        ({"at": f"{POOL}#Pool.__init__", "default": "count"}, "no parameter count", False),
        ({"at": f"{POOL}#plan"}, "given no value", False),
        ({"at": f"{POOL}#Pool.take", "match": "count > VALUE"}, "no constant", False),
        ({"at": f"{CONFIG}.policy", "count": True}, "not a list", False),
        ({"at": f"{CONFIG}.skipped", "entry": 1}, "no entry 1", False),
    ],
)
def test_what_is_not_there_is_told(probe: dict[str, Any], reason: str, gone: bool) -> None:
    with pytest.raises(ProbeFailed) as raised:
        read(**probe)
    assert reason in raised.value.reason
    assert raised.value.gone is gone


@pytest.mark.parametrize(
    "data",
    [
        {"at": "vllm/config.py"},
        {},
        {"at": "vllm/a.py#f", "default": "n", "match": "VALUE"},
        {"at": "vllm/a.py#f", "match": "VALUE", "if": "_", "else": "_"},
        {"at": "vllm/a.py#f", "how": "value"},
    ],
)
def test_a_probe_that_makes_no_sense_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(BadProbe):
        Probe.of(data)


@pytest.mark.parametrize("pattern", ["a b", "x = 1; y = 2", ""])
def test_a_pattern_is_one_expression_or_statement(pattern: str) -> None:
    with pytest.raises(BadPattern):
        parse(pattern)
