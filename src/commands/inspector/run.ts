import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { HostedRuntime } from "../../cluster/runtime/host/host.js";
import type { Kubelet, KubeletHooks } from "../../kubelet/app/kubelet.js";
import { removeAbandonedMemoryMedia } from "../../kubelet/volumes/memory-medium.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { PodFixture } from "../../testbed/fixtures/pod-fixture.js";
import { JOIN_TIMEOUT_MS, joinDefaults, planJoin } from "../../testbed/node/join-plan.js";
import { nodeConfiguration } from "../../testbed/node/kubelet-config.js";
import { startNode } from "../../testbed/node/node.js";
import { OwnNode } from "../../testbed/node/temporary-node.js";
import { openAdminKubeconfig } from "../../testbed/target/admin-kubeconfig.js";
import { networkFolderOf } from "../../testbed/target/running-cluster.js";
import { releaseOf } from "../../testbed/target/server-release.js";
import { keysRule } from "../../trace/story/rules.js";
import { tellStory } from "../../trace/story/teller.js";
import type { Trace } from "../../trace/trace.js";
import type { LiveWindow } from "../../trace/ui/live-server.js";
import { quieterTrace, traceOfNode } from "../../trace/view.js";
import { untilAborted } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { pathFrom } from "../../util/os/paths.js";
import { makeTemporaryFolder } from "../../util/os/temporary-folder.js";
import type { CliContext, CommandResult } from "../cli/context.js";
import { targetOptions } from "../cli/options.js";
import { type Loop, printAtEnd, stay } from "../cli/stay.js";
import { hasKeys } from "../cli/terminal-keys.js";
import { type InspectorKey, InspectorKeys, serveKeyTable } from "./key-table.js";
import { kubeletTables } from "./kubelet-tables.js";
import type { InspectorOptions } from "./options.js";
import type { StatusTable } from "./status-table.js";
import { futureOf, timeKeys } from "./time-keys.js";
import { inspectorTrace, type LevelInInspector } from "./trace.js";

/** An inspector with its running kubelet. */
export interface OpenInspector {
  readonly context: CliContext;
  readonly clock: Clock;
  /** the inspector's own trace; facts of the kubelet name its node */
  readonly trace: Trace;
  readonly nodeName: string;
  readonly parts: Kubelet;
  /** undefined with --cri */
  readonly runtime: HostedRuntime | undefined;
  /** as the administrator */
  readonly admin: KubeClient;
  readonly fixture: PodFixture;
}

export interface InspectorPlan {
  /** `static-pod` */
  readonly command: string;
  readonly options: InspectorOptions;
  readonly levelOf: LevelInInspector;
  /** called while the kubelet is made */
  readonly hooks?: (deps: { readonly clock: Clock; readonly trace: Trace }) => KubeletHooks;
  /** the pod of the first manifest in the inspector's own folder */
  readonly firstManifest?: string;
  /** @returns loops that run while the inspector is open; each ends when its signal aborts */
  readonly loops?: (
    inspector: OpenInspector,
    window: LiveWindow,
  ) => readonly ((signal: AbortSignal) => Promise<void>)[];
  readonly keys: (inspector: OpenInspector) => readonly InspectorKey[];
  /** the table above a terminal's keys, and the first one of a live page */
  readonly status: (inspector: OpenInspector) => StatusTable;
  readonly result: (inspector: OpenInspector) => CommandResult;
}

const RESOURCES = { cpu: "100", memory: "32Gi", pods: "110" };

/**
 * Opens an inspector: joins a node, runs a kubelet on it, and shows the inspector's part of its trace until Ctrl-C, `q` or
 * the end of --duration. Then it prints the result and removes the node.
 * @throws LabError as `startNode`; REFUSED when the cluster has a node of that name
 */
