"""Loaded by pytest before the official TCK (`-p tck_shim`).

The TCK imports generated gRPC code, which needs a newer protobuf than distributions have. This service has no gRPC
interface, so a mock replaces that code. The receiver of push notifications listens on TCK_WEBHOOK_PORT, because the service
sends to no other private address. Each result is written to the file TCK_RESULTS, one JSON object a line.
"""

import json
import os
import sys
from unittest.mock import MagicMock

for name in ("a2a_pb2", "a2a_pb2_grpc"):
    sys.modules[f"specification.generated.{name}"] = MagicMock()

from tck.webhook import server as webhook  # noqa: E402


class KnownPort(webhook.HTTPServer):
    def __init__(self, address, handler):
        super().__init__((address[0], int(os.environ["TCK_WEBHOOK_PORT"])), handler)


webhook.HTTPServer = KnownPort


def pytest_runtest_logreport(report):
    # A test that is skipped or fails before its call has no call.
    if report.when != "call" and report.outcome == "passed":
        return
    outcome = "failed" if getattr(report, "wasxfail", None) is not None else report.outcome
    with open(os.environ["TCK_RESULTS"], "a", encoding="utf-8") as results:
        result = {"test": report.nodeid, "outcome": outcome, "why": str(report.longrepr)[-400:]}
        results.write(json.dumps(result) + "\n")
