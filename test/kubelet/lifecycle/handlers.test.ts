import assert from "node:assert/strict";
import { test } from "vitest";
import type { LifecycleHandler } from "../../../src/kubelet/container/helpers.js";
import { HandlerRunner, type HandlerRunnerDeps, resolvePort } from "../../../src/kubelet/lifecycle/handlers.js";
import { FakeClock } from "../../support/fake-clock.js";
import { podOf } from "../kuberuntime/lab.js";

const { signal } = new AbortController();
const pod = podOf([{ name: "app", ports: [{ name: "http", containerPort: 8080 }] }], {}, { name: "web", uid: "u" });
const container = pod.spec.containers?.[0] ?? { name: "" };

/** A runner on fakes that keep what they were asked. */
function runner(changes: Partial<HandlerRunnerDeps> = {}, kubeVersion = "1.25") {
  const asked: string[] = [];
  const clock = new FakeClock();
  const deps: HandlerRunnerDeps = {
    clock,
    runInContainer: async (id, cmd, timeoutMs) => {
      asked.push(`${id} ${cmd.join(" ")} ${timeoutMs}`);
      const exitCode = cmd[0] === "false" ? 1 : 0;
      return { output: Buffer.from("out\n"), exitCode, stderr: "oops" };
    },
    getPodStatus: async (ref) => ({ ...ref, ips: ["10.0.0.7"], containerStatuses: [], sandboxStatuses: [] }),
    httpClient: {
      async get(url, headers, { isPod }) {
        asked.push(
          [isPod ? "" : "elsewhere ", url, ...headers.map(({ name, value }) => ` ${name}: ${value}`)].join(""),
        );
        if (url.includes("refused")) throw new Error("connection refused");
        return url.includes("500") ? 500 : 200;
      },
    },
    ...changes,
  };
  const run = (handler: LifecycleHandler) =>
    new HandlerRunner(deps, { kubeVersion }).run("id", pod, container as never, handler, signal);
  return { run, asked, clock };
}

const where = 'for Container "app" in Pod "web_default(u)" failed';
const table: readonly [string, LifecycleHandler, string, string | undefined][] = [
  ["exec", { exec: { command: ["true", "x"] } }, "id true x 0", undefined],
  [
    "exec that fails",
    { exec: { command: ["false"] } },
    "id false 0",
    `Exec lifecycle hook ([false]) ${where} - error: command 'false' exited with 1: oops, message: "out\\n"`,
  ],
  ["httpGet at the pod's address", { httpGet: { path: "/ready", port: 80 } }, "http://10.0.0.7:80/ready", undefined],
  ["httpGet, a port's name", { httpGet: { path: "x", port: "http" } }, "http://10.0.0.7:8080/x", undefined],
  ["httpGet, a number in a text", { httpGet: { port: "81" } }, "http://10.0.0.7:81/", undefined],
  [
    "httpGet over TLS at another host",
    { httpGet: { port: 443, host: "::1", scheme: "HTTPS" } },
    "elsewhere https://[::1]:443/",
    undefined,
  ],
  [
    "httpGet with headers",
    { httpGet: { port: 80, httpHeaders: [{ name: "X-A", value: "b" }] } },
    "http://10.0.0.7:80/ X-A: b",
    undefined,
  ],
  ["httpGet: any answer will do", { httpGet: { port: 80, path: "/500" } }, "http://10.0.0.7:80/500", undefined],
  [
    "httpGet: nobody there",
    { httpGet: { port: 80, path: "/refused" } },
    "http://10.0.0.7:80/refused",
    `HTTP lifecycle hook (/refused) ${where} - error: connection refused, message: ""`,
  ],
  [
    "httpGet: no such port",
    { httpGet: { port: "metrics" } },
    "",
    `HTTP lifecycle hook () ${where} - error: couldn't find port: metrics in app, message: ""`,
  ],
  [
    "tcpSocket is refused",
    { tcpSocket: { port: 80 } },
    "",
    'Cannot run handler: invalid handler: {"tcpSocket":{"port":80}}',
  ],
];
for (const [name, handler, asked, want] of table) {
  test(`hook: ${name}`, async () => {
    const one = runner();
    assert.equal(await one.run(handler), want);
    assert.equal(one.asked.join("; "), asked);
  });
}

test("hook: what the runtime refuses is the hook's failure", async () => {
  const one = runner({ runInContainer: () => Promise.reject(new Error("rpc error")) });
  assert.equal(
    await one.run({ exec: { command: ["x"] } }),
    `Exec lifecycle hook ([x]) ${where} - error: rpc error, message: ""`,
  );
});

test("hook: without a client httpGet fails with a reason", async () => {
  const unused = () => Promise.reject(new Error("unused"));
  const deps = { clock: new FakeClock(), runInContainer: unused, getPodStatus: unused };
  const bare = new HandlerRunner(deps, { kubeVersion: "1.26" });
  const failure = await bare.run("id", pod, container as never, { httpGet: { port: 80 } }, signal);
  assert.match(failure ?? "", /no way to the pod's network$/);
});

test("hook: sleep takes the clock's time", async () => {
  const one = runner();
  const done = one.run({ sleep: { seconds: 5 } });
  await one.clock.advance(4_999);
  assert.equal(one.clock.sleeping, 1);
  await one.clock.advance(1);
  assert.equal(await done, undefined);
});

test("hook: ports", () => {
  const ports = [{ name: "http", containerPort: 8080 }];
  assert.deepEqual(
    [80, "80", "http", "", "other"].map((port) => resolvePort(port, { name: "c", ports })),
    [80, 80, 8080, 80, undefined],
  );
});
