import assert from "node:assert/strict";
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, TRUNCATED_RESPONSE } from "dns-packet";
import { afterEach, beforeAll, beforeEach, test } from "vitest";
import type { Container } from "../../../../src/cluster/runtime/state/container.js";
import { namesToTry } from "../../../../src/cluster/shell/net/resolv-conf.js";
import { loadPrograms, never } from "../lab.js";
import { openTwoNodes } from "./network-lab.js";

const SEARCH = ["ns.svc.cluster.local", "svc.cluster.local", "cluster.local"];
const RECORDS: readonly Answer[] = [
  { name: "web.ns.svc.cluster.local", type: "A", ttl: 30, data: "10.96.0.9" },
  { name: "db.other.svc.cluster.local", type: "A", ttl: 30, data: "10.96.0.7" },
  { name: "pods.ns.svc.cluster.local", type: "A", ttl: 30, data: "10.244.1.2" },
  { name: "pods.ns.svc.cluster.local", type: "A", ttl: 30, data: "10.244.2.2" },
  { name: "alias.ns.svc.cluster.local", type: "CNAME", ttl: 30, data: "web.ns.svc.cluster.local" },
  {
    name: "_http._tcp.web.ns.svc.cluster.local",
    type: "SRV",
    ttl: 30,
    data: { priority: 0, weight: 100, port: 80, target: "web.ns.svc.cluster.local" },
  },
  { name: "9.0.96.10.in-addr.arpa", type: "PTR", ttl: 30, data: "web.ns.svc.cluster.local" },
];
const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 } as const;

let nodes: Awaited<ReturnType<typeof openTwoNodes>>;
let client: Container;
/** `web.ns.svc.cluster.local A udp`, in order */
let asked: string[];
/** how the server behaves */
let mode: "answers" | "truncates" | "is silent" | "garbles" | "fails";

function reply(bytes: Buffer, protocol: string): Buffer | undefined {
  const query = decode(bytes);
  const [question = { name: "", type: "A" as const }] = query.questions ?? [];
  asked.push(`${question.name} ${question.type} ${protocol}`);
  if (mode === "is silent") return undefined;
  if (mode === "garbles") return Buffer.from("not a DNS message at all");
  const answersTo = (name: string): Answer[] =>
    RECORDS.filter((one) => one.name === name && (one.type === question.type || one.type === "CNAME"));
  const direct = answersTo(question.name);
  const answers = direct.flatMap((one) => (one.type === "CNAME" ? [one, ...answersTo(one.data)] : [one]));
  const isKnown = RECORDS.some(({ name }) => name === question.name);
  const rcode = mode === "fails" ? "SERVFAIL" : isKnown ? "NOERROR" : "NXDOMAIN";
  const isCut = mode === "truncates" && protocol === "udp";
  const flags = AUTHORITATIVE_ANSWER | RCODES[rcode] | (isCut ? TRUNCATED_RESPONSE : 0);
  return encode({ type: "response", id: query.id ?? 0, flags, questions: [question], answers: isCut ? [] : answers });
}

beforeAll(loadPrograms);
beforeEach(async () => {
  nodes = await openTwoNodes();
  asked = [];
  mode = "answers";
  // The name server is on the other node.
  const { ports } = nodes.b.core.network.host;
  ports.listenUdp(53, (bytes) => reply(bytes, "udp"));
  ports.listen(53, async ({ incoming, outgoing }) => {
    const bytes = await incoming.read(never);
    const answer = reply(bytes?.subarray(2) ?? Buffer.alloc(0), "tcp") ?? Buffer.alloc(0);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(answer.length);
    await outgoing.write(Buffer.concat([length, answer]), never);
    outgoing.release();
    incoming.release();
  });
  const dnsConfig = { servers: ["10.244.2.1"], searches: SEARCH, options: ["ndots:5"] };
  client = nodes.a.run({ image: { image: "agnhost" }, args: ["pause"] }, nodes.a.sandbox({ dnsConfig }));
  await nodes.a.settle();
});
afterEach(() => nodes.close());

