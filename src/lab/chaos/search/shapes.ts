import type { Scenario } from "../scenario.js";

type KubeObject = Scenario["objects"][number];

/** Objects of a cluster, and the names of pods that faults can meet. */
export interface Shape {
  readonly objects: readonly KubeObject[];
  readonly pods: readonly string[];
}

const NGINX = { name: "main", image: "nginx:1.25" };
const busybox = (script: string) => ({ name: "main", image: "busybox:1.36", command: ["sh", "-c", script] });

function pod(name: string, spec: Readonly<Record<string, unknown>>): Shape {
  return { objects: [{ apiVersion: "v1", kind: "Pod", metadata: { name }, spec }], pods: [name] };
}

/** A template with a label, and the selector for it. */
function templated(app: string, spec: Readonly<Record<string, unknown>>) {
  const labels = { app };
  return { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } };
}

function workload(kind: string, name: string, spec: Readonly<Record<string, unknown>>, pods: readonly string[]): Shape {
  return { objects: [{ apiVersion: "apps/v1", kind, metadata: { name }, spec }], pods };
}

function job(name: string, script: string, spec: Readonly<Record<string, unknown>>): Shape {
  const template = { spec: { restartPolicy: "Never", containers: [busybox(script)] } };
  const object = { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: { ...spec, template } };
  return { objects: [object], pods: [] };
}

const PROBE = { tcpSocket: { port: 80 }, periodSeconds: 5 };

/** What a random cluster is made of. Each pod becomes Ready, or ends by itself. */
export const SHAPES: readonly Shape[] = [
  pod("web", { containers: [NGINX] }),
  pod("probed", {
    containers: [{ ...NGINX, readinessProbe: PROBE, livenessProbe: { ...PROBE, failureThreshold: 2 } }],
  }),
  pod("two", { containers: [NGINX, { ...busybox("sleep 100000"), name: "side" }] }),
  pod("prepared", { initContainers: [{ ...busybox("sleep 3"), name: "first" }], containers: [NGINX] }),
  pod("hooked", {
    terminationGracePeriodSeconds: 20,
    containers: [{ ...NGINX, lifecycle: { preStop: { exec: { command: ["sleep", "5"] } } } }],
  }),
  pod("once", { restartPolicy: "Never", containers: [busybox("sleep 40")] }),
  pod("until-good", {
    restartPolicy: "OnFailure",
    volumes: [{ name: "mem", emptyDir: {} }],
    containers: [
      {
        ...busybox("test -e /mem/second && exit 0; touch /mem/second; sleep 10; exit 1"),
        volumeMounts: [{ name: "mem", mountPath: "/mem" }],
      },
    ],
  }),
  {
    objects: [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { colour: "blue" } },
      ...pod("configured", {
        volumes: [{ name: "settings", configMap: { name: "settings" } }],
        containers: [{ ...NGINX, volumeMounts: [{ name: "settings", mountPath: "/settings" }] }],
      }).objects,
    ],
    pods: ["configured"],
  },
  workload("Deployment", "shop", { replicas: 2, ...templated("shop", { containers: [NGINX] }) }, []),
  workload(
    "StatefulSet",
    "db",
    { replicas: 2, serviceName: "db", ...templated("db", { containers: [{ ...NGINX, readinessProbe: PROBE }] }) },
    ["db-0", "db-1"],
  ),
  workload("DaemonSet", "agent", templated("agent", { containers: [NGINX] }), []),
  job("sum", "sleep 15", { completions: 3, parallelism: 2 }),
];
