import { expect, test } from "vitest";
import { NodeAgent } from "../../../src/kubelet/app/node-agent.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FakeClock, settle, untilTrue } from "../../support/fake-clock.js";
import {
  type Answer,
  makeAuthority,
  makeLeaf,
  type SeenRequest,
  startHttpsServer,
  status,
} from "../../support/https-server.js";

const ca = await makeAuthority();
const serving = await makeLeaf(ca);

/** Accepts everything, but the node's status with this code only. */
function api(statusCode: number) {
  return ({ method, path, body }: SeenRequest): Answer => {
    if (!path.includes("/status"))
      return { status: method === "POST" ? 201 : 200, body: body ?? { kind: "Lease", metadata: {} } };
    const answer =
      statusCode === 200 ? { kind: "Node", metadata: {} } : status(statusCode, "InternalError", "etcd is down");
    return { status: statusCode, body: answer };
  };
}

for (const [code, outcome] of [
  [200, "patched"],
  [500, "failed"],
] as const) {
  test(`start: a status that is answered with ${code} is ${outcome}, and the caller knows it`, async () => {
    await using server = await startHttpsServer(serving, api(code));
    const clock = new FakeClock();
    const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
    const resources = { cpu: "4", memory: "8Gi", pods: "110" };
    const config = { server: server.url, caPem: ca.certificatePem };
    await using agent = new NodeAgent(config, deps, { nodeName: "n1", kubeVersion: "1.25", resources });
    const started = await agent.start(new AbortController().signal);
    expect(started.status).toBe(outcome);
  });
}

test("silent, a node renews no Lease; then it goes on", async () => {
  await using server = await startHttpsServer(serving, api(200));
  const clock = new FakeClock();
  const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
  const resources = { cpu: "4", memory: "8Gi", pods: "110" };
  const config = { server: server.url, caPem: ca.certificatePem };
  await using agent = new NodeAgent(config, deps, { nodeName: "n1", kubeVersion: "1.25", resources });
  const stop = new AbortController();
  const renewals = () => server.seen.filter(({ path }) => path.includes("/leases")).length;
  const keeping = agent.keepAlive(stop.signal).catch(() => undefined);
  await clock.advance(11_000);
  await untilTrue(() => renewals() > 0);
  agent.setSilent(true);
  await settle();
  const before = renewals();
  for (let i = 0; i < 6; i++) await clock.advance(10_000);
  expect(renewals()).toBe(before);
  agent.setSilent(false);
  await settle();
  await clock.advance(11_000);
  await untilTrue(() => renewals() > before);
  stop.abort();
  await keeping;
});
