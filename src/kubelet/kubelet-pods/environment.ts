import type { V1EnvFromSource, V1EnvVar, V1EnvVarSource } from "@kubernetes/client-node";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { V1Container, V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { ResourceList } from "../../staging/apimachinery/quantity.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { expand } from "../container/expansion.js";
import type { EnvVar } from "../container/runtime-helper.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import { isStaticPod } from "../types/pod-update.js";
import type { ObjectResult } from "../util/manager/object-cache.js";
import { type ObjectManager, textValues } from "../util/manager/object-manager.js";
import { extractFieldPath, extractResource } from "../volumes/downward-api.js";
import { type ServiceObject, serviceEnvironment } from "./service-env.js";

export interface EnvironmentDeps {
  readonly configMaps: Pick<ObjectManager, "get">;
  readonly secrets: Pick<ObjectManager, "get">;
  /** all known services; undefined until they have been listed once */
  readonly services: () => readonly ServiceObject[] | undefined;
  readonly recorder: PodEventRecorder;
  /** the node's allocatable resources: the default of limits */
  readonly allocatable: () => ResourceList;
  /** the node's own addresses, the preferred one first */
  readonly hostIps: () => readonly string[];
}

export type EnvironmentResult =
  | { readonly outcome: "ok"; readonly envs: readonly EnvVar[] }
  | { readonly outcome: "failed"; readonly message: string };

/** Fails the environment; the message is shown in the container's status. */
class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
}

const ENV_VAR_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;

/**
 * The environment of a container: `env` in its order overrides `envFrom`, and both override the services' variables.
 *
 * Mirrors makeEnvironmentVariables in pkg/kubelet/kubelet_pods.go.
 * Differs: variables stay in the order of their creation, where upstream's order is that of a Go map; a static pod
 * without enableServiceLinks gets them, as API defaulting would set it.
 *
 * @throws the signal's reason
 */
export async function makeEnvironmentVariables(
  deps: EnvironmentDeps,
  pod: V1Pod,
  container: V1Container,
  podIps: readonly string[],
  signal: AbortSignal,
): Promise<EnvironmentResult> {
  const services = deps.services();
  if (services === undefined && !isStaticPod(pod)) {
    const message = "services have not yet been read at least once, cannot construct envvars";
    return { outcome: "failed", message };
  }
  const links = pod.spec["enableServiceLinks"] !== false;
  const serviceEnv = serviceEnvironment(services ?? [], pod.metadata.namespace, links);
  const environment = new Environment(deps, pod, container, podIps, signal);
  try {
    for (const source of container.envFrom ?? []) await environment.addFrom(source);
    for (const variable of container.env ?? []) await environment.add(variable, serviceEnv);
  } catch (error) {
    if (error instanceof EnvironmentError) return { outcome: "failed", message: error.message };
    throw error;
  }
  const all = new Map([...environment.variables, ...[...serviceEnv].filter(([name]) => !environment.has(name))]);
  return { outcome: "ok", envs: [...all].map(([name, value]) => ({ name, value })) };
}

class Environment {
  readonly variables = new Map<string, string>();
  /** read once each */
  readonly #results = new Map<string, ObjectResult>();

  constructor(
    readonly deps: EnvironmentDeps,
    readonly pod: V1Pod,
    readonly container: V1Container,
    readonly podIps: readonly string[],
    readonly signal: AbortSignal,
  ) {}

  has(name: string): boolean {
    return this.variables.has(name);
  }

