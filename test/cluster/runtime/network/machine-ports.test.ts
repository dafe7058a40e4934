import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, beforeAll, beforeEach, test } from "vitest";
import type { RuleTable } from "../../../../src/cluster/netfilter/rules.js";
import type { Container } from "../../../../src/cluster/runtime/state/container.js";
import { Protocol } from "../../../../src/staging/cri/messages/enums.js";
import { untilTrue } from "../../../support/fake-clock.js";
import { loadPrograms } from "../lab.js";
import { ipOf, type NetworkNode, openTwoNodes } from "./network-lab.js";

let nodes: Awaited<ReturnType<typeof openTwoNodes>>;
beforeAll(loadPrograms);
beforeEach(async () => {
  nodes = await openTwoNodes();
});
afterEach(() => nodes.close());

const LOOPBACK = "127.0.0.1";
const nameOf = ({ sandbox }: Container) => sandbox.metadata.name;
const tcp = (hostPort: number, hostIp = "") => [{ protocol: Protocol.TCP, hostPort, hostIp, containerPort: 8080 }];

/** A port that nothing on this machine listens on, or that a program of the machine holds. */
async function machinePort(isHeld = false): Promise<{ readonly port: number; release(): Promise<void> }> {
  const server = createServer().listen(0, LOOPBACK);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const release = async () => {
    server.close();
    await once(server, "close");
  };
  if (!isHeld) await release();
  return { port, release };
}

/** What a server answers to a program of this machine; the error's code if it does not. */
async function ask(port: number, path = "/hostname", host = LOOPBACK): Promise<string> {
  try {
    return await (await fetch(`http://${host}:${port}${path}`, { headers: { connection: "close" } })).text();
  } catch (error) {
    return ((error as Error).cause as NodeJS.ErrnoException).code ?? "";
  }
}

async function askUdp(port: number, text: string): Promise<string> {
  const socket = createSocket("udp4");
  socket.send(text, port, LOOPBACK);
  const [answer] = (await once(socket, "message")) as [Buffer];
  socket.close();
  return answer.toString();
}

test("a host port leads from this machine's loopback address to the pod, until the pod ends", async () => {
  const { port } = await machinePort();
  const udp = { protocol: Protocol.UDP, hostPort: port, hostIp: "", containerPort: 8081 };
  const pod = await nodes.a.withHostPorts([...tcp(port), udp], "netexec");
  await untilTrue(() => nodes.a.core.network.find(ipOf(pod))?.ports.list().length === 1);
  assert.equal(await ask(port), nameOf(pod));
  assert.match(await ask(port, "/clientip"), /^10\.240\.0\.1:\d+$/, "this machine, in the network of nodes");
  assert.equal(await askUdp(port, "hostname"), nameOf(pod));
  const client = nodes.b.agnhost("pause");
  const url = `http://10.240.0.2:${port}/hostname`;
  assert.equal(
    (await nodes.b.sh(`curl -s ${url}`, client)).stdout.toString(),
    nameOf(pod),
    "pods use the node's address",
  );
  nodes.a.sandboxes.becomeNotReady(pod.sandbox);
  assert.equal(await ask(port), "ECONNREFUSED");
  assert.equal((await nodes.b.sh(`curl -s ${url}`, client)).exitCode, 7);
});

test("a host port for one address is open at that address only", async () => {
  const { port } = await machinePort();
  const local = await nodes.a.withHostPorts(tcp(port, LOOPBACK), "netexec");
  const inNetwork = await nodes.a.withHostPorts(tcp(port, "10.240.0.2"), "netexec");
  const other = await nodes.a.withHostPorts(tcp(port, "127.0.0.2"), "netexec");
  const client = nodes.b.agnhost("pause");
  await untilTrue(() => nodes.a.core.network.find(ipOf(other))?.ports.list().length === 1);
  assert.equal(await ask(port), nameOf(local));
  assert.equal(await ask(port, "/hostname", "127.0.0.2"), nameOf(other));
  const answer = await nodes.b.sh(`curl -s http://10.240.0.2:${port}/hostname`, client);
  assert.equal(answer.stdout.toString(), nameOf(inNetwork));
});

test("a port that another program of this machine has fails the sandbox, which leaves nothing behind", async () => {
  const { port, release } = await machinePort(true);
  const free = await machinePort();
  const before = nodes.a.core.sandboxes.size;
  await assert.rejects(nodes.a.withHostPorts([...tcp(free.port), ...tcp(port)], "netexec"), {
    message: new RegExp(
      `^cannot open hostport ${port} for pod default/pod-1: listen tcp 127\\.0\\.0\\.1:${port}: bind: address already in use$`,
    ),
  });
  assert.equal(nodes.a.core.sandboxes.size, before);
  assert.equal(await ask(free.port), "ECONNREFUSED", "its other ports are closed again");
  await release();
  await nodes.a.withHostPorts(tcp(port), "netexec");
});

