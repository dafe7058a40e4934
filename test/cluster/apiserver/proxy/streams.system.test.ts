import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "vitest";
import { deferred } from "../../../staging/streaming/support/upgrade-server.js";
import { makeAuthority, makeLeaf } from "../../../support/https-server.js";
import { PODS, ProxyLab, SPDY, untilEnd, untilSeen, upgradeText } from "./lab.js";

const EXEC = `${PODS}/p/exec?command=ls&stdout=true`;
const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";

const locations = [
  // asked of the API server                                          asked of the kubelet
  ["exec?command=ls&stdout=true", "/exec/default/p/c?command=ls&output=1"],
  [
    "exec?container=c&stdin=true&stdout=1&stderr=true&tty=1&command=sh&command=-c&command=a%20b%26c~*",
    "/exec/default/p/c?command=sh&command=-c&command=a+b%26c~%2A&error=1&input=1&output=1&tty=1",
  ],
  ["exec?command=ls&stdin=false&stdout=0&stderr=", "/exec/default/p/c?command=ls&error=1"],
  ["attach?stdout=1&stdin=1", "/attach/default/p/c?input=1&output=1"],
  ["portforward", "/portForward/default/p"],
  ["portforward?ports=8080&ports=9", "/portForward/default/p?port=8080%2C9"],
  ["portforward?ports=8080,443&ports=9", "/portForward/default/p?port=8080%2C443%2C9"],
] as const;
for (const [asked, wanted] of locations) {
  for (const method of ["GET", "POST"]) {
    test(`${method} ${asked} asks the kubelet for ${wanted}`, async () => {
      await using lab = await ProxyLab.open();
      const headers = [
        ...SPDY,
        "X-Stream-Protocol-Version: v3.channel.k8s.io",
        "user-agent: test",
        "X-Forwarded-For: 192.0.2.1",
        "Authorization: Basic c2VjcmV0",
        "Kubectl-Command: kubectl exec",
      ];
      await untilEnd(await lab.raw(upgradeText(method, `${PODS}/p/${asked}`, headers)));
      const [one] = lab.kubelet.asked;
      assert.ok(one);
      assert.deepEqual([one.method, one.url], [method, wanted]);
      assert.equal(one.client, "CN=kube-apiserver-kubelet-client,O=system:masters");
      const sent = Object.fromEntries(
        one.rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[`${name} ${i}`, one.rawHeaders[i + 1]]] : [])),
      );
      const pairs = Object.entries(sent).map(([name, value]) => `${name.replace(/ \d+$/, "")}: ${value}`);
      for (const line of [
        "X-Stream-Protocol-Version: v4.channel.k8s.io",
        "X-Stream-Protocol-Version: v3.channel.k8s.io",
        "User-Agent: test",
        "Kubectl-Command: kubectl exec",
        "X-Forwarded-For: 192.0.2.1, 127.0.0.1",
        "Upgrade: SPDY/3.1",
        "Connection: Upgrade",
      ]) {
        assert.ok(pairs.includes(line), `${line} is not among\n${pairs.join("\n")}`);
      }
      assert.equal(one.headers.authorization, undefined);
    });
  }
}

