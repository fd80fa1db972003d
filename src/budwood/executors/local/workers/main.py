"""The worker: calls functions, one after the other, in whatever interpreter they need.

One file on its own, whatever its length: it runs on Python 3.8 and later with the standard library alone, because the
interpreter that a project names need not have budwood. Knows the line to the driver, its own process and what the last
call did to it. Must not import from the package, and must not know runs, stores or limits: those are the driver's and
the supervisor's.

One line of JSON comes in for each call, one goes out (`wire.py` has their fields). Whatever a function does, its call
is answered, or the process ends and its supervisor tells how. After a short call that simply succeeded the worker takes
the next from the bag that it shares with other workers, and says so with the answer.
"""

from __future__ import annotations

import errno
import faulthandler
import json
import os
import resource
import signal
import socket
import stat
import sys
import time
import traceback
import types
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO, TypeGuard

_libc: Any = None
if sys.platform == "linux":
    with suppress(ImportError):  # an interpreter may be built without it
        import ctypes

        _libc = ctypes.CDLL(None)

RESULT_BYTES = 4 * 1024 * 1024
RESULT_LEVELS = 100
_CHUNK, _LARGE_CHUNK = 64 * 1024, 4 * 1024 * 1024
"""How much is read at once of a line, and of one that turned out to be long."""
INLINE_BYTES = 64 * 1024
_USAGE_BYTES = 64 * 1024
_MESSAGE_CHARS = 4000
_TRACEBACK_CHARS = 20_000
_PLACE_CHARS = 200
_SHORT_S = 0.001
"""A call that took less is not measured any further: it can have used no more processor time than that."""
_BRISK_S = 0.01
"""After a call that took longer the driver is asked what comes next: it shows and writes such calls at once."""
_LOOK_EVERY_CALLS, _LOOK_EVERY_S = 100, 0.05
_ONE_FD = socket.CMSG_SPACE(4)
_SUBREAPER = 36
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024

_TOO_DEEP = f"its result is nested more than {RESULT_LEVELS} levels deep"

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode


class Failure(Exception):
    """A call that has no result: of which kind, and what to say."""

    def __init__(self, kind: str, message: str, trace: str = "") -> None:
        super().__init__(kind)
        self.kind, self.message, self.trace = kind, message, trace


# --- what goes wrong, in words ---


def explain(error: BaseException, *, kind: str = "exception") -> Failure:
    """Say what a function raised, as a script would have, without the frames that are the worker's own."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except Exception:  # an exception may be of any class, and its methods may do anything
        text = type(error).__name__ + "\n"
    if is_full(error):
        kind = "disk_full"
    return Failure(kind, _shortened(_message(error), _MESSAGE_CHARS), _shortened(text, _TRACEBACK_CHARS))


def is_full(error: BaseException) -> TypeGuard[OSError]:
    """Say whether the machine is to blame, not the function."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _is_ours(path: str) -> bool:
    loop = sys.modules.get("asyncio")
    return path == main.__code__.co_filename or (
        loop is not None and os.path.dirname(path) == os.path.dirname(str(loop.__file__))
    )


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it called sys.exit({_shown(error.code)}); a function returns"
    try:
        text = str(error)
    except BaseException:
        text = "<exception str() failed>"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _shown(value: object) -> str:
    try:
        return repr(value)
    except BaseException:
        return "a value of type " + type(value).__name__


