import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect } from "node:net";
import { type Answer, decode, encode, type Packet, streamEncode } from "dns-packet";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { DnsFaults } from "../../../src/cluster/dns/dns-faults.js";
import { openDnsSockets } from "../../../src/cluster/dns/sockets.js";
import type { KubeClient } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { startEmbeddedControlPlane } from "../../../src/testbed/target/embedded-control-plane.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FakeClock, untilTrue } from "../../support/fake-clock.js";

const SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const SERVICES = "/api/v1/namespaces/default/services";

const clock = new FakeClock();
const facts: TraceEvent[] = [];
const faults = new DnsFaults();
let controlPlane: ControlPlane;
let client: KubeClient;
let udpPort = 0;
let tcpPort = 0;
let resolver: Resolver;

beforeAll(async () => {
  const random = new SystemRandom();
  const trace = new Trace(clock);
  trace.addSink({ write: (event) => facts.push(event) });
  controlPlane = await startEmbeddedControlPlane({
    clock,
    random,
    trace,
    kubeVersion: "1.25",
    withoutControllers: ["*"],
    dnsFaults: faults,
  });
  client = createClient(controlPlane.admin, { clock, random, trace: new Trace(clock), actor: "user" });
  const path = "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/kube-dns";
  const slice = (await client.expect({ method: "GET", path })) as {
    endpoints: unknown;
    ports: { name: string; port: number }[];
  };
  expect(slice.endpoints).toEqual([{ addresses: ["127.0.0.1"], conditions: { ready: true } }]);
  udpPort = slice.ports.find(({ name }) => name === "dns")?.port ?? 0;
  tcpPort = slice.ports.find(({ name }) => name === "dns-tcp")?.port ?? 0;
  resolver = new Resolver({ timeout: 5_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${udpPort}`]);
});

afterAll(async () => {
  await client.close();
  await controlPlane.close();
});

async function create(path: string, body: object): Promise<void> {
  await client.expect({ method: "POST", path, body });
}

/** Waits until the name server has seen a change. */
async function seen(subject: string): Promise<void> {
  await untilTrue(() =>
    facts.some((fact) => fact.kind === "watch" && fact.actor === "dns" && JSON.stringify(fact).includes(subject)),
  );
}

function service(name: string, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { ports: [{ name: "http", port: 80 }], ...spec },
  };
}

function slice(service: string, addresses: readonly string[]): object {
  const metadata = { name: service, labels: { "kubernetes.io/service-name": service } };
  const endpoints = addresses.map((ip) => ({ addresses: [ip] }));
  const ports = [{ name: "http", port: 8080, protocol: "TCP" }];
  return { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata, addressType: "IPv4", endpoints, ports };
}

test("a resolver asks for services, and the name server starts with the first query", async () => {
  expect(facts.some(({ actor }) => actor === "dns")).toBe(false);
  await create(SERVICES, service("web", { clusterIP: "10.96.0.77" }));
  expect(await resolver.resolve4("web.default.svc.cluster.local")).toEqual(["10.96.0.77"]);
  expect(await resolver.resolve4("kubernetes.default.svc.cluster.local")).toEqual(["10.96.0.1"]);
  expect(await resolver.resolve4("kube-dns.kube-system.svc.cluster.local")).toEqual(["10.96.0.10"]);
  expect(await resolver.resolveSrv("_http._tcp.web.default.svc.cluster.local")).toEqual([
    { name: "web.default.svc.cluster.local", port: 80, priority: 0, weight: 100 },
  ]);
  expect(await resolver.reverse("10.96.0.77")).toEqual(["web.default.svc.cluster.local"]);
  await expect(resolver.resolve4("nobody.default.svc.cluster.local")).rejects.toMatchObject({ code: "ENOTFOUND" });
  await expect(resolver.resolve6("web.default.svc.cluster.local")).rejects.toMatchObject({ code: "ENODATA" });
  await expect(resolver.resolve4("example.org")).rejects.toMatchObject({ code: "ESERVFAIL" });
  const decision = facts.find((fact) => fact.kind === "decision" && fact.actor === "dns");
  expect(decision).toMatchObject({
    what: "answer A web.default.svc.cluster.local over UDP: 10.96.0.77",
    why: "service default/web has the cluster IP 10.96.0.77",
    origin: "client",
  });
});

test("faults: wrong answers for some names, late or none, until they are taken back", async () => {
  await create(SERVICES, service("broken", { clusterIP: "10.96.0.80" }));
  await seen("default/broken");
  const ask = () => resolver.resolve4("broken.default.svc.cluster.local");
  faults.set("broken", { how: "not-found" });
  await expect(ask()).rejects.toMatchObject({ code: "ENOTFOUND" });
  expect(await resolver.resolve4("kubernetes.default.svc.cluster.local")).toEqual(["10.96.0.1"]);
  faults.set("broken", { how: "fails" });
  await expect(ask()).rejects.toMatchObject({ code: "ESERVFAIL" });
  faults.set("broken", { how: "wrong-address" });
  expect(await ask()).toEqual(["10.96.255.254"]);
  faults.set("broken", { how: "drops" });
  const impatient = new Resolver({ timeout: 50, tries: 1 });
  impatient.setServers([`127.0.0.1:${udpPort}`]);
  await expect(impatient.resolve4("broken.default.svc.cluster.local")).rejects.toMatchObject({ code: "ETIMEOUT" });
  faults.set("broken", { delayMs: 2_000 });
  const late = ask();
  await untilTrue(() => clock.sleeping > 0);
  await clock.advance(2_000);
  expect(await late).toEqual(["10.96.0.80"]);
  faults.set("broken", undefined);
  expect(await ask()).toEqual(["10.96.0.80"]);
});

test("it follows changes, as a service account with no other rights", async () => {
  await create(SERVICES, service("late", { clusterIP: "10.96.0.78" }));
  await seen("default/late");
  expect(await resolver.resolve4("late.default.svc.cluster.local")).toEqual(["10.96.0.78"]);
  await client.expect({ method: "DELETE", path: `${SERVICES}/late` });
  await untilTrue(() => facts.some((fact) => fact.kind === "watch" && fact.actor === "dns" && fact.type === "DELETED"));
  await expect(resolver.resolve4("late.default.svc.cluster.local")).rejects.toMatchObject({ code: "ENOTFOUND" });
  const identities = new Set(
    facts.flatMap((fact) => (fact.kind === "request" && fact.actor === "dns" ? [fact.identity] : [])),
  );
  expect([...identities]).toEqual(["certificate system:serviceaccount:kube-system:coredns"]);
  const random = new SystemRandom();
  const own = createClient(await controlPlane.dnsCredentials(), {
    clock,
    random,
    trace: new Trace(clock),
    actor: "dns",
  });
  expect((await own.request({ method: "GET", path: "/api/v1/secrets" })).status).toBe(403);
  await own.close();
});

const NAME = "many.default.svc.cluster.local";

async function overUdp(query: Buffer): Promise<Buffer> {
  const socket = createSocket("udp4");
  socket.send(query, udpPort, "127.0.0.1");
  const [reply] = (await once(socket, "message")) as [Buffer];
  socket.close();
  return reply;
}

test("an answer that a datagram cannot hold is cut, and whole over TCP", async () => {
  await create(SERVICES, service("many", { clusterIP: "None" }));
  await create(
    SLICES,
    slice(
      "many",
      Array.from({ length: 60 }, (_, i) => `10.244.3.${i + 1}`),
    ),
  );
  await seen("default/many");
  await untilTrue(() =>
    facts.some(
      (fact) =>
        fact.kind === "watch" &&
        fact.actor === "dns" &&
        fact.resource === "endpointslices" &&
        JSON.stringify(fact).includes("many"),
    ),
  );
  const query: Packet = { type: "query", id: 7, questions: [{ type: "A", name: NAME }] };
  const cut = await overUdp(encode(query));
  expect(cut.length).toBeLessThanOrEqual(512);
  const { flag_tc: isCut, flag_aa: isAuthoritative, id, answers } = decode(cut);
  expect([isCut, isAuthoritative, id]).toEqual([true, true, 7]);
  expect(answers?.length).toBeGreaterThan(3);
  const size = { udpPayloadSize: 4096, flags: 0, extendedRcode: 0, ednsVersion: 0, flag_do: false, options: [] };
  const opt: Answer = { type: "OPT", name: ".", ...size };
  const large = decode(await overUdp(encode({ ...query, additionals: [opt] })));
  expect([large.flag_tc, large.answers?.length, large.additionals?.[0]?.type]).toEqual([false, 60, "OPT"]);
  // node's resolver goes on over TCP by itself, to the same port if it is the same number.
  if (udpPort === tcpPort) expect(await resolver.resolve4(NAME)).toHaveLength(60);
  const socket = connect(tcpPort, "127.0.0.1");
  // Two queries in three pieces.
  const bytes = Buffer.concat([streamEncode(query), streamEncode({ ...query, id: 8 })]);
  for (const [from, to] of [
    [0, 1],
    [1, 40],
    [40, bytes.length],
  ] as const)
    socket.write(bytes.subarray(from, to));
  let received = Buffer.alloc(0);
  const replies: number[] = [];
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk as Buffer]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      const reply = decode(received.subarray(2, end));
      replies.push(reply.id ?? 0, reply.answers?.length ?? 0);
      received = received.subarray(end);
    }
    if (replies.length === 4) break;
  }
  expect(replies).toEqual([7, 60, 8, 60]);
});

test("what is no query gets FORMERR, NOTIMP or nothing", async () => {
  const rcode = (reply: Buffer) => (reply[3] ?? 0) & 0x0f;
  const query = encode({ type: "query", id: 9, questions: [{ type: "A", name: NAME }] });
  expect(rcode(await overUdp(query.subarray(0, 20)))).toBe(1);
  const update = Buffer.from(query);
  update[2] = 5 << 3;
  expect(rcode(await overUdp(update))).toBe(4);
  expect(rcode(await overUdp(encode({ type: "query", id: 9, questions: [] })))).toBe(1);
  // A reply, and too little, are not answered; the query after them is.
  const socket = createSocket("udp4");
  for (const message of [Buffer.alloc(3), encode({ type: "response", id: 1 }), query])
    socket.send(message, udpPort, "127.0.0.1");
  const [reply] = (await once(socket, "message")) as [Buffer];
  socket.close();
  expect(decode(reply).id).toBe(9);
});

test("queries that come before the server are answered by it", async () => {
  await using sockets = await openDnsSockets();
  const own = new Resolver({ timeout: 5_000 });
  own.setServers([`127.0.0.1:${sockets.udpPort}`]);
  const asked = own.resolve4("a.example");
  sockets.serve(async (message) => {
    const { id, questions } = decode(message);
    const answers = [{ type: "A", name: "a.example", data: "192.0.2.1" }] as const;
    return encode({ type: "response", id: id ?? 0, questions: questions ?? [], answers: [...answers] });
  });
  expect(await asked).toEqual(["192.0.2.1"]);
});
