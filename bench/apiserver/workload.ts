import type { Sent } from "./connection.js";
import type { Load } from "./load.js";
import { lease, NAMESPACE, nameOf, namespace, pod, podStatus } from "./objects.js";

const NAMESPACES = "/api/v1/namespaces";
const PODS = `${NAMESPACES}/${NAMESPACE}/pods`;
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
/** How many objects the lists hold. */
const OBJECTS = 1000;

/** What is measured, with what a real kube-apiserver 1.25 with etcd does on two cores for 16 clients, per second. */
export const REAL = {
  "create lease": 1450,
  "renew lease (PUT)": 1650,
  "get lease": 3100,
  "list 1,000 leases": 165,
  "create pod": 1440,
  "patch pod status": 920,
  "list 1,000 pods": 60,
  "delete pod (grace 0)": 650,
} as const;
/** Resident memory of its two processes. */
export const REAL_MB = 466;

export type Row = keyof typeof REAL;

export interface Observer {
  /** `count` requests of this row took `seconds` */
  measured(row: Row, count: number, seconds: number): void;
  /** 1,000 pods are there, and no request is under way */
  withPods(): Promise<void>;
}

/** Every row, in a namespace that is there already and empty; it is empty again afterwards. */
export async function runWorkload(load: Load, observer: Observer): Promise<void> {
  const run = async (row: Row, count: number, request: (index: number) => Sent) =>
    observer.measured(row, count, await load.run(count, request));
  const create = (index: number) => ({ method: "POST", path: PODS, body: pod(index) });
  const remove = (index: number) => ({ method: "DELETE", path: `${PODS}/${nameOf(index)}?gracePeriodSeconds=0` });
  for (let cycle = 0; cycle < 3; cycle++) {
    if (cycle > 0) await run("delete pod (grace 0)", OBJECTS, remove);
    await run("create pod", OBJECTS, create);
  }
  await run("patch pod status", 4 * OBJECTS, (index) => ({
    method: "PATCH",
    path: `${PODS}/${nameOf(index % OBJECTS)}/status`,
    body: podStatus(index),
    contentType: "application/strategic-merge-patch+json",
  }));
  await run("list 1,000 pods", 200, () => ({ method: "GET", path: PODS }));
  await observer.withPods();
  await run("delete pod (grace 0)", OBJECTS, remove);
  await runLeases(load, observer);
}

async function runLeases(load: Load, observer: Observer): Promise<void> {
  const versions: string[] = [];
  const clear = () => load.run(1, () => ({ method: "DELETE", path: LEASES }));
  const remember = (index: number, { start }: { readonly start: string }) => {
    versions[index % OBJECTS] = /"resourceVersion":"(\d+)"/.exec(start)?.[1] ?? "";
  };
  for (let cycle = 0; cycle < 3; cycle++) {
    if (cycle > 0) await clear();
    const create = (index: number) => ({ method: "POST", path: LEASES, body: lease(index, 0) });
    observer.measured("create lease", OBJECTS, await load.run(OBJECTS, create, remember));
  }
  const list = await load.run(500, () => ({ method: "GET", path: LEASES }));
  observer.measured("list 1,000 leases", 500, list);
  const get = (index: number) => ({ method: "GET", path: `${LEASES}/${nameOf(index % OBJECTS)}` });
  observer.measured("get lease", 10 * OBJECTS, await load.run(10 * OBJECTS, get));
  // Each lease is renewed by whoever comes to it next; its last renewal was answered a thousand requests ago.
  const renew = (index: number) => {
    const which = index % OBJECTS;
    const body = lease(which, index + 1, versions[which] ?? "");
    return { method: "PUT", path: `${LEASES}/${nameOf(which)}`, body };
  };
  observer.measured("renew lease (PUT)", 4 * OBJECTS, await load.run(4 * OBJECTS, renew, remember));
  await clear();
}

const MAX_WAIT_MS = 60_000;
const POLL_MS = 100;

/** A new namespace, with the service account that pods need. */
export async function prepare(load: Load): Promise<void> {
  const { status, start } = await load.ask({ method: "POST", path: NAMESPACES, body: namespace() });
  if (status !== 201) throw new Error(`the namespace ${NAMESPACE} cannot be created: ${status} ${start}`);
  await until(load, `${NAMESPACES}/${NAMESPACE}/serviceaccounts/default`, 200);
}

/** Takes away all that was made. */
export async function cleanUp(load: Load): Promise<void> {
  await load.ask({ method: "DELETE", path: `${NAMESPACES}/${NAMESPACE}` });
  await until(load, `${NAMESPACES}/${NAMESPACE}`, 404);
}

async function until(load: Load, path: string, wanted: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += POLL_MS) {
    if ((await load.ask({ method: "GET", path })).status === wanted) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${path} was not answered with ${wanted} in ${MAX_WAIT_MS} ms`);
}
