import { afterAll, beforeAll, expect, test } from "vitest";
import { PODS, ProxyLab } from "../proxy/lab.js";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const READ_AND_WRITE = ["GET", "PUT", "PATCH"];
const STREAM = ["GET", "POST"];
const PROXY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** The methods of each subresource. Mirrors the REST types of each group's storage, and their ConnectMethods. */
const SUBRESOURCES: Readonly<Record<string, readonly string[]>> = {
  status: READ_AND_WRITE,
  scale: READ_AND_WRITE,
  approval: READ_AND_WRITE,
  ephemeralcontainers: READ_AND_WRITE,
  attach: STREAM,
  exec: STREAM,
  portforward: STREAM,
  proxy: PROXY,
  log: ["GET"],
  binding: ["POST"],
  eviction: ["POST"],
  token: ["POST"],
  finalize: ["PUT"],
};

let lab: ProxyLab;
beforeAll(async () => {
  lab = await ProxyLab.open();
});
afterAll(() => lab[Symbol.asyncDispose]());

async function statusOf(path: string, method: string, contentType?: string): Promise<number> {
  const hasBody = ["POST", "PUT", "PATCH"].includes(method);
  const type = contentType ?? (method === "PATCH" ? "application/merge-patch+json" : "application/json");
  const asked = hasBody ? { body: {}, headers: { "content-type": type } } : {};
  return (await lab.face.ask(path, { method, ...asked })).status;
}

interface Listed {
  readonly name: string;
  readonly namespaced: boolean;
}

test("discovery: a subresource takes upstream's methods and refuses the others with 405", async () => {
  const { body: groups } = await lab.face.ask("/apis");
  const versions = groups.groups.flatMap((one: { versions: { groupVersion: string }[] }) => one.versions);
  const roots = ["/api/v1", ...versions.map((one: { groupVersion: string }) => `/apis/${one.groupVersion}`)];
  const seen = new Set<string>();
  for (const root of roots) {
    const resources: Listed[] = (await lab.face.ask(root)).body.resources;
    for (const { name, namespaced } of resources) {
      const [resource, subresource] = name.split("/");
      if (subresource === undefined) continue;
      seen.add(subresource);
      const path = `${root}/${namespaced ? "namespaces/default/" : ""}${resource}/missing/${subresource}`;
      const taken: string[] = [];
      for (const method of METHODS) if ((await statusOf(path, method)) !== 405) taken.push(method);
      const wanted = METHODS.filter((one) => SUBRESOURCES[subresource]?.includes(one));
      expect([path, taken]).toEqual([path, wanted]);
    }
  }
  expect([...seen].sort()).toEqual(Object.keys(SUBRESOURCES).sort());
});

const POD = `${PODS}/p`;
const table: readonly [method: string, path: string, status: number, contentType?: string][] = [
  ["GET", `${POD}/exec`, 400],
  ["POST", `${POD}/attach`, 400],
  ["POST", `${POD}/portforward`, 400],
  ["PATCH", `${POD}/exec`, 405],
  ["PATCH", `${POD}/log`, 405],
  ["HEAD", POD, 405],
  ["OPTIONS", POD, 405],
  ["OPTIONS", PODS, 405],
  ["HEAD", `${POD}/status`, 405],
  ["PATCH", `${POD}/status`, 415, "text/plain"],
  ["PATCH", POD, 415, "text/plain"],
  ["PATCH", "/api/v1/nodes/n/proxy/x", 404, "text/plain"],
  ["OPTIONS", "/api/v1/nodes/n/proxy/x", 404],
  ["HEAD", "/api/v1/nodes/n/proxy/x", 404],
  ["HEAD", "/api/v1/nodes/n/proxy", 301],
  ["GET", "/api/v1/nodes/n/proxy", 301],
  ["OPTIONS", "/api/v1/nodes/n/proxy", 404],
  ["TRACE", "/api/v1/nodes/n/proxy/x", 405],
  ["POST", "/api/v1/namespaces/default/finalize", 405],
];
for (const [method, path, status, contentType] of table) {
  test(`${method} ${path}${contentType === undefined ? "" : ` with ${contentType}`}: ${status}`, async () => {
    expect(await statusOf(path, method, contentType)).toBe(status);
  });
}
