import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "vitest";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import type { DeleteOptions, ListOptions } from "../../../../../src/staging/apimachinery/api/options.js";
import { contextOf, type Lab, openLab, pod, refusal } from "../rows.js";

/**
 * Compares messages with those of a real API server, if its recordings exist: the store alone must produce the same
 * text.
 */
const RECORDINGS = "../shared/recordings/apiserver-v1.25";
const isAtHand = existsSync(RECORDINGS);

interface Item {
  readonly name: string;
  readonly request?: { readonly method: string; readonly path: string; readonly body?: unknown };
  readonly response?: { readonly status: number; readonly body?: Status };
}

interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: unknown;
}

function itemsOf(file: string): readonly Item[] {
  if (!isAtHand) return [];
  return (JSON.parse(readFileSync(`${RECORDINGS}/${file}`, "utf8")) as { items: Item[] }).items;
}

/** Replaces resource versions, uids and the selectors' values by this cluster's. */
function normalised({ message = "", reason, code, details }: Status) {
  const text = (value: string) => value.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UID").replace(/\d{4,}/g, "N");
  return {
    message: text(message),
    reason,
    code,
    details: details === undefined ? undefined : JSON.parse(text(JSON.stringify(details))),
  };
}

function listOptionsOf(path: string): ListOptions {
  const query = new URL(path, "https://x").searchParams;
  const { limit, ...texts } = Object.fromEntries(query);
  return { ...texts, ...(limit === undefined ? {} : { limit: Number(limit) }) };
}

async function openPods(): Promise<Lab> {
  const lab = openLab();
  for (let i = 0; i < 5; i++) await lab.registry.store("pods").create(contextOf(), "default", pod(`l${i}`));
  await lab.storage.compact(3);
  return lab;
}

const REFUSED_LISTS = itemsOf("pods.json").filter(
  ({ request, response, name }) =>
    request?.method === "GET" &&
    request.path.startsWith("/api/v1/namespaces/default/pods?") &&
    (response?.status ?? 0) >= 400 &&
    // The query parser refuses text that is not a number; tests with a clock cover the waits.
    !name.includes("limit no number") &&
    response?.status !== 504,
);

test.skipIf(!isAtHand)("recorded (skipped without the recordings): there are lists to compare", () => {
  assert.ok(REFUSED_LISTS.length >= 14, String(REFUSED_LISTS.length));
});

for (const { name, request, response } of REFUSED_LISTS) {
  test(`recorded: ${name}`, async () => {
    const { registry } = await openPods();
    const status = await refusal(registry.store("pods").list("default", listOptionsOf(request?.path ?? "")));
    assert.deepEqual(normalised(status), normalised(response?.body ?? {}));
  });
}

/** name of the recorded item, its file, the resource, and the existing object */
const DELETES = [
  ["node: delete with a wrong uid precondition", "lease-node.json", "nodes"],
  ["node: delete with a wrong resourceVersion precondition", "lease-node.json", "nodes"],
  ["delete: bad propagationPolicy", "pods.json", "pods"],
  ["delete: by the kubelet, grace 0, wrong uid", "pods.json", "pods"],
] as const;

for (const [name, file, resource] of DELETES) {
  test.skipIf(!isAtHand)(`recorded: ${name}`, async () => {
    const item = itemsOf(file).find((one) => one.name === name);
    assert(item?.request !== undefined && item.response?.body !== undefined);
    const { registry } = openLab();
    const store = registry.store(resource);
    const namespace = store.definition.namespaced ? "default" : undefined;
    const target = item.request.path.split("/").at(-1) ?? "";
    const object: KubeObject = { kind: store.definition.kind, apiVersion: "v1", metadata: { name: target }, spec: {} };
    await store.create(contextOf(), namespace, object);
    const options = item.request.body as DeleteOptions;
    const status = await refusal(store.delete(contextOf(), namespace, target, options));
    const own = (one: Status) => ({
      ...normalised(one),
      message: normalised(one).message.replace(/record \(\w+\)/, "record (N)"),
    });
    assert.deepEqual(own(status), own(item.response.body));
  });
}
