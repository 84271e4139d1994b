"""Requests to the API over a persistent connection, and the tokens for these requests."""

from __future__ import annotations

import json
import os
import time
from typing import IO, TYPE_CHECKING, Any, Dict, Iterable, Optional, Tuple, Union
from urllib.parse import urlsplit

from ._embed import DEFAULT_URL, find

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

GZIP_FROM = 4096
"""Minimum size of the body of a bulk request to be compressed."""
TIMEOUT = 30.0
"""Seconds without a byte from the server after which a request fails. TRACKER_TIMEOUT overrides it."""
REFRESH_BEFORE = 3600.0
"""Seconds before its expiry at which a token is renewed. A short-lived token is renewed in the last quarter of its life."""
API_HEADER = "Tracker-Api"
"""A header of the dashboard's responses: the path of the API on the dashboard's port."""
ENDED = "ITERATION_ENDED"
"""The API's error code for a write to an iteration that has ended."""


class TrackerError(Exception):
    """A request failed. The message is the reason."""


class Unreachable(TrackerError):
    """The server did not respond, or asked the client to try again later."""

    after = 0.0  # seconds that the server asked the client to wait
    status = 0  # HTTP status; 0 if there was no response
    begun = False  # whether the connection broke after the body was sent


class Refused(TrackerError):
    """The server rejected a request. status is the HTTP status; code, message and field come from the API."""

    def __init__(self, status: int, code: str, message: str, field: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field = status, code, message, field


for _error in (TrackerError, Unreachable, Refused):
    _error.__module__ = "tracker"  # programs import the exceptions from this module


def credentials_path() -> str:
    """Return the path of the token file: TRACKER_CREDENTIALS, or a file in the account's configuration folder."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.environ.get("TRACKER_CREDENTIALS") or os.path.join(home, "tracker", "credentials.json")


def read_credentials() -> Dict[str, str]:
    """Return the stored tokens by server address."""
    try:
        with open(credentials_path(), encoding="utf-8") as file:
            found = json.load(file)
        return {str(url): str(token) for url, token in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def write_credentials(url: str, token: str) -> None:
    """Store the token for url in a file that only its owner can read."""
    path = credentials_path()
    os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
    known = read_credentials()
    known[url] = token
    temporary = f"{path}.{os.getpid()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(known, file)
    os.replace(temporary, path)


def claims(token: str) -> Dict[str, Any]:
    """Return the claims of a token. Return {} if they cannot be read."""
    from base64 import urlsafe_b64decode

    try:
        part = token.split(".")[1]
        found = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def service_url(url: Optional[str] = None, start: Optional[bool] = None, quiet: Optional[bool] = None) -> str:
    """Return only the address that find_service returns."""
    return find_service(url, start, quiet)[0]


def find_service(url: Optional[str] = None, start: Optional[bool] = None, quiet: Optional[bool] = None) -> Tuple[str, str]:
    """Return the address of the API, and the reason why nothing responds there, or "" if no reason is known.

    The address is url, TRACKER_URL, or a server on this machine. start allows find to start that server. Raises
    ValueError if the address is invalid.
    """
    given, fault = url or os.environ.get("TRACKER_URL") or "", ""
    if not given:
        given, fault = find(bool(os.environ.get("TRACKER_TOKEN")) or DEFAULT_URL in read_credentials(), start, quiet)
    url = given.strip()
    url = url if "://" in url else "http://" + url
    try:
        split = urlsplit(url)
        good = split.scheme in ("http", "https") and bool(split.hostname) and split.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"{given!r} is not the address of a server; write it like {DEFAULT_URL}")
    return url.rstrip("/"), fault


_paths: Dict[str, str] = {}
"""The paths of the API at addresses that are addresses of a dashboard."""


class Client:
    """A connection to one server. It must be used by one thread only."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, url_of_file: bool = False) -> None:
        """url_of_file: whether url was read from a file. If so, TRACKER_TOKEN is sent only if url is the configured
        address."""
        self.url = service_url(url)
        split = urlsplit(self.url)
        self._host, self._port = split.hostname or "127.0.0.1", split.port
        self._https, self._base = split.scheme == "https", _paths.get(self.url, split.path)
        known = not url_of_file or self.url == service_url(start=False)
        self.given = (token or (known and os.environ.get("TRACKER_TOKEN")) or "").strip()
        if not (self.given.isascii() and self.given.isprintable()) or " " in self.given:
            raise ValueError("the token contains spaces or other invalid characters; copy it again")
        self.token = self.given or read_credentials().get(self.url, "")
        try:
            self.timeout = float(os.environ.get("TRACKER_TIMEOUT") or TIMEOUT)
        except ValueError:
            self.timeout = TIMEOUT
        self.follow = True  # whether to use the API below the address if the address is the dashboard's
        self._connection: Optional[HTTPConnection] = None

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def call(self, method: str, path: str, body: Any = None, key: str = "") -> Any:
        """Request path and return the JSON of the response. Raises Unreachable and Refused.

        body is encoded as JSON. If body is of type bytes, it is already JSON.
        """
        headers = {"Accept": "application/json"}
        data: Optional[bytes] = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
            if path.endswith("/bulk") and len(data) >= GZIP_FROM:
                import gzip

                data = gzip.compress(data, 1)
                headers["Content-Encoding"] = "gzip"
        if key:
            headers["Idempotency-Key"] = key
        status, answer, _ = self.send(method, path, data, headers)
        return answer

    def send(self, method: str, path: str, data: Union[None, bytes, Iterable[bytes]],
             headers: Dict[str, str]) -> Tuple[int, Any, Dict[str, str]]:
        """Make a request with the token. If the token has expired and a newer one is stored, repeat the request with it."""
        self._refresh()
        try:
            return self._exchange(method, path, data, headers)
        except Refused as refused:
            fresh = "" if self.given else read_credentials().get(self.url, "")
            if refused.status != 401 or not fresh or fresh == self.token or not isinstance(data, (bytes, type(None))):
                raise
            self.token = fresh  # the user has signed in again
        return self._exchange(method, path, data, headers)

    def open(self, path: str, headers: Optional[Dict[str, str]] = None) -> HTTPResponse:
        """Request path and return the response. The caller reads the body as a stream."""
        self._refresh()
        return self._request("GET", path, None, headers or {})

    def _exchange(self, method: str, path: str, data: Union[None, bytes, Iterable[bytes]],
                  headers: Dict[str, str]) -> Tuple[int, Any, Dict[str, str]]:
        from http.client import HTTPException

        response = self._request(method, path, data, headers)
        try:
            raw = response.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise Unreachable(f"{self.url} interrupted its response: {error}") from error
        if response.will_close:
            self.close()
        try:
            return response.status, json.loads(raw) if raw else None, dict(response.getheaders())
        except ValueError:
            raise self._stranger(response) from None

    def _request(self, method: str, path: str, data: Union[None, bytes, Iterable[bytes]],
                 headers: Dict[str, str]) -> HTTPResponse:
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        headers = dict(headers)
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        fresh, begun = self._connection is None, False
        if self._connection is None:
            kind = HTTPSConnection if self._https else HTTPConnection
            self._connection = kind(self._host, self._port, timeout=self.timeout)
        try:
            try:
                self._connection.request(method, self._base + path, data, headers)
            except ConnectionError:
                if self._connection.sock is None:
                    raise
                # A server that rejects an upload might not read the whole body. Its response can still be read.
            begun = True
            response = self._connection.getresponse()
        except TrackerError:
            self.close()  # the iterator data failed in the middle of the body
            raise
        except (OSError, HTTPException) as error:
            self.close()
            if not fresh and isinstance(data, (bytes, type(None))) and not isinstance(error, TimeoutError):
                return self._request(method, path, data, headers)  # the server had closed the idle connection
            unreachable = Unreachable(f"{self.url} does not answer: {_reason(error)}")
            unreachable.begun = begun and not isinstance(error, TimeoutError)
            raise unreachable from error
        api = response.headers.get(API_HEADER) or ""
        if api.startswith("/") and self.follow and api != self._base:  # the address is the dashboard's
            self.close()
            self.follow = False
            _paths[self.url] = self._base = api
            if not isinstance(data, (bytes, type(None))):
                raise Unreachable(f"{self.url} is the address of the dashboard; the next attempt uses the API below it")
            return self._request(method, path, data, headers)
        if response.status >= 300:
            self._fail(response)
        return response

    def _fail(self, response: HTTPResponse) -> None:
        from http.client import HTTPException

        status = response.status
        try:
            raw = response.read()
        except (OSError, HTTPException):
            raw = b""
        if response.will_close:
            self.close()
        code, message, field = "", f"{self.url} answered {status}.", ""
        try:
            answer = json.loads(raw)
            code, message, field = answer["code"], answer["message"], answer.get("field") or ""
        except (ValueError, KeyError, TypeError, AttributeError):
            if status < 500 and status not in (401, 403, 408, 413, 425, 429):  # proxies also use these statuses
                raise self._stranger(response) from None
        if status >= 500 or status in (408, 425, 429) or status < 400:
            unreachable = Unreachable(message)
            unreachable.status = status
            try:
                unreachable.after = float(response.headers.get("Retry-After") or 0)
            except ValueError:
                pass
            raise unreachable
        if status == 401 and code != "INVALID_CREDENTIALS":
            if code == "TOKEN_MISSING":
                message = f"{self.url} requires a sign-in."
            message = message.rstrip(".") + ("; set another TRACKER_TOKEN" if self.given else
                                             f": python -m tracker login --url {self.url}")
        raise Refused(status, code, message, field)

    def _stranger(self, response: HTTPResponse) -> Unreachable:
        """Return the error for a response that is not from the API but from a proxy, the dashboard or another service."""
        to = response.headers.get("Location") if 300 <= response.status < 400 else None
        what = f"a redirect to {to}" if to else (response.headers.get("Content-Type") or "nothing").partition(";")[0]
        stranger = Unreachable(f"{self.url} is not the address of the API: it answered {response.status} with {what}. The "
                               "dashboard has its own port; a proxy may require a path or a sign-in.")
        stranger.status = response.status
        return stranger

    def _refresh(self) -> None:
        """Request a new token shortly before the current one expires."""
        said = claims(self.token) if self.token else {}
        end, begin, now = said.get("exp"), said.get("iat"), time.time()
        if not isinstance(end, (int, float)) or not isinstance(begin, (int, float)):
            return
        if not 0 < end - now < min(REFRESH_BEFORE, (end - begin) / 4):
            return
        try:
            answer = self._exchange("POST", "/auth/refresh", None, {})[1]
            token = str(answer["access_token"])
        except (TrackerError, KeyError, TypeError):
            return  # the current token is still valid; the next request tries to renew it again
        if not self.given:
            try:
                write_credentials(self.url, token)
            except OSError:
                pass  # only this process has the new token
        self.token = token


def _reason(error: BaseException) -> str:
    """Return the reason why a connection failed, without error numbers."""
    reason = str(getattr(error, "reason", None) or "")
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "the server does not use https; write http://"
    if reason == "CERTIFICATE_VERIFY_FAILED":
        return f"its certificate is not trusted: {getattr(error, 'verify_message', '')}; set SSL_CERT_FILE to trust it"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def download(client: Client, path: str, file: IO[bytes], tell: Any = None) -> str:
    """Write the bytes at path to file, and return their SHA-256. tell is called with the number of bytes received and the
    total."""
    import hashlib
    from http.client import HTTPException

    response = client.open(path)
    total, done, digest = int(response.headers.get("Content-Length") or 0), 0, hashlib.sha256()
    while True:
        try:
            piece = response.read(1 << 20)
        except (OSError, HTTPException) as error:
            client.close()
            raise Unreachable(f"the download was interrupted: {error}") from error
        if not piece:
            break
        digest.update(piece)
        file.write(piece)
        done += len(piece)
        if tell is not None:
            tell(done, total)
    if done < total:
        client.close()
        raise Unreachable(f"the download was interrupted after {done} of {total} bytes")
    return digest.hexdigest()
