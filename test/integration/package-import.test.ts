import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { brotliDecompressSync } from "node:zlib";
import { beforeAll, test } from "vitest";

/** A global prefix with the packed package, and a program's folder that finds it. */
let folder: string;
let program: string;
let installed: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kubelab-import-"));
  const npm = (...args: string[]) => execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  npm("pack", resolve("."), "--ignore-scripts");
  npm("install", "--global", "--offline", "--no-audit", "--prefix", join(folder, "global"), "./kubelab-0.1.0.tgz");
  installed = join(folder, "global/lib/node_modules/kubelab");
  program = mkdtempSync(join(folder, "program-"));
  symlinkSync(join(folder, "global/lib/node_modules"), join(program, "node_modules"));
});

/** Runs a program that imports the package. */
function run(name: string, code?: string) {
  const file = join(program, name);
  if (code !== undefined) writeFileSync(file, code);
  const env = { PATH: process.env["PATH"], HOME: program, TMPDIR: process.env["TMPDIR"] };
  return promisify(execFile)(process.execPath, [file], { cwd: program, env });
}

test("examples/import.mjs runs with the installed package", async () => {
  copyFileSync("examples/import.mjs", join(program, "import.mjs"));
  const { stdout } = await run("import.mjs");
  assert.match(stdout, /^n1 is Ready at https:\/\/127\.0\.0\.1:\d+\npod web is Running on n1\n$/);
});

test("two clusters in one program; a function of the program does the work of pods", async () => {
  const { stdout } = await run(
    "virtual.mjs",
    `import { createVirtualNode, startCluster } from "kubelab";
    const [one, two] = await Promise.all([startCluster({ speed: 50 }), startCluster({ kubeVersion: "1.34" })]);
    const pods = "/api/v1/namespaces/default/pods";
    let calls = 0;
    const handler = async ({ pod, containers, log, progress, signal }) => {
      calls++;
      log("for", pod.metadata.name, containers[0].env.WHAT);
      progress(0.5);
      if (pod.metadata.name === "stopped") await new Promise((_, reject) => signal.onabort = () => reject(signal.reason));
      if (pod.metadata.name === "bad") throw new Error("it is bad");
      return "done";
    };
    const node = await createVirtualNode({ cluster: one, name: "v1", handler });
    const end = async (name) => {
      const containers = [{ name: "c", image: "any", env: [{ name: "WHAT", value: name.toUpperCase() }] }];
      const spec = { restartPolicy: "Never", containers, terminationGracePeriodSeconds: 1 };
      await one.client.expect({ method: "POST", path: pods, body: { apiVersion: "v1", kind: "Pod", metadata: { name }, spec } });
      if (name === "stopped") {
        await one.client.waitFor(pods + "/" + name, ({ status }) => status?.phase === "Running");
        await one.client.expect({ method: "DELETE", path: pods + "/" + name });
        return "deleted";
      }
      const { status } = await one.client.waitFor(pods + "/" + name, ({ status }) => /Succeeded|Failed/.test(status?.phase));
      const { body } = await one.client.request({ method: "GET", path: pods + "/" + name + "/log" });
      return [status.phase, status.containerStatuses[0].state.terminated.message, body.trim()].join(", ");
    };
    for (const name of ["good", "bad", "stopped"]) console.log(await end(name));
    console.log(calls, two.kubeVersion, one.url !== two.url, Math.round(one.clock.speed));
    await one.clock.setSpeed(2);
    console.log(one.clock.speed, Math.abs(two.clock.now() - Date.now()) < 60_000);
    for (const each of [node, node, one, two, two]) await each.close();
    await createVirtualNode({ cluster: one, name: "v2", handler }).catch(({ code, message }) => console.log(code, message));`,
  );
  assert.deepEqual(stdout.split("\n"), [
    "Succeeded, done, for good GOOD",
    "Failed, it is bad, for bad BAD",
    "deleted",
    "3 1.34 true 50",
    "2 true",
    "FAILED it has been closed, or is being closed",
    "",
  ]);
});

