import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { CliProcess, newHome, runCliProcess } from "../support/cli-process.js";
import { runKubectl } from "../support/node-kubectl.js";
import { suiteNeeding } from "../support/requirements.js";
import { runProgram } from "../support/stream-kubectl.js";

const LOOPBACK = "127.0.0.1";

/** Ports that nothing on this machine listens on. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, LOOPBACK));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}

async function ask(port: number, path = "/hostname"): Promise<string> {
  const answer = await fetch(`http://${LOOPBACK}:${port}${path}`, { headers: { connection: "close" } });
  return answer.text();
}

async function untilRefused(port: number): Promise<void> {
  while (await ask(port).catch(() => undefined)) await new Promise((resolve) => setImmediate(resolve));
}

async function untilAnswered(port: number, path?: string): Promise<string> {
  for (;;) {
    const answer = await ask(port, path).catch(() => "");
    if (answer !== "") return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const podOf = (name: string, args: readonly string[], more: object = {}, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 0,
    ...spec,
    containers: [{ name: "c", image: "agnhost", args, ...more }],
  },
});
const serviceOf = (name: string, spec: object) => ({ apiVersion: "v1", kind: "Service", metadata: { name }, spec });

suiteNeeding(["kubectl"], "ports of this machine that lead into a cluster", () => {
  const home = newHome();
  const folder = join(home, "state", "kubelab", "clusters");
  const kubeconfig = join(folder, "kubelab.kubeconfig");
  const kubectl = (...args: string[]) => runKubectl(kubeconfig, args);
  const create = async (...items: object[]) => {
    mkdirSync(join(home, "manifests"), { recursive: true });
    const path = join(home, "manifests", "list.json");
    writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    await kubectl("create", "-f", path);
  };
  const untilReady = (...pods: string[]) =>
    kubectl("wait", "--for=condition=Ready", "--timeout=30s", ...pods.map((name) => `pod/${name}`));
  beforeAll(async () => {
    const up = await runCliProcess(home, "cluster", "up", "--detach", "--nodes", "2");
    assert.equal(up.code, 0, up.stderr);
  });
  afterAll(() => runCliProcess(home, "cluster", "down"));

  test("a hostPort is open until its pod is gone; another pod on a port in use waits, and its event says why", async () => {
    const [port = 0] = await freePorts(1);
    const server = createServer().listen(port, LOOPBACK);
    await once(server, "listening");
    await create(podOf("host-port", ["netexec"], { ports: [{ containerPort: 8080, hostPort: port }] }));
    const events = async () =>
      kubectl("get", "events", "--field-selector", "reason=FailedCreatePodSandBox", "-o", "json");
    for (;;) {
      const { items } = JSON.parse(await events()) as { readonly items: readonly { readonly message: string }[] };
      if (items[0] === undefined) continue;
      const why = `cannot open hostport ${port} for pod default/host-port: listen tcp 127.0.0.1:${port}: bind: address already in use`;
      assert.ok(items[0].message.endsWith(why), items[0].message);
      break;
    }
    server.close();
    await untilReady("host-port");
    assert.equal(await untilAnswered(port), "host-port");
    await kubectl("delete", "pod", "host-port");
    await untilRefused(port);
  });

  test("a pod with hostNetwork has the address of its node, which other pods reach", async () => {
    const [port = 0, udp = 0] = await freePorts(2);
    const args = ["netexec", `--http-port=${port}`, `--udp-port=${udp}`];
    await create(podOf("on-host", args, {}, { hostNetwork: true }), podOf("client", ["pause"]));
    await untilReady("on-host", "client");
    const [podIp, hostIp] = (
      await kubectl("get", "pod", "on-host", "-o", "jsonpath={.status.podIP} {.status.hostIP}")
    ).split(" ");
    assert.equal(podIp, hostIp);
    assert.match(podIp ?? "", /^10\.240\.0\.[23]$/);
    assert.equal(await kubectl("exec", "client", "--", "curl", "-s", `http://${podIp}:${port}/echo?msg=hi`), "hi");
    assert.equal(await untilAnswered(port, "/echo?msg=hi"), "hi");
    await kubectl("delete", "pod", "on-host", "client");
    await untilRefused(port);
  });

  test("node ports answer; with externalTrafficPolicy Local a node with an endpoint does, and the health check", async () => {
    const ports = [{ port: 80, targetPort: 8080 }];
    const selector = { app: "web" };
    await create(
      podOf("web", ["netexec"]),
      serviceOf("anywhere", { type: "NodePort", selector, ports }),
      serviceOf("local", { type: "LoadBalancer", externalTrafficPolicy: "Local", selector, ports }),
    );
    await untilReady("web");
    const portOf = async (service: string, path = "{.spec.ports[0].nodePort}") =>
      Number(await kubectl("get", "service", service, "-o", `jsonpath=${path}`));
    assert.equal(await untilAnswered(await portOf("anywhere")), "web");
    assert.equal(await untilAnswered(await portOf("local")), "web");
    assert.match(await untilAnswered(await portOf("local"), "/clientip"), /^10\.240\.0\.1:/, "Local keeps the client");
    const check = await untilAnswered(await portOf("local", "{.spec.healthCheckNodePort}"), "/");
    const { service, localEndpoints } = JSON.parse(check) as {
      readonly service: unknown;
      readonly localEndpoints: number;
    };
    assert.deepEqual(service, { namespace: "default", name: "local" });
    assert.ok(localEndpoints === 0 || localEndpoints === 1);
  });

  const FORWARDS: readonly (readonly [string, readonly string[], string | RegExp])[] = [
    ["a Service", ["service/anywhere", ":80"], "web"],
    ["a Deployment", ["deployment/shop", ":8080"], /^shop-/],
  ];
  for (const [what, args, want] of FORWARDS) {
    test(`kubectl port-forward to ${what}`, async () => {
      if (what === "a Deployment") {
        await kubectl("create", "deployment", "shop", "--image=agnhost", "--", "/agnhost", "netexec");
        await kubectl("wait", "--for=condition=Available", "--timeout=30s", "deployment/shop");
      }
      let answered: Promise<string> | undefined;
      let answer = "";
      const { stderr } = await runProgram(["kubectl", "port-forward", ...args], kubeconfig, {
        until: (text) => {
          const port = Number(/127\.0\.0\.1:(\d+) ->/.exec(text)?.[1] ?? 0);
          if (port === 0 || answered !== undefined) return answer !== "";
          answered = ask(port);
          void answered.then((body) => {
            answer = body;
            // Its next word is about this one.
            void ask(port).catch(() => {});
          });
          return false;
        },
      });
      if (typeof want === "string") assert.equal(answer, want, stderr);
      else assert.match(answer, want, stderr);
    });
  }

  for (const [what, [target = ""], want] of FORWARDS) {
    test(`kubelab port-forward to ${what}`, async () => {
      const [port = 0] = await freePorts(1);
      const forward = new CliProcess(home, ["port-forward", target, `${port}:${what === "a Service" ? 80 : 8080}`]);
      await forward.printed(/Forwarding from/);
      const answer = await ask(port);
      await forward.kill("SIGINT");
      if (typeof want === "string") assert.equal(answer, want);
      else assert.match(answer, want);
    });
  }

  test("kubelab port-forward to a Service that is not there", async () => {
    const ended = await runCliProcess(home, "port-forward", "svc/nope", ":80");
    assert.match(ended.stderr, /services "nope" not found/);
    assert.notEqual(ended.code, 0);
  });

  const REFUSALS: readonly (readonly [string, readonly string[], RegExp])[] = [
    [
      "a port that the Service does not have",
      ["service/anywhere", ":81"],
      /Service anywhere does not have a service port 81/,
    ],
    [
      "a Service without endpoints",
      ["service/empty", ":80", "--pod-running-timeout=1s"],
      /timed out waiting for the condition/,
    ],
    ["a Service without a selector", ["service/kubernetes", ":443"], /Service is defined without a selector/],
  ];
  for (const [what, args, want] of REFUSALS) {
    test(`kubectl port-forward to ${what}: kubectl says so`, async () => {
      if (args[0] === "service/empty")
        await create(serviceOf("empty", { selector: { app: "none" }, ports: [{ port: 80 }] }));
      const { code, stderr } = await runProgram(["kubectl", "port-forward", ...args], kubeconfig);
      assert.notEqual(code, 0);
      assert.match(stderr, want);
    });
  }
});
