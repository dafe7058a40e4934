import { describe, expect, test } from "vitest";
import { RESOURCES } from "../../../../src/cluster/apiserver/registry/table.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";
import { decodeDeleteOptions, decodeRequestBody } from "../../../../src/staging/apimachinery/scheme/request.js";
import type { FieldValidation, KindRef } from "../../../../src/staging/apimachinery/scheme/schema.js";
import { MISSING_RECORDINGS, type RecordedItem, recorded } from "../../../support/recordings.js";

const TOPICS = ["auth", "csr", "lease-node", "pods"];

/** The decoder detects errors of these kinds; later steps detect others. */
const DECODING =
  /cannot be handled as|is unrecognized|does not match the expected API version|json parse error|in scheme/;

interface Sent {
  readonly item: RecordedItem;
  readonly kind: KindRef;
  readonly validation: FieldValidation;
  readonly text: string;
}

/** Bodies of creates and updates of objects, as they were sent. */
function sent(topic: string): Sent[] {
  return recorded(topic).flatMap((item): Sent[] => {
    const { method, path, body, bodyText, headers } = item.request;
    const [pathOnly = "", query] = path.split("?");
    const kind = kindAt(pathOnly);
    const isJson = (headers["content-type"] ?? "application/json").startsWith("application/json");
    if (!["POST", "PUT"].includes(method) || kind === undefined || !isJson) return [];
    if (body === undefined && bodyText === undefined) return [];
    const validation = new URLSearchParams(query).get("fieldValidation") ?? "Warn";
    return [{ item, kind, validation: validation as FieldValidation, text: bodyText ?? JSON.stringify(body) }];
  });
}

function kindAt(path: string): KindRef | undefined {
  const match = /^\/api(?:s\/([^/]+))?\/v1\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/[^/]+(?:\/(status|approval))?)?$/.exec(
    path,
  );
  const [, group = "", resource] = match ?? [];
  return RESOURCES.find((row) => row.group === group && row.resource === resource);
}

function outcome({ text, kind, validation }: Sent): { error?: StatusError; warnings: readonly string[] } {
  try {
    return { warnings: decodeRequestBody(text, kind, validation).warnings };
  } catch (error) {
    if (error instanceof StatusError) return { error, warnings: [] };
    throw error;
  }
}

describe.skipIf(MISSING_RECORDINGS)("recorded request bodies", () => {
  for (const topic of TOPICS) {
    test(`${topic}: refused with the recorded Status, or not refused`, () => {
      const all = sent(topic);
      expect(all.length).toBeGreaterThan(5);
      for (const request of all) {
        const { name, response } = request.item;
        const { error } = outcome(request);
        const status = response.body as { message?: string } | undefined;
        // The recorder could not keep duplicate keys.
        if (name === "fieldValidation=Strict: the same key twice") continue;
        if (response.status >= 400 && DECODING.test(status?.message ?? "")) expect(error?.status, name).toEqual(status);
        else expect(error?.message, name).toBe(undefined);
      }
    });
  }

  test("warnings of unknown fields", () => {
    const warned = sent("lease-node").filter(({ item }) => item.response.headers?.["warning"] !== undefined);
    expect(warned.length).toBeGreaterThan(1);
    for (const request of warned) {
      const headers = [request.item.response.headers?.["warning"] ?? []].flat();
      expect(outcome(request).warnings.map((text) => `299 - ${JSON.stringify(text)}`)).toEqual(headers);
    }
  });

  test("bodies of deletions that are no DeleteOptions", () => {
    for (const { name, request, response } of recorded("pods").filter(({ request }) => request.method === "DELETE")) {
      const message = (response.body as { message?: string } | undefined)?.message ?? "";
      const text = request.bodyText ?? (request.body == null ? "" : JSON.stringify(request.body));
      if (response.status !== 500) expect(() => decodeDeleteOptions(text), name).not.toThrow();
      else expect(() => decodeDeleteOptions(text), name).toThrow(expect.objectContaining({ code: 500, message }));
    }
  });
});