  async addFrom({ prefix = "", configMapRef, secretRef }: Wire<V1EnvFromSource>): Promise<void> {
    const [what, ref] = configMapRef ? (["configMap", configMapRef] as const) : (["secret", secretRef] as const);
    if (ref === undefined || ref === null) return;
    const object = await this.#read(what, ref.name ?? "", ref.optional === true);
    if (object === undefined) return;
    const names = [...textValues(object)].map(([key, value]) => [`${prefix}${key}`, value] as const);
    const skipped = names.filter(([name]) => !isEnvVarName(name)).map(([name]) => name);
    for (const [name, value] of names) if (isEnvVarName(name)) this.variables.set(name, value);
    if (skipped.length === 0) return;
    const from = `${what} ${this.pod.metadata.namespace}/${ref.name}`;
    const why = "were skipped since they are considered invalid environment variable names.";
    const message = `Keys [${skipped.sort().join(", ")}] from the EnvFrom ${from} ${why}`;
    this.deps.recorder.event(this.pod, "Warning", "InvalidEnvironmentVariableNames", message);
  }

  async add({ name, value = "", valueFrom }: Wire<V1EnvVar>, serviceEnv: ReadonlyMap<string, string>): Promise<void> {
    if (value !== "") {
      this.variables.set(
        name,
        expand(value, (other) => this.variables.get(other) ?? serviceEnv.get(other)),
      );
      return;
    }
    const found = await this.#valueOf(valueFrom ?? {});
    // A missing optional source sets no variable, not even an empty one.
    if (found !== undefined) this.variables.set(name, found);
  }

  async #valueOf(from: Wire<V1EnvVarSource>): Promise<string | undefined> {
    const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = from;
    if (fieldRef) return this.#field(fieldRef.fieldPath);
    if (resourceFieldRef) {
      const containers = [...(this.pod.spec.containers ?? []), ...(this.pod.spec.initContainers ?? [])];
      const found = extractResource(resourceFieldRef, containers, this.container, this.deps.allocatable());
      if ("problem" in found) throw new EnvironmentError(found.problem);
      return found.value;
    }
    const [what, ref] = configMapKeyRef
      ? (["configMap", configMapKeyRef] as const)
      : (["secret", secretKeyRef] as const);
    if (ref === undefined || ref === null) return "";
    const { name = "", key, optional = false } = ref;
    const object = await this.#read(what, name, optional);
    if (object === undefined) return undefined;
    const value = textValues(object).get(key);
    if (value !== undefined || optional) return value;
    const kind = what === "configMap" ? "ConfigMap" : "Secret";
    throw new EnvironmentError(`couldn't find key ${key} in ${kind} ${this.pod.metadata.namespace}/${name}`);
  }

  /** @returns undefined when the object is missing and optional */
  async #read(what: "configMap" | "secret", name: string, optional: boolean): Promise<KubeObject | undefined> {
    const key = `${what}/${name}`;
    const manager = what === "secret" ? this.deps.secrets : this.deps.configMaps;
    const result = this.#results.get(key) ?? (await manager.get(this.pod.metadata.namespace, name, this.signal));
    this.#results.set(key, result);
    if (result.outcome === "ok") return result.object;
    if (result.outcome === "not-found" && optional) return undefined;
    throw new EnvironmentError(result.message);
  }

  /** Mirrors podFieldSelectorRuntimeValue. */
  #field(path: string): string {
    const { spec } = this.pod;
    const hostIps = this.deps.hostIps();
    const podIps = this.podIps.length === 0 && spec.hostNetwork === true ? hostIps : this.podIps;
    switch (path) {
      case "spec.nodeName":
        return spec.nodeName ?? "";
      case "spec.serviceAccountName":
        return String(spec["serviceAccountName"] ?? "");
      case "status.hostIP":
        return hostIps[0] ?? "";
      case "status.hostIPs":
        return hostIps.join(",");
      case "status.podIP":
        return podIps[0] ?? "";
      case "status.podIPs":
        return podIps.join(",");
      default: {
        const value = extractFieldPath(this.pod, path);
        if (value === undefined) throw new EnvironmentError(`field label not supported: ${path}`);
        return value;
      }
    }
  }
}

/** Mirrors IsEnvVarName in k8s.io/apimachinery/pkg/util/validation: not `.` or `..`, and not starting with `..`. */
function isEnvVarName(name: string): boolean {
  return ENV_VAR_NAME.test(name) && name !== "." && !name.startsWith("..");
}
