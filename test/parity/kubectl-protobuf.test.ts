import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCertificateRequest } from "../../src/staging/pki/csr.js";
import { generatePrivateKey } from "../../src/staging/pki/keys.js";
import { SystemClock } from "../../src/util/clock.js";
import { Face } from "../cluster/apiserver/server/support.js";
import { hasRecordings, REAL } from "./recorder.js";

const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const DEFAULT = "/api/v1/namespaces/default";

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly accept: string;
  readonly contentType: string;
  readonly status: number;
  readonly body?: { readonly base64: string };
}

interface RecordedItem {
  readonly name: string;
  readonly kubectl: string;
  readonly requests: readonly RecordedRequest[];
}

function recordedItems(): readonly RecordedItem[] {
  if (!hasRecordings) return [];
  return (JSON.parse(readFileSync(`${REAL}/kubectl-protobuf.json`, "utf8")) as { items: RecordedItem[] }).items;
}

/** Requests whose bodies were protobuf, as kubectl sent them. */
const rows = recordedItems().flatMap(({ kubectl, requests }) =>
  requests.flatMap((request) =>
    request.body === undefined ? [] : [{ kubectl, ...request, base64: request.body.base64 }],
  ),
);

describe.skipIf(!hasRecordings)(`kubectl's protobuf bodies${hasRecordings ? "" : " (no recordings here)"}`, () => {
  let face: Face;
  beforeAll(async () => {
    face = await Face.open({ clock: new SystemClock(), withoutControllers: ["csrsigning"] });
  });
  afterAll(() => face.close());

  test("seven commands of each of two kubectl releases sent them", () => {
    expect(rows.length).toBe(14);
  });

  for (const { kubectl, method, path, accept, contentType, status, base64 } of rows) {
    test(`${kubectl}: ${method} ${path}`, async () => {
      await forget(face);
      await untilServiceAccount(face);
      const isApproval = path.endsWith("/approval");
      const bytes = Buffer.from(base64, "base64");
      const body = isApproval ? withOwnIds(bytes, await request(face)) : bytes;
      const headers = { accept, "content-type": contentType };
      const answer = await face.ask(path, { method, headers, body });
      expect([answer.status, answer.text]).toEqual([status, expect.anything()]);
      // kubectl prefers protobuf and accepts JSON.
      expect(answer.headers["content-type"]).toBe("application/json");
      if (isApproval) expect(answer.body.status.conditions[0].type).toBe("Approved");
    });
  }
});

/** Objects that earlier rows created. */
async function forget(face: Face): Promise<void> {
  for (const path of [
    `${DEFAULT}/configmaps/pb`,
    `${DEFAULT}/secrets/pb`,
    `${DEFAULT}/serviceaccounts/pb`,
    `${CSRS}/pb`,
  ]) {
    await face.ask(path, { method: "DELETE" });
  }
}

async function untilServiceAccount(face: Face): Promise<void> {
  while ((await face.ask(`${DEFAULT}/serviceaccounts/default`)).status !== 200);
}

/** @returns the request to approve, as it was created */
async function request(face: Face): Promise<{ readonly uid: string; readonly resourceVersion: string }> {
  const pem = createCertificateRequest(await generatePrivateKey("ec"), {
    subject: { commonName: "pb", organization: [] },
  });
  const request = Buffer.from(pem).toString("base64");
  const spec = { request, signerName: "example.com/nobody", usages: ["digital signature", "client auth"] };
  const apiVersion = "certificates.k8s.io/v1";
  const body = { apiVersion, kind: "CertificateSigningRequest", metadata: { name: "pb" }, spec };
  const { body: created } = await face.ask(CSRS, { method: "POST", body });
  return created.metadata;
}

/** Replaces the recorded object's uid, and the resourceVersion after it, by others of the same length. */
function withOwnIds(bytes: Buffer, { uid, resourceVersion }: { uid: string; resourceVersion: string }): Buffer {
  const text = bytes.toString("latin1");
  const uidAt = text.search(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/);
  const uidEnd = uidAt + uid.length;
  // In between: the next field's tag and length.
  const versionAt = uidEnd + 2;
  const versionEnd = versionAt + text.charCodeAt(versionAt - 1);
  const version = resourceVersion.padStart(versionEnd - versionAt, "0");
  const own = text.slice(0, uidAt) + uid + text.slice(uidEnd, versionAt) + version + text.slice(versionEnd);
  return Buffer.from(own, "latin1");
}
