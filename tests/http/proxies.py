# SPDX-License-Identifier: BSL-1.0
"""nginx and haproxy in front of a server, each with a configuration of its own in a folder of the test, and what they
say about the requests that they have passed on."""
import os
import shutil
import subprocess
from contextlib import contextmanager

from peer import Server, accepts, end, free_port, require, wait_until

NGINX = """daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{ worker_connections 1024; }}
http {{
  log_format passed_on '$upstream_addr|-|$request';
  access_log {folder}/nginx.log passed_on;
  keepalive_requests 1000000;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  client_max_body_size 0;
  upstream behind {{ server 127.0.0.1:{upstream}; keepalive 8; keepalive_requests 1000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://behind;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_request_buffering off;
      proxy_next_upstream off;
      proxy_ignore_client_abort on;
    }}
  }}
}}
"""

HAPROXY = """global
  log stdout len 65535 format raw local0
  maxconn 1000
defaults
  mode http
  log global
  log-format "%s|%ts|%r"
  timeout connect 5s
  timeout client 20s
  timeout server 20s
  retries 0
frontend front
  bind 127.0.0.1:{port}
  default_backend behind
backend behind
  server upstream 127.0.0.1:{upstream}
"""


NOT_PASSED_ON = ("-", "", "<NOSRV>")  # instead of the server's name


def program(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
    require(found, f"{name} is not installed")
    return found


class Proxy(Server):
    """A proxy with the log that it writes, a line "server|state|request line" a request."""

    def __init__(self, process, port, log):
        super().__init__(process, port)
        self.log = log

    def lines(self):
        """(state, "METHOD TARGET") of each request that it had a server for."""
        lines = self.log.read_text(encoding="latin-1").splitlines()
        fields = [line.split("|", 2) for line in lines if line.count("|") >= 2]
        return [
            (state, " ".join(request.split(" ")[:2]))
            for server, state, request in fields
            if server not in NOT_PASSED_ON
        ]

    def passed_on(self):
        """The requests that it has sent to the server behind it: "METHOD TARGET" of each."""
        return [request for _, request in self.lines()]

    def given_up(self):
        """How many of these haproxy has refused by itself in the middle, maybe before it had sent the head."""
        return sum(1 for state, _ in self.lines() if state.startswith("P"))


@contextmanager
def started(command, port, log, **options):
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options) as process:
        try:
            wait_until(lambda: accepts(port) or process.poll() is not None, f"{command[0]} does not accept connections")
            require(process.poll() is None, f"{command[0]} has ended with status {process.returncode}")
            yield Proxy(process, port, log)
        finally:
            end(process)


@contextmanager
def nginx(folder, upstream):
    port, log = free_port(), folder / "nginx.log"
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port, upstream=upstream), encoding="ascii")
    command = [program("nginx"), "-p", str(folder), "-c", str(config), "-e", str(folder / "nginx-error.log")]
    with started(command, port, log, stdout=subprocess.DEVNULL) as proxy:
        yield proxy


@contextmanager
def haproxy(folder, upstream):
    port, log = free_port(), folder / "haproxy.log"
    config = folder / "haproxy.cfg"
    config.write_text(HAPROXY.format(port=port, upstream=upstream), encoding="ascii")
    command = [program("haproxy"), "-db", "-f", str(config)]
    with open(log, "wb") as out, started(command, port, log, stdout=out) as proxy:
        yield proxy
