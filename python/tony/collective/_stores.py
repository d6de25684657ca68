"""Where ranks that have no connection yet tell each other their addresses: keys and values that all of them see."""

import datetime
import http.client
import time
import urllib.parse

# Between two looks for a value that is not there, in seconds: from the first to the last.
_FIRST_PAUSE, _LAST_PAUSE = 0.001, 0.05
# For a server that is away for a moment, at most, in seconds.
_PUT_PATIENCE = 10.0
_REQUEST_TIMEOUT = 30.0


class StoreError(Exception):
    """A store refuses, or is not there; the text says which and why."""


class StoreTimeout(StoreError):
    """Nobody has put the value in time."""


class _SilentServer(StoreError):
    """It does not answer."""


class HttpStore:
    """One scope of a key-value store as Horovod's launchers have it, and tony-driver.

    ``GET /scope/key`` is 404 while nobody has put the value, or is held back until somebody does.
    """

    def __init__(self, address, port, scope, timeout):
        """``timeout``: in seconds, of a put()."""
        self._address, self._port, self._scope = address, port, scope
        self._patience = min(timeout, _PUT_PATIENCE)

    def put(self, key, value):
        """StoreError: the server refuses, or is not there."""
        self._request("PUT", key, value, time.monotonic() + self._patience, {200})

    def get(self, key, timeout):
        """Bytes. StoreTimeout: nobody has put them within ``timeout`` seconds."""
        deadline, pause, answered = time.monotonic() + timeout, _FIRST_PAUSE, None
        while True:
            try:
                status, value = self._request("GET", key, None, deadline, {200, 404})
            except _SilentServer as error:
                # One that is slow for a moment, when the time is over.
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
        """Bytes, for which the server holds its answer until there are some.

        StoreTimeout: not until ``deadline``. StoreError: the server refuses, or is not there for a while.
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
                    failing_since = now  # it had been there
                if now - failing_since > self._patience:
                    raise self._silent(error) from error
                time.sleep(pause)
                pause = min(2 * pause, _LAST_PAUSE)
                continue
            if status == 200:
                return answer
            raise self._refusal(status, "GET", key, answer)

    def _request(self, method, key, body, deadline, expected):
        """(status, body). What fails below HTTP is tried again until ``deadline``."""
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
            # A path has two parts, so that the keys' slashes become something else.
            path = f"/{urllib.parse.quote(self._scope, safe='')}/{urllib.parse.quote(key.replace('/', '.'), safe=':')}"
            connection.request(method, path, body=body, headers={} if body is not None else {"Content-Length": "0"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


class TorchStore:
    """A store of torch.distributed's."""

    def __init__(self, store, scope):
        import torch.distributed as dist  # only where the program is one of torchrun's
        self._store = dist.PrefixStore(scope, store)

    def put(self, key, value):
        """StoreError: the server is not there."""
        try:
            self._store.set(key, value)
        except RuntimeError as error:
            raise StoreError(f"torch.distributed's store refuses: {error}") from error

    def get(self, key, timeout):
        """Bytes. StoreTimeout: nobody has put them within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        try:
            self._store.wait([key], datetime.timedelta(seconds=max(timeout, 0.01)))
            return self._store.get(key)
        except RuntimeError as error:
            if time.monotonic() >= deadline:
                raise StoreTimeout(f"nobody has put it within {timeout:g} s") from error
            raise StoreError(f"torch.distributed's store does not answer: {error}") from error
