import { PodCache } from "../../../src/kubelet/container/cache.js";
import type { PodStatus } from "../../../src/kubelet/container/runtime.js";
import { convertState, generateEvents, isSyncPodWorthy } from "../../../src/kubelet/pleg/events.js";
import { getPhase } from "../../../src/kubelet/status/phase.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import { Backoff } from "../../../src/staging/client-go/backoff.js";
import { execUrl } from "../../../src/staging/client-go/remotecommand/exec-url.js";
import { expirationMs, type TokenUsage, tokenSecret } from "../../../src/staging/cluster-bootstrap/secret.js";
import { type BootstrapToken, parseToken } from "../../../src/staging/cluster-bootstrap/token.js";
import { renewIntervalMs } from "../../../src/staging/component-helpers/lease/lease-observer.js";
import { streamTypes } from "../../../src/staging/streaming/remote-command/spdy-protocols.js";
import { factFor } from "../../../src/util/release/facts.js";

const KUBE_VERSION = "1.25";

interface Streams {
  readonly stdin?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
  readonly tty?: boolean;
}

/** The cache's entries have more than the learner's. */
class OwnPodCache {
  readonly #cache = new PodCache();
  get = (uid: string) => short(this.#cache.get(uid));
  set = (uid: string, status: PodStatus | undefined, error: unknown, timeMs: number) =>
    void this.#cache.set(uid, status, error, timeMs);
  delete = (uid: string) => this.#cache.delete(uid);
  updateTime = (timeMs: number) => this.#cache.updateTime(timeMs);
  getNewerThan = async (uid: string, minTimeMs: number) => short(await this.#cache.getNewerThan(uid, minTimeMs));
}

function short({ status, error, kind }: ReturnType<PodCache["get"]>) {
  return { status: kind === "default" ? undefined : status, error };
}

/** kubelab's own module for each task, with the signature that the learner's file has. */
export const OWN_MODULES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "renew-interval": {
    renewInterval: (leaseDurationSeconds: number) =>
      renewIntervalMs({ kubeVersion: KUBE_VERSION, leaseDurationSeconds }),
    nextBackoff: (lastMs: number | undefined) =>
      lastMs === undefined
        ? factFor("leaseBackoffInitial", KUBE_VERSION)
        : Math.min(lastMs * 2, factFor("leaseBackoffMax", KUBE_VERSION)),
    jitter: (ms: number, factor: number, random: () => number) => ms * (1 + random() * factor),
  },
  "generate-events": { generateEvents, convertState, isSyncPodWorthy },
  phase: { getPhase },
  "bootstrap-token": {
    parseToken,
    tokenSecret: (
      token: BootstrapToken,
      settings: { readonly usages: readonly TokenUsage[]; readonly groups: readonly string[] },
    ) => tokenSecret({ token, ...settings }),
    isExpired: (secret: KubeObject, nowMs: number) => {
      const atMs = expirationMs(secret);
      return atMs !== undefined && (Number.isNaN(atMs) || nowMs > atMs);
    },
  },
  "crash-loop-back-off": { Backoff },
  "get-newer-than": { PodCache: OwnPodCache },
  "exec-url": {
    execUrl: (
      { namespace, pod, container = "" }: { namespace: string; pod: string; container?: string },
      words: readonly string[],
      { stdin = false, stdout = false, stderr = false, tty = false }: Streams,
    ) => execUrl({ namespace, name: pod, subresource: "exec", container, words }, { stdin, stdout, stderr, tty }),
    streamsToOpen: ({ stdin = false, stdout = false, stderr = false, tty = false }: Streams) =>
      streamTypes({ stdin, stdout, stderr: stderr && !tty, tty }, "v4.channel.k8s.io"),
  },
};
