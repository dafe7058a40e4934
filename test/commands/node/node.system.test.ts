import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { missingPath } from "../../support/missing-path.js";
import { isTooWide } from "../../support/rendered-widths.js";
import { runInProcess } from "../../support/run-cli.js";

/** Keys and tokens. A signature without what it signs, as in the public cluster-info, is no secret. */
const SECRET = /PRIVATE KEY|eyJhbGciOi[\w-]*\.[\w-]/;
const folder = () => mkdtempSync(join(tmpdir(), "kubelab-node-"));
const flat = (text: string) => text.replace(/\s+/g, " ");

describe("invalid options: exit 2, with one sentence that names the option", () => {
  const table: readonly [string, readonly string[], RegExp][] = [
    ["a node's name", ["--node", "Node_1"], /cannot be a node's name/],
    ["no capacity", ["--cpu", "0"], /--cpu "0" cannot be a node's capacity/],
    ["an amount", ["--memory", "lots"], /--memory "lots" is not a quantity/],
    ["a port", ["--port", "70000"], /--port.*expected a port from 0 to 65535/],
    ["a name server", ["--cluster-dns", "10.96.0.10,dns.local"], /--cluster-dns.*"dns.local" is not an IP address/],
    ["a domain", ["--cluster-domain", "Cluster_Local"], /--cluster-domain.*expected a domain in lower case/],
    ["a log's size", ["--container-log-max-size", "x"], /failed to parse container log max size "x"/],
    ["a number of logs", ["--container-log-max-files", "1"], /invalid MaxFiles 1, must be > 1/],
    ["a label", ["--node-labels", "zone"], /--node-labels.*"zone" is not a label/],
    ["a taint", ["--register-with-taints", "gpu"], /--register-with-taints.*"gpu" is not a taint/],
    ["a URL", ["--manifest-url", "ftp://h/pods"], /--manifest-url "ftp:\/\/h\/pods" is not an HTTP URL/],
    ["--server without a hash", ["--server", "https://h"], /--server needs --ca-cert-hash/],
    ["a time", ["--duration", "soon"], /--duration.*expected a duration/],
    ["a folder of manifests", ["--manifest-dir", ""], /--manifest-dir.*expected a path: it is empty/],
    ["a folder of its own", ["--root-dir", ""], /--root-dir.*expected a path: it is empty/],
    ["a handler", ["--handler", " "], /--handler.*expected a path: it is empty/],
    ["a command", ["--handler-command", ""], /--handler-command is empty/],
    ["a boolean", ["--register-node=maybe"], /--register-node.*expected true or false/],
    ["a clock", ["--clock-offset=late"], /--clock-offset.*expected for example -10m or 2h30m/],
    [
      "a configuration",
      ["--config", missingPath("config.yaml")],
      /failed to load kubelet config file.*no such file or directory/,
    ],
    ["an endpoint", ["--cri", "http://h"], /http:\/\/h/],
  ];
  for (const [what, flags, message] of table) {
    test(what, async () => {
      const home = folder();
      const { code, stdout, stderr } = await runInProcess(["node", "--root-dir", join(home, "root"), ...flags]);
      expect(flat(stderr)).toMatch(message);
      expect(code).toBe(2);
      expect(stdout).toBe("");
    });
  }
});

test("config: its --kube-version is that of the defaults, though node has a flag of this name", async () => {
  for (const [release, has] of [
    ["1.25", false],
    ["1.31", true],
  ] as const) {
    const { code, stdout } = await runInProcess(["node", "config", "--kube-version", release]);
    expect(code).toBe(0);
    expect(stdout.includes("failCgroupV1")).toBe(has);
  }
});

test("a runtime that is not there: exit 3, and the node has not joined", async () => {
  const home = folder();
  const argv = ["node", "--root-dir", home, "--cri", `unix://${join(home, "none.sock")}`];
  const { code, stderr } = await runInProcess(argv);
  expect(code).toBe(3);
  expect(stderr).toContain("none.sock");
  expect(existsSync(join(home, "kubelet.pem"))).toBe(false);
});

test("with a time it ends by itself: a static pod has run, keys are private, the kubeconfig is gone", async () => {
  const home = folder();
  const rootDir = join(home, "root");
  const manifests = join(home, "manifests");
  mkdirSync(manifests);
  const containers = [
    { name: "c", image: "busybox:1.36", command: ["sh", "-c", "cat /etc/resolv.conf; echo hello; exit 0"] },
  ];
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "once" },
    spec: { containers, restartPolicy: "Never" },
  };
  writeFileSync(join(manifests, "once.json"), JSON.stringify(pod));
  const trace = join(home, "trace.ndjson");
  const argv = ["node", "--json", "--root-dir", rootDir, "--manifest-dir", manifests, "--duration", "60s"];
  argv.push("--cluster-dns", "10.0.0.53,10.0.0.54", "--cluster-domain", "lab.local");
  const { code, stdout, stderr } = await runInProcess([...argv, "--speed", "10", "-o", trace]);
  expect(code, stderr).toBe(0);
  expect(flat(stderr)).toContain("node node-1 stops: --duration is over");

  const result = JSON.parse(stdout) as { node: string; kubeconfig: string; kubelet: string; runtime: { name: string } };
  expect(result).toMatchObject({ node: "node-1", cluster: "embedded", runtime: { name: "kubelab" } });
  expect(result.kubelet).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(existsSync(result.kubeconfig)).toBe(false);
  for (const key of ["kubelet.key", "pki/kubelet.key"]) {
    expect(statSync(join(rootDir, key)).mode & 0o777, key).toBe(0o600);
  }

  const facts = readFileSync(trace, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { kind: string; what?: string; to?: string; subject?: string });
  const phases = facts.filter(
    ({ kind, what, subject }) => kind === "state" && what === "phase" && subject?.includes("once"),
  );
  expect(phases.at(-1)?.to).toBe("Succeeded");
  const [log = ""] = readdirSync(join(rootDir, "log", "pods"));
  const said = readFileSync(join(rootDir, "log", "pods", log, "c", "0.log"), "utf8");
  expect(said).toMatch(/ stdout F hello\n$/);
  expect(said).toMatch(
    /F search \S+\.svc\.lab\.local svc\.lab\.local lab\.local\n.*F nameserver 10\.0\.0\.53\n.*F nameserver 10\.0\.0\.54/,
  );
  expect(readFileSync(trace, "utf8")).not.toMatch(SECRET);
});

