#!/usr/bin/env python3
"""run.py SERVER CLIENT [--rounds N] [--seconds S]: the MCP server beside its peers and its limits, in one run.

Standard input and output: CLIENT (mcp_bench_client) calls SERVER (mcp_bench_server), a child that only reads and writes lines
of the same length, and the TypeScript SDK 1, one call after the other and with 64 in flight. HTTP: wrk with one thread and 64 connections, S (3) seconds a time, against
SERVER in three ways, nginx with a fixed answer of the same size, and the SDKs 1 and 2.

What is measured takes turns, N (5) rounds of them; a figure is the median of its rounds, a ratio the median of the rounds'
own ratios, and spread is the distance between the fastest and the slowest round as a share of the median. Where a peer
cannot be had, that is said, and its ratio is "-".
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRATCH = ROOT / "build/bench/mcp-bench"
PEERS = ROOT / "build/mcp-peers"
CONNECTIONS = 64
WARM_UP, CALLS = 3_000, 10_000  # over standard input and output
IN_FLIGHT = 64  # there as well, in a second table
TICKS = os.sysconf("SC_CLK_TCK")

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}
PARAMS = {"name": "echo", "arguments": {"message": "hello world"}}
COMMON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Missing(Exception):
    """Something cannot be had; says what, and why."""


class Failed(Exception):
    """A program did not do its part; says what."""


def message(method, params, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


class Way:
    """How a server is asked: headers and a body, which stay the same."""

    def __init__(self, headers, body):
        self.headers, self.body = {**COMMON, **headers}, body

    @staticmethod
    def modern():
        return Way({"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"},
                   json.dumps(message("tools/call", {**PARAMS, "_meta": META}), separators=(",", ":")))

    @staticmethod
    def legacy(session=None):
        # Requests of one session that are under way together have ids of their own.
        body = json.dumps(message("tools/call", PARAMS, "@ID@" if session else 1), separators=(",", ":"))
        own = {"Mcp-Session-Id": session} if session else {}
        return Way({"MCP-Protocol-Version": "2025-11-25", **own}, body.replace('"@ID@"', "@ID@"))


def post(url, headers, body):
    """Status, headers and text of the answer."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.request("POST", parts.path, body, {**COMMON, **headers})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def check(name, url, way):
    """One request, which must be answered as it should be; the answer's text."""
    status, _, text = post(url, way.headers, way.body.replace("@ID@", "9999"))
    if status != 200 or '"text":"hello world"' not in text or '"isError":true' in text:
        raise Failed(f"{name} answers {status}: {text[:300]}")
    return text


