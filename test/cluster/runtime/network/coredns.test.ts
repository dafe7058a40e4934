import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode, encode } from "dns-packet";
import { afterEach, beforeAll, beforeEach, test } from "vitest";
import type { Container } from "../../../../src/cluster/runtime/state/container.js";
import { loadPrograms, never, stateOf } from "../lab.js";
import { ipOf, openTwoNodes } from "./network-lab.js";

let nodes: Awaited<ReturnType<typeof openTwoNodes>>;

beforeAll(loadPrograms);
beforeEach(async () => {
  nodes = await openTwoNodes();
});
afterEach(() => nodes.close());

const IMAGE = { image: "registry.k8s.io/coredns/coredns:v1.9.3" };

/** A pod with CoreDNS and this Corefile on node a. */
async function coredns(corefile: string): Promise<{ readonly server: Container; readonly stderr: () => string }> {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-coredns-"));
  writeFileSync(join(folder, "Corefile"), corefile);
  const mounts = [{ containerPath: "/etc/coredns", hostPath: folder, readonly: true }];
  nodes.a.core.images.add({ domain: "registry.k8s.io", path: "coredns/coredns", tag: "v1.9.3" });
  const server = nodes.a.run({ image: IMAGE, args: ["-conf", "/etc/coredns/Corefile"], mounts });
  const stderr = nodes.a.output(server, "stderr");
  await nodes.a.settle();
  return { server, stderr };
}

/** What `dig` in another pod says. */
async function dig(server: Container, ...flags: string[]): Promise<string> {
  const { stdout } = await nodes.a.sh(
    `dig @${ipOf(server)} +short ${flags.join(" ")} web.local`,
    nodes.a.run({ image: { image: "agnhost" }, args: ["pause"] }),
  );
  return stdout.toString();
}

function answer(bytes: Buffer): Buffer {
  const { id = 0, questions = [] } = decode(bytes);
  const answers = questions.map(({ name }) => ({ name, type: "A" as const, ttl: 30, data: "10.96.0.9" }));
  return encode({ type: "response", id, questions, answers });
}

test("queries over UDP and TCP go to the name server of the Corefile, and its probes are answered", async () => {
  const { ports } = nodes.b.core.network.host;
  ports.listenUdp(53, answer);
  ports.listen(53, async ({ incoming, outgoing }) => {
    const reply = answer((await incoming.read(never))?.subarray(2) ?? Buffer.alloc(0));
    const length = Buffer.alloc(2);
    length.writeUInt16BE(reply.length);
    await outgoing.write(Buffer.concat([length, reply]), never);
    outgoing.release();
    incoming.release();
  });
  const { server } = await coredns(
    ".:53 {\n    ready\n    forward . 10.244.2.1 {\n       max_concurrent 1000\n    }\n}\n",
  );
  assert.deepEqual([await dig(server), await dig(server, "+tcp")], ["10.96.0.9\n", "10.96.0.9\n"]);
  const probes = `for u in 8080/health 8181/ready 8181/other; do curl -s -o /dev/null -w '%{http_code} ' ${ipOf(server)}:$u; done`;
  const tool = nodes.a.run({ image: { image: "agnhost" }, args: ["pause"] });
  assert.equal((await nodes.a.sh(probes, tool)).stdout.toString(), "200 200 404 ");
});

test("a name server that is gone: SERVFAIL", async () => {
  const { server } = await coredns("forward . 10.244.2.1:5353");
  const query = encode({ type: "query", id: 7, questions: [{ type: "A", name: "web.local" }] });
  const to = { ip: ipOf(server), port: 53 };
  const reply = await nodes.a.core.network.host.sendDatagram(to, query, never);
  assert.ok(reply !== undefined);
  const { id, type, rcode, questions } = decode(reply) as ReturnType<typeof decode> & { rcode: string };
  assert.deepEqual([id, type, rcode, questions?.[0]?.name], [7, "response", "SERVFAIL", "web.local"]);
});

const BROKEN: readonly (readonly [string, string, RegExp])[] = [
  ["no name server", ".:53 {\n  ready\n}\n", /no line "forward \. IP"/],
  ["a file in its place", "forward . /etc/resolv.conf", /no line "forward \. IP"/],
];
for (const [what, corefile, message] of BROKEN) {
  test(`a Corefile with ${what} ends the container`, async () => {
    const { server, stderr } = await coredns(corefile);
    assert.equal(stateOf(server), "exited (1, Error)");
    assert.match(stderr(), message);
  });
}