test("no line is wider than 80 columns", async () => {
  const argv = ["node", "--root-dir", folder(), "--speed", "10", "-v", "2", "--no-color"];
  const stop = new AbortController();
  const onStderr = (text: string) => {
    // It has started, and goes on by itself.
    if (/node node-1 (?:is Ready|has registered).*Lease node-1: renewTime/.test(flat(text))) stop.abort();
  };
  const { code, stdout, stderr } = await runInProcess(argv, { onStderr, signal: stop.signal });
  expect(code).toBe(130);
  expect(stdout).toMatch(/^kubectl --kubeconfig /);
  expect(stderr.split("\n").filter((line) => isTooWide(line, 80))).toEqual([]);
});

test("a container's log is rotated at the given size, and only the given number is kept", async () => {
  const home = folder();
  const manifest = join(home, "chatty.json");
  const command = ["sh", "-c", "while true; do echo 0123456789012345678901234567890123456789; sleep 1; done"];
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "chatty" } };
  writeFileSync(manifest, JSON.stringify({ ...pod, spec: { containers: [{ name: "c", image: "busybox", command }] } }));
  const limits = ["--container-log-max-size", "500", "--container-log-max-files", "2"];
  const argv = [
    "node",
    "--root-dir",
    home,
    "--manifest-dir",
    manifest,
    "--duration",
    "90s",
    "--speed",
    "30",
    ...limits,
  ];
  const { code, stderr } = await runInProcess(argv);
  expect(code, stderr).toBe(0);
  expect(flat(stderr)).toMatch(/rotate the log of default\/chatty-node-1\/c: 0\.log becomes 0\.log\.\d{8}-\d{6}/);
  const [log = ""] = readdirSync(join(home, "log", "pods"));
  const files = readdirSync(join(home, "log", "pods", log, "c")).sort();
  expect(files).toEqual(["0.log", expect.stringMatching(/^0\.log\.\d{8}-\d{6}$/)]);
});
