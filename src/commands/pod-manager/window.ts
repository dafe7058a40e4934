import type { Fact } from "../../trace/events.js";
import type { Level } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { untilAborted } from "../../util/loops.js";
import { decidesAboutMirror, deleteMirror } from "../static-pod/window.js";
import type { WindowKey } from "../window/key-table.js";
import { type HttpAddress, servePage } from "../window/page-server.js";
import { counted, listPods, newestPod, shortUid } from "../window/pod-list.js";
import type { OpenWindow } from "../window/run-window.js";
import { fileOf } from "../window/window-trace.js";
import { POD_MANAGER_PAGE } from "./page.js";

/** What comes from the sources, and what becomes of mirror pods. */
export function showsPodManager(fact: Fact, level: Level): Level | undefined {
  const file = fileOf(fact);
  if (file.startsWith("pkg/kubelet/config/") || file.startsWith("pkg/kubelet/pod/")) return level;
  return decidesAboutMirror(fact) ? level : undefined;
}

/**
 * Serves the page and the lists until `signal` aborts. Nothing here changes anything.
 *
 *   GET /pods               the pods that should be here, as a PodList
 *   GET /mirror-pods        their mirror pods, as a PodList
 *   GET /uid-translations   static pod to mirror pod, and back
 */
export async function servePods(window: OpenWindow, http: HttpAddress | undefined, signal: AbortSignal): Promise<void> {
  const { trace } = window;
  const lists: Readonly<Record<string, () => unknown>> = {
    "/pods": () => podList(window, "pods"),
    "/mirror-pods": () => podList(window, "mirrorPods"),
    "/uid-translations": () => translations(window),
  };
  const content = {
    files: POD_MANAGER_PAGE,
    state: () => podManagerState(window),
    get: ({ pathname }: URL) => {
      const list = Object.hasOwn(lists, pathname) ? lists[pathname] : undefined;
      return list === undefined ? undefined : { status: 200, body: list() };
    },
  };
  await using page = await servePage(trace, content, http ?? { host: "127.0.0.1", port: 0 });
  trace.emit({ kind: "note", text: `Page: ${page.url} and ${page.url}pods` }, { actor: "user" });
  await untilAborted(signal);
}

function podList({ parts }: OpenWindow, which: "pods" | "mirrorPods") {
  const { podManager, statusManager } = parts;
  const items = podManager.getPodsAndMirrorPods()[which].map((pod) => {
    const status = which === "pods" ? statusManager.getPodStatus(pod.metadata.uid) : undefined;
    return status === undefined ? pod : { ...pod, status };
  });
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items };
}

function translations({ parts }: OpenWindow) {
  const { podToMirror, mirrorToPod } = parts.podManager.getUidTranslations();
  const toMirror = Array.from(podToMirror, ([uid, mirrorUid]) => [uid, mirrorUid ?? null] as const);
  return { podToMirror: Object.fromEntries(toMirror), mirrorToPod: Object.fromEntries(mirrorToPod) };
}

/** More pods than a page is good for. */
const MAX_PODS = 200;

/** What the page shows. */
function podManagerState(window: OpenWindow) {
  const pods = listPods(window.parts);
  return {
    node: window.nodeName,
    pods: pods.slice(0, MAX_PODS),
    omittedPods: Math.max(0, pods.length - MAX_PODS),
    mirrorPods: window.parts.podManager.getPodsAndMirrorPods().mirrorPods.length,
    translations: translations(window).podToMirror,
  };
}

const FOLLOW_PERIOD_MS = 250;

/** Tells of translations that come and go: the pod manager itself says nothing. */
export async function followTranslations({ parts, trace, clock }: OpenWindow, signal: AbortSignal): Promise<void> {
  const upstream = { file: "pkg/kubelet/pod/pod_manager.go", func: "updatePodsInternal" };
  let before = new Map<string, string>();
  while (!signal.aborted) {
    const after = new Map(parts.podManager.getUidTranslations().mirrorToPod);
    for (const [mirrorUid, uid] of after) {
      if (before.get(mirrorUid) === uid) continue;
      const fact = { subject: `mirror pod ${mirrorUid}`, what: "translates to", to: `static pod ${uid}` };
      trace.emit({ kind: "state", ...fact, upstream }, { actor: "kubelet" });
    }
    for (const [mirrorUid, uid] of before) {
      if (after.has(mirrorUid)) continue;
      const fact = {
        subject: `mirror pod ${mirrorUid}`,
        what: "translates to",
        from: `static pod ${uid}`,
        to: "nothing",
      };
      trace.emit({ kind: "state", ...fact, upstream }, { actor: "kubelet" });
    }
    before = after;
    await clock.sleep(FOLLOW_PERIOD_MS, signal);
  }
}

/** What can be done to pods while one looks: manifests only in a folder of the lab's own. */
export function podManagerKeys(window: OpenWindow): readonly WindowKey[] {
  const { scenery } = window;
  const own: readonly WindowKey[] = scenery.isOwnFolder
    ? [
        { key: "n", label: "write a manifest: a static pod", run: () => scenery.writeManifest() },
        { key: "r", label: "remove the newest manifest", run: () => scenery.removeManifest() },
      ]
    : [];
  return [
    { key: "p", label: "create a pod through the API", run: (signal) => scenery.createPod(signal) },
    { key: "d", label: "delete the newest pod through the API", run: (signal) => deleteRegular(window, signal) },
    ...own,
    { key: "m", label: "delete the newest mirror pod through the API", run: (signal) => deleteMirror(window, signal) },
    {
      key: "t",
      label: "show all pods",
      run: async () => {
        tellPods(window);
        return undefined;
      },
    },
  ];
}

/** @throws LabError */
export async function deleteRegular({ parts, scenery }: OpenWindow, signal: AbortSignal): Promise<string> {
  const pod = newestPod(parts, "regular");
  if (pod === undefined)
    throw new LabError("USAGE", "there is no pod of the API to delete", "Create one first: key p.");
  return scenery.deletePod(pod, signal);
}

function tellPods({ parts, trace }: OpenWindow): void {
  const rows = listPods(parts).map(({ pod, kind, uid, mirrorUid, phase }) => [
    pod,
    kind,
    shortUid(uid),
    kind === "static" ? shortUid(mirrorUid) : "",
    phase,
  ]);
  const columns = ["pod", "kind", "uid", "mirror", "phase"];
  trace.emit({ kind: "table", title: counted(rows.length, "pod"), columns, rows }, { actor: "user" });
}

/** What was there at the end. */
export function podManagerResult(window: OpenWindow): { readonly text: string; readonly json: unknown } {
  const pods = listPods(window.parts);
  const text = pods.map(({ pod, kind, phase }) => `${pod} ${kind} ${phase}`).join("\n");
  const json = { node: window.nodeName, pods, translations: translations(window) };
  return { text: text === "" ? "no pods" : text, json };
}
