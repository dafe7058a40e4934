import { expect, test } from "vitest";
import { startControlPlane } from "../../../../../src/cluster/control-plane/start.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import type { KubeClient, RestConfig } from "../../../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../../../src/staging/client-go/rest/create-client.js";
import { collectionPath, objectPath } from "../../../../../src/staging/client-go/rest/paths.js";
import { SystemClock } from "../../../../../src/util/clock.js";
import { SystemRandom } from "../../../../../src/util/random.js";
import { TestEtcd } from "../../../../support/etcd.js";
import { KubeApiserver } from "../../../../support/kube-apiserver.js";
import { suiteNeeding } from "../../../../support/requirements.js";
import { only, recordingTrace } from "../../../../support/trace.js";
import { SAMPLES, type Sample } from "./interchange-objects.js";

const clock = new SystemClock();
const random = new SystemRandom();
const NAME = "sample";
const TIMEOUT_MS = 240_000;

/** Fields that kube-apiserver 1.20 does not have, so that they are not there after it wrote the object. */
const NEWER: Readonly<Record<string, readonly string[]>> = {
  services: ["spec.internalTrafficPolicy", "spec.ipFamilies", "spec.ipFamilyPolicy"],
  daemonsets: ["spec.updateStrategy.rollingUpdate.maxSurge"],
  jobs: ["spec.completionMode", "spec.suspend"],
  networkpolicies: ["status"],
  statefulsets: ["spec.persistentVolumeClaimRetentionPolicy", "status.availableReplicas"],
};

interface Server {
  readonly client: KubeClient;
  /** whether it serves the versions of 1.20 */
  readonly isOld: boolean;
}

/** Works with one server after the other, on one etcd. @returns the errors that our server reported */
async function onOurs<T>(etcd: TestEtcd, work: (server: Server) => Promise<T>): Promise<T> {
  const { trace, events } = recordingTrace(clock);
  const deps = { clock, random, trace };
  const controlPlane = await startControlPlane({
    ...deps,
    kubeVersion: "1.25",
    etcd: { servers: [etcd.url] },
    withoutControllers: ["*"],
  });
  try {
    await using client = createClient(controlPlane.admin, { ...deps, actor: "user" });
    return await work({ client, isOld: false });
  } finally {
    await controlPlane.close();
    expect(only(events, "error")).toEqual([]);
  }
}

async function onTheirs<T>(etcd: TestEtcd, flags: readonly string[], work: (server: Server) => Promise<T>): Promise<T> {
  await using server = await KubeApiserver.start(etcd, ...flags, "--disable-admission-plugins=ServiceAccount");
  await using client = clientOf(server.admin);
  return await work({ client, isOld: true });
}

function clientOf(admin: RestConfig): KubeClient {
  const { trace } = recordingTrace(clock);
  return createClient(admin, { clock, random, trace, actor: "user" });
}

function referenceOf({ resource, apiVersion, oldApiVersion, isClusterScoped }: Sample, isOld: boolean) {
  const version = isOld ? (oldApiVersion ?? apiVersion) : apiVersion;
  return { apiVersion: version, resource, ...(isClusterScoped === true ? {} : { namespace: "default" }) };
}

async function createAll({ client, isOld }: Server): Promise<void> {
  for (const sample of SAMPLES) {
    const ref = referenceOf(sample, isOld);
    // Later releases label each namespace with its name.
    const labels = { "kubernetes.io/metadata.name": NAME };
    const metadata = { name: NAME, labels, annotations: { note: "kept" }, finalizers: ["example.com/keep"] };
    const body = { ...sample.object, apiVersion: ref.apiVersion, metadata };
    const { status, body: answer } = await client.request({ method: "POST", path: collectionPath(ref), body });
    expect([sample.resource, status, answer]).toEqual([sample.resource, 201, expect.anything()]);
  }
}

