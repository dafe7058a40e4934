import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startNodes } from "../../cli/cluster-nodes.js";
import {
  type ClusterState,
  clusterKubeconfig,
  clusterNodesFolder,
  makeClustersFolder,
  removeClusterState,
  writeClusterState,
} from "../../cli/cluster-state.js";
import type { CliContext } from "../../cli/context.js";
import { createClient } from "../../client/create-client.js";
import { kubeconfigText } from "../../client/kubeconfig-text.js";
import { startControlPlane } from "../../controlplane/start.js";
import type { LabPlace } from "../../labs/place.js";
import { Trace } from "../../trace/trace.js";
import { SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { makeFolder, writeFileAtomic } from "../../util/files.js";
import { LabRunner } from "./runner.js";

export interface EmbeddedPlaceOptions {
  /** of the running cluster, as `kubelab --cluster` names it */
  readonly clusterName: string;
  readonly speed: number;
  readonly kubeVersion: string;
  readonly nodes: number;
  readonly columns: number;
  readonly isColoured: boolean;
  /** see LabPlace; default 0 */
  readonly patienceMs?: number;
}

/**
 * A cluster for one lab, in this process: control plane, nodes, a folder. Other processes find it as any `kubelab cluster up`.
 */
export async function openEmbeddedPlace(context: CliContext, options: EmbeddedPlaceOptions): Promise<LabPlace> {
  const { clusterName, speed, kubeVersion, nodes, columns, isColoured } = options;
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const one of closers.splice(0).reverse()) await one();
  };
  try {
    const clock = new SystemClock(speed);
    const trace = new Trace(clock);
    const folder = await mkdtemp(join(tmpdir(), `kubelab-${clusterName}-`));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const controlPlane = await startControlPlane({ clock, random: context.random, trace, kubeVersion });
    closers.push(() => controlPlane.close());
    const kubeconfig = clusterKubeconfig(context.env, clusterName);
    const state: ClusterState = {
      version: 1,
      name: clusterName,
      pid: process.pid,
      url: controlPlane.url,
      kubeconfig,
      kubeVersion,
      speed,
      epochMs: clock.epochMs,
      nodes,
    };
    if (nodes > 0) {
      const none = async () => {};
      const target = {
        kind: "joined",
        admin: controlPlane.admin,
        description: `cluster ${clusterName}`,
        kubeVersion,
        close: none,
        [Symbol.asyncDispose]: none,
      } as const;
      const nodesFolder = clusterNodesFolder(context.env, clusterName);
      const running = await startNodes(context, { clock, trace }, { count: nodes, target, folder: nodesFolder });
      closers.push(async () => running[Symbol.asyncDispose]());
    }
    await makeClustersFolder(context.env);
    const names = { cluster: clusterName, user: `${clusterName}-admin`, context: clusterName };
    await writeFileAtomic(kubeconfig, kubeconfigText(controlPlane.admin, names), { mode: 0o600 });
    await writeClusterState(context.env, state);
    closers.push(() => removeClusterState(context.env, clusterName));
    const client = createClient(controlPlane.admin, { clock, trace, random: context.random, actor: "user" });
    closers.push(() => client.close());
    const programs = await writePrograms(folder, context.self);
    const runner = new LabRunner({
      random: context.random,
      folder,
      self: context.self,
      columns,
      isColoured,
      env: {
        ...context.env,
        KUBECONFIG: kubeconfig,
        KUBELAB_CLUSTER: clusterName,
        PATH: `${programs}:${context.env["PATH"] ?? ""}`,
      },
    });
    return {
      folder,
      client,
      clock,
      wall: new SystemClock(),
      patienceMs: options.patienceMs ?? 0,
      runner,
      given: { server: controlPlane.url, kubeconfig, folder },
      elsewhere: [`cd ${folder}`, `export KUBECONFIG=${kubeconfig} KUBELAB_CLUSTER=${clusterName}`],
      inject: async (name, args, signal) => {
        if (name === "time-passes") return clock.sleep(Number(args["minutes"]) * 60_000, signal);
        throw new LabError("USAGE", `${name} cannot be done here`, "This lab needs a newer kubelab.");
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** `kubelab` for lines that a shell runs. @returns the folder for PATH */
async function writePrograms(folder: string, self: readonly string[]): Promise<string> {
  const programs = join(folder, ".bin");
  await makeFolder(programs);
  const file = join(programs, "kubelab");
  const words = self.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  await writeFile(file, `#!/bin/sh\nexec ${words} "$@"\n`);
  await chmod(file, 0o755);
  return programs;
}
