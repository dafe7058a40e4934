import assert from "node:assert/strict";
import { test } from "vitest";
import { AdmissionChains } from "../../../../../src/cluster/apiserver/registry/rest/admission-chain.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import type { AdmissionPlugin, AdmissionSubject } from "../../../../../src/staging/server/admission/interfaces.js";
import { configMap, contextOf, openLab } from "../rows.js";

const SERVICES = { group: "", version: "v1", resource: "services", kind: "Service" };

test("chains: a plugin is asked only once per kind of write whether it handles it", () => {
  const asked: string[] = [];
  const plugin: AdmissionPlugin = {
    name: "Creations",
    handles({ operation, group, resource, subresource }: AdmissionSubject) {
      asked.push(`${operation} ${group}/${resource}/${subresource}`);
      return operation === "CREATE" && subresource === "";
    },
    admit: ({ object }) => object,
    async validate() {},
  };
  const chains = new AdmissionChains([plugin, { name: "All", admit: ({ object }) => object }], SERVICES);
  const counts = (...[operation, subresource]: Parameters<AdmissionChains["of"]>) => {
    const { mutating, validating } = chains.of(operation, subresource);
    return `${mutating.length} ${validating.length}`;
  };
  for (let i = 0; i < 3; i++) {
    assert.equal(counts("CREATE", ""), "2 1");
    assert.equal(counts("CREATE", "binding"), "1 0");
    assert.equal(counts("DELETE", ""), "1 0");
  }
  assert.deepEqual(asked, ["CREATE /services/", "CREATE /services/binding", "DELETE /services/"]);
});

test("chains: plugins that are added later take part", () => {
  const plugins: AdmissionPlugin[] = [];
  const chains = new AdmissionChains(plugins, SERVICES);
  assert.equal(chains.of("CREATE", "").mutating.length, 0);
  plugins.push({ name: "Late", admit: ({ object }) => object });
  assert.equal(chains.of("CREATE", "").mutating.length, 1);
});

test("chains: synchronous and asynchronous plugins change the object in order", async () => {
  const labelled = (object: KubeObject | undefined, by: string) =>
    object && { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, [by]: "yes" } } };
  const admission: AdmissionPlugin[] = [
    { name: "Now", admit: ({ object }) => labelled(object, "now") },
    { name: "Later", admit: async ({ object }) => labelled(object, "later") },
    { name: "Silent", admit: () => undefined },
    {
      name: "Elsewhere",
      handles: (write) => write.resource !== "configmaps",
      admit: ({ object }) => labelled(object, "no"),
    },
  ];
  const { registry } = openLab({ admission });
  const created = await registry.store("configmaps").create(contextOf(), "default", configMap("a"));
  assert.deepEqual(created.metadata.labels, { now: "yes", later: "yes" });
});