export async function runInspector(context: CliContext, plan: InspectorPlan): Promise<void> {
  const { command, options } = plan;
  const folder = await makeTemporaryFolder(command);
  try {
    const { manifestDir: given, cri: _c, http: _h, duration: _d, ...rest } = options;
    const manifestDir = given === undefined ? undefined : pathFrom(context.cwd, given);
    const joinOptions = { ...rest, ...RESOURCES, approve: "auto", dir: join(folder, "node") } as const;
    const joinPlan = planJoin({ ...joinOptions, timeout: JOIN_TIMEOUT_MS }, joinDefaults(context));
    const { nodeName } = joinPlan;
    await checkRuntime(context, options);
    await using target = await context.openTarget(command, targetOptions(options));
    const { clock, trace } = context.session({});
    using _story = tellStory(trace, keysRule(`the kubelet of ${nodeName} starts`));
    await trace.chapter(command, async () => {
      const quiet = quieterTrace(trace, 2);
      const ofNode = traceOfNode(trace, nodeName);
      const kubeVersion = await releaseOf(target, { clock, trace: quiet, random: context.random });
      await using admin = createClient(target.admin, { clock, trace: quiet, random: context.random, actor: "user" });
      const own = new OwnNode({ target, admin, clock, trace }, nodeName);
      await own.claim(context.signal);
      const fixture = await PodFixture.open({ admin, nodeName }, manifestDir, folder);
      if (fixture.isOwnFolder && plan.firstManifest !== undefined) await fixture.writeManifest(plan.firstManifest);
      await using _node = { [Symbol.asyncDispose]: () => own.takeAway() };
      const networkFolder = await networkFolderOf(context.env, target.admin.server);
      const start = () =>
        startNode(
          { context, clock, trace: inspectorTrace(trace, plan.levelOf) },
          {
            // `claim` has checked the name. A killed inspector's Node can stay Ready for a while.
            plan: { ...joinPlan, takesOver: true },
            kubeVersion,
            target,
            port: 0,
            config: nodeConfiguration(
              kubeVersion,
              { staticPodPath: fixture.folder },
              options.cri === undefined ? "simulated" : "real",
            ),
            networkFolder,
            ...defined({ cri: options.cri }),
            hooks: { ...plan.hooks?.({ clock, trace: ofNode }), causeOfFile: (file) => fixture.causeOf(file) },
          },
        );
      // The kubelet's facts are the inspector's topic.
      await using node = await context.folded("starting a node", `node ${nodeName} has started`, start, "kubelet");
      await own.mark(command, context.signal);
      await using kubeconfig = await openAdminKubeconfig(joinPlan.folder, target);
      const folderText = `${fixture.folder}${existsSync(fixture.folder) ? "" : ", which does not exist yet"}`;
      const text = `node ${nodeName} is up, and reads manifests from ${folderText}. In another terminal:\n  ${kubeconfig.kubectl} get pods -A`;
      trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
      const { kubelet: parts } = node.kubelet;
      const { runtime } = node;
      const inspector: OpenInspector = { context, clock, trace: ofNode, nodeName, parts, runtime, admin, fixture };
      const status = () => plan.status(inspector);
      const keys = new InspectorKeys([...plan.keys(inspector), ...timeKeys(clock, target.kind, options.cri)], trace);
      const window: LiveWindow = {
        tables: async () => withoutDoubles([status(), ...(await kubeletTables(inspector))]),
        keys: () => keys.buttons,
        future: futureOf(clock, target.kind),
        relist: () => parts.pleg.times,
        press: (key) => keys.press(key, context.signal),
      };
      const loops: Loop[] = [
        (signal) => Promise.race([node.done, untilAborted(signal)]),
        ...(plan.loops?.(inspector, window) ?? []),
      ];
      const { stdin } = context.streams;
      if (hasKeys(context.streams))
        loops.push((signal) => serveKeyTable({ keys, stdin, progress: context, status }, signal));
      using _page = context.ui?.present(window);
      await printAtEnd(
        context,
        () => stay(context, { clock, durationMs: options.duration }, loops),
        () => plan.result(inspector),
      );
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
    await removeAbandonedMemoryMedia();
  }
}

/** A window's own table can be one of the kubelet's tables. */
function withoutDoubles(tables: readonly StatusTable[]): StatusTable[] {
  const titles = tables.map(({ title }) => title);
  return tables.filter(({ title }, i) => titles.indexOf(title) === i);
}

/** Asks before using a real runtime, because the kubelet ends all pods there that are not its own. */
async function checkRuntime(context: CliContext, { cri, yes }: InspectorOptions): Promise<void> {
  if (cri === undefined) return;
  const question = `A kubelet will work with ${cri}: it ends all other pods there, and its own pods stay when this command ends. Continue?`;
  if (await context.confirm(question, { ...defined({ yes }), flag: "--yes" })) return;
  throw new LabError("DECLINED", `nothing was done with ${cri}`, "Without --cri pods run in an embedded runtime.");
}
