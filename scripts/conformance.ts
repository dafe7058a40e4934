// `npm run conformance -- E2E_BINARY [--focus RE] [--node embedded|containerd] [--agnhost BINARY] [--cni FOLDER]
// [--nodes N] [--etcd URL] [--timeout SECONDS] [--jobs N] [--keep FOLDER]`: runs the conformance cases of Kubernetes' e2e suite on the
// embedded control plane. With --etcd it keeps its state there; with --keep, the output of each case stays in a file.
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { CliProcess, newHome, runCliProcess } from "../test/support/cli-process.js";
import { startContainerd, type TestContainerd } from "../test/support/containerd.js";
import { busyboxImage } from "../test/support/oci-image.js";
import { type Case, listCases, runCase } from "./conformance/suite.js";
import { type Result, table } from "./conformance/table.js";

/** The image has curl, which is no part of agnhost: the cases only fetch the URL of the last argument. */
const CURL = '#!/bin/sh\nfor url; do :; done\nexec wget -q -O - "$url"\n';
const CLUSTER = "conformance";
/** These cases change or need a whole node or cluster, so they run alone. */
const ALONE = /\[Serial\]|\[Disruptive\]/;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    focus: { type: "string", default: "" },
    node: { type: "string", default: "embedded" },
    nodes: { type: "string", default: "1" },
    etcd: { type: "string" },
    agnhost: { type: "string" },
    cni: { type: "string" },
    timeout: { type: "string", default: "400" },
    jobs: { type: "string", default: "1" },
    keep: { type: "string" },
  },
});
const [binary] = positionals;
if (binary === undefined) throw new Error("usage: npm run conformance -- E2E_BINARY [--focus RE] [--node containerd]");
/** Ctrl-C ends the running cases; what the script has started ends as usual. */
const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interrupted.abort());
await main(resolve(binary));

async function main(e2e: string): Promise<void> {
  const cases = await listCases(e2e, new RegExp(flags.focus));
  const home = newHome();
  const isContainerd = flags.node === "containerd";
  const containerd = isContainerd ? await openContainerd(e2e) : undefined;
  const nodes = isContainerd ? "0" : flags.nodes;
  const processes: CliProcess[] = [];
  try {
    const state = flags.etcd === undefined ? [] : ["--etcd", flags.etcd];
    const up = await runCliProcess(home, "cluster", "up", "--name", CLUSTER, "--nodes", nodes, "--detach", ...state);
    if (up.code !== 0) throw new Error(up.stderr);
    if (containerd !== undefined) {
      const node = new CliProcess(home, ["node", "--cluster", CLUSTER, "--cri", containerd.endpoint]);
      processes.push(node);
      await node.printed(/^kubectl/m);
    }
    const kubeconfig = join(home, "state", "kubelab", "clusters", `${CLUSTER}.kubeconfig`);
    const results = await runAll(
      e2e,
      ["--provider=skeleton", `--kubeconfig=${kubeconfig}`, "--disable-log-dump"],
      cases,
    );
    process.stdout.write(`\n${table(results)}`);
    if (results.some(({ outcome }) => outcome.kind === "failed")) process.exitCode = 1;
  } finally {
    for (const one of processes) await one.kill("SIGINT");
    await runCliProcess(home, "cluster", "down", "--name", CLUSTER);
    await containerd?.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

/**
 * A containerd with those of the suite's images that need no registry: busybox and, with --agnhost, agnhost. A busybox
 * stands in for web servers, because cases only need them to run.
 */
async function openContainerd(e2e: string): Promise<TestContainerd> {
  const list = promisify(execFile);
  const names = (await list(e2e, ["--list-images"])).stdout.split("\n");
  const applets = (await list("/bin/busybox", ["--list"])).stdout
    .split("\n")
    .filter((name) => /^\w+$/.test(name) && name !== "busybox");
  const named = (name: string) => names.filter((one) => one.includes(`/${name}:`));
  const images = [busyboxImage(named("busybox"), { applets, cmd: ["sh"] }), busyboxImage(named("pause"))];
  const servers = [...named("nginx"), ...named("httpd")];
  images.push(busyboxImage(servers, { applets, cmd: ["httpd", "-f", "-p", "80"] }));
  if (flags.agnhost !== undefined) {
    const files = [
      { name: "agnhost", bytes: await readFile(flags.agnhost) },
      { name: "agnhost-2", link: "agnhost" },
      { name: "uploads/" },
      { name: "bin/curl", bytes: Buffer.from(CURL) },
    ];
    images.push(busyboxImage(named("agnhost"), { applets, files, entrypoint: ["/agnhost"], cmd: ["pause"] }));
  }
  return startContainerd({ images, ...(flags.cni === undefined ? {} : { cniPlugins: flags.cni }) });
}

async function runAll(e2e: string, args: readonly string[], cases: readonly Case[]): Promise<readonly Result[]> {
  const results: Result[] = [];
  const worker = async (queue: Case[]) => {
    for (let one = queue.shift(); one !== undefined && !interrupted.signal.aborted; one = queue.shift()) {
      const { outcome, output } = await runCase(e2e, args, one, Number(flags.timeout) * 1000, interrupted.signal);
      results.push({ one, outcome });
      process.stdout.write(`${outcome.kind.padEnd(8)} ${one.group}: ${one.name}\n`);
      if (flags.keep !== undefined) await keep(flags.keep, one, output);
    }
  };
  const together = cases.filter(({ name }) => !ALONE.test(name));
  await Promise.all(Array.from({ length: Number(flags.jobs) }, () => worker(together)));
  await worker(cases.filter(({ name }) => ALONE.test(name)));
  const order = new Map(cases.map((one, index) => [one, index]));
  return results.sort((a, b) => (order.get(a.one) ?? 0) - (order.get(b.one) ?? 0));
}

async function keep(folder: string, { name }: Case, output: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name.replace(/\W+/g, "-").slice(0, 200)}.log`), output);
}
