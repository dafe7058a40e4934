import type { V1Container, V1Pod } from "../../api/pod.js";

type Fields = Readonly<Record<string, unknown>>;

/** Where a volume names nothing else, it is an empty folder. */
const FILE_MODE = 0o644;
const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"];
const PROBE_DEFAULTS = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };

/**
 * What an API server fills in when a pod is created. A pod from a file or a URL never passes one, so the kubelet does it.
 *
 * Mirrors pkg/apis/core/v1/defaults.go (SetObjectDefaults_Pod), as far as this kubelet reads it. Pure.
 */
export function setPodDefaults(pod: V1Pod): V1Pod {
  const { spec } = pod;
  const hostNetwork = spec.hostNetwork === true;
  const containersOf = (list: readonly V1Container[] | null | undefined) =>
    (list ?? []).map((container) => setContainerDefaults(container, hostNetwork));
  const inits = spec.initContainers ?? [];
  const volumes = spec["volumes"];
  return {
    ...pod,
    spec: {
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      securityContext: {},
      schedulerName: "default-scheduler",
      enableServiceLinks: true,
      ...spec,
      containers: containersOf(spec.containers),
      ...(inits.length === 0 ? {} : { initContainers: containersOf(inits) }),
      ...(Array.isArray(volumes) ? { volumes: volumes.map(setVolumeDefaults) } : {}),
    },
  };
}

function setContainerDefaults(container: V1Container, hostNetwork: boolean): V1Container {
  const { ports, env, resources, lifecycle } = container;
  const probes = PROBES.filter((name) => isFields(container[name])).map((name) => [name, probe(container[name])]);
  return {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: imagePullPolicy(container.image ?? ""),
    ...container,
    resources: withRequests(isFields(resources) ? resources : {}),
    ...(Array.isArray(ports) ? { ports: ports.map((port) => setPortDefaults(port, hostNetwork)) } : {}),
    ...(Array.isArray(env) ? { env: env.map(setEnvDefaults) } : {}),
    ...Object.fromEntries(probes),
    ...(isFields(lifecycle) ? { lifecycle: setLifecycleDefaults(lifecycle) } : {}),
  };
}

/** `latest`, or no tag at all, is pulled each time. Mirrors SetDefaults_Container. */
export function imagePullPolicy(image: string): "Always" | "IfNotPresent" {
  if (image.includes("@")) return "IfNotPresent";
  const [, tag = "latest"] = /:([^/:]+)$/.exec(image) ?? [];
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/** What is limited and not asked for is asked for as far as it is limited. */
function withRequests(resources: Fields): Fields {
  if (!isFields(resources["limits"])) return resources;
  const requests = isFields(resources["requests"]) ? resources["requests"] : {};
  return { ...resources, requests: { ...resources["limits"], ...requests } };
}

function setPortDefaults(port: unknown, hostNetwork: boolean): unknown {
  if (!isFields(port)) return port;
  return { protocol: "TCP", ...(hostNetwork ? { hostPort: port["containerPort"] } : {}), ...port };
}

function setEnvDefaults(env: unknown): unknown {
  if (!isFields(env) || !isFields(env["valueFrom"])) return env;
  return { ...env, valueFrom: withFieldRef(env["valueFrom"]) };
}

function withFieldRef(holder: Fields): Fields {
  const { fieldRef } = holder;
  return isFields(fieldRef) ? { ...holder, fieldRef: { apiVersion: "v1", ...fieldRef } } : holder;
}

function probe(value: unknown): unknown {
  return isFields(value) ? { ...PROBE_DEFAULTS, ...withHttpGet(value) } : value;
}

function setLifecycleDefaults(lifecycle: Fields): Fields {
  return Object.fromEntries(
    Object.entries(lifecycle).map(([hook, handler]) => [hook, isFields(handler) ? withHttpGet(handler) : handler]),
  );
}

function withHttpGet(handler: Fields): Fields {
  const { httpGet } = handler;
  return isFields(httpGet) ? { ...handler, httpGet: { path: "/", scheme: "HTTP", ...httpGet } } : handler;
}

function setVolumeDefaults(volume: unknown): unknown {
  if (!isFields(volume)) return volume;
  if (Object.keys(volume).every((key) => key === "name")) return { ...volume, emptyDir: {} };
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
      return [kind, own !== undefined && isFields(source) ? withSources({ ...own, ...source }) : source];
    }),
  );
}

/** Files of a projected volume or of a downward API volume. */
function withSources(source: Fields): Fields {
  const { sources, items } = source;
  return {
    ...source,
    ...(Array.isArray(sources) ? { sources: sources.map(setProjectionDefaults) } : {}),
    ...(Array.isArray(items) ? { items: items.map((item) => (isFields(item) ? withFieldRef(item) : item)) } : {}),
  };
}

function setProjectionDefaults(projection: unknown): unknown {
  if (!isFields(projection)) return projection;
  const { serviceAccountToken, downwardAPI } = projection;
  return {
    ...projection,
    ...(isFields(serviceAccountToken)
      ? { serviceAccountToken: { expirationSeconds: 3600, ...serviceAccountToken } }
      : {}),
    ...(isFields(downwardAPI) ? { downwardAPI: withSources(downwardAPI) } : {}),
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