def _shortened(text: str, chars: int) -> str:
    if len(text) > chars:
        head, tail = text[: chars // 2], text[-chars // 2 :]
        text = f"{head}\n[budwood: {len(text) - chars} characters dropped here]\n{tail}"
    return text.encode("utf-8", "backslashreplace").decode()


def find_flaw(value: object, place: str, above: tuple[int, ...] = ()) -> str | None:
    """Name the first thing in a result that JSON has no form for, and where it is."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return _plain_flaw(value, place)
    if isinstance(value, (list, tuple)):
        parts = [(item, f"{place}[{number}]") for number, item in enumerate(value)]
    elif isinstance(value, dict):
        for key in value:
            if not (key is None or isinstance(key, (bool, int, float, str))):
                return f"a key of type {_type_name(key)} cannot be stored as JSON: in {_cut(place)}"
        parts = [(item, f"{place}[{_cut(_shown(key))}]") for key, item in value.items()]
        parts += [(key, f"a key of {place}") for key in value]
    else:
        what = "a lambda (function)" if _is_lambda(value) else f"a value of type {_type_name(value)}"
        return f"{what} cannot be stored as JSON: at {_cut(place)}"
    if id(value) in above:
        return f"what contains itself cannot be stored as JSON: at {_cut(place)}"
    found = (find_flaw(item, where, (*above, id(value))) for item, where in parts)
    return next((flaw for flaw in found if flaw is not None), None)


def _plain_flaw(value: object, place: str) -> str | None:
    try:
        _encode(value).encode()
    except UnicodeEncodeError:
        return f"text with half of a surrogate pair cannot be stored as JSON: at {_cut(place)}"
    except ValueError:  # nan, infinity, a number with thousands of digits
        words = "a whole number with thousands of digits" if isinstance(value, int) else _shown(value)
        return f"{words} cannot be stored as JSON: at {_cut(place)}"
    return None


def _is_lambda(value: object) -> bool:
    return isinstance(value, types.FunctionType) and value.__name__ == "<lambda>"


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _cut(text: str) -> str:
    return text if len(text) <= _PLACE_CHARS else f"{text[:_PLACE_CHARS]}…"


# --- one call ---


def find_function(name: str) -> Callable[..., Any]:
    """Import `module:name`; whatever goes wrong is an `import` failure."""
    module, _, path = name.partition(":")
    try:
        __import__(module)  # unlike importlib's, its own frames do not show in tracebacks
        found: Any = sys.modules[module]
        for part in path.split("."):
            found = getattr(found, part)
        if not callable(found):
            found = found.__wrapped__ if hasattr(found, "__wrapped__") else found
        if not callable(found):
            raise TypeError(f"{name} cannot be called: it is a value of type {_type_name(found)}")
    except BaseException as error:  # a module may raise anything while it is imported
        raise explain(error, kind="import") from None
    return found  # type: ignore[no-any-return]  # that it can be called was seen; what it takes nobody knows


def finish(value: Any) -> Any:
    """Wait for what an asynchronous function gave back."""
    import asyncio

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def encode_result(value: object) -> bytes:
    """Write a result as JSON; what cannot be written, or is too large to be kept, is a `result` failure."""
    try:
        encoded = _encode(value).encode()
        clash = _clash(value)
        is_small = len(encoded) <= RESULT_BYTES
        # Most results have too few brackets to be nested so deeply, and counting those costs next to nothing.
        may_be_deep = is_small and encoded.count(b"[") + encoded.count(b"{") > RESULT_LEVELS
        is_deep = may_be_deep and _is_deep(value)
    except BaseException as error:  # the methods of a subclass of dict may raise anything
        raise Failure("result", _unstorable(value, error)) from None
    if clash is not None:
        raise Failure("result", f"two keys of its result are {clash!r} as JSON, and one of them would be lost")
    if not is_small:
        size = f"{len(encoded) / 1e6:.1f} MB of JSON"
        raise Failure("result", f"its result is {size}; the limit is 4 MiB: write it to a file and return its path")
    if is_deep:
        raise Failure("result", _TOO_DEEP)
    return encoded


def _clash(value: object) -> str | None:
    """Find a key that is in a dict twice when it is text: JSON has no others."""
    waiting = [value] if isinstance(value, (dict, list, tuple)) else []
    while waiting:
        each: Any = waiting.pop()
        if isinstance(each, dict):
            seen: set[str] = set()
            for key in each if any(type(key) is not str for key in each) else ():
                text = key if isinstance(key, str) else _encode(key)
                if text in seen:
                    return text
                seen.add(text)
            each = each.values()
        waiting += [item for item in each if isinstance(item, (dict, list, tuple))]
    return None


def _is_deep(value: object) -> bool:
    level: list[Any] = [value]
    for _ in range(RESULT_LEVELS):
        items = (item for each in level for item in (each.values() if isinstance(each, dict) else each))
        level = [item for item in items if isinstance(item, (list, tuple, dict))]
        if not level:
            return False
    return True


def _unstorable(value: object, error: BaseException) -> str:
    try:
        flaw = find_flaw(value, "result")
    except RecursionError:
        flaw = _TOO_DEEP
    except BaseException as odd:
        error, flaw = odd, None
    return _shortened(flaw or f"its result cannot be stored as JSON: {_message(error)}", _MESSAGE_CHARS)


# --- what calls print ---


class Output:
    """The file that both outputs lead to; what is in it after a call is that call's."""

    def __init__(self, directory: str, *, head_bytes: int, tail_bytes: int) -> None:
        self._directory = directory
        self._head_bytes, self._tail_bytes = head_bytes, tail_bytes
        self._path = os.path.join(directory, "call.log")
        self._make()
        self._styles = [(stream.encoding, stream.errors) for stream in (sys.stdout, sys.stderr)]
        self._streams = [_open_stream(fd, style) for fd, style in enumerate(self._styles, 1)]
        self.restore()

    def _make(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self._path + ".new", flags, 0o600)
        os.rename(self._path + ".new", self._path)

    def restore(self) -> None:
        """Lead both outputs here again, whatever a function did to them."""
        os.dup2(self._fd, 1)
        os.dup2(self._fd, 2)
        sys.stdout, sys.stderr = self._streams  # what a function put in their place may close them as it goes
        for number, stream in enumerate(self._streams):
            if _is_closed(stream):
                self._streams[number] = _open_stream(number + 1, self._styles[number])
                sys.stdout, sys.stderr = self._streams

    def flush(self) -> OSError | None:
        """Write what waits in buffers; return why that failed, if the disk is to blame."""
        failed: OSError | None = None
        for stream in (*self._streams, sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception as error:  # of a closed stream, or of whatever a function put in its place
                if is_full(error):
                    failed = error
        return failed

    def write(self, text: str) -> None:
        """Add to what the call printed."""
        with suppress(OSError):  # of a full disk: the text travels with the answer as well
            os.write(self._fd, text.encode("utf-8", "backslashreplace"))

    def size(self) -> int:
        """Return how much the call printed."""
        return os.lseek(self._fd, 0, os.SEEK_END)

    def take(self, size: int, call: str) -> dict[str, object]:
        """Hand out what the call printed, in words or, where it is much or no text, in a file; begin anew."""
        kept = self._read(size)
        told: dict[str, object] = {"output_bytes": size, "dropped_bytes": max(0, size - self._most())}
        try:
            text = kept.decode() if len(kept) <= INLINE_BYTES else None
        except UnicodeDecodeError:
            text = None
        if text is None:
            self._file(kept, call)
        told["log"] = text
        return told

    def _most(self) -> int:
        return self._head_bytes + self._tail_bytes

    def _read(self, size: int) -> bytes:
        if size <= self._most():
            kept = _read_at(self._fd, size, 0)
            os.ftruncate(self._fd, 0)
            return kept
        head = _read_at(self._fd, self._head_bytes, 0)
        tail = _read_at(self._fd, self._tail_bytes, size - self._tail_bytes)
        # The supervisor may be giving back the middle of this file just now: it is not used again.
        full = self._fd
        self._make()
        os.close(full)
        end = b"\n" if head and not head.endswith(b"\n") else b""
        return head + end + b"[budwood: %d bytes dropped here]\n" % (size - self._most()) + tail

    def _file(self, kept: bytes, call: str) -> None:
        folder = os.path.join(os.path.dirname(self._directory), call)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "log")
        with open(path + ".new", "wb") as file:
            file.write(kept)
        os.rename(path + ".new", path)  # while the call ran, there was a link to our own file


def _open_stream(fd: int, style: tuple[str, str | None]) -> TextIO:
    """Make a stream as the interpreter would, but by lines: a process that dies has then told all but its last."""
    return open(fd, "w", 1, encoding=style[0], errors=style[1], closefd=False)


def _is_closed(stream: TextIO) -> bool:
    try:
        return bool(stream.closed)
    except ValueError:  # a function took its buffer away
        return True


def _read_at(fd: int, size: int, offset: int) -> bytes:
    parts = []
    while size > 0:
        part = os.pread(fd, size, offset)
        if not part:
            break
        parts.append(part)
        size, offset = size - len(part), offset + len(part)
    return b"".join(parts)


# --- what a call may have done to the process ---


class Variables:
    """The environment: each call's own variables on top of those that the process began with."""

    def __init__(self) -> None:
        self._environ = os.environ
        self._data: Any = getattr(os.environ, "_data", os.environ)
        self._own: dict[str, str] = {}
        self._rooms: dict[str, Any] = {}

    def enter(self, own: dict[str, str]) -> None:
        """Set what is the call's own."""
        for name in self._own.keys() - own.keys():
            del self._environ[name]
            self._rooms.pop(name, None)
        for name, value in own.items():
            self._set(name, value)
        self._own, self._before = own, dict(self._data)

    def _set(self, name: str, value: str) -> None:
        if _libc is None or self._data is self._environ:
            self._environ[name] = value
            return
        # Always in the same room: `setenv` keeps every value that a variable ever had, and there is one for each call.
        encoded = os.fsencode(value)
        text = os.fsencode(name) + b"=" + encoded
        room = self._rooms.get(name)
        if room is None or len(room) <= len(text):
            room = ctypes.create_string_buffer(text, 2 * len(text) + 64)
        else:
            room.value = text
        _libc.putenv(room)
        self._rooms[name] = room
        self._data[os.fsencode(name)] = encoded

    def restore(self) -> None:
        """Undo what the call did to them."""
        os.environ = self._environ  # noqa: B003 - the very object, which a function may have replaced
        if self._data == self._before:
            return
        for key in [key for key in self._data if key not in self._before]:
            del self._environ[os.fsdecode(key)]
        for key, value in self._before.items():
            if self._data.get(key) != value:
                self._environ[os.fsdecode(key)] = os.fsdecode(value)


class Home:
    """What is put back after each call: environment, directory, mode of new files, mask of signals."""

    def __init__(self) -> None:
        self._cwd = os.getcwd()
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._variables = Variables()
        self.enter = self._variables.enter

    def restore(self) -> None:
        """Put everything back."""
        self._variables.restore()
        try:
            moved = os.getcwd() != self._cwd
        except OSError:
            moved = True
        if moved:
            os.chdir(self._cwd)
        os.umask(self._umask)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def left_processes() -> bool:
    """Say whether children live that a call left; those that have ended are reaped."""
    while True:
        try:
            if not hasattr(os, "waitid"):
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    return True
                continue
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return True
            os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            return False


def adopt_orphans() -> None:
    """Become the parent of what a function's children leave, so that it is seen; only Linux can."""
    if _libc is not None:  # else the supervisor ends what is left, later
        _libc.prctl(_SUBREAPER, 1, 0, 0, 0)


def leave_child(error: BaseException | None) -> None:
    """End a forked copy of the worker that came back from the function: it must say nothing to the driver."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # of whatever the function put there
            stream.flush()
    if error is None:
        os._exit(0)
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        os._exit((error.code or 0) & 0xFF)
    os.write(2, explain(error).trace.encode())
    os._exit(1)


# --- the worker ---


class Worker:
    """Serves one driver until it hangs up."""

    def __init__(self, line: socket.socket, output: Output, *, directory: str, most_bytes: int) -> None:
        self._line = line
        self._bag: socket.socket | None = None
        self._most_bytes = most_bytes
        self._output = output
        self._directory = directory
        self._pid = os.getpid()
        self._home = Home()
        self._functions: dict[str, Callable[..., Any]] = {}
        self._calls = 0
        self._looked_at = 0.0
        self._children_s = 0.0
        self._peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT

    def serve(self) -> None:
        """Answer call after call."""
        parts: list[bytes] = []
        while True:
            chunk = self._hear(_LARGE_CHUNK if parts else _CHUNK)
            if not chunk:
                return
            part, end, rest = chunk.partition(b"\n")
            parts.append(part)
            while end:
                call = _decode(b"".join(parts).decode())[0]
                while call is not None:
                    call = self._serve_one(call)
                part, end, rest = rest.partition(b"\n")
                parts = [part] if part else []

    def _hear(self, most: int) -> bytes:
        while True:
            try:
                data, extra, _, _ = self._line.recvmsg(most, _ONE_FD)
            except KeyboardInterrupt:
                continue  # nobody is called: it is nobody's
            if extra:
                self._take_bag(extra)
            return data

    def _take_bag(self, extra: list[Any]) -> None:
        """Share the bag that came with a call."""
        if self._bag is not None:
            with suppress(OSError):  # a function may have closed it
                self._bag.close()
        fd = int.from_bytes(extra[0][2][:4], sys.byteorder)
        os.set_inheritable(fd, False)
        self._bag = socket.socket(fileno=fd)

    def _serve_one(self, call: dict[str, Any]) -> dict[str, Any] | None:
        """Answer one call; return the next, if it is for us to say that there is one."""
        # Its name tells whose it is: where this process is killed, the driver after this one books it.
        usage = call["env"]["BUDWOOD_USAGE"] = f"{self._directory}/usage.{call['id']}.json"
        self._home.enter(call["env"])
        began, cpu = time.perf_counter(), time.process_time()
        failure: Failure | None = None
        result = b"null"
        try:
            result = self._perform(call)
        except Failure as error:
            failure = error
        wall_s = time.perf_counter() - began
        cpu_s = wall_s if wall_s < _SHORT_S else self._measure(cpu)
        more = self._look_around(call["id"], failure, usage=usage)
        head = f'{{"id":"{call["id"]}","wall_s":{wall_s:.6f},"cpu_s":{cpu_s:.6f},"peak_memory_bytes":{self._peak}'
        if more:
            head += "," + json.dumps(more)[1:-1]
        following = None
        if failure is None and call["ahead"] and wall_s < _BRISK_S and self._may_go_on(more):
            following = self._take_next()
            if following is not None:
                head += f',"next":"{following["id"]}"'
        self._line.sendall(b'%s,"result":%s}\n' % (head.encode(), result))
        if "leaves" in more:
            os._exit(0)  # the supervisor ends what is left, and the next call has a worker of its own
        self._output.restore()
        self._home.restore()
        return following

    def _may_go_on(self, more: dict[str, Any]) -> bool:
        """Say whether nothing happened in a call that the driver has to think about."""
        return not ("usage" in more or "leaves" in more or more.get("memory_bytes", 0) > self._most_bytes)

    def _take_next(self) -> dict[str, Any] | None:
        """Take the next call that waits for whoever is free; between this and its announcement nothing may happen."""
        if self._bag is None:
            return None
        try:
            data = self._bag.recv(_CHUNK, socket.MSG_DONTWAIT)
        except OSError:  # there is none, or a function closed it: then we are asked
            return None
        return _decode(data.decode())[0] if data else None

    def _measure(self, cpu_before: float) -> float:
        """Return the processor time of a call, with that of children it waited for; note how large we have been."""
        cpu_s = time.process_time() - cpu_before
        own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        before, self._children_s = self._children_s, children.ru_utime + children.ru_stime
        self._peak = max(own.ru_maxrss, children.ru_maxrss) * _MAXRSS_UNIT
        return cpu_s + self._children_s - before

    def _perform(self, call: dict[str, Any]) -> bytes:
        name = call["function"]
        try:
            function = self._functions.get(name)
            if function is None:
                function = self._functions[name] = find_function(name)
            value = function(*call["args"], **call["kwargs"])
            if hasattr(type(value), "__await__"):
                value = finish(value)
        except BaseException as error:  # whatever it is, it is the call's
            if os.getpid() != self._pid:
                leave_child(error)
            raise error if isinstance(error, Failure) else explain(error) from None
        if os.getpid() != self._pid:
            leave_child(None)
        return encode_result(value)

    def _look_around(self, call: str, failure: Failure | None, *, usage: str) -> dict[str, object]:
        """Collect what there is to tell beside the result: mostly nothing."""
        told = self._look_at_output(call, failure)
        if os.access(usage, os.F_OK):
            told["usage"] = _read_usage(usage)
        if left_processes():
            told["leaves"] = True
        self._calls += 1
        now = time.monotonic()
        if self._calls % _LOOK_EVERY_CALLS == 0 or now - self._looked_at > _LOOK_EVERY_S:
            self._looked_at = now
            told["memory_bytes"] = _resident_bytes()
        return told

    def _look_at_output(self, call: str, failure: Failure | None) -> dict[str, object]:
        told: dict[str, object] = {}
        broken = self._output.flush()
        if failure is not None:
            self._output.write(failure.trace)
        size = self._output.size()
        if size:
            try:
                told.update(self._output.take(size, call))
            except OSError as error:
                broken = error
        if broken is not None:  # what waits in the buffers would come out in a later call: this was the last one
            told["leaves"] = True
            failure = failure or Failure("disk_full", f"what it printed cannot be written: {broken}")
        if failure is not None:
            told["error"] = {"type": failure.kind, "message": failure.message, "traceback": failure.trace}
        return told


def _read_usage(path: str) -> str | None:
    """Read what the call said of its cost; a FIFO, a link or a huge file in its place is no answer.

    The file stays: the driver removes it when the store knows of it.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            data = os.read(fd, _USAGE_BYTES + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None
        finally:
            os.close(fd)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if data is not None and len(data) <= _USAGE_BYTES else None


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


def main() -> None:
    """Connect to the driver and serve it; `argv[1]` says where and what."""
    place: dict[str, Any] = json.loads(sys.argv[1])
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect(place["socket"])
    with suppress(FileNotFoundError):  # the driver removes it, too, if it is quicker or still there
        os.unlink(place["socket"])
    adopt_orphans()
    sys.argv[:] = [""]
    # As for a script of the project. From here on a module of its own may stand before one of the standard library.
    is_first = sys.path[:1] == [os.path.dirname(os.path.realpath(__file__))]
    sys.path[: int(is_first)] = [os.getcwd()]
    # A function's `__main__` is no module of ours, and processes that it spawns do not begin with this script.
    sys.modules["__main__"] = types.ModuleType("__main__")
    output = Output(place["directory"], head_bytes=place["head_bytes"], tail_bytes=place["tail_bytes"])
    faulthandler.enable(2)
    worker = Worker(line, output, directory=place["directory"], most_bytes=place["replaced_above_bytes"])
    line.sendall(json.dumps({"id": place["id"]}).encode() + b"\n")
    try:
        worker.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the driver is gone: nobody waits for an answer
    except OSError as error:
        if error.errno not in (errno.EBADF, errno.ENOTSOCK):
            raise
        os.write(2, b"budwood: the function closed files that belong to its worker\n")
        os._exit(1)


if __name__ == "__main__":
    main()
