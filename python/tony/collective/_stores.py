"""Key-value stores in which ranks that are not connected yet publish their addresses."""

import datetime
import http.client
import time
import urllib.parse

# Seconds between two polls for a missing value: the first and the longest.
_FIRST_PAUSE, _LAST_PAUSE = 0.001, 0.05
# The longest time, in seconds, for which a server may be unreachable.
_PUT_PATIENCE = 10.0
_REQUEST_TIMEOUT = 30.0


class StoreError(Exception):
    """A store refuses a request, or cannot be reached; the text says which and why."""


class StoreTimeout(StoreError):
    """Nobody has put the value in time."""


class _SilentServer(StoreError):
    """The server does not answer."""


class HttpStore:
    """One scope of a key-value store of Horovod's launchers or tony-driver.

    ``GET /scope/key`` returns 404 while nobody has put the value, or the server holds its answer until somebody does.
    """

    def __init__(self, address, port, scope, timeout):
        """``timeout``: for a put(), in seconds."""
        self._address, self._port, self._scope = address, port, scope
        self._patience = min(timeout, _PUT_PATIENCE)

    def put(self, key, value):
        """StoreError: the server refuses, or cannot be reached."""
        self._request("PUT", key, value, time.monotonic() + self._patience, {200})

    def get(self, key, timeout):
        """The value as bytes. StoreTimeout: nobody has put it within ``timeout`` seconds."""
        deadline, pause, answered = time.monotonic() + timeout, _FIRST_PAUSE, None
        while True:
            try:
                status, value = self._request("GET", key, None, deadline, {200, 404})
            except _SilentServer as error:
                # The server answered a moment ago and is only slow at the deadline: the value is missing, not the
                # server.
                if answered is None or time.monotonic() - answered > self._patience:
                    raise
                raise StoreTimeout(f"nobody has put it within {timeout:g} s") from error
            if status == 200:
                return value
            answered = time.monotonic()
            left = deadline - answered
            if left <= 0:
                raise StoreTimeout(f"nobody has put it within {timeout:g} s")
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LAST_PAUSE)

    def ask(self, key, deadline):
        """The value as bytes; the server holds its answer until the value is there.

        StoreTimeout: it is not there before ``deadline``. StoreError: the server refuses, or cannot be reached for a
        while.
        """
        pause, failing_since = _FIRST_PAUSE, None
        while True:
            asked = time.monotonic()
            try:
                status, answer = self._exchange("GET", key, None, max(deadline - asked, 0.01))
            except (OSError, http.client.HTTPException) as error:
                now = time.monotonic()
                if now >= deadline:
                    raise StoreTimeout("the server has not answered in time") from error
                if failing_since is None or now - asked > self._patience:
                    failing_since = now  # until now the server has been reachable
                if now - failing_since > self._patience:
                    raise self._silent(error) from error
                time.sleep(pause)
                pause = min(2 * pause, _LAST_PAUSE)
                continue
            if status == 200:
                return answer
            raise self._refusal(status, "GET", key, answer)

    def _request(self, method, key, body, deadline, expected):
        """(status, body). Failures below HTTP are tried again until ``deadline``."""
        pause = _FIRST_PAUSE
        while True:
            left = deadline - time.monotonic()
            try:
                status, answer = self._exchange(method, key, body, min(max(left, 0.01), _REQUEST_TIMEOUT))
                break
            except (OSError, http.client.HTTPException) as error:
                if left <= pause:
                    raise self._silent(error) from error
                time.sleep(pause)
                pause = min(2 * pause, _LAST_PAUSE)
        if status in expected:
            return status, answer
        raise self._refusal(status, method, key, answer)

    def _silent(self, error):
        return _SilentServer(f"the rendezvous server at {self._address}:{self._port} does not answer: {error}")

    def _refusal(self, status, method, key, answer):
        return StoreError(f"the rendezvous server at {self._address}:{self._port} answers {status} to {method} of "
                          f"{key}: {answer[:200].decode('utf-8', 'replace').strip()}")

    def _exchange(self, method, key, body, timeout):
        connection = http.client.HTTPConnection(self._address, self._port, timeout=timeout)
        try:
            # A path has two parts, so slashes in keys are encoded.
            path = f"/{urllib.parse.quote(self._scope, safe='')}/{urllib.parse.quote(key.replace('/', '.'), safe=':')}"
            connection.request(method, path, body=body, headers={} if body is not None else {"Content-Length": "0"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


class TorchStore:
    """A store of torch.distributed."""

    def __init__(self, store, scope):
        import torch.distributed as dist  # only for programs of torchrun
        self._store = dist.PrefixStore(scope, store)

    def put(self, key, value):
        """StoreError: the server cannot be reached."""
        try:
            self._store.set(key, value)
        except RuntimeError as error:
            raise StoreError(f"torch.distributed's store refuses: {error}") from error

    def get(self, key, timeout):
        """The value as bytes. StoreTimeout: nobody has put it within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        try:
            self._store.wait([key], datetime.timedelta(seconds=max(timeout, 0.01)))
            return self._store.get(key)
        except RuntimeError as error:
            if time.monotonic() >= deadline:
                raise StoreTimeout(f"nobody has put it within {timeout:g} s") from error
            raise StoreError(f"torch.distributed's store does not answer: {error}") from error