async function run(script: string, seconds = 0) {
  const running = nodes.a.sh(script, client);
  for (let second = 0; second < seconds; second++) {
    for (const node of [nodes.a, nodes.b]) await node.settle();
    await nodes.a.clock.advance(1_000);
  }
  const { stdout, stderr, exitCode } = await running;
  return { out: stdout.toString(), err: stderr.toString(), exitCode };
}

const LOOKUPS: readonly (readonly [name: string, addresses: string, asked: readonly string[]])[] = [
  ["web", "10.96.0.9", ["web.ns.svc.cluster.local"]],
  ["web.ns", "10.96.0.9", ["web.ns.ns.svc.cluster.local", "web.ns.svc.cluster.local"]],
  ["db.other", "10.96.0.7", ["db.other.ns.svc.cluster.local", "db.other.svc.cluster.local"]],
  ["db.other.svc", "10.96.0.7", [...SEARCH.map((one) => `db.other.svc.${one}`)]],
  ["web.ns.svc.cluster.local.", "10.96.0.9", ["web.ns.svc.cluster.local"]],
  [
    "web.ns.svc.cluster.local",
    "10.96.0.9",
    [...SEARCH.map((one) => `web.ns.svc.cluster.local.${one}`), "web.ns.svc.cluster.local"],
  ],
  ["pods", "10.244.1.2 10.244.2.2", ["pods.ns.svc.cluster.local"]],
  ["alias", "10.96.0.9", ["alias.ns.svc.cluster.local"]],
  ["nothing", "", [...SEARCH.map((one) => `nothing.${one}`), "nothing"]],
  ["localhost", "127.0.0.1", []],
  ["10.96.0.9", "10.96.0.9", []],
];
for (const [name, addresses, names] of LOOKUPS) {
  test(`a container finds ${name}: ${addresses || "nothing"}`, async () => {
    const { out } = await run(`getent hosts ${name}`);
    assert.equal(
      out
        .split("\n")
        .flatMap((line) => line.split(/\s+/)[0] || [])
        .join(" "),
      addresses,
    );
    assert.deepEqual(
      asked,
      names.map((one) => `${one} A udp`),
    );
  });
}

const NDOTS: readonly (readonly [string, number, readonly string[]])[] = [
  ["a", 1, ["a.x", "a.y", "a"]],
  ["a.b", 1, ["a.b", "a.b.x", "a.b.y"]],
  ["a.b", 2, ["a.b.x", "a.b.y", "a.b"]],
  ["a.b.", 5, ["a.b"]],
];
for (const [name, ndots, names] of NDOTS) {
  test(`ndots:${ndots} and ${name}`, () => assert.deepEqual(namesToTry(name, { search: ["x", "y"], ndots }), names));
}

test("/etc/hosts comes first", async () => {
  const { out } = await run("echo '10.9.9.9 web www # comment' >> /etc/hosts; getent hosts web");
  assert.match(out, /^10\.9\.9\.9 /);
  assert.deepEqual(asked, []);
});

test("a truncated answer is fetched by TCP", async () => {
  mode = "truncates";
  assert.match((await run("getent hosts web")).out, /^10\.96\.0\.9 /);
  assert.deepEqual(asked, ["web.ns.svc.cluster.local A udp", "web.ns.svc.cluster.local A tcp"]);
});

test("a name server that is silent is asked twice, for 5 s each", async () => {
  mode = "is silent";
  const { err, exitCode } = await run("curl -sS http://web", 10);
  assert.equal(exitCode, 6);
  assert.match(err, /Could not resolve host: web/);
  assert.deepEqual(asked, Array(2).fill("web.ns.svc.cluster.local A udp"));
});

test("an answer that is none is no answer", async () => {
  mode = "garbles";
  assert.equal((await run("curl -sS http://web")).exitCode, 6);
});

test("a server that fails is asked about the other names as well", async () => {
  mode = "fails";
  assert.equal((await run("wget -qO- http://web")).err, "wget: bad address 'web'\n");
  assert.equal(asked.length, 4);
});

test("without the name server's node, names are unknown after its time", async () => {
  const { exitCode } = await run("echo nameserver 10.244.9.1 > /etc/resolv.conf; curl -sS http://web", 45);
  assert.equal(exitCode, 6);
});

