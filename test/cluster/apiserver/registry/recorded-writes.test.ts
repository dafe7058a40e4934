import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Status } from "../../../../src/staging/apimachinery/api/meta.js";
import { MISSING_RECORDINGS, type RecordedItem, recorded } from "../../../support/recordings.js";
import { openTableLab, refusalIfAny } from "./table-lab.js";

/**
 * POSTs that a real API server refused because of the object. Table, schema, admission and store together must return
 * the same Status, byte for byte. Refusals by other parts of the server (rights, names in URLs, syntax) are not here.
 */

const COLLECTION = /^\/apis?\/(?:[^/]+\/)?v1\/(?:namespaces\/([^/?]+)\/)?([a-z]+)(?:\?dryRun=All)?$/;

/** Refused by plugins of auth, which this lab leaves out, or because of earlier requests. */
const BY_OTHERS =
  /cannot create|is not allowed|can only|may not reference|must not set|being terminated|UID mismatch|does not have "|system:masters|reference configmaps/;

interface Refused {
  readonly item: RecordedItem;
  readonly resource: string;
  readonly namespace: string;
  readonly want: Status;
}

function refusedCreates(topic: string): Refused[] {
  return recorded(topic).flatMap((item) => {
    const { method, path, body } = item.request;
    const want = item.response.body as Status;
    const [, namespace = "default", resource] = COLLECTION.exec(path) ?? [];
    const isJson = item.request.headers["content-type"]?.includes("protobuf") !== true;
    const isRefused = isJson && [400, 403, 422].includes(item.response.status) && want?.kind === "Status";
    if (method !== "POST" || !isRefused || resource === undefined || typeof body !== "object") return [];
    if (resource.endsWith("reviews") || resource === "bindings" || BY_OTHERS.test(want.message ?? "")) return [];
    return [{ item, resource, namespace, want }];
  });
}

for (const topic of ["pods", "csr", "lease-node", "auth"]) {
  describe.skipIf(MISSING_RECORDINGS !== undefined)(`creations that a real server refused: ${topic}`, () => {
    for (const { item, resource, namespace, want } of refusedCreates(topic)) {
      test(`${item.name}: ${want.code}`, async () => {
        const lab = await openTableLab();
        const got = await refusalIfAny(lab.create(resource, item.request.body, { namespace }));
        assert.deepEqual(got, want);
      });
    }
  });
}

const ACCEPTED = new Set(
  ["pod name with a dot", "negative grace period"].map((name) => `refused or accepted: ${name}`),
);

describe.skipIf(MISSING_RECORDINGS !== undefined)("creations that a real server accepted, surprisingly", () => {
  for (const item of recorded("pods").filter(({ name }) => ACCEPTED.has(name))) {
    test(item.name, async () => {
      const lab = await openTableLab();
      assert.equal(await refusalIfAny(lab.create("pods", item.request.body)), undefined);
    });
  }
});
