# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through its remote-debugging pipe. `browser.py PAGE.html OUT` makes OUT.png and OUT.pdf."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page of one browser; every event that it sends is kept."""

    def __init__(self, path, width=1400, height=1000, timeout=300):
        self.timeout = timeout
        self.events = []
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_by_browser, self.to = os.pipe()
        self.back, written_by_browser = os.pipe()
        command = [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
                   f"--window-size={width},{height}", f"--user-data-dir={self.profile.name}", "about:blank"]
        def descriptors():  # the browser reads from 3 and writes to 4
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_by_browser, written_by_browser)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(command, preexec_fn=descriptors, pass_fds=(3, 4), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_by_browser)
        os.close(written_by_browser)
        self.buffer = b""
        self.last = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.profile.cleanup()

    def _message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            read = os.read(self.back, 1 << 20)
            if not read:
                raise EOFError("the browser ended")
            self.buffer += read
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def open(self, path):
        """Opens a report and waits until its plots are drawn."""
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        deadline = time.monotonic() + self.timeout
        drawn = "document.readyState === 'complete' && [...document.querySelectorAll('.plot')].every(p => p.dataset.points)"
        while not self.evaluate(drawn):
            if any(event.get("method") == "Runtime.exceptionThrown" for event in self.events):
                raise RuntimeError("\n".join(self.complaints()))
            if time.monotonic() > deadline:
                raise TimeoutError("the plots were not drawn")
            time.sleep(0.1)

    def complaints(self):
        """Errors and warnings of the console, of scripts, and of whatever else the browser logs."""
        said = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                said.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                said.append(" ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                said.append(parameters["entry"]["text"])
        return said

    def requests(self):
        """The addresses that pages asked for, but for what they hold themselves."""
        urls = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("data:", "blob:", "about:"))]

    def screenshot(self, whole=True):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])


if __name__ == "__main__":
    with Browser(find()) as shown:
        shown.open(sys.argv[1])
        size = shown.call("Page.getLayoutMetrics")["cssContentSize"]
        shown.call("Emulation.setDeviceMetricsOverride", width=1400, height=int(size["height"]), deviceScaleFactor=1, mobile=False)
        time.sleep(1)
        Path(sys.argv[2] + ".png").write_bytes(shown.screenshot())
        Path(sys.argv[2] + ".pdf").write_bytes(shown.pdf())
        print("\n".join(shown.complaints() + shown.requests()))
