# SPDX-License-Identifier: BSL-1.0
"""Measures a folder of programs: each NAME.cpp is compiled with Asio and with the facade, run, and compared.

NAME.args has the arguments, in the quotes of a shell, and NAME.in the standard input.
"""
import shlex

from . import libraries, stage


def find(folder, only):
    return sorted(path for path in folder.glob("*.cpp") if only in path.stem)


def measure(objects, asio, facade, source):
    """Returns backend -> None or the difference, or a sentence why it was not run; and the facade's error or None."""
    theirs, error = objects.build([source], asio)
    ours, our_error = objects.build([source], facade)
    if error is not None:
        return f"does not compile with Asio: {error}", our_error
    if our_error is not None:
        return f"does not compile with the facade: {our_error}", our_error
    arguments = source.with_suffix(".args")
    words = shlex.split(arguments.read_text()) if arguments.exists() else []
    steps = f"start it {shlex.join(words)}\n"
    text = source.with_suffix(".in")
    if text.exists():
        steps += f"feed it {text.name}\n"
    play = stage.Play(steps + "finish it\n", limit_s=stage.LIMIT_S, files=(text,) if text.exists() else ())
    expected, failed = stage.perform(play, {"it": theirs}, "")
    if failed is not None:
        return f"with Asio: {failed}", None
    return {backend: stage.difference(expected, *stage.perform(play, {"it": ours}, backend))
            for backend in libraries.BACKENDS}, None
