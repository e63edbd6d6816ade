"""Measures reports and live pages of a built muffle.

    python tools/pages.py paint MUFFLE RUN       first paint of a list of 1,000 copies of a finished run, in Chromium
    python tools/pages.py delay MUFFLE           from a line in a ledger to the change on a watched page
    python tools/pages.py slowdown MUFFLE [N]    a training run with a hundred live pages and without, in turns

Needs `chromium` and `chromedriver` for `paint` only. Prints one JSON object.
"""

import json
import os
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path


class Server:
    """`muffle serve` of a folder."""

    def __init__(self, muffle, folder):
        command = [muffle, "serve", str(folder), "--port", "0", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = json.loads(self.process.stdout.readline())["address"]
        self.host = self.address.removeprefix("http://").rstrip("/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def watch(self, page):
        """A live page, as a socket that has sent its request."""
        name, port = self.host.rsplit(":", 1)
        stream = socket.create_connection((name, int(port)))
        stream.sendall(f"GET /live?page={page} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
        return stream

    def processor_seconds(self):
        user, system = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Browser:
    """Chromium through its driver."""

    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.driver.stdout:
            if "successfully on port" in line:
                self.base = f"http://127.0.0.1:{line.rsplit(' ', 1)[1].strip().rstrip('.')}/session"
                break
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments, "binary": "/usr/bin/chromium"}}
        self.base += "/" + self.post("", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def post(self, path, body):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))["value"]

    def close(self):
        self.driver.kill()
        self.driver.wait()


def paint(muffle, run):
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1000):
            copy = Path(folder, f"run-{number:04}")
            copy.mkdir()
            for name in ("recipe.toml", "ledger.jsonl", "metrics.jsonl", "privacy.json", "lock"):
                shutil.copy(Path(run, name), copy)
        times, answers, cold = [], [], None
        for _ in range(3):
            # A server of its own each time: nothing is in its memory yet.
            with Server(muffle, folder) as server:
                begun = time.perf_counter()
                size = len(urllib.request.urlopen(server.address).read())
                answers.append(time.perf_counter() - begun)
            with Server(muffle, folder) as server:
                browser = Browser()
                browser.post("/url", {"url": server.address})
                script = "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
                times.append(browser.post("/execute/sync", {"script": script, "args": []}))
                browser.close()
    return {"runs": 1000, "bytes": size, "first_answer_s": answers, "first_paint_ms": times}


def delay(muffle):
    """Copies lines into the ledger of a run that nobody works on: the page only looks at the file."""
    with tempfile.TemporaryDirectory() as folder:
        train(muffle, Path(folder, "run"), 20)
        Path(folder, "run", "privacy.json").unlink()
        ledger = Path(folder, "run", "ledger.jsonl")
        line, delays = ledger.read_text().splitlines()[-1], []
        with Server(muffle, folder) as server:
            stream = server.watch("/run/run")
            stream.settimeout(5)
            time.sleep(1)
            stream.recv(1 << 20)
            for number in range(20):
                entry = json.loads(line) | {"to": 1000 + number}
                time.sleep(0.9 + 0.05 * number)
                with ledger.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
                begun = time.perf_counter()
                while b"event: region" not in stream.recv(1 << 20):
                    pass
                delays.append(time.perf_counter() - begun)
    return {"updates": len(delays), "median_s": statistics.median(delays), "largest_s": max(delays)}


def train(muffle, output, steps, wait=True, recipe="mnist"):
    command = [muffle, "train", recipe, "--json", "--seed", "1", "--output", str(output), "--set", f"steps={steps}", "--set", "evaluations=10"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process.communicate()[0] if wait else process


def slowdown(muffle, turns=5, steps=300):
    rates, spent, sent = {"alone": [], "watched": []}, [], []
    with tempfile.TemporaryDirectory() as folder, Server(muffle, folder) as server:
        for turn in range(int(turns)):
            for kind in ("alone", "watched") if turn % 2 else ("watched", "alone"):
                name = f"{kind}-{turn}"
                process = train(muffle, Path(folder, name), steps, wait=False)
                waiting, streams, received = selectors.DefaultSelector(), [], 0
                begun = server.processor_seconds()
                if kind == "watched":
                    while not Path(folder, name, "ledger.jsonl").exists() and process.poll() is None:
                        time.sleep(0.05)
                    # The server finds new folders every two seconds.
                    time.sleep(2.5)
                    streams = [server.watch(f"/run/{name}") for _ in range(100)]
                    for stream in streams:
                        stream.setblocking(False)
                        waiting.register(stream, selectors.EVENT_READ)
                while process.poll() is None:
                    for key, _ in waiting.select(0.2) if streams else []:
                        received += len(key.fileobj.recv(1 << 16))
                    if not streams:
                        time.sleep(0.2)
                if streams:
                    spent.append(server.processor_seconds() - begun)
                    sent.append(received)
                for stream in streams:
                    stream.close()
                last = json.loads(process.stdout.read().splitlines()[-1])
                rates[kind].append(last["examples_per_s"])
    ratios = [watched / alone for watched, alone in zip(rates["watched"], rates["alone"])]
    return {"rates": rates, "ratios": ratios, "median_ratio": statistics.median(ratios), "server_seconds": spent, "bytes": sent}


if __name__ == "__main__":
    print(json.dumps({"paint": paint, "delay": delay, "slowdown": slowdown}[sys.argv[1]](*sys.argv[2:])))
