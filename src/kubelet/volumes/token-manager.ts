import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { isSuccess, statusMessage } from "../../staging/client-go/rest/answers.js";
import type { ClientCtx } from "../../staging/client-go/rest/client.js";
import { objectPath } from "../../staging/client-go/rest/paths.js";
import { LabError } from "../../util/errors.js";
import { VolumeObserver } from "./volume-observer.js";

/** A token is replaced after a day at the latest, whatever its lifetime. */
const MAX_TTL_MS = 24 * 3_600_000;
/** The maximum jitter, so that the tokens of a node are not all replaced at the same moment. */
const MAX_JITTER_MS = 10_000;
/** The interval at which expired tokens are removed. */
const GC_PERIOD_MS = 60_000;

export interface TokenWish {
  /** empty: the API server's own */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
}

export type TokenResult =
  | { readonly outcome: "ok" /** never printed */; readonly token: string }
  | { readonly outcome: "failed"; readonly message: string };

interface CachedToken {
  readonly podUid: string;
  readonly token: string;
  /** Unix ms */
  readonly expiresMs: number;
  /** Unix ms from which a new one is requested */
  readonly refreshMs: number;
}

type TokenRequestObject = KubeObject & {
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
};

/**
 * Service account tokens of pods: requested with TokenRequest, bound to the pod, and replaced when a fifth of their
 * lifetime is left.
 *
 * Mirrors pkg/kubelet/token/token_manager.go (Manager).
 */
export class TokenManager {
  readonly #tokens = new Map<string, CachedToken>();
  #collectedMs: number;

  constructor(readonly deps: ClientCtx) {
    this.#collectedMs = deps.clock.now();
  }

  /** The number of cached tokens. */
  get size(): number {
    return this.#tokens.size;
  }

  /** A valid token: the cached one, or a new one. @throws the signal's reason */
  async getServiceAccountToken(pod: V1Pod, wish: TokenWish, signal: AbortSignal): Promise<TokenResult> {
    this.#forgetExpired();
    const { namespace, uid } = pod.metadata;
    const name = serviceAccountOf(pod);
    const key = JSON.stringify([name, namespace, wish.audiences, wish.expirationSeconds, uid]);
    const cached = this.#tokens.get(key);
    const nowMs = this.deps.clock.now();
    if (cached !== undefined && nowMs <= cached.refreshMs) return { outcome: "ok", token: cached.token };
    const fresh = await this.#request(pod, name, wish, signal);
    if ("token" in fresh) {
      this.#tokens.set(key, fresh);
      return { outcome: "ok", token: fresh.token };
    }
    if (cached === undefined) return { outcome: "failed", message: `failed to fetch token: ${fresh.message}` };
    if (nowMs > cached.expiresMs) {
      const message = `token ${JSON.stringify(namespace)}/${name} expired and refresh failed: ${fresh.message}`;
      return { outcome: "failed", message };
    }
    // Still valid: the next sync tries again.
    return { outcome: "ok", token: cached.token };
  }

  /** Mirrors DeleteServiceAccountToken. */
  deleteServiceAccountToken(podUid: string): void {
    for (const [key, token] of this.#tokens) if (token.podUid === podUid) this.#tokens.delete(key);
  }

  async #request(
    pod: V1Pod,
    name: string,
    { audiences, expirationSeconds }: TokenWish,
    signal: AbortSignal,
  ): Promise<CachedToken | { readonly message: string }> {
    const { namespace, uid } = pod.metadata;
    const { client, clock, random, trace } = this.deps;
    const path = objectPath({ apiVersion: "v1", resource: "serviceaccounts", namespace }, name, "token");
    const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: pod.metadata.name, uid };
    const spec = { audiences, expirationSeconds, boundObjectRef };
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
    try {
      const answer = await client.request<TokenRequestObject>({ method: "POST", path, body, signal });
      if (!isSuccess(answer)) return { message: statusMessage(answer) };
      const { token, expirationTimestamp = "" } = answer.body.status ?? {};
      const expiresMs = Date.parse(expirationTimestamp);
      if (token === undefined || Number.isNaN(expiresMs)) return { message: "the answer has no token" };
      const ttlMs = (answer.body.spec?.expirationSeconds ?? expirationSeconds) * 1000;
      const jitterMs = random.float() * MAX_JITTER_MS;
      const lastMs = Math.min(expiresMs - ttlMs + MAX_TTL_MS, expiresMs - ttlMs / 5);
      const refreshMs = lastMs - jitterMs;
      const isLongLived = MAX_TTL_MS < (ttlMs * 4) / 5;
      new VolumeObserver(trace).gotToken(name, pod, refreshMs - clock.now(), isLongLived);
      return { podUid: uid, token, expiresMs, refreshMs };
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError)) throw error;
      return { message: error.message };
    }
  }

  #forgetExpired(): void {
    const nowMs = this.deps.clock.now();
    if (nowMs - this.#collectedMs < GC_PERIOD_MS) return;
    this.#collectedMs = nowMs;
    for (const [key, { expiresMs }] of this.#tokens) if (nowMs > expiresMs) this.#tokens.delete(key);
  }
}

function serviceAccountOf({ spec }: V1Pod): string {
  const name = spec["serviceAccountName"];
  return typeof name === "string" && name !== "" ? name : "default";
}