test("nodes share this machine: the first one has a port, and the next one takes it over", async () => {
  const { port } = await machinePort();
  const first = await nodes.a.withHostPorts(tcp(port), "netexec");
  const second = await nodes.b.withHostPorts(tcp(port), "netexec");
  await untilTrue(() => nodes.b.core.network.find(ipOf(second))?.ports.list().length === 1);
  assert.equal(await ask(port), nameOf(first));
  const notes = nodes.b.recorded.events.flatMap((event) => (event.kind === "note" ? [event.text] : []));
  assert.match(notes[0] ?? "", new RegExp(`^127\\.0\\.0\\.1:${port}/tcp of this machine leads to a, which was first`));
  const there = await nodes.a.sh(`curl -s http://10.240.0.3:${port}/hostname`, first);
  assert.equal(there.stdout.toString(), nameOf(second));
  nodes.a.sandboxes.becomeNotReady(first.sandbox);
  await nodes.b.clock.advance(2_000);
  await untilAnswer(port, nameOf(second));
});

test("a pod in the network of its node listens at this machine's loopback address", async () => {
  const { port } = await machinePort();
  const pod = nodes.a.onHost("netexec", `--http-port=${port}`, `--udp-port=${port}`);
  await untilTrue(() => nodes.a.core.network.host.ports.list().includes(port));
  await untilOpen(port);
  assert.equal(await ask(port, "/echo?msg=here"), "here");
  await nodes.a.runtime.control.killContainer(pod.containerId);
  await untilAnswer(port, "ECONNREFUSED");
});

const nodePort = (port: number, verdict: RuleTable["rules"][number]["verdict"]): RuleTable => ({
  rules: [{ service: "default/web", protocol: "tcp", address: "node port", port, verdict }],
});
const dnat = (...endpoints: string[]) => ({ kind: "dnat", chain: "KUBE-SVC-X", endpoints }) as const;
const restore = (node: NetworkNode, table: RuleTable) => node.runtime.control.restoreRules(table);

test("a node port is open while its rule is there", async () => {
  const { port } = await machinePort();
  const pod = nodes.b.agnhost("netexec");
  restore(nodes.a, nodePort(port, dnat(`${ipOf(pod)}:8080`)));
  await untilAnswer(port, nameOf(pod));
  restore(nodes.a, { rules: [] });
  await untilAnswer(port, "ECONNREFUSED");
});

test("a node port without endpoints breaks connections; a node without local ones leaves the port to others", async () => {
  const [none, local] = [await machinePort(), await machinePort()];
  const pod = nodes.b.agnhost("netexec");
  restore(nodes.a, {
    rules: [
      ...nodePort(none.port, { kind: "reject", why: "no endpoints" }).rules,
      ...nodePort(local.port, { kind: "drop", why: "no local endpoints" }).rules,
    ],
  });
  restore(nodes.b, nodePort(local.port, dnat(`${ipOf(pod)}:8080`)));
  await untilAnswer(local.port, nameOf(pod));
  await untilAnswer(none.port, "UND_ERR_SOCKET", "ECONNRESET");
});

test("a node port that another program of this machine has is reported once, and works in the network", async () => {
  const { port, release } = await machinePort(true);
  const pod = nodes.a.agnhost("netexec");
  const errors = () => nodes.a.recorded.events.flatMap((event) => (event.kind === "error" ? [event.message] : []));
  restore(nodes.a, nodePort(port, dnat(`${ipOf(pod)}:8080`)));
  await untilTrue(() => errors().length === 1);
  restore(nodes.a, nodePort(port, { ...dnat(`${ipOf(pod)}:8080`), masquerade: true }));
  await nodes.a.clock.advance(10_000);
  assert.deepEqual(errors(), [
    `the node port of default/web is not open on this machine: listen tcp 127.0.0.1:${port}: bind: address already in use`,
  ]);
  const answer = await nodes.a.sh(`curl -s http://10.240.0.2:${port}/hostname`, pod);
  assert.equal(answer.stdout.toString(), nameOf(pod));
  await release();
});

test("a health check port leads to the program that answers for the node", async () => {
  const { port } = await machinePort();
  const program = createHttpServer((_, response) => response.end("healthy")).listen(0, LOOPBACK);
  await once(program, "listening");
  const endpoint = `${LOOPBACK}:${(program.address() as AddressInfo).port}`;
  const verdict = { kind: "listener", endpoint, why: "kube-proxy answers" } as const;
  const rule = { service: "default/web", protocol: "tcp", address: "health check", port, verdict } as const;
  restore(nodes.a, { rules: [rule] });
  await untilAnswer(port, "healthy");
  const pod = nodes.b.agnhost("pause");
  assert.equal((await nodes.b.sh(`curl -s http://10.240.0.2:${port}`, pod)).stdout.toString(), "healthy");
  program.close();
});

test("a connection that the client breaks off ends in the pod, and the pod's end reaches the client", async () => {
  const { port } = await machinePort();
  const pod = await nodes.a.withHostPorts(tcp(port), "netexec");
  await untilTrue(() => nodes.a.core.network.find(ipOf(pod))?.ports.list().length === 1);
  const socket = connect(port, LOOPBACK);
  await once(socket, "connect");
  const closed = once(socket, "close");
  socket.on("error", () => {});
  await nodes.a.runtime.control.killContainer(pod.containerId);
  nodes.a.sandboxes.becomeNotReady(pod.sandbox);
  await closed;
});

async function untilOpen(port: number): Promise<void> {
  while ((await ask(port)) === "ECONNREFUSED") await new Promise((resolve) => setImmediate(resolve));
}

async function untilAnswer(port: number, ...wanted: string[]): Promise<void> {
  for (;;) {
    const answer = await ask(port);
    if (wanted.includes(answer)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
