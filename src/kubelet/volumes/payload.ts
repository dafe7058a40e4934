import type {
  V1ConfigMapProjection,
  V1DownwardAPIVolumeFile,
  V1KeyToPath,
  V1ServiceAccountTokenProjection,
  V1VolumeProjection,
} from "@kubernetes/client-node";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { ResourceList } from "../../staging/apimachinery/quantity.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { defined } from "../../util/defined.js";
import { binaryValues, type ObjectManager } from "../util/manager/object-manager.js";
import type { FileProjection, Payload } from "./atomic-writer.js";
import { extractFieldPath, extractResource } from "./downward-api.js";
import type { TokenManager } from "./token-manager.js";

/** A volume that cannot be set up, in upstream's words: the text after `MountVolume.SetUp failed for volume "x" : `. */
export class VolumeSetUpError extends Error {
  override readonly name = "VolumeSetUpError";

  /** @param operation what failed, if it was not SetUp */
  constructor(
    message: string,
    readonly operation = "SetUp",
  ) {
    super(message);
  }
}

export interface PayloadDeps {
  readonly configMaps: Pick<ObjectManager, "get">;
  readonly secrets: Pick<ObjectManager, "get">;
  readonly tokens: Pick<TokenManager, "getServiceAccountToken">;
  readonly allocatable: () => ResourceList;
}

/** The defaults of the API: pkg/apis/core/v1/defaults.go. */
const DEFAULT_MODE = 0o644;

/**
 * The files of a ConfigMap or a Secret: all of its keys, or those in `items`.
 *
 * Mirrors MakePayload in pkg/volume/configmap/configmap.go and pkg/volume/secret/secret.go.
 * @throws VolumeSetUpError; the signal's reason
 */
export async function objectPayload(
  deps: PayloadDeps,
  kind: "configmap" | "secret",
  namespace: string,
  source: Wire<V1ConfigMapProjection>,
  defaultMode: number | undefined,
  signal: AbortSignal,
): Promise<Payload> {
  const { name = "", items, optional = false } = source;
  const manager = kind === "secret" ? deps.secrets : deps.configMaps;
  const result = await manager.get(namespace, name, signal);
  if (result.outcome === "not-found" && optional) return new Map();
  if (result.outcome !== "ok") throw new VolumeSetUpError(result.message);
  return filesOf(kind, result.object, items ?? [], defaultMode ?? DEFAULT_MODE, optional);
}

function filesOf(
  kind: "configmap" | "secret",
  object: KubeObject,
  items: readonly Wire<V1KeyToPath>[],
  defaultMode: number,
  optional: boolean,
): Payload {
  const values = binaryValues(object);
  if (items.length === 0) return new Map([...values].map(([key, data]) => [key, { data, mode: defaultMode }]));
  const payload = new Map<string, FileProjection>();
  for (const { key, path, mode } of items) {
    const data = values.get(key);
    if (data !== undefined) payload.set(path, { data, mode: mode ?? defaultMode });
    else if (!optional) {
      const what =
        kind === "secret" ? "references non-existent secret key" : "configmap references non-existent config key";
      throw new VolumeSetUpError(`${what}: ${key}`);
    }
  }
  return payload;
}

/**
 * Files with fields of the pod. Mirrors CollectData in pkg/volume/downwardapi/downwardapi.go.
 * @throws VolumeSetUpError
 */
export function downwardApiPayload(
  deps: Pick<PayloadDeps, "allocatable">,
  pod: V1Pod,
  items: readonly Wire<V1DownwardAPIVolumeFile>[],
  defaultMode: number | undefined,
): Payload {
  const payload = new Map<string, FileProjection>();
  const problems: string[] = [];
  for (const { path, fieldRef, resourceFieldRef, mode = defaultMode ?? DEFAULT_MODE } of items) {
    let text = "";
    if (fieldRef) {
      const value = extractFieldPath(pod, fieldRef.fieldPath);
      if (value === undefined) problems.push(`unsupported fieldPath: ${fieldRef.fieldPath}`);
      text = value ?? "";
    } else if (resourceFieldRef) {
      const containers = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])];
      const found = extractResource(resourceFieldRef, containers, undefined, deps.allocatable());
      if ("problem" in found) problems.push(found.problem);
      else text = found.value;
    }
    payload.set(path, { data: Buffer.from(text), mode });
  }
  if (problems.length > 0) throw new VolumeSetUpError(aggregated(problems));
  return payload;
}

