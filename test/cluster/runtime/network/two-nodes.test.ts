import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeAll, beforeEach, test } from "vitest";
import type { Container } from "../../../../src/cluster/runtime/state/container.js";
import { askPodNetwork } from "../../../../src/staging/streaming/pod-network.js";
import { untilTrue } from "../../../support/fake-clock.js";
import { loadPrograms, never } from "../lab.js";
import { ipOf, type NetworkNode, openTwoNodes } from "./network-lab.js";

let nodes: Awaited<ReturnType<typeof openTwoNodes>>;
let server: Container;
let client: Container;
beforeAll(loadPrograms);
beforeEach(async () => {
  nodes = await openTwoNodes();
  server = nodes.b.agnhost("netexec");
  client = nodes.a.agnhost("pause");
  await nodes.b.settle();
});
afterEach(() => nodes.close());

const sh = (script: string, from = client, node: NetworkNode = nodes.a) => node.sh(script, from);
const text = async (script: string) => (await sh(script)).stdout.toString();

test("pods of two runtimes reach each other by pod IP, and the server sees the client's", async () => {
  const url = `http://${ipOf(server)}:8080`;
  assert.equal(await text(`curl -s ${url}/hostname`), server.sandbox.metadata.name);
  assert.ok((await text(`curl -s ${url}/clientip`)).startsWith(`${ipOf(client)}:`));
  assert.equal(await text(`wget -qO- ${url}/hostname`), server.sandbox.metadata.name);
  assert.equal(await text(`echo hostname | nc -u ${ipOf(server)} 8081`), server.sandbox.metadata.name);
});

test("each direction ends by itself, and nothing is lost", async () => {
  const other = nodes.b.run({ command: ["sh", "-c", "nc -l -p 9 | wc -c"] });
  const output = nodes.b.output(other);
  await nodes.b.settle();
  const bytes = 3_000_000;
  const sent = sh(`head -c ${bytes} /dev/zero | nc ${ipOf(other)} 9`);
  await untilTrue(() => output() !== "");
  assert.equal(output().trim(), String(bytes));
  await sent;
});

test("a client that has sent everything still gets its answer", async () => {
  const echo = nodes.b.run({ command: ["nc", "-lk", "-p", "7", "-e", "cat"] });
  await nodes.b.settle();
  assert.equal(await text(`printf 'one\\ntwo' | nc ${ipOf(echo)} 7`), "one\ntwo");
  assert.equal(await text(`echo again | nc ${ipOf(echo)} 7`), "again\n");
});

test("netstat shows connections and their processes, on both sides", async () => {
  const other = nodes.b.run({ command: ["sh", "-c", "nc -l -p 9; sleep infinity"] });
  const talking = nodes.a.run({ command: ["sh", "-c", `sleep 60 | nc ${ipOf(other)} 9`] });
  await nodes.b.settle();
  const list = async (node: NetworkNode, container: Container, options: string) =>
    (await sh(`netstat ${options} | tail -n +3 | tr -s ' '`, container, node)).stdout
      .toString()
      .replace(/:\d{5} /g, ":N ");
  const [a, b] = [ipOf(talking), ipOf(other)];
  await untilTrue(() => nodes.b.core.network.find(b)?.ports.sockets.some(({ peer }) => peer !== undefined) === true);
  assert.match(await list(nodes.b, other, "-tnp"), new RegExp(`^tcp 0 0 ${b}:9 ${a}:N ESTABLISHED \\d+/nc\n$`));
  assert.match(await list(nodes.a, talking, "-tnp"), new RegExp(`^tcp 0 0 ${a}:N ${b}:9 ESTABLISHED \\d+/nc\n$`));
  assert.equal(await list(nodes.b, server, "-tlnp"), "tcp 0 0 0.0.0.0:8080 0.0.0.0:* LISTEN 1/agnhost\n");
  assert.match(await list(nodes.b, server, "-an"), /^tcp .*:8080 .* LISTEN \nudp 0 0 0\.0\.0\.0:8081 0\.0\.0\.0:\* \n/);
  assert.equal(await list(nodes.b, server, "-tn"), "");
});

