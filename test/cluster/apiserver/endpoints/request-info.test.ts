import { describe, expect, test } from "vitest";
import { requestInfo, splitTarget } from "../../../../src/cluster/apiserver/endpoints/request-info.js";

/** method, target, and `verb group/version namespace resource/subresource name`, `-` if empty */
const table: [method: string, target: string, want: string][] = [
  ["GET", "/api/v1/nodes", "list /v1 - nodes -"],
  ["GET", "/api/v1/nodes/", "list /v1 - nodes -"],
  ["GET", "/api/v1/nodes/n1", "get /v1 - nodes n1"],
  ["GET", "/api/v1/nodes?watch=1", "watch /v1 - nodes -"],
  ["GET", "/api/v1/nodes?watch=", "watch /v1 - nodes -"],
  ["GET", "/api/v1/nodes?watch=False", "list /v1 - nodes -"],
  ["GET", "/api/v1/nodes?watch=0", "list /v1 - nodes -"],
  ["GET", "/api/v1/nodes/n1?watch=1", "get /v1 - nodes n1"],
  ["GET", "/api/v1/nodes/n1/status", "get /v1 - nodes/status n1"],
  ["POST", "/api/v1/nodes", "create /v1 - nodes -"],
  ["PUT", "/api/v1/nodes/n1", "update /v1 - nodes n1"],
  ["PATCH", "/api/v1/nodes/n1/status", "patch /v1 - nodes/status n1"],
  ["DELETE", "/api/v1/nodes/n1", "delete /v1 - nodes n1"],
  ["DELETE", "/api/v1/nodes", "deletecollection /v1 - nodes -"],
  ["HEAD", "/api/v1/nodes", "list /v1 - nodes -"],
  ["GET", "/api/v1/namespaces", "list /v1 - namespaces -"],
  ["GET", "/api/v1/namespaces/a", "get /v1 a namespaces a"],
  ["PUT", "/api/v1/namespaces/a/finalize", "update /v1 a namespaces/finalize a"],
  ["GET", "/api/v1/namespaces/a/status", "get /v1 a namespaces/status a"],
  ["GET", "/api/v1/namespaces/a/pods", "list /v1 a pods -"],
  ["GET", "/api/v1/namespaces/a/pods/p/log", "get /v1 a pods/log p"],
  ["GET", "/api/v1/namespaces/a/pods/p/proxy", "get /v1 a pods/proxy p"],
  ["HEAD", "/api/v1/namespaces/a/pods/p/proxy/x", "get /v1 a pods/proxy p"],
  ["POST", "/api/v1/namespaces/a/services/s:80/proxy/x", "create /v1 a services/proxy s:80"],
  ["PUT", "/api/v1/namespaces/a/services/s/proxy/", "update /v1 a services/proxy s"],
  ["PATCH", "/api/v1/nodes/n/proxy/x", "patch /v1 - nodes/proxy n"],
  ["DELETE", "/api/v1/nodes/n/proxy/x", "delete /v1 - nodes/proxy n"],
  // RBAC allows the empty verb only by a rule with "*".
  ["OPTIONS", "/api/v1/nodes/n/proxy/x", " /v1 - nodes/proxy n"],
  ["GET", "/api/v1/watch/namespaces/a/pods", "watch /v1 a pods -"],
  ["GET", "/api/v1/watch/namespaces/a/pods/p", "watch /v1 a pods p"],
  ["GET", "/api/v1/secrets?fieldSelector=metadata.name%3Ds", "list /v1 - secrets s"],
  ["GET", "/api/v1/secrets?watch=true&fieldSelector=metadata.name%3D%3Ds", "watch /v1 - secrets s"],
  ["GET", "/api/v1/secrets?fieldSelector=metadata.name!%3Ds", "list /v1 - secrets -"],
  ["GET", "/api/v1/secrets?fieldSelector=metadata.name%3D..", "list /v1 - secrets -"],
  ["GET", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", "get coordination.k8s.io/v1 a leases l"],
  ["GET", "/apis/apps/v1/deployments", "list apps/v1 - deployments -"],
  // An encoded slash separates segments, so that authorization and routing agree.
  ["GET", "/api/v1/nodes/n1%2Fstatus", "get /v1 - nodes/status n1"],
  ["GET", "https://example.com/api/v1/nodes/n1", "get /v1 - nodes n1"],
];

describe("request info: a resource path", () => {
  test.each(table)("%s %s", (method, target, want) => {
    const split = splitTarget(target);
    const info = requestInfo(method, split?.path ?? "", new URLSearchParams(split?.query));
    const resource = info.subresource === "" ? info.resource : `${info.resource}/${info.subresource}`;
    const seen = [info.verb, `${info.apiGroup}/${info.apiVersion}`, info.namespace || "-", resource, info.name || "-"];
    expect(info.isResourceRequest).toBe(true);
    expect(seen.join(" ")).toBe(want);
  });
});

describe("request info: a non-resource path", () => {
  const paths = [
    "/",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/apps",
    "/apis/apps/v1",
    "/healthz/etcd",
    "/nope/a/b/c",
    "/api/v1/watch",
  ];
  test.each(paths)("%s", (path) => {
    const info = requestInfo("POST", path, new URLSearchParams());
    expect([info.isResourceRequest, info.verb, info.path]).toEqual([false, "post", path]);
  });
});

test("request target: invalid UTF-8 is a name that matches nothing", () => {
  expect(splitTarget("/api/v1/nodes/a%ff%2Fb")?.path).toBe("/api/v1/nodes/a\ufffd/b");
});

test("request target: refused if it cannot be decoded", () => {
  expect(splitTarget("/api/v1/nodes/%zz")).toBeUndefined();
  expect(splitTarget("/api/v1/nodes/%")).toBeUndefined();
  expect(splitTarget("nonsense")).toBeUndefined();
});
