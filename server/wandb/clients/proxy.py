"""A proxy between client and server that loses responses or replaces them with errors."""

import http.client
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit


class Proxy(socketserver.ThreadingMixIn, HTTPServer):
    """Forwards requests to a server.

    Every nth request, not counting telemetry, has a fault. If fault is a number, the proxy sends this status and does
    not forward the request. If fault is "lost", the proxy forwards the request and closes the connection without a
    response. None means no fault. n and fault can be changed at any time. The function before is called with the path and
    the body of each request before the request is forwarded, and can delay it.
    """

    daemon_threads = True

    def __init__(self, uri, fault=None, every=3, port=0, before=None):
        self.before = before
        self.target, self.fault, self.every, self.count, self.lock = urlsplit(uri).netloc, fault, every, 0, threading.Lock()
        self.closed = False
        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, args=[0.05], daemon=True).start()

    @property
    def uri(self):
        return "http://127.0.0.1:%d" % self.server_address[1]

    def close(self):
        """Reject new connections and send no more responses on open ones."""
        self.closed = True
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.before is not None:
            self.server.before(self.path, body)
        fault = self.server.fault
        with self.server.lock:
            if fault is not None and "otel" not in self.path:
                self.server.count += 1
                if self.server.count % self.server.every:
                    fault = None
            else:
                fault = None
        if self.server.closed:
            return self.drop()
        if isinstance(fault, int):
            return self.answer(fault, b"", {})
        connection = http.client.HTTPConnection(self.server.target)
        # The Host header still names the proxy, so that uploads also go through the proxy.
        connection.request(self.command, self.path, body, {k: v for k, v in self.headers.items() if k.lower() != "connection"})
        answer = connection.getresponse()
        data = answer.read()
        if fault == "lost":
            return self.drop()
        self.answer(answer.status, data, dict(answer.getheaders()))

    def drop(self):
        self.close_connection = True
        self.connection.close()

    def answer(self, status, data, headers):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = pass_on
