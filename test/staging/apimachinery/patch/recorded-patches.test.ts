import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";
import { applyPatch, type PatchType } from "../../../../src/staging/apimachinery/patch/patch.js";
import type { FieldValidation, KindRef } from "../../../../src/staging/apimachinery/scheme/schema.js";
import { MISSING_RECORDINGS, type RecordedItem, recorded } from "../../../support/recordings.js";

const KINDS: Readonly<Record<string, KindRef>> = {
  nodes: { group: "", version: "v1", kind: "Node", schema: "Node" },
  pods: { group: "", version: "v1", kind: "Pod", schema: "Pod" },
  leases: { group: "coordination.k8s.io", version: "v1", kind: "Lease", schema: "Lease" },
  certificatesigningrequests: {
    group: "certificates.k8s.io",
    version: "v1",
    kind: "CertificateSigningRequest",
    schema: "CertificateSigningRequest",
  },
};

interface Step {
  readonly item: RecordedItem;
  readonly kind: KindRef;
  readonly subresource: string | undefined;
  /** the object as last seen */
  readonly current: KubeObject;
}

/** Patches in the order they were sent, each with the server's object at that time. */
function steps(topic: string): Step[] {
  const seen = new Map<string, KubeObject>();
  const found: Step[] = [];
  for (const item of recorded(topic)) {
    const [path = "", query] = item.request.path.split("?");
    const [, object, resource, name, subresource] = /^(.*?\/([a-z]+)\/([^/]+))(?:\/([a-z]+))?$/.exec(path) ?? [];
    const kind = KINDS[resource ?? ""];
    const current = seen.get(object ?? "");
    if (item.request.method === "PATCH" && kind !== undefined && current !== undefined) {
      found.push({ item, kind, subresource, current });
    }
    if (query?.includes("dryRun") === true) continue;
    const key = item.request.method === "POST" ? `${path}/${nameIn(item.response.body)}` : (object ?? "");
    if (name !== undefined || item.request.method === "POST") remember(seen, key, item);
  }
  return found;
}

/** For many responses the recorder only kept what a patch changed. */
function remember(seen: Map<string, KubeObject>, key: string, { response }: RecordedItem): void {
  const body = response.body as KubeObject | null | undefined;
  if (response.status >= 300 || typeof body !== "object" || body === null || body.kind === "Status") return;
  const before = seen.get(key);
  if (before === undefined && body.metadata?.uid === undefined) return;
  const status = body.status === undefined ? {} : { status: { ...(before?.status ?? {}), ...body.status } };
  seen.set(
    key,
    body.kind === undefined || before === undefined ? ({ ...before, ...body, ...status } as KubeObject) : body,
  );
}

function nameIn(body: unknown): string {
  return String((body as Partial<KubeObject> | undefined)?.metadata?.name);
}

function patchOf({ item, kind, current }: Step) {
  const { headers, path, body, bodyText } = item.request;
  const type = String(headers["content-type"]).split(";")[0] as PatchType;
  const validation = (new URLSearchParams(path.split("?")[1]).get("fieldValidation") ?? "Warn") as FieldValidation;
  return applyPatch(kind, current, type, bodyText ?? JSON.stringify(body), validation);
}

/** The part of the result that the subresource keeps, without fields that the server sets. */
function shown(object: KubeObject, subresource: string | undefined): object {
  const { status, spec, metadata } = object;
  const parts =
    subresource === "status" || subresource === "approval"
      ? { status }
      : { spec, labels: metadata?.labels, annotations: metadata?.annotations, finalizers: metadata?.finalizers };
  return JSON.parse(JSON.stringify(parts)) as object;
}

/** Results that depend on more than the patch: the store, a kind's strategy or a controller checks or sets them. */
const DECIDED_LATER = new Set([
  "strategic merge: stale resourceVersion inside the patch",
  "strategic merge: wrong uid inside the patch",
  "strategic merge: renaming",
  "JSON patch: remove the name",
  "strategic merge: taints, $patch replace with nothing else",
  "PUT node: spec.providerID may not change",
  "JSON patch: good test, escaped key", // a controller tainted the node meanwhile
  "status: the kubelet's first patch", // qosClass
  "PATCH /approval (strategic merge) works as well", // the times of a condition
]);

describe.skipIf(MISSING_RECORDINGS)("recorded patches", () => {
  for (const topic of ["lease-node", "pods", "csr"]) {
    for (const step of steps(topic)) {
      const { item, subresource } = step;
      const isApply = item.request.headers["content-type"]?.includes("apply") === true;
      if (isApply || item.response.status === 415 || DECIDED_LATER.has(item.name)) continue;
      test(`${topic}: ${item.name}`, () => {
        if (item.response.status === 200) {
          // The strategy keeps the spec of a request unchanged.
          if (topic === "csr" && subresource === undefined) return;
          expect(shown(patchOf(step).object, subresource)).toMatchObject(
            shown(item.response.body as KubeObject, subresource),
          );
        } else if (topic === "lease-node" && item.response.status !== 404) expectError(step);
      });
    }
  }

  function expectError(step: Step): void {
    let thrown: unknown;
    try {
      patchOf(step);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(StatusError);
    const wanted = step.item.response.body as Record<string, unknown>;
    expect(withoutPatchedText((thrown as StatusError).status)).toEqual(withoutPatchedText(wanted));
  }

  /** A message quotes the whole object; the test compares the text after it. */
  function withoutPatchedText(status: object): unknown {
    return JSON.parse(JSON.stringify(status).replace(/Invalid value: \\"\{.*?\}\\": /g, "Invalid value: OBJECT: "));
  }
});
