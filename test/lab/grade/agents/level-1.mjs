// Agents that are wrong in one way, on top of the starter: `node level-1.mjs MISTAKE KUBECONFIG NODE`.
import { spawn } from "node:child_process";
import { Api, Clock, Lease, Node } from "../../../../examples/agents/javascript/agent.mjs";

const [mistake, kubeconfig, name] = process.argv.slice(2);
const clock = new Clock();
const api = new Api(kubeconfig);
const node = new Node(api, clock, name);
const lease = new Lease(node);
const NODE = `/api/v1/nodes/${name}`;
const MERGE = "application/merge-patch+json";

const STRATEGIC = "application/strategic-merge-patch+json";

/** What each does after it has registered; the default is a good agent. */
const AFTER = {
  // time.Duration(40 * 0.25) is 10 nanoseconds.
  async "nanosecond-renewals"() {
    for (;;) await lease.renew();
  },
  async "renews-every-hour"() {
    for (;;) {
      await lease.renew();
      await clock.sleep(3_600_000);
    }
  },
  async "renews-every-15-s"() {
    for (;;) {
      await lease.renew();
      await clock.sleep(15_000);
    }
  },
  async "status-with-each-renewal"() {
    for (;;) {
      await lease.renew();
      await api.request("PATCH", `${NODE}/status`, { status: { conditions: await node.conditions() } }, STRATEGIC);
      await clock.sleep(10_000);
    }
  },
  async "endless-status"() {
    heartbeats();
    for (let count = 0; ; count++) {
      await api.request("PATCH", `${NODE}/status`, { metadata: { annotations: { count: String(count) } } }, MERGE);
      await clock.sleep(500);
    }
  },
  async "conflict-loop"() {
    await lease.renew();
    for (let waitMs = 100; ; ) {
      Object.assign(lease.known.spec, await lease.spec());
      const { status, object } = await api.request("PUT", lease.path, lease.known);
      if (status === 200) lease.known = object;
      if (status === 200) waitMs = 100;
      // It keeps the old resourceVersion after a conflict.
      await clock.sleep(status === 200 ? 10_000 : status === 409 ? 500 : waitMs);
      if (status !== 200) waitMs *= 2;
    }
  },
  async "no-back-off"() {
    for (;;) {
      const read = await api.request("GET", lease.path);
      if (read.status === 404) await lease.renew();
      else if (read.status === 200) {
        Object.assign(read.object.spec, await lease.spec());
        await api.request("PUT", lease.path, read.object);
        await clock.sleep(10_000);
      } else await clock.sleep(100);
    }
  },
  async "gives-up-after-refusal"() {
    let isRefused = false;
    for (;;) {
      if (!isRefused) {
        const read = await api.request("GET", lease.path);
        if (read.status === 404) await lease.renew();
        else if (read.status === 200) {
          Object.assign(read.object.spec, await lease.spec());
          isRefused = (await api.request("PUT", lease.path, read.object)).status === 500;
        } else isRefused = true;
      }
      await clock.sleep(10_000);
    }
  },
  async "ignores-sigterm"() {
    process.removeAllListeners("SIGTERM");
    process.on("SIGTERM", () => {});
    await heartbeats();
  },
  async "no-lease"() {
    for (;;) await clock.sleep(60_000);
  },
  async exits() {
    console.error("panic: something went wrong");
    process.exit(3);
  },
  async memory() {
    const kept = [];
    heartbeats();
    for (;;) {
      kept.push(Buffer.alloc(20 * 2 ** 20, 1));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
  async forks() {
    heartbeats();
    // They leave the process group, and would outlive it.
    for (;;) {
      spawn("sleep", ["300"], { detached: true, stdio: "ignore" }).unref();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
  async leaves() {
    spawn("sleep", ["300"], { detached: true, stdio: "ignore" }).unref();
    await heartbeats();
  },
  async "endless-loop"() {
    for (;;);
  },
  async floods() {
    for (let line = 0; line < 100_000; line++) console.log(`line ${line} ${"x".repeat(80)}`);
    await heartbeats();
  },
};

async function heartbeats() {
  for (;;) {
    await lease.renew();
    await clock.sleep(10_000);
  }
}

process.once("SIGTERM", () => process.exit(0));
if (mistake === "no-node") for (;;) await clock.sleep(60_000);
if (mistake === "half-a-node") {
  const object = node.object.bind(node);
  node.object = async () => {
    const whole = await object();
    delete whole.metadata.labels["kubernetes.io/arch"];
    delete whole.status.addresses;
    whole.status.conditions = whole.status.conditions.filter(({ type }) => type !== "PIDPressure");
    return whole;
  };
}
await node.register();
await (AFTER[mistake] ?? heartbeats)();