test("a runtime answers at its endpoint and ends with close", async () => {
  const { stdout } = await run(
    "runtime.mjs",
    `import { connect } from "node:net";
    import { startRuntime } from "kubelab";
    const runtime = await startRuntime({ images: ["nginx"] });
    const path = runtime.endpoint.replace("unix://", "");
    const state = () => new Promise((resolve) => {
      const socket = connect(path, () => { socket.destroy(); resolve("listens"); });
      socket.on("error", () => resolve("gone"));
    });
    console.log(await state());
    await runtime.close();
    console.log(await state());`,
  );
  assert.equal(stdout, "listens\ngone\n");
});

/** The processes of clusters and runtimes below a process that has ended are in sessions of their own, so their files tell. */
const LEFT_OPEN = `import { readdirSync, writeFileSync } from "node:fs";
  import { startCluster, startRuntime } from "kubelab";
  const cluster = await startCluster({ nodes: 1 });
  await startRuntime();
  await cluster.client.expect({ method: "GET", path: "/api/v1/nodes" });
  console.log(cluster.kubeconfigFile);`;

for (const [end, code] of [
  ["a forgotten close", ""],
  ["an error that nobody caught", 'setImmediate(() => { throw new Error("mine"); });'],
  ["process.exit", "process.exit(3);"],
  ["kill -9", 'process.kill(process.pid, "SIGKILL");'],
] as const) {
  test(`${end}: the program ends, and its cluster after it`, async () => {
    const { stdout } = (await run("open.mjs", `${LEFT_OPEN}\n${code}`).catch((error: unknown) => error)) as {
      readonly stdout: string;
    };
    const file = stdout.trim();
    assert.match(file, /kubelab-testbed-(\d+)-/);
    const pid = Number(/kubelab-testbed-(\d+)-/.exec(file)?.[1]);
    while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
    assert.throws(() => statSync(file), { code: "ENOENT" });
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a wrong option is one error that names it", async () => {
  const { stdout } = await run(
    "wrong.mjs",
    `import { LabError, startCluster, startNode } from "kubelab";
    const show = (error) => console.log(error instanceof LabError, error.code, error.message, "|", error.hint);
    await startCluster({ kubeVersoin: "1.30" }).catch(show);
    await startCluster({ nodes: 101 }).catch(show);
    await startNode({ name: "n1" }).catch(show);
    await startNode({ cluster: {}, name: "n1" }).catch(show);
    await startCluster({ dataFolder: "/dev/null/data" }).catch(({ code }) => console.log(code));`,
  );
  assert.deepEqual(stdout.split("\n"), [
    "true USAGE startCluster: unknown option kubeVersoin | Did you mean kubeVersion?",
    "true USAGE startCluster: option nodes is 101 | Expected a whole number from 0 to 100.",
    "true USAGE startNode: option cluster is missing | Its options: cluster, name, labels, taints.",
    "true USAGE startNode: option cluster is {} | Expected a cluster that startCluster started.",
    "BAD_FILE",
    "",
  ]);
});

const TYPED = `import { type Cluster, createVirtualNode, LabError, type PodTask, startCluster, startNode, startRuntime } from "kubelab";
interface Pod { readonly metadata: { readonly name: string }; readonly status?: { readonly phase?: string } }
export async function main(): Promise<string> {
  await using cluster: Cluster = await startCluster({ kubeVersion: "1.30", nodes: 1, speed: 10 });
  await using node = await startNode({ cluster, name: "n1", labels: { disk: "ssd" } });
  await using virtual = await createVirtualNode({ cluster, name: "v1", handler: ({ pod, log }: PodTask) => log(pod.metadata?.name) });
  await using runtime = await startRuntime({});
  const pod = await cluster.client.waitFor<Pod>("/api/v1/namespaces/default/pods/web", ({ status }) => status?.phase === "Running");
  for await (const { type, object } of cluster.client.watch<Pod>("/api/v1/pods")) return type + object.metadata.name;
  // @ts-expect-error an unknown option
  await startCluster({ kubeVersoin: "1.30" });
  const code = new LabError("USAGE", "m", "h").code;
  return [pod.metadata.name, node.name, virtual.name, runtime.endpoint, code, cluster.clock.now().toFixed()].join();
}
`;

for (const [module, moduleResolution] of [
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
] as const) {
  test(`the types compile in strict mode with moduleResolution ${moduleResolution}`, () => {
    writeFileSync(join(program, "typed.mts"), TYPED);
    const types = resolve("node_modules/@types");
    const flags = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
    const settings = ["--target", "es2022", "--module", module, "--moduleResolution", moduleResolution];
    const args = [resolve("node_modules/.bin/tsc"), ...flags, ...settings, "--types", "node", "--typeRoots", types];
    const { stdout, status } = spawnSync(process.execPath, [...args, "typed.mts"], { cwd: program, encoding: "utf8" });
    assert.equal(stdout, "");
    assert.equal(status, 0);
  });
}

test("kubelab source prints a chapter, and a file of Kubernetes finds what mirrors it", () => {
  const kubelab = (...args: string[]) =>
    execFileSync(join(folder, "global/bin/kubelab"), args, { cwd: program, encoding: "utf8" });
  assert.equal(`${kubelab("source", "pleg/generic").trimEnd()}\n`, readFileSync("src/kubelet/pleg/generic.ts", "utf8"));
  assert.match(kubelab("source", "pkg/kubelet/pleg/generic.go"), /src\/kubelet\/pleg\/generic\.ts ====/);
  assert.match(kubelab("source"), /^pleg +\d+ lines +pkg\/kubelet\/pleg\/generic\.go$/m);
});

test("a bug ends with exit code 70 and a stack that names the source", () => {
  const broken = join(program, "broken.mjs");
  writeFileSync(broken, 'process.hrtime.bigint = () => { throw new TypeError("broken on purpose"); };');
  const args = ["--import", broken, join(installed, "dist/cli.js"), "cluster", "up"];
  const env = { PATH: process.env["PATH"], HOME: program };
  const { stderr, status } = spawnSync(process.execPath, args, { cwd: program, encoding: "utf8", env });
  assert.equal(status, 70);
  assert.match(stderr, /kubelab has a bug: TypeError: broken on purpose/);
  assert.match(stderr, /\(src\/util\/clock\.ts:\d+:\d+\)/);
  assert.match(stderr, /\(src\/testbed\/cluster\/cluster\.ts:\d+:\d+\)/);
  assert.doesNotMatch(stderr, /dist\//);
});

test("the bill of materials lists the packages of the notices", () => {
  const read = (name: string) => readFileSync(join(installed, "dist", name), "utf8");
  const { bomFormat, specVersion, components, metadata } = JSON.parse(read("sbom.cdx.json")) as {
    readonly bomFormat: string;
    readonly specVersion: string;
    readonly metadata: { readonly component: { readonly purl: string } };
    readonly components: readonly Readonly<
      Record<"type" | "name" | "version" | "purl" | "bom-ref" | "licenses", unknown>
    >[];
  };
  assert.deepEqual([bomFormat, specVersion, metadata.component.purl], ["CycloneDX", "1.5", "pkg:npm/kubelab@0.1.0"]);
  const notices = Array.from(
    read("THIRD-PARTY-NOTICES.txt").matchAll(/^={80}\n\n(\S+ \S+) \(/gm),
    ([, title]) => title,
  );
  assert.deepEqual(
    components.map(({ name, version }) => `${name} ${version}`),
    notices,
  );
  for (const one of components) {
    assert.match(String(one.purl), /^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d[\w.+-]*$/);
    assert.equal(one["bom-ref"], one.purl);
    assert.ok(Array.isArray(one.licenses) && one.licenses.length === 1, String(one.name));
  }
});

test("the package stays small, and what no command reaches is not in it", () => {
  const sizes = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => ({ path: join(entry.parentPath ?? entry.path, entry.name) }))
    .map(({ path }) => ({ path: path.slice(installed.length + 1), bytes: statSync(path).size }));
  const sum = (of: typeof sizes) => of.reduce((total, { bytes }) => total + bytes, 0) / 1e6;
  assert.ok(sum(sizes) <= 15, `${sum(sizes)} MB`);
  const programPart = sizes.filter(({ path }) => /^dist\/[^/]+\.js$/.test(path));
  assert.ok(sum(programPart) <= 5.1, `${sum(programPart)} MB`);
  const sources = brotliDecompressSync(readFileSync(join(installed, "dist/stack-maps.json.br"))).toString();
  assert.doesNotMatch(sources, /undici|html-to-markdown|iconv-lite|\/(yq|xan|sqlite3|python3|rg|jq)-\w{8}\.js/);
});