describe("an upgrade", () => {
  test("joins client and kubelet byte for byte, including early bytes, until the kubelet ends", async () => {
    await using lab = await ProxyLab.open({
      upgrade(_request, socket, head) {
        socket.write(`${SWITCHED}hello `);
        let seen = head.toString("latin1");
        socket.on("data", (bytes: Buffer) => {
          seen += bytes.toString("latin1");
          if (seen.endsWith("bye")) socket.end(seen.toUpperCase());
        });
      },
    });
    const client = await lab.raw(`${upgradeText("POST", EXEC, SPDY)}early `);
    await untilSeen(client, "hello ");
    client.write("\u0000\u00ff late bye");
    const rest = await untilEnd(client);
    assert.match(rest, /^EARLY .*LATE BYE$/s);
    await Promise.all([...lab.kubelet.sockets].map((socket) => once(socket, "close")));
  });

  test("a client that disconnects ends the kubelet's connection, also before its response", async () => {
    const begun = deferred<void>();
    const ended = deferred<void>();
    await using lab = await ProxyLab.open({
      async upgrade(_request, socket) {
        socket.once("close", () => ended.resolve());
        socket.resume();
        begun.resolve();
        await ended.promise;
      },
    });
    const client = await lab.raw(upgradeText("POST", EXEC, SPDY));
    await begun.promise;
    client.destroy();
    await ended.promise;
  });

  test("a kubelet that disconnects midway ends the client's connection", async () => {
    await using lab = await ProxyLab.open({
      upgrade: (_request, socket) => {
        socket.write(SWITCHED);
        socket.write("half", () => socket.destroy());
      },
    });
    const seen = await untilEnd(await lab.raw(upgradeText("POST", EXEC, SPDY)));
    assert.ok(seen.startsWith("HTTP/1.1 101 "), seen);
  });

  test("a server that closes ends open streams", async () => {
    const lab = await ProxyLab.open({ upgrade: (_request, socket) => void socket.write(SWITCHED) });
    const client = await lab.raw(upgradeText("POST", EXEC, SPDY));
    await untilSeen(client, "SPDY/3.1\r\n\r\n");
    const closed = once(client, "close");
    await lab.face.close();
    await closed;
    await lab.kubelet.close();
  });

  const refusals = [
    // the kubelet's answer                                                what the client gets
    ["HTTP/1.1 403 Forbidden\r\n\r\n", "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n"],
    [
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nwrong",
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nwrong",
    ],
    [
      "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nabc",
    ],
  ] as const;
  for (const [answer, wanted] of refusals) {
    test(`that is refused with ${answer.slice(9, 12)} is refused with the kubelet's message`, async () => {
      await using lab = await ProxyLab.open({ upgrade: (_request, socket) => void socket.end(answer) });
      assert.equal(await untilEnd(await lab.raw(upgradeText("POST", EXEC, SPDY))), wanted);
    });
  }

  const failures = [
    ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "invalid upgrade response: status code 200"],
    ["", "error dialing backend: EOF"],
  ] as const;
  for (const [answer, message] of failures) {
    test(`that is answered with ${JSON.stringify(answer)}: 500 ${message}`, async () => {
      await using lab = await ProxyLab.open({ upgrade: (_request, socket) => void socket.end(answer) });
      const seen = await untilEnd(await lab.raw(upgradeText("POST", EXEC, SPDY)));
      assert.match(seen, /^HTTP\/1\.1 500 /);
      assert.equal(JSON.parse(seen.slice(seen.indexOf("{"))).message, message);
    });
  }

  test("to a kubelet that is down, elsewhere, or has an untrusted CA", async () => {
    const trusted = await makeAuthority();
    const stranger = await makeLeaf(trusted, { ip: ["192.0.2.7"] });
    const table = [
      [{ node: {} }, /^error dialing backend: dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/, true],
      [
        { node: { addresses: [{ type: "InternalIP", address: "192.0.2.1" }] } },
        /^error dialing backend: dial tcp 192\.0\.2\.1:\d+: connect: connection refused$/,
        false,
      ],
      [
        { options: { kubeletCaPem: trusted.certificatePem } },
        /^error dialing backend: x509: certificate signed by unknown authority$/,
        false,
      ],
      [
        { options: { kubeletCaPem: trusted.certificatePem }, kubelet: { pair: stranger } },
        /^error dialing backend: x509: certificate is valid for 192\.0\.2\.7, not 127\.0\.0\.1$/,
        false,
      ],
      [{ node: { addresses: [] } }, /^no preferred addresses found; known addresses: \[\]$/, false],
    ] as const;
    for (const [given, wanted, isDown] of table) {
      const { node = {}, options = {}, kubelet = {} } = given as Record<string, Record<string, never>>;
      await using lab = await ProxyLab.open(kubelet, options, node);
      if (isDown) await lab.kubelet.close();
      const seen = await untilEnd(await lab.raw(upgradeText("POST", EXEC, SPDY)));
      const { code, message, reason } = JSON.parse(seen.slice(seen.indexOf("{")));
      assert.deepEqual([code, reason], [500, undefined]);
      assert.match(message, wanted);
      assert.deepEqual(lab.kubelet.asked, []);
    }
  });

  test("with a body, for a path that is not a stream, without permission", async () => {
    await using lab = await ProxyLab.open();
    const table = [
      [upgradeText("POST", EXEC, [...SPDY, "Content-Length: 3"]), /^HTTP\/1\.1 400 /],
      [
        upgradeText("GET", "/healthz", ["Upgrade: h2c"]),
        /^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n[\s\S]*\r\n\r\nok$/,
      ],
      [upgradeText("GET", `${PODS}/p/nonsense`, SPDY), /^HTTP\/1\.1 404 /],
      [upgradeText("DELETE", EXEC, SPDY), /^HTTP\/1\.1 405 /],
      [
        upgradeText("POST", EXEC, [...SPDY, "Impersonate-User: eve"]),
        /^HTTP\/1\.1 403 [\s\S]*eve[\s\S]*cannot create resource/,
      ],
    ] as const;
    for (const [bytes, wanted] of table) assert.match(await untilEnd(await lab.raw(bytes)), wanted);
    assert.deepEqual(lab.kubelet.asked, []);
  });

  test("200 at once, each with its own bytes; nothing stays open", async () => {
    await using lab = await ProxyLab.open({
      upgrade: (_request, socket) => {
        socket.write(SWITCHED);
        socket.pipe(socket);
      },
    });
    const all = Array.from({ length: 200 }, async (_, i) => {
      const client = await lab.raw(upgradeText("POST", EXEC, SPDY));
      client.write(`mine is ${i};`);
      await untilSeen(client, `mine is ${i};`);
      client.end();
      await once(client, "close");
    });
    await Promise.all(all);
    await Promise.all([...lab.kubelet.sockets].map((socket) => once(socket, "close")));
  });

  test("the trace reports the kubelet, the protocol and the end of the stream", async () => {
    await using lab = await ProxyLab.open({
      upgrade: (_request, socket) => {
        socket.write(SWITCHED);
        socket.end("12345");
      },
    });
    const lines: string[] = [];
    const told = deferred<void>();
    lab.face.trace.addSink({
      level: 1,
      write(event) {
        if (event.kind === "decision") lines.push(`${event.what} | ${event.why}`);
        if (event.kind !== "state") return;
        lines.push(`${event.subject} ${event.to}`);
        told.resolve();
      },
    });
    await untilEnd(await lab.raw(upgradeText("POST", EXEC, SPDY)));
    await told.promise;
    assert.deepEqual(lines, [
      `ask the kubelet: POST https://127.0.0.1:${lab.kubelet.port}/exec/default/p/c?command=ls&output=1` +
        " | kubernetes-admin may create pods/exec; node n has InternalIP 127.0.0.1",
      "answer 101 Switching Protocols | SPDY/3.1, no subprotocol",
      "pods/exec of default/p ended, 0 bytes to the kubelet, 5 bytes back",
    ]);
  });
});
