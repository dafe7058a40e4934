import {
  type ContainerSpec,
  containersOf,
  ephemeralContainersOf,
  initContainersOf,
  type V1Pod,
} from "../../staging/apimachinery/api/pod.js";
import { describeFileError } from "../../util/os/files.js";
import { constantsFor } from "../../util/release/facts.js";
import { counted } from "../../util/text/counted.js";
import type { GcPolicy } from "../container/generic-runtime.js";
import type { Pod } from "../container/runtime.js";
import type { PodDns } from "../container/runtime-helper.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";
import type { PodActions } from "./pod-actions.js";
import { shortId } from "./pod-actions.js";

type Stopped = { readonly pod: V1Pod; readonly name: string; readonly containerId: string };
type Dead = { readonly podUid: string; readonly name: string; readonly containerId: string };
const CONTAINER_FILE = "pkg/kubelet/kuberuntime/kuberuntime_container.go";
const SANDBOX_FILE = "pkg/kubelet/kuberuntime/kuberuntime_sandbox.go";
const START_STEPS = {
  1: "pull the image",
  2: "create the container",
  3: "start the container",
  4: "execute the post start hook",
} as const;
const GC = { level: 2, file: "pkg/kubelet/kuberuntime/kuberuntime_gc.go" } as const;

/** Words the facts about pods and containers in the runtime. */
export class RuntimeObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/kuberuntime/kuberuntime_manager.go";

  #merged = "";

  /** Reports a merge unless the last one was of as many. */
  merged(pods: readonly Pod[]): void {
    const sandboxes = pods.reduce((sum, pod) => sum + pod.sandboxes.length, 0);
    const containers = pods.reduce((sum, pod) => sum + pod.containers.length, 0);
    const [lists, into] = [counted(containers, "container"), counted(pods.length, "pod")];
    const text = `merge ${counted(sandboxes, "sandbox", "es")} and ${lists} into ${into}, by the uid that each names`;
    if (text === this.#merged) return;
    this.#merged = text;
    this.note(text, 2, "GetPods");
  }

  leavesPod(pod: V1Pod): void {
    const what = `leave pod ${podText(pod)} as it is`;
    this.decision(what, "the runtime matches the spec", "computePodActions", { level: 2 });
  }

  syncing<T>(pod: V1Pod, actions: PodActions, body: () => T): T {
    return this.step(`Bring the runtime to the spec of pod ${podText(pod)}`, "SyncPod", () => {
      const { what, why } = describeActions(pod, actions);
      this.decision(what, why, "computePodActions");
      return body();
    });
  }

  backsOff(pod: V1Pod, { name }: ContainerSpec, exitCode: number, wait: string, kubeVersion: string): void {
    const what = `do not start container ${name} of ${podText(pod)} yet`;
    const why = `it ended with code ${exitCode} and waits ${wait} from then on`;
    const constants = constantsFor(kubeVersion, "containerBackOffPeriod", "maxContainerBackOff");
    this.decision(what, why, "doBackOff", { constants });
  }

  stopsContainer({ pod, name, containerId }: Stopped, text: string, graceSeconds: number, kubeVersion: string): void {
    const what = `stop container ${name} of ${podText(pod)} (${shortId(containerId)})`;
    const why = `${text}; it has ${graceSeconds} s to end by itself`;
    const constants = constantsFor(kubeVersion, "minimumGracePeriod", "preStopWithinOverride");
    this.decision(what, why, "killContainer", { constants, file: CONTAINER_FILE });
  }

  killFailed(problem: string): void {
    this.error(`Failed to kill container: ${problem}`);
  }

  makesLogFolder(pod: V1Pod, folder: string): void {
    this.note(`create the log directory of ${podText(pod)}: ${folder}`, 2, "createPodSandbox", SANDBOX_FILE);
  }

  runsSandbox(pod: V1Pod, dns: PodDns): void {
    const text = `RunPodSandbox of ${podText(pod)} with this resolv.conf: ${resolvConfText(dns)}`;
    this.note(text, 2, "createPodSandbox", SANDBOX_FILE);
  }

  /** @param step of startContainer: 1 to 4 */
  startStep(pod: V1Pod, { name }: ContainerSpec, step: keyof typeof START_STEPS, detail: string): void {
    const text = `container ${name} of ${podText(pod)}: step ${step} of 4, ${START_STEPS[step]}: ${detail}`;
    this.note(text, 2, "startContainer", CONTAINER_FILE);
  }

  logNotLinked(link: string, error: unknown): void {
    this.error(`Failed to create legacy symbolic link ${link}: ${describeFileError(error)}`, { level: 1 });
  }

  terminationLogNotCreated(name: string, error: unknown): void {
    this.error(`error on creating termination-log file of ${name}: ${describeFileError(error)}`, { level: 1 });
  }

  initContainerNotRemoved(name: string, problem: string): void {
    this.error(`failed to remove pod init container "${name}": ${problem}`, { level: 1 });
  }

  /** @param what a dead container, a sandbox, or logs: `sandbox 1f2e` */
  notRemoved(what: string, problem: string): void {
    this.error(`Failed to remove ${what}: ${problem}`, { level: 1 });
  }

  removesContainer({ containerId, name, podUid }: Dead, isOver: boolean, policy: GcPolicy): void {
    const why = isOver ? "its pod is over" : `of each container of a pod, ${limitText(policy)} are kept`;
    this.decision(`remove dead container ${containerId} (${name} of pod ${podUid})`, why, "evictContainers", GC);
  }

  removesSandbox(id: string): void {
    const why = "it is not ready, has no container, and its pod is over or has a newer one";
    this.decision(`remove sandbox ${id}`, why, "evictSandboxes", GC);
  }

  removesLogs(folder: string): void {
    this.decision(`remove pod logs directory ${folder}`, "its pod is gone", "evictPodLogsDirectories", GC);
  }

  removesLink(name: string): void {
    const why = "the log and the container that it names are gone";
    this.decision(`remove container log symlink ${name}`, why, "evictPodLogsDirectories", GC);
  }
}

