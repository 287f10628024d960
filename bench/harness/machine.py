# SPDX-License-Identifier: BSL-1.0
"""What the machine allows: rings, CPUs, priority; and starting a program so that its time can be trusted."""
import ctypes
import errno
import os
import platform
import signal
import subprocess
from pathlib import Path

IO_URING_SETUP = 425  # the same number on every architecture since Linux 5.1


def ring_refusal():
    """Why the kernel refuses a ring, or "" if it gives one. Source: io_uring_setup(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    params = ctypes.create_string_buffer(120)
    fd = libc.syscall(IO_URING_SETUP, 1, params)
    if fd >= 0:
        os.close(fd)
        return ""
    code = ctypes.get_errno()
    reason = f"io_uring_setup: {os.strerror(code)}"
    if code == errno.EPERM:
        disabled = Path("/proc/sys/kernel/io_uring_disabled")
        level = disabled.read_text().strip() if disabled.exists() else "0"
        if level != "0":
            return f"{reason} (the sysctl kernel.io_uring_disabled is {level})"
        return f"{reason} (a security policy, such as a container's seccomp filter)"
    if code == errno.ENOSYS:
        return f"{reason} (no io_uring in this kernel, or a seccomp filter hides it)"
    if code == errno.ENOMEM:
        return f"{reason} (the limit of locked memory, ulimit -l)"
    return reason


def cpu_list(text):
    """Parses the kernel's form of a set of CPUs, such as 0-2,5."""
    result = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        result += range(int(first), int(last or first) + 1)
    return result


def two_cpus():
    """A CPU for the measured process and one for its client, on different cores where there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    first = allowed[0]
    siblings = Path(f"/sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list")
    same_core = cpu_list(siblings.read_text()) if siblings.exists() else [first]
    others = [cpu for cpu in allowed if cpu not in same_core] or allowed[1:] or [first]
    return first, others[0]


def describe(with_load=True):
    load = f", load {os.getloadavg()[0]:.2f}" if with_load else ""
    release = platform.release().partition("-")[0]  # without what its builder added
    return f"Linux {release}, {platform.machine()}, {os.cpu_count()} CPUs{load}"


def take_precedence():
    """Runs in the child. A session of its own is a scheduling group of its own; plain nice does not reach beyond it."""
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write("-20")
    except OSError:
        pass  # Not root, or no autogroups: then the program runs like any other.


class RunError(Exception):
    """A program failed, hung, or was not there."""


def run(command, timeout_s):
    """Runs a program in its own session and gives its output. Raises RunError."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=take_precedence,
    )
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except BaseException as e:  # Also an interrupt from the keyboard: nothing may be left running.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(e, subprocess.TimeoutExpired):
            raise RunError(f"{' '.join(command)}: no end after {timeout_s:.0f} s") from None
        raise
    if process.returncode != 0:
        how = f"status {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        raise RunError(f"{' '.join(command)}: {how}\n{errors.strip()}")
    return output
