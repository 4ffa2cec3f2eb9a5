"""A small real HTTP server in place of llama-server: it answers at once, or misbehaves as told.

    stand_in_server.py [llama-server's options] [--misbehave HOW]

HOW: ends, never-ready, deaf (ends by force only), crashes, refuses, garbles, hangs, drafts-nothing
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HELP = "--spec-type --spec-draft-n-max --spec-draft-model --spec-draft-threads --cache-ram --offline"


def option(name: str) -> str:
    """The value after an option; "" when it is not given."""
    words = sys.argv[1:]
    return words[words.index(name) + 1] if name in words else ""


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(503 if option("--misbehave") == "never-ready" else 200, {"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        how = option("--misbehave")
        if how == "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        if how == "hangs":
            threading.Event().wait()
        if how == "refuses":
            self._send(400, {"error": {"message": "the request exceeds the context"}})
        elif how == "garbles":
            self._send(200, {"content": "no figures"})
        else:
            self._send(200, answer_to(body))

    def _send(self, status: int, values: dict[str, Any]) -> None:
        data = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
        pass


def answer_to(body: dict[str, Any]) -> dict[str, Any]:
    """So many tokens, a hundred a second after the first."""
    count = body["n_predict"]
    drafts = "draft-simple" in option("--spec-type") and option("--misbehave") != "drafts-nothing"
    return {
        "tokens": list(range(100, 100 + count)),
        "stop_type": "limit",
        "timings": {
            "cache_n": 0,
            "prompt_n": len(body["prompt"]),
            "predicted_n": count,
            "predicted_ms": 10.0 * (count - 1),
            **({"draft_n": 40, "draft_n_accepted": 30} if drafts else {}),
        },
    }


def main() -> None:
    if "--help" in sys.argv:
        print(HELP)
    elif "--version" in sys.argv:
        print("version: 1 (stand-in)", file=sys.stderr)
    elif option("--misbehave") == "ends":
        print("error: the model is no model", flush=True)
        sys.exit(3)
    else:
        if option("--misbehave") == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ThreadingHTTPServer(("127.0.0.1", int(option("--port"))), Answering).serve_forever()


if __name__ == "__main__":
    main()
