"""Actions in a child process, which has prepared itself."""

import os
import resource
import signal


def in_child(action, prepare):
    """What an action answers, in a child that has prepared itself."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            prepare()
            answer = action()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, str(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        answer = stream.read().decode()
    os.waitpid(child, 0)
    return answer


def full(size):
    """No file can be larger than this from now on."""

    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return prepare
