import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { CliProcess, newHome } from "./cli-process.js";
import { startContainerd, type TestContainerd } from "./containerd.js";
import { runKubectl } from "./node-kubectl.js";

/** A cluster without nodes, and a containerd for those that a test starts. */
export interface ContainerdCluster {
  /** the folder of its files */
  readonly home: string;
  readonly containerd: TestContainerd;
  /** Runs kubelab until the end of the suite, at the latest. */
  start(...argv: string[]): CliProcess;
  kubectl(...args: string[]): Promise<string>;
  create(object: unknown): Promise<string>;
}

/** Starts them before the tests of a suite, and ends them after. @param flags of `cluster up` */
export function containerdCluster(flags: (home: string) => readonly string[] = () => []): ContainerdCluster {
  const home = newHome();
  const processes: CliProcess[] = [];
  let containerd: TestContainerd | undefined;
  const cluster: ContainerdCluster = {
    home,
    get containerd() {
      if (containerd === undefined) throw new Error("containerd has not started");
      return containerd;
    },
    start(...argv) {
      const process = new CliProcess(home, argv);
      processes.push(process);
      return process;
    },
    kubectl: (...args) => runKubectl(join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig"), args),
    create(object) {
      const file = join(mkdtempSync(join(home, "object-")), "object.json");
      writeFileSync(file, JSON.stringify(object));
      return cluster.kubectl("create", "-f", file);
    },
  };
  beforeAll(async () => {
    containerd = await startContainerd();
    await cluster.start("cluster", "up", ...flags(home)).printed(/^kubectl/m);
  }, 90_000);
  afterAll(async () => {
    for (const process of processes.reverse()) await process.kill("SIGKILL");
    await containerd?.stop();
    rmSync(home, { recursive: true, force: true });
  });
  return cluster;
}
