"""Forked processes and their channels."""

import os
import signal

import pytest

from grader.runner.process import Channel, Closed, fork, hold_interrupts


def test_messages_come_whole_and_in_order() -> None:
    def echo(channel: Channel) -> None:
        while True:
            channel.send(channel.receive() * 2)

    child = fork(echo)
    for message in (b"", b"a", b"x" * 1_000_000):
        child.channel.send(message)
        assert child.channel.receive() == message * 2
    child.end()


def test_the_end_of_a_process_is_a_closed_channel() -> None:
    child = fork(lambda _channel: os._exit(3))
    with pytest.raises(Closed):
        child.channel.receive()
    child.end()


def test_a_process_that_is_killed_is_waited_for() -> None:
    child = fork(lambda channel: channel.send(channel.receive()))
    child.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_ctrl_c_reaches_a_process_that_holds_it_only_while_it_waits() -> None:
    def work(channel: Channel) -> None:
        hold_interrupts()
        os.kill(os.getpid(), signal.SIGINT)
        channel.send(b"worked on")
        channel.receive()

    child = fork(work)
    assert child.channel.receive() == b"worked on"
    with pytest.raises(Closed):
        child.channel.receive()
    child.end()
