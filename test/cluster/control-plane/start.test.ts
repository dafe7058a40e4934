import { expect, test } from "vitest";
import { settle } from "../../support/fake-clock.js";
import { ANONYMOUS, Face } from "../apiserver/server/support.js";

test("a new cluster holds its namespaces, and its controllers fill them", async () => {
  await using face = await Face.open({ withoutControllers: [] });
  const { body } = await face.ask("/api/v1/namespaces");
  expect(body.items.map((one: { metadata: { name: string } }) => one.metadata.name)).toEqual([
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
  ]);
  await settle(10);
  const account = await face.ask("/api/v1/namespaces/default/serviceaccounts/default");
  expect(account.status).toBe(200);
});

test("the API server is a service, whose endpoints say where it listens; a change is corrected after ten seconds", async () => {
  await using face = await Face.open();
  const port = Number(new URL(face.controlPlane.url).port);
  const paths = {
    service: "/api/v1/namespaces/default/services/kubernetes",
    endpoints: "/api/v1/namespaces/default/endpoints/kubernetes",
    slice: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
  };
  const shown = async () => {
    const service = (await face.ask(paths.service)).body;
    const endpoints = (await face.ask(paths.endpoints)).body;
    const slice = (await face.ask(paths.slice)).body;
    return [
      service.spec?.clusterIP,
      endpoints.subsets,
      slice.addressType,
      slice.endpoints,
      slice.ports,
      slice.metadata.labels,
    ];
  };
  const https = { name: "https", port, protocol: "TCP" };
  const wanted = [
    "10.96.0.1",
    [{ addresses: [{ ip: "127.0.0.1" }], ports: [https] }],
    "IPv4",
    [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
    [https],
    { "kubernetes.io/service-name": "kubernetes" },
  ];
  expect(await shown()).toEqual(wanted);
  // The Endpoints go with their service.
  await face.ask(paths.service, { method: "DELETE" });
  await face.ask(paths.slice, { method: "DELETE" });
  expect((await face.ask(paths.endpoints)).status).toBe(404);
  await face.clock.advance(10_000);
  await settle(10);
  expect(await shown()).toEqual(wanted);
  const slice = { ...(await face.ask(paths.slice)).body, ports: [{ ...https, port: 1 }] };
  slice.endpoints = [{ addresses: ["10.0.0.1"] }];
  expect((await face.ask(paths.slice, { method: "PUT", body: slice })).status).toBe(200);
  await settle(10);
  await face.clock.advance(10_000);
  await settle(10);
  expect(await shown()).toEqual(wanted);
});

test("two run side by side, and each knows its own administrator only", async () => {
  await using one = await Face.open();
  await using two = await Face.open();
  expect((await one.ask("/api/v1/nodes")).status).toBe(200);
  expect((await two.ask("/api/v1/nodes", { as: one.admin })).status).toBe(401);
});

test("a port that is taken is told as such", async () => {
  await using face = await Face.open();
  const port = Number(new URL(face.controlPlane.url).port);
  await expect(Face.open({ port })).rejects.toMatchObject({ name: "LabError", code: "USAGE" });
});

test("likeRecorded leaves out what kubeadm adds for joining", async () => {
  const path = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
  await using joinable = await Face.open();
  expect((await joinable.ask(path, { as: ANONYMOUS })).status).toBe(404);
  await using recorded = await Face.open({ likeRecorded: true });
  expect((await recorded.ask(path, { as: ANONYMOUS })).status).toBe(403);
});

test("closing twice is fine, and leaves no timer", async () => {
  const face = await Face.open({ withoutControllers: [] });
  await face.ask("/api/v1/nodes");
  await face.close();
  await face.close();
  expect(face.clock.sleeping).toBe(0);
});

test("tokens have the claims of the release", async () => {
  for (const [kubeVersion, hasId] of [
    ["1.25", false],
    ["1.34", true],
  ] as const) {
    await using face = await Face.open({ kubeVersion, withoutControllers: [] });
    await settle(10);
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    const { token } = (await face.ask(path, { method: "POST", body })).body.status;
    const claims = JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());
    expect("jti" in claims).toBe(hasId);
  }
});