def new_session(url):
    begin = message("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                   "clientInfo": {"name": "bench", "version": "1"}})
    status, headers, text = post(url, {}, json.dumps(begin))
    if status != 200 or not headers.get("Mcp-Session-Id"):
        raise Failed(f"initialize is answered {status}: {text[:300]}")
    session = {"Mcp-Session-Id": headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}
    post(url, session, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    return session["Mcp-Session-Id"]


class Program:
    """A server that runs until `stack` is closed. It prints its URL, or `url` is known, and ends when its input is closed."""

    def __init__(self, stack, command, url=None, **environment):
        self.name = pathlib.Path(command[0]).name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        stack.callback(self.end)
        self.url = url or self.process.stdout.readline().strip()
        if not self.url:
            raise Failed(f"{self.name} does not listen; it ended with {self.process.wait()}")

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(0 if self.name == "nginx" else 20)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        self.process.stdout.close()

    def cpu_seconds(self):
        """Its own, and its children's (nginx has its worker)."""
        place = pathlib.Path(f"/proc/{self.process.pid}")
        children = (place / f"task/{self.process.pid}/children").read_text().split()
        ticks = 0
        for process in (self.process.pid, *children):
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def rss_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


class Row:
    """One line of the table, a figure per round."""

    def __init__(self, name, program=None, way=None):
        self.name, self.program, self.way = name, program, way
        self.rates, self.p50, self.p99, self.cpu = [], [], [], []

    def add(self, rate, p50, p99, cpu=None):
        self.rates.append(rate)
        self.p50.append(p50)
        self.p99.append(p99)
        if cpu is not None:
            self.cpu.append(cpu)

    def shown(self):
        cpu = f"{statistics.median(self.cpu):9.1f}" if self.cpu else f"{'-':>9}"
        return (f"{self.name:44} {statistics.median(self.rates):10,.0f} {statistics.median(self.p50):9.1f} "
                f"{statistics.median(self.p99):9.1f} {cpu} {spread(self.rates):7.0f}%")


def spread(figures):
    return 100 * (max(figures) - min(figures)) / statistics.median(figures)


def ratio(above, below):
    return statistics.median(one / other for one, other in zip(above, below))


def node():
    """The pinned Node, with the peers installed beside it."""
    found = subprocess.run([ROOT / "tools/node.sh"], text=True, capture_output=True)
    if found.returncode != 0:
        raise Missing(f"Node: {(found.stderr.strip().splitlines() or ['it cannot be installed'])[-1]}")
    lock, program = PEERS / "installed-lock.json", found.stdout.strip()
    if not lock.exists() or lock.read_bytes() != (HERE / "package-lock.json").read_bytes():
        print("installing the peers from npm into build/mcp-peers", file=sys.stderr, flush=True)
        PEERS.mkdir(parents=True, exist_ok=True)
        lock.unlink(missing_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copyfile(HERE / name, PEERS / name)
        ran = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=PEERS,
                             text=True, capture_output=True,
                             env={**os.environ, "PATH": f"{pathlib.Path(program).parent}:{os.environ['PATH']}"})
        if ran.returncode != 0:
            raise Missing(f"the SDKs: {(ran.stderr.strip().splitlines() or ['npm says nothing'])[0]}")
        shutil.copyfile(HERE / "package-lock.json", lock)
    return program


def tool(name):
    # nginx lives where not everybody looks.
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if not path:
        raise Missing(f"{name} is not installed (tools/setup.sh load)")
    return path


def start_nginx(stack, body):
    program = tool("nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = SCRATCH / "nginx"
    place.mkdir()
    text = (HERE / "nginx.conf").read_text(encoding="utf-8")
    for mark, value in (("@SCRATCH@", str(place)), ("@PORT@", str(port)), ("@BODY@", body)):
        text = text.replace(mark, value)
    (place / "nginx.conf").write_text(text, encoding="utf-8")
    url = f"http://127.0.0.1:{port}/mcp"
    started = Program(stack, [program, "-p", str(place), "-e", str(place / "error.log"), "-c", str(place / "nginx.conf")], url)
    for _ in range(200):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return started
        if started.process.poll() is not None:
            break
        time.sleep(0.02)
    raise Failed(f"nginx does not listen; see {place / 'error.log'}")


def run_wrk(wrk, row, seconds):
    """Requests per second, p50 and p99 in microseconds, and the server's microseconds of CPU for each request."""
    headers = "\n".join(f"{name}: {value}" for name, value in row.way.headers.items())
    before = row.program.cpu_seconds()
    ran = subprocess.run([wrk, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "20s", "-s", HERE / "call.lua",
                          row.program.url], text=True, capture_output=True,
                         env={**os.environ, "BODY": row.way.body, "HEADERS": headers})
    cpu = row.program.cpu_seconds() - before
    line = next((line for line in ran.stdout.splitlines() if line.startswith("ran ")), None)
    if line is None:
        raise Failed(f"wrk against {row.name} ended with {ran.returncode}: {ran.stderr.strip()[:300]}")
    requests, took_us, p50, p99, errors = (float(word) for word in line.split()[1:])
    if errors or not requests:
        raise Failed(f"{row.name}: {errors:.0f} of {requests:.0f} requests were not answered as they should be")
    return requests / took_us * 1e6, p50, p99, cpu / requests * 1e6


def run_client(client, *words):
    ran = subprocess.run([client, *map(str, words)], text=True, stdout=subprocess.PIPE, env={**os.environ, "PEERS_DIR": str(PEERS)})
    if ran.returncode != 0:
        raise Failed(f"the client ended with {ran.returncode}")
    p50, p99, rate, asked, told = (float(word) for word in ran.stdout.split())
    return rate, p50, p99, int(asked), int(told)


def measure_stdio(arguments, peers, in_flight):
    rows = {"ours": Row("Callgate"), "pipe": Row("pipe: a child that only reads and writes")}
    if peers:
        rows["sdk1"] = Row("TypeScript SDK 1.32.2")
    for round in range(1, arguments.rounds + 1):
        print(f"\rstandard input and output, round {round} of {arguments.rounds}", end="", file=sys.stderr, flush=True)
        *ours, asked, told = run_client(arguments.client, "calls", WARM_UP, CALLS, in_flight, arguments.server, "stdio")
        rows["ours"].add(*ours)
        rows["pipe"].add(*run_client(arguments.client, "pipe", WARM_UP, CALLS, in_flight, asked, told)[:3])
        if peers:
            sdk1 = run_client(arguments.client, "calls", WARM_UP, CALLS, in_flight, peers, HERE / "sdk1.mjs", "stdio")
            rows["sdk1"].add(*sdk1[:3])
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)
    return rows


def start_http(stack, arguments, peers, missing):
    """The rows by their names, each with its server."""
    ours = Program(stack, [arguments.server, "http"])
    durable = Program(stack, [arguments.server, "http", str(SCRATCH / "ledger"), str(SCRATCH / "marks")])
    rows = {
        "ours": Row("Callgate, 2026-07-28", ours, Way.modern()),
        "legacy": Row("Callgate, a session of 2025-11-25", ours, Way.legacy(new_session(ours.url))),
        "durable": Row("Callgate, 2026-07-28, durable ledger", durable, Way.modern()),
    }
    body = check("Callgate", ours.url, Way.modern())
    try:
        rows["nginx"] = Row("nginx, a fixed answer of the same size", start_nginx(stack, body), Way.modern())
    except Missing as what:
        missing.append(str(what))
    if peers:
        environment = {"PEERS_DIR": str(PEERS), "NODE_ENV": "production"}
        rows["sdk1"] = Row("TypeScript SDK 1.32.2, stateless, JSON",
                           Program(stack, [peers, str(HERE / "sdk1.mjs"), "http"], **environment), Way.legacy())
        rows["sdk2"] = Row("TypeScript SDK 2.4.0, 2026-07-28",
                           Program(stack, [peers, str(HERE / "sdk2.mjs")], **environment), Way.modern())
    return rows


def measure_http(wrk, rows, arguments):
    for row in rows.values():
        check(row.name, row.program.url, row.way)
        run_wrk(wrk, row, 1)
    for round in range(1, arguments.rounds + 1):
        print(f"\rHTTP, round {round} of {arguments.rounds}", end="", file=sys.stderr, flush=True)
        for row in rows.values():
            row.add(*run_wrk(wrk, row, arguments.seconds))
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)
    for row in rows.values():
        check(row.name, row.program.url, row.way)


def show(title, rows):
    print(f"\n{title}\n{'':44} {'calls/s':>10} {'p50 µs':>9} {'p99 µs':>9} {'CPU µs':>9} {'spread':>8}")
    for row in rows.values():
        print(row.shown())


def measure(arguments, stack):
    missing = []
    peers = wrk = None
    try:
        peers = node()
    except Missing as what:
        missing.append(str(what))
    try:
        wrk = tool("wrk")
    except Missing as what:
        missing.append(str(what))
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    load = os.getloadavg()[0]
    stdio = measure_stdio(arguments, peers, 1)
    many = measure_stdio(arguments, peers, IN_FLIGHT)
    web, rss = {}, "-"
    if wrk:
        web = start_http(stack, arguments, peers, missing)
        measure_http(wrk, web, arguments)
        rss = f"{web['ours'].program.rss_mb():.1f}"

    print(f"one call of echo(\"hello world\"); {os.cpu_count()} processors, load average {load:.1f} before and "
          f"{os.getloadavg()[0]:.1f} after; {arguments.rounds} rounds")
    show("standard input and output, one call after the other", stdio)
    show(f"standard input and output, {IN_FLIGHT} in flight (p50 and p99 of a round of answers)", many)
    if web:
        show(f"HTTP, wrk with one thread and {CONNECTIONS} connections, {arguments.seconds} s a round (it and the server "
             "share the processors)", web)
        print(f"\nCallgate after the load, in memory: {rss} MB resident")
    for what in missing:
        print(f"not measured: {what}")

    def figure(rows, above, below, places):
        return f"{ratio(rows[above].rates, rows[below].rates):.{places}f}" if below in rows else "-"

    results = {
        "stdio_p50_vs_pipe": f"{ratio(stdio['ours'].p50, stdio['pipe'].p50):.2f}",
        "stdio_vs_sdk1": figure(stdio, "ours", "sdk1", 1),
        f"stdio_c{IN_FLIGHT}_vs_pipe": figure(many, "ours", "pipe", 2),
        f"stdio_c{IN_FLIGHT}_vs_sdk1": figure(many, "ours", "sdk1", 1),
        "pipe_vs_sdk1": figure(stdio, "pipe", "sdk1", 1),
        "http_c64_vs_nginx": figure(web, "ours", "nginx", 2),
        "http_vs_sdk1": figure(web, "ours", "sdk1", 1),
        "http_vs_sdk2": figure(web, "ours", "sdk2", 1),
        "nginx_vs_sdk2": figure(web, "nginx", "sdk2", 1) if "nginx" in web else "-",
        "cpu_us_per_req": f"{statistics.median(web['ours'].cpu):.1f}" if web else "-",
        "rss_mb": rss,
    }
    print("\naims: stdio_p50_vs_pipe ≤ 5, stdio_vs_sdk1 ≥ 10, http_c64_vs_nginx ≥ 0.6, http_vs_sdk1 ≥ 25, http_vs_sdk2 ≥ 30, rss_mb ≤ 15")
    print("RESULT " + " ".join(f"{key}={value}" for key, value in results.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("client")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends
    try:
        with contextlib.ExitStack() as stack:
            measure(arguments, stack)
    except (Failed, OSError) as what:
        print(f"run.py: {what}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