const OUTPUTS: readonly (readonly [command: string, code: number, output: RegExp])[] = [
  [
    "nslookup web",
    0,
    /^Server: {4}10\.244\.2\.1\nAddress 1: 10\.244\.2\.1\n\nName: {6}web\nAddress 1: 10\.96\.0\.9 web\.ns\.svc\.cluster\.local\n$/,
  ],
  ["nslookup pods", 0, /Address 1: 10\.244\.1\.2\nAddress 2: 10\.244\.2\.2\n$/],
  ["nslookup 10.96.0.9", 0, /Name: {6}10\.96\.0\.9\nAddress 1: 10\.96\.0\.9 web\.ns\.svc\.cluster\.local\n$/],
  ["nslookup nothing 2>&1", 1, /\nnslookup: can't resolve 'nothing'\n$/],
  [
    "nslookup -type=srv _http._tcp.web",
    0,
    /\n_http\._tcp\.web\.ns\.svc\.cluster\.local\tservice = 0 100 80 web\.ns\.svc\.cluster\.local\n$/,
  ],
  ["nslookup -type=txt web", 1, /Can't find web: No answer|can't find web: NXDOMAIN/],
  ["nslookup -type=bad web 2>&1", 1, /^nslookup: invalid query type "bad"/],
  ["nslookup 2>&1", 1, /^Usage: nslookup/m],
  ["dig +short web.ns.svc.cluster.local", 0, /^10\.96\.0\.9\n$/],
  ["dig +short web", 0, /^$/],
  ["dig +noall +answer +search web", 0, /^web\.ns\.svc\.cluster\.local\.\t30\tIN\tA\t10\.96\.0\.9\n$/],
  ["dig +tcp +noall +answer +search pods A", 0, /\t10\.244\.1\.2\n.*\t10\.244\.2\.2\n$/],
  ["dig +short -x 10.96.0.9", 0, /^web\.ns\.svc\.cluster\.local\.\n$/],
  ["dig +short _http._tcp.web.ns.svc.cluster.local SRV", 0, /^0 100 80 web\.ns\.svc\.cluster\.local\.\n$/],
  ["dig +short SRV _http._tcp.web.ns.svc.cluster.local", 0, /^0 100 80 web\.ns\.svc\.cluster\.local\.\n$/],
  ["dig nothing", 0, /status: NXDOMAIN, id: \d+\n;; flags: qr aa rd ra; QUERY: 1, ANSWER: 0/],
  [
    "dig @192.0.2.1 +tries=1 web",
    9,
    /communications error to 192\.0\.2\.1#53: network is unreachable\n;; no servers could be reached\n$/,
  ],
  ["getent hosts nothing", 2, /^$/],
  ["getent passwd x 2>&1", 1, /Unknown database: passwd/],
  [
    "ping -c 1 10.244.2.1",
    0,
    /^PING 10\.244\.2\.1 \(10\.244\.2\.1\): 56 data bytes\n64 bytes from 10\.244\.2\.1: seq=0 ttl=64 time=0\.000 ms\n\n--- 10\.244\.2\.1 ping statistics ---\n1 packets transmitted, 1 packets received, 0% packet loss\n/,
  ],
  ["ping -c 1 192.0.2.1 2>&1", 1, /ping: sendto: Network is unreachable/],
  ["ping nothing 2>&1", 1, /^ping: bad address 'nothing'/],
];
for (const [command, code, output] of OUTPUTS) {
  test(`${command}: exit code ${code}`, async () => {
    const { out, exitCode } = await run(command);
    assert.match(out, output);
    assert.equal(exitCode, code);
  });
}

test("a cluster IP does not answer ping: kube-proxy's rules are about ports", async () => {
  const { out, exitCode } = await run("ping -c 1 -W 1 web", 3);
  assert.match(out, /1 packets transmitted, 0 packets received, 100% packet loss/);
  assert.equal(exitCode, 1);
});

test("ping counts what does not come back", async () => {
  const { out, exitCode } = await run("ping -c 2 -W 1 10.244.2.250", 4);
  assert.match(out, /2 packets transmitted, 0 packets received, 100% packet loss/);
  assert.equal(exitCode, 1);
});
