import type { V1Container, V1Pod, V1PodSpec } from "../../apimachinery/api/pod.js";
import { isRecord } from "../../util/records.js";
import { parseImageName } from "../images/image-name.js";

type Fields = Readonly<Record<string, unknown>>;

/** Where a volume names nothing else, it is an empty folder. */
const FILE_MODE = 0o644;
const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
const PROBE_DEFAULTS = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };

/**
 * What an API server fills in when a pod is created. A pod from a file or a URL never passes one, so the kubelet does it.
 *
 * Mirrors pkg/apis/core/v1/defaults.go (SetObjectDefaults_Pod), as far as this kubelet reads it. Pure.
 */
export function setPodDefaults(pod: V1Pod): V1Pod {
  const { spec } = pod;
  const hostNetwork = spec.hostNetwork === true;
  const containersOf = (list: readonly V1Container[]) =>
    list.map((container) => setContainerDefaults(container, hostNetwork));
  const { initContainers: inits, volumes } = spec;
  return {
    ...pod,
    spec: {
      ...fill(spec, {
        restartPolicy: "Always",
        terminationGracePeriodSeconds: 30,
        dnsPolicy: "ClusterFirst",
        securityContext: {},
        schedulerName: "default-scheduler",
        enableServiceLinks: true,
      }),
      containers: containersOf(spec.containers ?? []),
      ...(Array.isArray(inits) ? { initContainers: containersOf(inits) } : {}),
      ...(Array.isArray(volumes) ? { volumes: volumes.map(setVolumeDefaults) as V1PodSpec["volumes"] & object } : {}),
    },
  };
}

function setContainerDefaults(container: V1Container, hostNetwork: boolean): V1Container {
  const { ports, env, resources, lifecycle } = container;
  const probes = PROBES.filter((name) => isRecord(container[name])).map((name) => [name, probe(container[name])]);
  return {
    ...fill(container, {
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      imagePullPolicy: imagePullPolicy(container.image ?? ""),
    }),
    resources: withRequests(isRecord(resources) ? resources : {}),
    ...(Array.isArray(ports) ? { ports: ports.map((port) => setPortDefaults(port, hostNetwork)) } : {}),
    ...(Array.isArray(env) ? { env: env.map(setEnvDefaults) } : {}),
    ...Object.fromEntries(probes),
    ...(isRecord(lifecycle) ? { lifecycle: setLifecycleDefaults(lifecycle) } : {}),
  };
}

/** `latest`, or neither tag nor digest, is pulled each time; what is no name is not. Mirrors SetDefaults_Container. */
export function imagePullPolicy(image: string): "Always" | "IfNotPresent" {
  const parsed = parseImageName(image);
  return parsed.outcome === "ok" && /:latest(@|$)/.test(parsed.name.image) ? "Always" : "IfNotPresent";
}

/** What is limited and not asked for is asked for as far as it is limited. */
function withRequests(resources: Fields): Fields {
  if (!isRecord(resources["limits"])) return resources;
  const requests = isRecord(resources["requests"]) ? resources["requests"] : {};
  return { ...resources, requests: { ...resources["limits"], ...requests } };
}

function setPortDefaults(port: unknown, hostNetwork: boolean): unknown {
  if (!isRecord(port)) return port;
  return fillZero(port, { protocol: "TCP", ...(hostNetwork ? { hostPort: port["containerPort"] } : {}) });
}

function setEnvDefaults(env: unknown): unknown {
  if (!isRecord(env) || !isRecord(env["valueFrom"])) return env;
  return { ...env, valueFrom: withFieldRef(env["valueFrom"]) };
}

function withFieldRef(holder: Fields): Fields {
  const { fieldRef } = holder;
  return isRecord(fieldRef) ? { ...holder, fieldRef: fill(fieldRef, { apiVersion: "v1" }) } : holder;
}

function probe(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { grpc } = value;
  const filled = fillZero(withHttpGet(value), PROBE_DEFAULTS);
  return isRecord(grpc) ? { ...filled, grpc: fill(grpc, { service: "" }) } : filled;
}

function setLifecycleDefaults(lifecycle: Fields): Fields {
  return Object.fromEntries(
    Object.entries(lifecycle).map(([hook, handler]) => [hook, isRecord(handler) ? withHttpGet(handler) : handler]),
  );
}

function withHttpGet(handler: Fields): Fields {
  const { httpGet } = handler;
  return isRecord(httpGet) ? { ...handler, httpGet: fill(httpGet, { path: "/", scheme: "HTTP" }) } : handler;
}

function setVolumeDefaults(volume: unknown): unknown {
  if (!isRecord(volume)) return volume;
  if (Object.keys(volume).every((key) => key === "name" || isAbsent(volume[key]))) return { ...volume, emptyDir: {} };
  const defaults: Readonly<Record<string, Fields>> = {
    secret: { defaultMode: FILE_MODE },
    configMap: { defaultMode: FILE_MODE },
    downwardAPI: { defaultMode: FILE_MODE },
    projected: { defaultMode: FILE_MODE },
    hostPath: { type: "" },
  };
  return Object.fromEntries(
    Object.entries(volume).map(([kind, source]) => {
      const own = defaults[kind];
      return [kind, own !== undefined && isRecord(source) ? withSources(fill(source, own)) : source];
    }),
  );
}

/** Files of a projected volume or of a downward API volume. */
function withSources(source: Fields): Fields {
  const { sources, items } = source;
  return {
    ...source,
    ...(Array.isArray(sources) ? { sources: sources.map(setProjectionDefaults) } : {}),
    ...(Array.isArray(items) ? { items: items.map((item) => (isRecord(item) ? withFieldRef(item) : item)) } : {}),
  };
}

function setProjectionDefaults(projection: unknown): unknown {
  if (!isRecord(projection)) return projection;
  const { serviceAccountToken, downwardAPI } = projection;
  return {
    ...projection,
    ...(isRecord(serviceAccountToken)
      ? { serviceAccountToken: fill(serviceAccountToken, { expirationSeconds: 3600 }) }
      : {}),
    ...(isRecord(downwardAPI) ? { downwardAPI: withSources(downwardAPI) } : {}),
  };
}

/** What is null or an empty text counts as not given: Go's decoder makes no difference. */
function fill<T extends Fields>(given: T, defaults: Fields, isGiven = (value: unknown) => !isAbsent(value)): T {
  return { ...given, ...Object.fromEntries(Object.entries(defaults).filter(([key]) => !isGiven(given[key]))) };
}

/** So does a zero, where the field is no pointer in Go. */
function fillZero<T extends Fields>(given: T, defaults: Fields): T {
  return fill(given, defaults, (value) => !isAbsent(value) && value !== 0);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}
