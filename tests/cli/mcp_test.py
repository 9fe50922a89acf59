#!/usr/bin/env python3
"""`callgate mcp serve` from outside: over standard input and output, over HTTP, with its record and its end.

Usage: mcp_test.py BINARY [--sanitized] [TEST...]
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess

import harness
from harness import CliTest

ASKS = {"elicitation": {}}
MAIL = {"to": ["ada@example.org"], "subject": "Hi"}


def modern(params, capabilities):
    """The parameters of a request of the stateless era."""
    return {
        **params,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        },
    }


def call(name, arguments, capabilities=None, **more):
    params = modern({"name": name, "arguments": arguments, **more}, capabilities or {})
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


class Served(CliTest):
    """The server as a program of its own."""

    def setUp(self):
        super().setUp()
        self.ledger = str(self.dir / "ledger")

    def start(self, *arguments):
        process = subprocess.Popen(
            [harness.binary, "mcp", "serve", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=harness.limits(),
            env={**os.environ, "CALLGATE_LEDGER": self.ledger},
            text=True,
        )
        self.addCleanup(self.clear_away, process)
        return process

    @staticmethod
    def clear_away(process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            # What was never sent goes nowhere.
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def signalled(self, process, which):
        """Its exit code after a signal, and what else it wrote."""
        process.send_signal(which)
        return process.wait(), process.stdout.read(), process.stderr.read()

    def verb(self, *arguments):
        ran = self.run_program(*arguments, "--json", env={"CALLGATE_LEDGER": self.ledger})
        self.assertEqual((ran.code, ran.err), (0, ""), ran)
        return json.loads(ran.out)


class McpOverLines(Served):
    def send(self, server, message):
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()

    def ask(self, server, message):
        self.send(server, message)
        return json.loads(server.stdout.readline())

    def begin(self, server, capabilities):
        hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.ask(server, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        self.send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def end(self, server):
        """The client closes its side: the server says no more, and ends with 0."""
        server.stdin.close()
        self.assertEqual(server.stdout.read(), "")
        self.assertEqual(server.wait(), 0)

    def test_a_stateless_client_is_served_and_its_call_is_on_the_record(self):
        server = self.start()
        result = self.ask(server, call("add", {"a": 5, "b": 3}))["result"]
        self.assertEqual((result["resultType"], result["content"][0]["text"]), ("complete", "8"))
        self.end(server)
        self.assertIn("the record is " + self.ledger, server.stderr.read())
        (recorded,) = self.verb("calls", "list", "--all")["calls"]
        self.assertEqual((recorded["tool"], recorded["state"]), ("add", "succeeded"))

    def test_a_client_with_a_session_sees_what_its_scopes_let_it_call(self):
        for scopes, has_notes in (((), False), (("--scope", "notes"), True)):
            server = self.start("--ledger", "memory", *scopes)
            self.assertEqual(self.begin(server, {})["protocolVersion"], "2025-11-25")
            listed = self.ask(server, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["result"]["tools"]
            names = [tool["name"] for tool in listed]
            self.assertEqual(("notes" in names, "add" in names), (has_notes, True))
            self.end(server)

    def test_with_json_nothing_is_said_beside_the_protocol(self):
        server = self.start("--json", "--ledger", "memory")
        self.assertEqual(self.ask(server, {"jsonrpc": "2.0", "id": 1, "method": "ping"})["result"], {})
        self.end(server)
        self.assertEqual(server.stderr.read(), "")

    def test_the_clients_person_decides_where_their_word_is_enough(self):
        for word, text in (({"action": "accept", "content": {"allow": True}}, "8"), ({"action": "decline"}, "A person refused this call")):
            server = self.start("--autonomy", "A1", "--principal", "ada")
            self.begin(server, ASKS)
            asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 5, "b": 3}}}
            question = self.ask(server, asked)
            self.assertEqual(question["method"], "elicitation/create")
            self.assertIn('"a": 5', question["params"]["message"])
            answer = self.ask(server, {"jsonrpc": "2.0", "id": question["id"], "result": word})["result"]
            self.assertEqual(answer.get("isError", False), word["action"] == "decline")
            self.assertIn(text, answer["content"][0]["text"])
            self.end(server)
        votes = [one for one in self.verb("audit", "tail", "-n", "50")["events"] if one.get("principal") == "client:ada"]
        self.assertEqual(len(votes), 2)

    def test_beyond_the_clients_word_an_operator_is_needed(self):
        server = self.start()
        answer = self.ask(server, call("send_mail", MAIL, ASKS))["result"]
        self.assertTrue(answer["isError"])
        self.assertIn("A person must approve this call first", answer["content"][0]["text"])
        # While the server runs.
        (waiting,) = self.verb("approvals", "list")["approvals"]
        self.assertEqual((waiting["tool"], waiting["state"]), ("send_mail", "pending"))
        self.end(server)

    def test_closed_descriptors_are_an_error_and_nothing_else_takes_their_place(self):
        for closed, code in (("<&-", 1), (">&-", 1), ("<&- >&- 2>&-", 1)):
            ran = subprocess.run(
                ["sh", "-c", f'exec "$0" mcp serve --json --ledger memory {closed}', harness.binary],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=harness.limits(),
                timeout=60,
            )
            self.assertEqual(ran.returncode, code, (closed, ran))

    def test_a_signal_ends_it_with_0(self):
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server = self.start("--ledger", "memory")
            self.ask(server, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
            code, out, _ = self.signalled(server, which)
            self.assertEqual((code, out), (0, ""))


class McpOverHttp(Served):
    def serve(self, *arguments):
        """The server and the port that it says it listens on."""
        server = self.start("--http", "0", "--ledger", "memory", *arguments)
        url = server.stdout.readline().strip()
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/mcp$")
        return server, int(url.split(":")[2].split("/")[0])

    def headers(self, message, **more):
        return {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": message["method"],
            "Mcp-Name": message["params"]["name"],
            **more,
        }

    def post(self, port, message, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        with contextlib.closing(connection):
            connection.request("POST", "/mcp", json.dumps(message), self.headers(message, **headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def test_a_call_is_answered_until_a_signal_ends_it_with_0(self):
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server, port = self.serve()
            status, body = self.post(port, call("add", {"a": 5, "b": 3}))
            self.assertEqual((status, json.loads(body)["result"]["content"][0]["text"]), (200, "8"))
            code, out, err = self.signalled(server, which)
            self.assertEqual((code, out), (0, ""), err)
            (line,) = [one for one in err.splitlines() if "mcpServers" in one]
            pasted = json.loads(line[line.index("{") :])["mcpServers"]["callgate"]
            self.assertEqual(pasted, {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"})

    def test_a_page_from_elsewhere_is_not_served(self):
        _, port = self.serve()
        message = call("add", {"a": 5, "b": 3})
        self.assertEqual(self.post(port, message, Host="evil.example.com")[0], 403)
        self.assertEqual(self.post(port, message, Origin="https://evil.example.com")[0], 403)
        self.assertEqual(self.post(port, message, Origin="http://localhost:3000")[0], 200)

    def test_hosts_and_origins_that_are_named_take_the_place_of_this_machines(self):
        _, port = self.serve("--host", "mcp.example.com", "--origin", "https://app.example.com")
        message = call("add", {"a": 5, "b": 3})
        there = {"Host": "mcp.example.com"}
        self.assertEqual(self.post(port, message, **there, Origin="https://app.example.com")[0], 200)
        self.assertEqual(self.post(port, message, **there, Origin="http://localhost:3000")[0], 403)
        self.assertEqual(self.post(port, message)[0], 403)

    def test_with_json_it_says_where_it_is_in_one_document(self):
        server = self.start("--http", "127.0.0.1:0", "--json")
        said = json.loads(server.stdout.readline())
        self.assertRegex(said["url"], r"^http://127\.0\.0\.1:\d+/mcp$")
        self.assertEqual((said["tools"], said["ledger"]), (6, self.ledger))
        self.assertEqual(self.signalled(server, signal.SIGTERM), (0, "", ""))

    def test_an_address_that_is_taken_is_refused(self):
        _, port = self.serve()
        ran = self.run_program("mcp", "serve", "--http", port, "--json")
        self.assertEqual((ran.code, json.loads(ran.out)["error"]["details"]["reason"]), (2, "address_in_use"), ran)

    def test_a_unix_socket_is_its_users_alone_and_may_be_there_from_an_earlier_run(self):
        path = str(self.dir / "mcp.sock")
        message = call("add", {"a": 5, "b": 3})
        body = json.dumps(message)
        lines = [f"{name}: {value}" for name, value in self.headers(message).items()]
        head = ["POST /mcp HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", "Connection: close", *lines]
        for _ in range(2):
            server = self.start("--http", "unix:" + path, "--ledger", "memory")
            self.assertIn(path, server.stdout.readline())
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                client.sendall(("\r\n".join(head) + "\r\n\r\n" + body).encode())
                answer = b"".join(iter(lambda: client.recv(65536), b"")).decode()
            self.assertTrue(answer.startswith("HTTP/1.1 200 OK"), answer)
            self.assertIn('"text":"8"', answer)
            self.assertEqual(self.signalled(server, signal.SIGTERM)[0], 0)


if __name__ == "__main__":
    harness.main(__doc__)