async function readAll({ client, isOld }: Server): Promise<Map<string, KubeObject>> {
  const objects = new Map<string, KubeObject>();
  for (const sample of SAMPLES) {
    const path = objectPath(referenceOf(sample, isOld), NAME);
    const { status, body } = await client.request<KubeObject>({ method: "GET", path });
    expect([sample.resource, status, body]).toEqual([sample.resource, 200, expect.anything()]);
    objects.set(sample.resource, body);
  }
  return objects;
}

/** A change of each object, so that the server writes it. */
async function touchAll({ client, isOld }: Server): Promise<void> {
  for (const sample of SAMPLES) {
    const path = objectPath(referenceOf(sample, isOld), NAME);
    const body = { metadata: { labels: { touched: "yes" } } };
    const contentType = "application/merge-patch+json";
    const { status, body: answer } = await client.request({ method: "PATCH", path, body, contentType });
    expect([sample.resource, status, answer]).toEqual([sample.resource, 200, expect.anything()]);
  }
}

/** Without what differs from one version, or one release, to the other. */
function plain(resource: string, { apiVersion: _, ...object }: KubeObject, without = NEWER[resource] ?? []): unknown {
  const copy = structuredClone(object) as Record<string, unknown> & { metadata: Record<string, unknown> };
  for (const field of ["managedFields", "selfLink", "resourceVersion"]) delete copy.metadata[field];
  for (const path of without) {
    const steps = path.split(".");
    const last = steps.pop() ?? "";
    const parent = steps.reduce<Record<string, unknown>>((at, step) => at[step] as Record<string, unknown>, copy);
    delete parent[last];
  }
  return copy;
}

function touched(object: KubeObject): KubeObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, touched: "yes" } } };
}

function allPlain(objects: ReadonlyMap<string, KubeObject>, change = (object: KubeObject) => object) {
  return Object.fromEntries([...objects].map(([resource, object]) => [resource, plain(resource, change(object))]));
}

function managedFieldsOf(objects: ReadonlyMap<string, KubeObject>) {
  return Object.fromEntries([...objects].map(([resource, { metadata }]) => [resource, Object(metadata).managedFields]));
}

suiteNeeding(["etcd", "kube-apiserver"], "one etcd for our server and kube-apiserver 1.20, in turn", () => {
  test(
    "a cluster begun by ours: kube-apiserver reads and rewrites every object, and nothing is lost",
    async () => {
      const etcd = await TestEtcd.start();
      try {
        const before = await onOurs(etcd, async (server) => {
          await createAll(server);
          return readAll(server);
        });
        await onTheirs(etcd, [], async (server) => {
          expect(allPlain(await readAll(server))).toEqual(allPlain(before));
          await touchAll(server);
        });
        // It has written protobuf.
        expect(await etcd.ctl("get", `/registry/configmaps/default/${NAME}`, "--print-value-only")).toMatch(/^k8s\0/);
        const after = await onOurs(etcd, readAll);
        expect(allPlain(after)).toEqual(allPlain(before, touched));
      } finally {
        await etcd.stop();
      }
    },
    TIMEOUT_MS,
  );

  for (const mediaType of ["application/vnd.kubernetes.protobuf", "application/json"]) {
    test(
      `a cluster begun by kube-apiserver in ${mediaType}: ours reads and rewrites it, and managedFields stay`,
      async () => {
        const etcd = await TestEtcd.start();
        const flags = [`--storage-media-type=${mediaType}`];
        try {
          const before = await onTheirs(etcd, flags, async (server) => {
            await createAll(server);
            return readAll(server);
          });
          await onOurs(etcd, async (server) => {
            expect(allPlain(await readAll(server))).toEqual(allPlain(before));
            await touchAll(server);
          });
          const after = await onTheirs(etcd, flags, readAll);
          expect(managedFieldsOf(after)).toEqual(managedFieldsOf(before));
          expect(allPlain(after)).toEqual(allPlain(before, touched));
        } finally {
          await etcd.stop();
        }
      },
      TIMEOUT_MS,
    );
  }
});
