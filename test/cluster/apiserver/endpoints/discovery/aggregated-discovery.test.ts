import { describe, expect, test } from "vitest";
import { Face } from "../../server/support.js";

const clause = (version: string) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
const KUBECTL = `${clause("v2")},${clause("v2beta1")},application/json`;

const rows: [kubeVersion: string, accept: string, contentType: string][] = [
  ["1.25", KUBECTL, "application/json"],
  ["1.27", KUBECTL, clause("v2beta1")],
  ["1.32", KUBECTL, clause("v2")],
  ["1.32", `${clause("v2beta1")},application/json`, clause("v2beta1")],
  ["1.32", "application/json", "application/json"],
  ["1.32", `application/json,${clause("v2")}`, "application/json"],
  ["1.32", `${clause("v9")},application/json`, "application/json"],
];

describe("discovery in one document", () => {
  for (const [kubeVersion, accept, contentType] of rows) {
    test(`v${kubeVersion}, asked for ${accept.replaceAll(/application.json;g=apidiscovery.k8s.io;|as=API/g, "")}`, async () => {
      await using face = await Face.open({ kubeVersion });
      for (const path of ["/api", "/apis"]) {
        const { status, headers } = await face.ask(path, { headers: { accept } });
        expect([status, headers["content-type"]]).toEqual([200, contentType]);
      }
    });
  }

  test("has the content of the plain lists, and is not sent again to a client that has it", async () => {
    await using face = await Face.open({ kubeVersion: "1.32" });
    const { body, headers } = await face.ask("/apis", { headers: { accept: KUBECTL } });
    expect(body.apiVersion).toBe("apidiscovery.k8s.io/v2");
    const { body: plain } = await face.ask("/apis");
    const names = (groups: { name: string }[]) => groups.map(({ name }) => name);
    expect(names(body.items.map((one: { metadata: object }) => one.metadata))).toEqual(names(plain.groups));
    const apps = body.items.find((one: { metadata: { name: string } }) => one.metadata.name === "apps");
    const deployments = apps.versions[0].resources.find((one: { resource: string }) => one.resource === "deployments");
    expect(deployments).toMatchObject({
      responseKind: { group: "apps", version: "v1", kind: "Deployment" },
      scope: "Namespaced",
      singularResource: "deployment",
      shortNames: ["deploy"],
    });
    expect(deployments.subresources).toContainEqual({
      subresource: "scale",
      responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
      verbs: ["get", "patch", "update"],
    });
    const again = await face.ask("/apis", { headers: { accept: KUBECTL, "if-none-match": headers.etag ?? "" } });
    expect([again.status, again.text]).toEqual([304, ""]);
    const core = await face.ask("/api", { headers: { accept: KUBECTL } });
    expect(core.body.items).toHaveLength(1);
    expect(core.body.items[0].versions[0]).toMatchObject({ version: "v1", freshness: "Current" });
  });
});