/** Reports that there is nothing to kill, create or start. */
export function wantsNothing(actions: PodActions): boolean {
  return (
    !actions.killPod &&
    !actions.createSandbox &&
    actions.containersToKill.length === 0 &&
    actions.ephemeralContainersToStart.length === 0 &&
    actions.initContainersToStart.length === 0 &&
    actions.containersToStart.length === 0
  );
}

/** Describes the actions in their order, and why. */
export function describeActions(pod: V1Pod, actions: PodActions): { readonly what: string; readonly why: string } {
  const named = (kind: string, indexes: readonly number[], names: readonly { readonly name: string }[]) =>
    indexes.length === 0 ? [] : [`start ${kind} ${indexes.map((i) => names[i]?.name ?? "").join(", ")}`];
  const hasOld = actions.sandboxId !== undefined;
  const parts = [
    ...(actions.killPod && (hasOld || !actions.createSandbox) ? ["stop all that runs"] : []),
    ...(actions.createSandbox ? [`create sandbox (attempt ${actions.attempt})`] : []),
    ...actions.containersToKill.map(({ name }) => `kill ${name}`),
    ...named("ephemeral", actions.ephemeralContainersToStart, ephemeralContainersOf(pod)),
    ...named("init", actions.initContainersToStart, initContainersOf(pod)),
    ...named("container", actions.containersToStart, containersOf(pod)),
  ];
  const isOver = actions.killPod && !actions.createSandbox;
  const reasons = actions.containersToKill.map(({ message }) => message);
  const why = isOver ? "none of its containers is to run on or to start" : [actions.why, ...reasons].join("; ");
  return { what: `${podText(pod)}: ${parts.join(", ")}`, why };
}

function resolvConfText({ servers, searches, options }: PodDns): string {
  const lines = [
    ...servers.map((server) => `nameserver ${server}`),
    ...(searches.length === 0 ? [] : [`search ${searches.join(" ")}`]),
    ...(options.length === 0 ? [] : [`options ${options.join(" ")}`]),
  ];
  return lines.join(", ") || "empty";
}

function limitText({ maxPerPodContainer, maxContainers }: GcPolicy): string {
  const perContainer = maxPerPodContainer < 0 ? "all dead ones" : `the newest ${maxPerPodContainer} dead ones`;
  return maxContainers < 0 ? perContainer : `${perContainer}, and of the node's ${maxContainers}`;
}
