"""The engine core's process: two threads for the sockets, and the busy loop between them.

    python -m grader.processes.engine_core INPUT OUTPUT < workload.json

INPUT and OUTPUT are the addresses that the front has bound. SIGTERM asks for the end.
"""

import signal
import sys
import threading
from dataclasses import replace

import msgspec
import zmq

from grader.processes.sockets import ENGINE_IDENTITY, LINGER, pack, unpack, unpack_struct
from reference.engine import Engine
from reference.front import nobody
from reference.llm_engine import RecordedCore
from reference.wire import ENGINE_CORE_DEAD, EngineCoreRequest, EngineCoreRequestType
from reference.workload import parse_workload

#: Tells the output thread that nothing more will come.
THE_END = b""


def main(input_address: str, output_address: str) -> None:
    workload = parse_workload(msgspec.json.decode(sys.stdin.buffer.read()), "workload.json")
    engine = Engine(replace(workload, requests=()))
    core = RecordedCore(engine, late_aborts=lambda _step: None, observe=nobody)
    core.process_input_queue_block = True
    signal.signal(signal.SIGTERM, lambda _number, _frame: core.request_shutdown())
    reader = threading.Thread(target=process_input_sockets, args=(core, input_address), daemon=True)
    writer = threading.Thread(target=process_output_sockets, args=(core, output_address))
    reader.start()
    writer.start()
    core.run_busy_loop()
    core.output_queue.put(THE_END)
    writer.join()


def process_input_sockets(core: RecordedCore, address: str) -> None:
    """The input thread: from the socket into the queues, so that decoding delays no step."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.IDENTITY, ENGINE_IDENTITY)
        socket.connect(address)
        # The front cannot address this end before it has heard from it.
        socket.send(pack("READY"))
        while True:
            kind, data = socket.recv_multipart()
            request_type = EngineCoreRequestType(kind)
            if request_type is EngineCoreRequestType.ADD:
                request = unpack_struct(EngineCoreRequest, data)
                core.put(request_type, core.preprocess_add_request(request))
            elif request_type is EngineCoreRequestType.ABORT:
                core.put_abort(unpack(data))
            else:
                core.put(request_type, unpack(data))


def process_output_sockets(core: RecordedCore, address: str) -> None:
    """The output thread: from the queue to the socket, until there is nothing more to come."""
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.setsockopt(zmq.LINGER, LINGER)
        socket.connect(address)
        while (item := core.output_queue.get()) != THE_END:
            if isinstance(item, bytes):
                socket.send(ENGINE_CORE_DEAD)
            else:
                socket.send(pack(item[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
