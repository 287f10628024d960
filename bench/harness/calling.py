# SPDX-License-Identifier: BSL-1.0
"""The benchmark of HTTP clients: each peer is a program on one CPU that calls nginx on another, and its own CPU time is
divided by its calls."""
from . import machine
from .catalogue import Slot
from .serving import LOADS, check


class Calls:
    """Peers that are clients. `programs` runs them, `services` nginx."""

    def __init__(self, programs, services):
        self.programs, self.services = programs, services
        services.cpu, services.other_cpu = programs.other_cpu, programs.cpu
        self.missing, self.duration_ms = programs.missing, programs.duration_ms

    def __enter__(self):
        if not self.services.nginx():
            raise machine.RunError("nginx is not installed (Debian: nginx-light)")
        self.services.__enter__()
        return self

    def __exit__(self, *failure):
        self.services.__exit__(*failure)

    def run(self, slot, warm_up):
        load = LOADS[slot.case.name]
        server = Slot(slot.case, "nginx-file")
        with self.services.server(server, load) as (port, _):
            check(server, load, port)
            return self.programs.run(slot, warm_up, ["--port", str(port)])
