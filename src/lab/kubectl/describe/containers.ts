import type {
  V1Container,
  V1ContainerState,
  V1ContainerStatus,
  V1EnvVar,
  V1Probe,
  V1ResourceRequirements,
} from "@kubernetes/client-node";
import { goDuration } from "../../../staging/apimachinery/time.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { timeText } from "./text.js";

type Container = Wire<V1Container>;

/** The value of a field or resource reference of the environment, if known. */
export type ValueOf = (variable: Wire<V1EnvVar>) => string;

/**
 * The containers of a pod, or of a template, whose containers have no status.
 * Mirrors describeContainers in staging/src/k8s.io/kubectl/pkg/describe/describe.go.
 */
export function containersLines(
  title: string,
  containers: readonly Container[],
  options: {
    readonly statuses?: readonly Wire<V1ContainerStatus>[];
    readonly indent: string;
    readonly valueFor?: ValueOf;
  },
): string {
  const { statuses, indent, valueFor = () => "" } = options;
  const lines = containers.flatMap((container) => {
    const status = statuses?.find(({ name }) => name === container.name);
    return [
      `${indent === "" ? "  " : "   "}${container.name}:`,
      ...[
        ...(status === undefined ? [] : [`Container ID:\t${status.containerID ?? ""}`]),
        `Image:\t${container.image}`,
        ...(status === undefined ? [] : [`Image ID:\t${status.imageID}`]),
        ...portLines(container),
        ...listOf("Command", container.command),
        ...listOf("Args", container.args),
        ...(status === undefined ? [] : statusLines(status)),
        ...resourceLines(container.resources),
        ...probeLines(container),
        ...environmentLines(container, valueFor),
        ...mountLines(container),
      ].map((line) => `    ${line}`),
    ];
  });
  return [`${indent}${title}:`, ...lines].map((line) => `${line}\n`).join("");
}

function portLines({ ports = [] }: Container): readonly string[] {
  const [port, host] = [
    ports.map(({ containerPort, protocol }) => `${containerPort}/${protocol ?? "TCP"}`),
    ports.map(({ hostPort = 0, protocol }) => `${hostPort}/${protocol ?? "TCP"}`),
  ].map((list) => list.join(", ") || "<none>");
  const s = ports.length > 1 ? "s" : "";
  return [`Port${s}:\t${port}`, `Host Port${s}:\t${host}`];
}

function listOf(title: string, words: readonly string[] | undefined): readonly string[] {
  if (words === undefined || words.length === 0) return [];
  return [`${title}:`, ...words.flatMap((word) => word.split("\n").map((line) => `  ${line}`))];
}

function statusLines({ state, lastState, ready, restartCount }: Wire<V1ContainerStatus>): readonly string[] {
  return [
    ...stateLines("State", state),
    ...(lastState?.terminated === undefined ? [] : stateLines("Last State", lastState)),
    `Ready:\t${ready ? "True" : "False"}`,
    `Restart Count:\t${restartCount}`,
  ];
}

/** Mirrors describeStatus. */
function stateLines(title: string, state: Wire<V1ContainerState> | undefined): readonly string[] {
  const { running, waiting, terminated } = state ?? {};
  if (running !== undefined) return [`${title}:\tRunning`, `  Started:\t${timeText(running.startedAt)}`];
  if (terminated !== undefined) {
    const { reason, message, exitCode, signal, startedAt, finishedAt } = terminated;
    return [
      `${title}:\tTerminated`,
      ...(reason ? [`  Reason:\t${reason}`] : []),
      ...(message ? [`  Message:\t${message}`] : []),
      `  Exit Code:\t${exitCode}`,
      ...(signal ? [`  Signal:\t${signal}`] : []),
      `  Started:\t${timeText(startedAt)}`,
      `  Finished:\t${timeText(finishedAt)}`,
    ];
  }
  return [`${title}:\tWaiting`, ...(waiting?.reason ? [`  Reason:\t${waiting.reason}`] : [])];
}

