import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CliProcess, newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";
import { formsFound } from "../support/secret-search.js";

const run = promisify(execFile);
const newValue = () => `s3cret--${randomBytes(12).toString("hex")}xx`;
const base64 = (text: string) => Buffer.from(text).toString("base64");

suiteNeeding(["kubectl"], "secrets that kubectl sends to a node with -v 4 and --trace", () => {
  const home = newHome();
  const traceFile = join(home, "trace.ndjson");
  const kubeconfig = join(home, "state", "kubelab", "nodes", "node-1", "kubelab-admin.config");
  const applied = newValue();
  const values = [applied];
  let node: CliProcess;

  async function kubectl(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const all = { PATH: process.env["PATH"], HOME: home, LANG: "C.UTF-8", ...env };
    return (await run("kubectl", ["--kubeconfig", kubeconfig, ...args], { env: all, timeout: 40_000 })).stdout;
  }

  /** A value that is searched for at the end. */
  function next(): string {
    const value = newValue();
    values.push(value);
    return value;
  }

  function file(name: string, content: unknown): string {
    writeFileSync(join(home, name), JSON.stringify(content));
    return join(home, name);
  }

  function secret(password: string) {
    return { apiVersion: "v1", kind: "Secret", metadata: { name: "db" }, data: { password: base64(password) } };
  }

  beforeAll(async () => {
    node = new CliProcess(home, ["node", "-v", "4", "--trace", traceFile]);
    await node.printed(/^kubectl/m);
  });
  afterAll(async () => {
    await node.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });

  test("they arrive in containers, files and answers, and no line of the trace shows them", async () => {
    await kubectl(["apply", "-f", file("secret.json", secret(applied))]);
    const auth = { auths: { "r.example": { username: "me", password: next() } } };
    const pull = ["create", "secret", "docker-registry", "pull", "--docker-server=r.example", "--docker-username=me"];
    await kubectl([...pull, `--docker-password=${auth.auths["r.example"].password}`]);
    const argument = next();
    const fromSecret = { valueFrom: { secretKeyRef: { name: "db", key: "password" } } };
    const container = {
      name: "c",
      image: "busybox:1.36",
      command: ["sh", "-c", 'echo "got $0"; while true; do sleep 0.2; done', "$(PASSWORD)", `--api-token=${argument}`],
      env: [{ name: "PASSWORD", ...fromSecret }],
      envFrom: [{ secretRef: { name: "db" }, prefix: "ALL_" }],
      volumeMounts: [{ name: "v", mountPath: "/secrets" }],
    };
    const volumes = [{ name: "v", projected: { sources: [{ secret: { name: "db" } }] } }];
    const spec = {
      containers: [container],
      volumes,
      imagePullSecrets: [{ name: "pull" }],
      terminationGracePeriodSeconds: 1,
    };
    await kubectl(["create", "-f", file("pod.json", { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec })]);
    await kubectl(["wait", "--for=condition=Ready", "pod/p", "--timeout=30s"]);
    const token = next();
    expect(await kubectl(["exec", "p", "--", "cat", "/secrets/password"])).toBe(applied);
    expect(await kubectl(["exec", "p", "--", "echo", `--token=${token}`])).toBe(`--token=${token}\n`);
    expect(await kubectl(["logs", "p"])).toBe(`got ${applied}\n`);

    await kubectl(["patch", "secret", "db", "--type=merge", "-p", JSON.stringify({ stringData: { b: next() } })]);
    await kubectl(["patch", "secret", "db", "-p", JSON.stringify({ data: { c: base64(next()) } })]);
    const operation = [{ op: "add", path: "/data/d", value: base64(next()) }];
    await kubectl(["patch", "secret", "db", "--type=json", "-p", JSON.stringify(operation)]);
    const edited = next();
    const editor = `sed -i s,${base64(applied)},${base64(edited)},g`;
    await kubectl(["edit", "secret", "db"], { KUBE_EDITOR: editor });
    await kubectl(["apply", "-f", file("secret.json", secret(next())), "--server-side", "--force-conflicts"]);
    await kubectl(["replace", "-f", file("secret.json", secret(next()))]);
    const last = next();
    await kubectl(["apply", "-f", file("secret.json", secret(last))]);
    expect(await kubectl(["get", "secret", "db", "-o", "jsonpath={.data.password}"])).toBe(base64(last));
    await expect(
      kubectl(["patch", "secret", "db", "--type=merge", "-p", JSON.stringify({ data: next() })]),
    ).rejects.toThrow();
    // The kubelet's next sync of the volume reads the newest value.
    await kubectl(["delete", "pod", "p"]);

    const { stdout, stderr } = await node.kill("SIGTERM");
    const shown = [stdout, stderr, readFileSync(traceFile, "utf8")];
    expect(shown[2]).toContain("/namespaces/default/secrets");
    for (const value of values) {
      for (const text of shown) expect(formsFound(text.replaceAll(/\n\s*/g, ""), value), value).toEqual([]);
    }
  });
});