/**
 * The files of all sources together; the later source wins.
 *
 * Mirrors collectData in pkg/volume/projected/projected.go.
 * @throws VolumeSetUpError with all errors; the signal's reason
 */
export async function projectedPayload(
  deps: PayloadDeps,
  pod: V1Pod,
  sources: readonly Wire<V1VolumeProjection>[],
  defaultMode: number | undefined,
  signal: AbortSignal,
): Promise<Payload> {
  const payload = new Map<string, FileProjection>();
  const problems: string[] = [];
  // Each may need the API server, so all run in parallel.
  const parts = sources.map((source) => sourcePayload(deps, pod, source, defaultMode, signal));
  for (const part of await Promise.allSettled(parts)) {
    if (part.status === "fulfilled") for (const [path, file] of part.value) payload.set(path, file);
    else if (part.reason instanceof VolumeSetUpError) problems.push(part.reason.message);
    else throw part.reason;
  }
  if (problems.length > 0) throw new VolumeSetUpError(aggregated(problems));
  return payload;
}

async function sourcePayload(
  deps: PayloadDeps,
  pod: V1Pod,
  { configMap, secret, downwardAPI, serviceAccountToken }: Wire<V1VolumeProjection>,
  defaultMode: number | undefined,
  signal: AbortSignal,
): Promise<Payload> {
  const { namespace } = pod.metadata;
  if (configMap) return objectPayload(deps, "configmap", namespace, configMap, defaultMode, signal);
  if (secret) return objectPayload(deps, "secret", namespace, secret, defaultMode, signal);
  if (downwardAPI) return downwardApiPayload(deps, pod, downwardAPI.items ?? [], defaultMode);
  if (serviceAccountToken) return tokenPayload(deps, pod, serviceAccountToken, defaultMode, signal);
  return new Map();
}

async function tokenPayload(
  deps: PayloadDeps,
  pod: V1Pod,
  { path, audience = "", expirationSeconds = 3600 }: Wire<V1ServiceAccountTokenProjection>,
  defaultMode: number | undefined,
  signal: AbortSignal,
): Promise<Payload> {
  const audiences = audience === "" ? [] : [audience];
  const result = await deps.tokens.getServiceAccountToken(pod, { audiences, expirationSeconds }, signal);
  if (result.outcome !== "ok") throw new VolumeSetUpError(result.message);
  // With fsGroup, setting the ownership then adds the bits of the group.
  const user = fsUserOf(pod);
  const hasOwner = user !== undefined || typeof pod.spec.securityContext?.fsGroup === "number";
  const mode = hasOwner ? 0o600 : (defaultMode ?? DEFAULT_MODE);
  return new Map([[path, { data: Buffer.from(result.token), mode, ...defined({ user }) }]]);
}

/** The user of all containers; undefined if one has no runAsUser, or another one. Mirrors FsUserFrom in pkg/volume/util/util.go. */
function fsUserOf({ spec }: V1Pod): number | undefined {
  const users = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(
    ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser ?? undefined,
  );
  return users.every((user) => user === users[0]) ? users[0] : undefined;
}

/** Prints one error, or several, as Go does. Mirrors k8s.io/apimachinery/pkg/util/errors (aggregate.Error). */
function aggregated(problems: readonly string[]): string {
  const different = [...new Set(problems)];
  return different.length === 1 ? (different[0] ?? "") : `[${different.join(", ")}]`;
}
