"""The plan of faults."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.cluster.options import FAULTS, Options, read_options
from tests.cluster.plan import plan


def test_the_seed_alone_decides() -> None:
    """The same seed plans the same faults, and another seed plans others."""
    assert plan(Options(seed="7")) == plan(Options(seed="7"))
    assert plan(Options(seed="7")) != plan(Options(seed="8"))


@pytest.mark.parametrize("seed", ["1", "2", "3", "4", "5"])
def test_a_minute_has_every_fault(seed: str) -> None:
    """Whatever the seed, a minute has each kind of fault, within the time and on somebody who is there."""
    options = Options(seed=seed)
    faults = plan(options)
    assert {fault.name for fault in faults} == set(FAULTS)
    assert sum(fault.name == "kill" for fault in faults) >= 7
    assert faults == sorted(faults, key=lambda fault: fault.at)
    for fault in faults:
        assert 0 < fault.at < options.seconds
        assert fault.victim < (options.devices if fault.name == "cut" else options.workers + options.servers)
        assert fault.name not in ("kill", "freeze") or fault.victim < options.workers
        assert fault.name != "freeze" or fault.seconds > options.lease


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_left_out_is_not_planned(name: str) -> None:
    """--without leaves out one kind of fault, and changes nothing of the others."""
    options = read_options(["--without", name])
    assert plan(options) == [fault for fault in plan(replace(options, without=frozenset())) if fault.name != name]


def test_an_unknown_fault_is_refused() -> None:
    """A misspelt fault ends the command with what there is."""
    with pytest.raises(SystemExit):
        read_options(["--without", "kil"])