const FAILURES: readonly (readonly [string, string, number, number, RegExp])[] = [
  // what                             command                                  seconds  exit  stderr
  [
    "a port without a listener",
    "curl -sS http://SERVER:81",
    0,
    7,
    /^curl: \(7\) Failed to connect to [\d.]+ port 81 after \d+ ms: Connection refused/,
  ],
  ["an address of another node without a pod", "curl -sS http://10.244.2.200", 3, 7, /No route to host/],
  ["an address of this node without a pod", "curl -sS http://10.244.1.200", 3, 7, /No route to host/],
  ["an address outside the cluster", "curl -sS http://192.0.2.1", 0, 7, /Network is unreachable/],
  ["a Service without endpoints, as REJECT has it", "curl -sS http://10.96.0.10", 0, 7, /Connection refused/],
  ["the same with wget", "wget -qO- http://10.96.0.10", 0, 1, /^wget: can't connect .*: Connection refused/],
  ["the same with nc", "nc -zv 10.96.0.10 80", 0, 1, /Connection refused/],
  ["a port that a Service does not have", "curl -sS http://10.96.0.9:81", 127, 28, /^curl: \(28\) Failed .* timed out/],
  ["the same with curl's limit", "curl -sS --connect-timeout 2 http://10.96.0.9:81", 2, 28, /timed out after 2000/],
  ["the same with wget's", "wget -qO- -T 2 http://10.96.0.9:81", 2, 1, /^wget: download timed out/],
  ["the same with nc's", "nc -w 2 10.96.0.9 81", 2, 1, /^nc: 10\.96\.0\.9 \(10\.96\.0\.9:81\): Connection timed out/],
  [
    "a cluster IP that no Service has",
    "wget -qO- http://10.96.1.1",
    127,
    1,
    /^wget: can't connect .*: Connection timed/,
  ],
  [
    "an address without a pod, but less time",
    "curl -sS -m 1 http://10.244.2.200",
    1,
    28,
    /^curl: \(28\) Operation timed out after 1000 milliseconds with 0 bytes received/,
  ],
  [
    "a connection that takes too long",
    "curl -sS --connect-timeout 2 http://10.244.2.200",
    2,
    28,
    /Connection timed out after 2000/,
  ],
  ["a name that nobody knows", "curl -sS http://nobody", 0, 6, /^curl: \(6\) Could not resolve host: nobody/],
  [
    "a server that does not answer in time",
    "curl -sS -m 5 'http://SERVER:8080/shell?cmd=sleep+60'",
    5,
    28,
    /^curl: \(28\) Operation timed out after 5000/,
  ],
  ["an unknown option", "curl --nonsense http://SERVER", 0, 2, /option --nonsense: is unknown/],
  ["no URL", "curl -s", 0, 2, /no URL specified/],
  ["another protocol", "curl -sS ftp://SERVER", 0, 1, /Protocol "ftp" not supported/],
  ["a status above 399 with -f", "curl -sSf 'http://SERVER:8080/echo?code=503'", 0, 22, /returned error: 503/],
  [
    "wget, a port without a listener",
    "wget -O- http://SERVER:81",
    0,
    1,
    /^Connecting to [\d.]+:81 \([\d.]+:81\)\nwget: can't connect to remote host \([\d.]+\): Connection refused/,
  ],
  ["wget, a name that nobody knows", "wget -qO- http://nobody/", 0, 1, /^wget: bad address 'nobody'/],
  [
    "wget, an error of the server",
    "wget -qO- 'http://SERVER:8080/echo?code=404'",
    0,
    1,
    /^wget: server returned error: HTTP\/1.1 404 Not Found/,
  ],
  ["wget, a limit", "wget -qO- -T 2 'http://SERVER:8080/shell?cmd=sleep+9'", 2, 1, /^wget: download timed out/],
  ["nc, a port without a listener", "nc -zv SERVER 81", 0, 1, /^nc: [\d.]+ \([\d.]+:81\): Connection refused/],
  ["nc, a limit", "nc -zv -w 1 10.244.2.200 80", 1, 1, /Connection timed out/],
  ["nc, a name", "nc -z nobody 80", 0, 1, /^nc: bad address 'nobody'/],
  ["nc, a UDP port without a listener", "echo x | nc -u SERVER 82", 0, 1, /Connection refused/],
  ["agnhost connect, refused", "/agnhost connect SERVER:81", 0, 1, /^REFUSED/],
  ["agnhost connect, a limit", "/agnhost connect 10.244.2.200:80 --timeout=1s", 1, 1, /^TIMEOUT/],
  ["agnhost connect, no route", "/agnhost connect 10.244.2.200:80", 3, 1, /^OTHER: dial tcp .*no route to host/],
  ["agnhost connect, a name", "/agnhost connect nobody:80", 0, 1, /^DNS: lookup nobody/],
];
for (const [what, script, seconds, code, stderr] of FAILURES) {
  test(`${what}: exit code ${code}`, async () => {
    const rule = { protocol: "tcp", address: "cluster IP", port: 80 } as const;
    const web = { kind: "dnat", chain: "KUBE-SVC-X", endpoints: [`${ipOf(server)}:8080`] } as const;
    const none = { kind: "reject", why: "ns/none has no endpoints" } as const;
    nodes.a.core.network.restore({
      rules: [
        { ...rule, service: "ns/web", ip: "10.96.0.9", verdict: web },
        { ...rule, service: "ns/none", ip: "10.96.0.10", verdict: none },
      ],
    });
    const running = sh(script.replaceAll("SERVER", ipOf(server)));
    for (let second = 0; second < seconds; second++) {
      await nodes.a.settle();
      await nodes.b.settle();
      await Promise.all([nodes.a.clock.advance(1_000), nodes.b.clock.advance(1_000)]);
    }
    const result = await running;
    assert.match(result.stderr.toString(), stderr);
    assert.equal(result.exitCode, code);
  });
}

test("curl follows redirects, sends data and headers, and prints what -w asks for", async () => {
  const url = `http://${ipOf(server)}:8080`;
  assert.equal(await text(`curl -sL '${url}/redirect?location=/echo%3Fmsg=there'`), "there");
  const format = "%{http_code} %{num_redirects} %{size_download} %{remote_port}\\n";
  assert.equal(
    await text(`curl -s -o /dev/null -w '${format}' ${url}/hostname`),
    `200 0 ${server.sandbox.metadata.name.length} 8080\n`,
  );
  assert.match(await text(`curl -sI ${url}/hostname`), /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\n$/);
  const verbose = await sh(`curl -sv -H 'X-A: b' -H 'Accept:' -d 'x=1&y=2' ${url}/echo`);
  assert.match(
    verbose.stderr.toString(),
    /> POST \/echo HTTP\/1.1\n> Host: [\d.]+:8080\n> User-Agent: curl\/[\d.]+\n> Content-Type: application\/x-www-form-urlencoded\n> X-A: b\n> Content-Length: 7\n> \n< HTTP\/1.1 200 OK\n/,
  );
});

test("the node's own network is at the bridge's address, for pods of all nodes", async () => {
  const { host } = nodes.b.core.network;
  host.ports.listen(10_256, ({ outgoing, incoming }) => {
    void outgoing.write(Buffer.from("healthy"), never);
    outgoing.release();
    incoming.release();
  });
  assert.equal(host.ip, "10.240.0.3");
  assert.equal(await text("nc 10.244.2.1 10256"), "healthy");
  assert.equal((await nodes.b.sh("nc 10.244.2.1 10256", server)).stdout.toString(), "healthy");
  assert.equal((await nodes.b.sh("nc 127.0.0.1 10256", server)).exitCode, 1, "a pod's loopback is its own");
});

test("the node reaches pods through the socket, as its kubelet does", async () => {
  const to = `${ipOf(server)}:8080`;
  const { stream } = await askPodNetwork(nodes.a.socket, { protocol: "tcp", to }, never);
  stream.write("GET /clientip HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  let answer = "";
  for await (const bytes of stream) answer += String(bytes);
  assert.match(answer, /\r\n\r\n10\.240\.0\.2:\d+$/);
  await assert.rejects(askPodNetwork(nodes.a.socket, { protocol: "tcp", to: `${ipOf(server)}:1` }, never), {
    code: "ECONNREFUSED",
  });
  await assert.rejects(askPodNetwork(`${nodes.a.socket}.none`, { protocol: "tcp", to }, never), {
    code: "EHOSTUNREACH",
  });
});

test("an HTTP client gets its answer over a connection from the socket, as the kubelet's probes do", async () => {
  const { stream } = await askPodNetwork(nodes.a.socket, { protocol: "tcp", to: `${ipOf(server)}:8080` }, never);
  const asked = request({ createConnection: () => stream, path: "/clientip", headers: { connection: "close" } }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const { statusCode } = answer.resume();
  assert.equal(statusCode, 200);
});

test("a node whose runtime is gone has no route", async () => {
  await nodes.b.crash();
  const result = await sh(`curl -sS http://${ipOf(server)}:8080/`);
  assert.match(result.stderr.toString(), /No route to host/);
});

test("a packet that nodes pass on without end is dropped", async () => {
  const request = { protocol: "tcp", to: `${ipOf(server)}:8080`, from: "10.244.9.9:1", ttl: 0 } as const;
  const refused = assert.rejects(askPodNetwork(nodes.a.socket, request, never), { code: "EHOSTUNREACH" });
  await nodes.a.settle();
  await nodes.a.clock.advance(3_000);
  await refused;
});

for (const line of [
  "not JSON",
  "[]",
  "{}",
  '{"protocol":"tcp","to":"nowhere"}',
  '{"protocol":"udp","to":"1.2.3.4:99999"}',
  "x".repeat(200_000),
]) {
  test(`the socket closes a connection that begins with ${line.slice(0, 40)}`, async () => {
    const socket = connect(nodes.a.socket);
    let answer = "";
    socket.on("data", (bytes) => (answer += String(bytes)));
    socket.on("error", () => {});
    socket.write(`${line}\n`);
    await new Promise((resolve) => socket.once("close", resolve));
    assert.equal(answer, "");
  });
}

test("a connection ends with the server's process", async () => {
  const waiting = sh(`curl -sS 'http://${ipOf(server)}:8080/shell?cmd=sleep+60'`);
  await nodes.a.settle();
  await nodes.b.runtime.control.killContainer(server.containerId);
  assert.equal((await waiting).exitCode, 52);
});

test("a pod in its node's network is reached at the node's address, and calls others from there", async () => {
  const onHost = nodes.b.onHost("netexec", "--http-port=9000");
  await nodes.b.settle();
  for (const address of ["10.240.0.3", "10.244.2.1"]) {
    assert.ok((await text(`curl -s http://${address}:9000/clientip`)).startsWith(`${ipOf(client)}:`));
  }
  assert.equal((await sh("curl -sS http://10.240.0.2:9000")).exitCode, 7, "the other node");
  assert.equal((await sh("curl -sS http://127.0.0.1:9000")).exitCode, 7, "a pod's loopback is its own");
  const back = await sh(`curl -s http://${ipOf(server)}:8080/clientip; hostname -i`, onHost, nodes.b);
  assert.match(back.stdout.toString(), /^10\.240\.0\.3:\d+10\.240\.0\.3\n$/);
});

test("a Service leads to endpoints on both nodes, and the trace says why", async () => {
  const other = nodes.a.agnhost("netexec");
  await nodes.a.settle();
  const verdict = {
    kind: "dnat",
    chain: "KUBE-SVC-X",
    endpoints: [`${ipOf(server)}:8080`, `${ipOf(other)}:8080`],
  } as const;
  const rule = {
    service: "ns/web:http",
    protocol: "tcp",
    address: "cluster IP",
    ip: "10.96.0.9",
    port: 80,
    verdict,
  } as const;
  const { port: _port, ip: _ip, ...rest } = rule;
  const nodePort = { ...rest, address: "node port", port: 30_080, verdict: { ...verdict, masquerade: true } } as const;
  const refusing = { ...rule, port: 81, verdict: { kind: "reject", why: "ns/web:admin has no endpoints" } } as const;
  for (const node of [nodes.a, nodes.b]) node.runtime.control.restoreRules({ rules: [rule, refusing, nodePort] });
  const answers = new Set<string>();
  for (let count = 0; count < 40 && answers.size < 2; count++)
    answers.add(await text("curl -s http://10.96.0.9/hostname"));
  assert.deepEqual([...answers].sort(), [server, other].map(({ sandbox }) => sandbox.metadata.name).sort());
  assert.ok(
    (await text("curl -s http://10.96.0.9/clientip")).startsWith(`${ipOf(client)}:`),
    "a cluster IP keeps the client",
  );
  const nodesOf = {
    "10.244.1.1": /^(10\.244\.1\.1|10\.240\.0\.2):/,
    "10.240.0.2": /^(10\.244\.1\.1|10\.240\.0\.2):/,
    "10.244.2.1": /^(10\.244\.2\.1|10\.240\.0\.3):/,
    "10.240.0.3": /^(10\.244\.2\.1|10\.240\.0\.3):/,
  };
  for (const [address, sender] of Object.entries(nodesOf)) {
    assert.match(await text(`curl -s http://${address}:30080/clientip`), sender, "a node port does not");
  }
  assert.equal((await sh("curl -sS http://10.96.0.9:81")).exitCode, 7);
  const decisions = nodes.a.recorded.events.flatMap((event) => (event.kind === "decision" ? [event] : []));
  assert.match(decisions[0]?.what ?? "", /^10\.244\.1\.\d+ to 10\.96\.0\.9:80\/tcp: goes to 10\.244\.[12]\.\d+:8080$/);
  assert.equal(decisions[0]?.why, "cluster IP of ns/web:http: KUBE-SVC-X: one of 2 endpoints, by chance");
  assert.match(decisions.at(-1)?.why ?? "", /ns\/web:admin has no endpoints/);
});

test("a cut network: other nodes are lost in both directions, open connections end, the own node stays", async () => {
  const own = nodes.a.agnhost("netexec");
  await nodes.a.settle();
  const fromB = nodes.b.agnhost("pause");
  const reader = nodes.b.run({ command: ["sh", "-c", "nc -l -p 9 | wc -c"] });
  const counted = nodes.b.output(reader);
  await nodes.b.settle();
  const talking = sh(`{ echo hello; sleep 1000000; } | nc ${ipOf(reader)} 9`);
  talking.catch(() => {});
  await untilTrue(
    () => nodes.b.core.network.find(ipOf(reader))?.ports.sockets.some(({ peer }) => peer !== undefined) === true,
  );
  nodes.a.core.network.setCut({ how: "refuse" });
  await untilTrue(() => counted() !== "");
  assert.match((await sh(`curl -sS http://${ipOf(server)}:8080/hostname`)).stderr.toString(), /Connection refused/);
  assert.match(
    (await sh(`curl -sS http://${ipOf(own)}:8080/hostname`, fromB, nodes.b)).stderr.toString(),
    /Connection refused/,
  );
  assert.equal(await text(`curl -s http://${ipOf(own)}:8080/hostname`), own.sandbox.metadata.name);
  nodes.a.core.network.setCut(undefined);
  assert.equal(await text(`curl -s http://${ipOf(server)}:8080/hostname`), server.sandbox.metadata.name);
});

test("a network that drops everything: connections time out; a slow one: they are late", async () => {
  nodes.a.core.network.setCut({ how: "drop" });
  const dropped = sh(`curl -sS http://${ipOf(server)}:8080/hostname`);
  await untilTrue(() => nodes.a.clock.sleeping > 0);
  await nodes.a.clock.advance(200_000);
  assert.match((await dropped).stderr.toString(), /timed out|Connection timeout/i);
  nodes.a.core.network.setCut({ delayMs: 700 });
  const sleeping = nodes.a.clock.sleeping;
  const late = text(`curl -s http://${ipOf(server)}:8080/hostname`);
  await untilTrue(() => nodes.a.clock.sleeping > sleeping);
  await nodes.a.clock.advance(700);
  assert.equal(await late, server.sandbox.metadata.name);
});