function resourceLines(resources: Wire<V1ResourceRequirements> | undefined): readonly string[] {
  const lines = (title: string, amounts: Readonly<Record<string, string>> = {}) => {
    const names = Object.keys(amounts).sort();
    return names.length === 0 ? [] : [`${title}:`, ...names.map((name) => `  ${name}:\t${amounts[name]}`)];
  };
  return [...lines("Limits", resources?.limits), ...lines("Requests", resources?.requests)];
}

function probeLines({ livenessProbe, readinessProbe, startupProbe }: Container): readonly string[] {
  const probes = { Liveness: livenessProbe, Readiness: readinessProbe, Startup: startupProbe };
  return Object.entries(probes).flatMap(([title, probe]) =>
    probe === undefined ? [] : [`${title}:\t${probeText(probe)}`],
  );
}

/** Mirrors DescribeProbe. */
function probeText(probe: Wire<V1Probe>): string {
  const { exec, httpGet, tcpSocket, grpc, ...times } = probe;
  const seconds = (count: number | undefined) => goDuration((count ?? 0) * 1000);
  const attributes = `delay=${seconds(times.initialDelaySeconds)} timeout=${seconds(times.timeoutSeconds)} period=${seconds(times.periodSeconds)} #success=${times.successThreshold ?? 0} #failure=${times.failureThreshold ?? 0}`;
  if (exec !== undefined) return `exec [${(exec.command ?? []).join(" ")}] ${attributes}`;
  if (httpGet !== undefined) {
    const { scheme = "", host = "", port, path = "" } = httpGet;
    return `http-get ${scheme.toLowerCase()}://${host}:${port}${path} ${attributes}`;
  }
  if (tcpSocket !== undefined) return `tcp-socket ${tcpSocket.host ?? ""}:${tcpSocket.port} ${attributes}`;
  return `grpc <pod>:${grpc?.port} ${grpc?.service ?? ""} ${attributes}`;
}

/** Mirrors describeContainerEnvFrom and describeContainerEnvVars. */
function environmentLines({ env = [], envFrom = [] }: Container, valueFor: ValueOf): readonly string[] {
  const sources = envFrom.map(({ configMapRef, secretRef, prefix }) => {
    const { name, optional = false } = configMapRef ?? secretRef ?? {};
    const withPrefix = prefix ? ` with prefix '${prefix}'` : "";
    return `  ${name}\t${configMapRef === undefined ? "Secret" : "ConfigMap"}${withPrefix}\tOptional: ${optional}`;
  });
  return [
    ...(sources.length === 0 ? [] : ["Environment Variables from:", ...sources]),
    ...(env.length === 0
      ? ["Environment:\t<none>"]
      : ["Environment:", ...env.map((one) => `  ${one.name}:\t${variableText(one, valueFor)}`)]),
  ];
}

function variableText(variable: Wire<V1EnvVar>, valueFor: ValueOf): string {
  const { value = "", valueFrom } = variable;
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = valueFrom ?? {};
  const key = configMapKeyRef ?? secretKeyRef;
  if (key !== undefined) {
    const what = configMapKeyRef === undefined ? "secret" : "config map";
    return `<set to the key '${key.key}' ${configMapKeyRef === undefined ? "in" : "of"} ${what} '${key.name}'>\tOptional: ${key.optional ?? false}`;
  }
  if (fieldRef !== undefined) return `${valueFor(variable)} (${fieldRef.apiVersion ?? "v1"}:${fieldRef.fieldPath})`;
  if (resourceFieldRef !== undefined) return `${valueFor(variable)} (${resourceFieldRef.resource})`;
  return value.replaceAll("\n", "\n\t");
}

function mountLines({ volumeMounts = [] }: Container): readonly string[] {
  if (volumeMounts.length === 0) return ["Mounts:\t<none>"];
  const lines = [...volumeMounts]
    .sort((a, b) => (a.mountPath < b.mountPath ? -1 : 1))
    .map(({ mountPath, name, readOnly, subPath }) => {
      const flags = [readOnly === true ? "ro" : "rw", ...(subPath ? [`path="${subPath}"`] : [])];
      return `  ${mountPath} from ${name} (${flags.join(",")})`;
    });
  return ["Mounts:", ...lines];
}
