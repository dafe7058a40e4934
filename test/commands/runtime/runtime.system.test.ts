import assert from "node:assert/strict";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { openCriChannel } from "../../../src/staging/cri/client.js";
import { Protocol } from "../../../src/staging/cri/messages/enums.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { CriDriver } from "../../cluster/runtime/cri-driver.js";
import { CliProcess, newHome } from "../../support/cli-process.js";
import { freePort } from "../../support/free-port.js";
import { runInProcess } from "../../support/run-cli.js";

const clock = new SystemClock();

async function version(endpoint: string): Promise<string> {
  const channel = openCriChannel(endpoint, { clock, trace: new Trace(clock), actor: "kubelet" });
  const result = await channel.call(RUNTIME_SERVICE.version, {}, { timeoutMs: 5000 });
  await channel.close();
  return result.outcome === "ok" ? result.value.runtimeName : result.text;
}

test("runtime up: prints its endpoint, serves, reports changes, and cleans up on Ctrl-C", async () => {
  const home = newHome();
  const cli = new CliProcess(home, ["runtime", "up", "--image", "busybox", "--control", "127.0.0.1:0"]);
  await cli.printed(/^unix:\/\/.*runtime\.sock$/m);
  const endpoint = `unix://${join(home, "state", "kubelab", "runtime.sock")}`;
  assert.equal(await version(endpoint), "kubelab");
  await cli.printed(/curl http:\/\/127\.0\.0\.1:\d+\/state/);
  const output = cli.kill("SIGINT");
  const { code, stdout, stderr } = await output;
  assert.equal(stdout.trim(), endpoint);
  assert.match(stderr, /the embedded runtime listens; look with:\s+crictl --runtime-endpoint \S+ pods\n/);
  assert.equal(code, 130);
  assert.ok(!existsSync(endpoint.slice("unix://".length)), "the socket is gone");
});

test("runtime up: the control API runs a pod, and the trace shows it", async () => {
  const cli = new CliProcess(newHome(), ["runtime", "up", "--control", "127.0.0.1:0", "--json"]);
  const stdout = collect(cli);
  await cli.printed(/"control": "http:.*\n\}\n$/);
  const { control } = JSON.parse(stdout()) as { control: string };
  const pod = {
    name: "web",
    namespace: "default",
    uid: "u1",
    containers: [{ name: "main", image: "busybox", command: ["sh", "-c", "exit 3"] }],
  };
  const response = await fetch(`${control}/pods`, { method: "POST", body: JSON.stringify(pod) });
  assert.equal(response.status, 200);
  await cli.printed(/default\/web\/main: container running . exited \(3, Error\)/);
  await cli.kill("SIGTERM");
});

test("runtime up: a sandbox's port mapping leads from a port of this machine to its container", async () => {
  const home = newHome();
  const cli = new CliProcess(home, ["runtime", "up"]);
  await cli.printed(/^unix:\/\/.*runtime\.sock$/m);
  const endpoint = `unix://${join(home, "state", "kubelab", "runtime.sock")}`;
  const runtime = new CriDriver(endpoint, "nginx");
  const hostPort = await freePort();
  const portMappings = [{ protocol: Protocol.TCP, containerPort: 80, hostPort, hostIp: "" }];
  const config = { metadata: { name: "web", namespace: "default", uid: "u", attempt: 0 }, portMappings };
  const { podSandboxId } = await runtime.ok(RUNTIME_SERVICE.runPodSandbox, { config });
  await runtime.ok(IMAGE_SERVICE.pullImage, { image: { image: "nginx" } });
  const container = { metadata: { name: "c", attempt: 0 }, image: { image: "nginx" } };
  const request = { podSandboxId, config: container, sandboxConfig: config };
  const created = await runtime.ok(RUNTIME_SERVICE.createContainer, request);
  await runtime.ok(RUNTIME_SERVICE.startContainer, created);
  const page = () => fetch(`http://127.0.0.1:${hostPort}/`, { headers: { connection: "close" } });
  let text = "";
  while (text === "")
    text = await page().then(
      (answer) => answer.text(),
      () => "",
    );
  assert.match(text, /Welcome to nginx/);
  await runtime.ok(RUNTIME_SERVICE.stopPodSandbox, { podSandboxId });
  await assert.rejects(page);
  await runtime.channel.close();
  await cli.kill("SIGINT");
});

test("runtime images: lists the embedded registry, as text and as JSON", async () => {
  const text = await runInProcess(["runtime", "images"]);
  assert.match(text.stdout, /70\.5 MB +nginx: latest, .*1\.7\.\.1\.29\n +a web server/);
  // A name that is longer than its column stays whole, to be copied.
  const isName = (line: string) => line.split(" ").some((word) => word.length > 68);
  for (const line of text.stdout.split("\n")) assert.ok(line.length <= 80 || isName(line), line);
  const json = await runInProcess(["runtime", "images", "--json"]);
  const images = JSON.parse(json.stdout) as { name: string; repositories: string[]; login?: object }[];
  assert.deepEqual(images.find(({ name }) => name === "registry.kubelab.example/team/web")?.login, {
    username: "learner",
    password: "kubelab",
  });
});

/** What it has printed on stdout so far. */
function collect(cli: CliProcess): () => string {
  let text = "";
  cli.child.stdout?.on("data", (chunk) => {
    text += String(chunk);
  });
  return () => text;
}

const REFUSED: readonly (readonly [readonly string[], number, RegExp])[] = [
  [["--listen", "tcp://0.0.0.0:0"], 2, /would be reachable from other machines/],
  [["--listen", "http://x"], 2, /protocol "http" is not supported/],
  [["--listen", `unix://${join(tmpdir(), "x".repeat(120))}`], 2, /at most 107 bytes/],
  [
    ["--listen", `unix://${mkdtempSync(join(tmpdir(), "kubelab-"))}/no/such/folder.sock`],
    2,
    /its folder does not exist/,
  ],
  // Node 20's own way of making folders turns in circles below /proc.
  [["--root-dir", "/proc/no/such", "--listen", "tcp://127.0.0.1:0"], 2, /cannot make the folder \/proc\/no\/such: /],
  [["--root-dir", "/dev/null/x", "--listen", "tcp://127.0.0.1:0"], 2, /a part of the path is a file/],
  [["--control", "0.0.0.0:1", "--listen", "tcp://127.0.0.1:0"], 2, /not a loopback address; the control API/],
  [
    ["--streaming-address", "0.0.0.0:1", "--listen", "tcp://127.0.0.1:0"],
    2,
    /not a loopback address; the streaming server/,
  ],
  [["--pod-cidr", "10.0.0.0/33", "--listen", "tcp://127.0.0.1:0"], 2, /pod CIDR/],
  [["--image", "../../etc", "--listen", "tcp://127.0.0.1:0"], 2, /invalid reference format/],
  [["--seed", "x"], 2, /whole number/],
];
for (const [args, code, message] of REFUSED) {
  test(`runtime up ${args.join(" ").slice(0, 60)}: exit ${code}`, async () => {
    const run = await runInProcess(["runtime", "up", ...args]);
    assert.match(run.stderr, message);
    assert.equal(run.code, code);
    assert.doesNotMatch(run.stderr, /\n\s+at /, "no stack trace");
  });
}

test("runtime up: a state folder that cannot be created", async () => {
  const run = await runInProcess(["runtime", "up"], { env: { XDG_STATE_HOME: "/dev/null/x" } });
  assert.match(run.stderr, /cannot make the folder \/dev\/null\/x\/kubelab: .*\nName another with XDG_STATE_HOME/);
  assert.equal(run.code, 2);
});
