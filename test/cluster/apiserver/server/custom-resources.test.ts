import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Asked, Face } from "./support.js";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP = "/apis/stable.example.com";
const CRONTABS = `${GROUP}/v1/namespaces/default/crontabs`;
const MERGE = { "content-type": "application/merge-patch+json" };

const SPEC = {
  type: "object",
  required: ["cronSpec"],
  properties: {
    cronSpec: { type: "string" },
    image: { type: "string", default: "busybox" },
    replicas: { type: "integer", minimum: 1, maximum: 10 },
    tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};
const STATUS = { type: "object", properties: { replicas: { type: "integer" }, selector: { type: "string" } } };
const V1 = {
  name: "v1",
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: "object", properties: { spec: SPEC, status: STATUS } } },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
  },
  additionalPrinterColumns: [
    { name: "Spec", type: "string", jsonPath: ".spec.cronSpec" },
    { name: "Replicas", type: "integer", jsonPath: ".spec.replicas", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
};
/** Another version, which has no image. */
const { image: _image, ...WITHOUT_IMAGE } = SPEC.properties;
const V1BETA1 = {
  name: "v1beta1",
  served: true,
  storage: false,
  deprecated: true,
  schema: {
    openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: WITHOUT_IMAGE } } },
  },
};

function definition(
  plural: string,
  kind: string,
  options: { versions?: object[]; names?: object; group?: string } = {},
) {
  const { versions = [V1], names = {}, group = "stable.example.com" } = options;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: "Namespaced", names: { plural, kind, ...names }, versions },
  };
}

let face: Face;
beforeAll(async () => {
  face = await Face.open();
});
afterAll(() => face.close());

/** Waits for a condition of a definition: its change comes without time passing. */
async function until(name: string, type: string, status = "True"): Promise<Record<string, unknown>[]> {
  for (;;) {
    const { body } = await face.ask(`${DEFINITIONS}/${name}`);
    const conditions: Record<string, unknown>[] = body.status?.conditions ?? [];
    if (conditions.some((one) => one["type"] === type && one["status"] === status)) return conditions;
  }
}

async function define(body: ReturnType<typeof definition>): Promise<void> {
  const { status, text } = await face.ask(DEFINITIONS, { method: "POST", body });
  expect(status, text).toBe(201);
  await until(body.metadata.name, "Established");
}

async function gone(path: string): Promise<void> {
  while ((await face.ask(path)).status !== 404);
}

const cronTab = (name: string, spec: object, version = "v1") => ({
  apiVersion: `stable.example.com/${version}`,
  kind: "CronTab",
  metadata: { name },
  spec,
});

const create = (name: string, spec: object, query = "") =>
  face.ask(`${CRONTABS}${query}`, { method: "POST", body: cronTab(name, spec) });

describe("custom resources", () => {
  beforeAll(async () => {
    expect((await face.ask(`${GROUP}/v1`)).text).toBe("404 page not found\n");
    await define(
      definition("crontabs", "CronTab", {
        versions: [V1, V1BETA1],
        names: { shortNames: ["ct"], categories: ["all"] },
      }),
    );
  });

  test("a definition gets its names, conditions and stored versions", async () => {
    const { body } = await face.ask(`${DEFINITIONS}/crontabs.stable.example.com`);
    expect(body.spec.names).toMatchObject({ singular: "crontab", listKind: "CronTabList" });
    expect(body.spec.conversion).toEqual({ strategy: "None" });
    expect(body.status).toMatchObject({
      acceptedNames: { plural: "crontabs", singular: "crontab", kind: "CronTab", listKind: "CronTabList" },
      storedVersions: ["v1"],
      conditions: [
        { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" },
        { type: "Established", reason: "InitialNamesAccepted", message: "the initial names have been accepted" },
      ],
    });
  });

  test("discovery lists the group, its versions and the resource", async () => {
    const group = (await face.ask(GROUP)).body;
    expect(group.versions.map((one: { version: string }) => one.version)).toEqual(["v1", "v1beta1"]);
    expect(group.preferredVersion.version).toBe("v1");
    const { resources } = (await face.ask(`${GROUP}/v1`)).body;
    expect(resources.map((one: { name: string }) => one.name)).toEqual([
      "crontabs",
      "crontabs/scale",
      "crontabs/status",
    ]);
    expect(resources[0]).toMatchObject({ singularName: "crontab", shortNames: ["ct"], categories: ["all"] });
    const { groups } = (await face.ask("/apis")).body;
    expect(groups.at(-1).name).toBe("stable.example.com");
  });

  test("OpenAPI describes the kind, for kubectl explain", async () => {
    const { body: v3 } = await face.ask("/openapi/v3/apis/stable.example.com/v1");
    const name = "com.example.stable.v1.CronTab";
    const { properties, ...rest } = v3.components.schemas[name];
    expect(rest["x-kubernetes-group-version-kind"]).toEqual([
      { group: "stable.example.com", kind: "CronTab", version: "v1" },
    ]);
    expect(properties.spec.properties.image).toEqual({ type: "string", default: "busybox" });
    expect(Object.keys(properties).sort()).toEqual(["apiVersion", "kind", "metadata", "spec", "status"]);
    expect(v3.components.schemas[`${name}List`].properties.items.items.allOf).toEqual([
      { $ref: `#/components/schemas/${name}` },
    ]);
    const { body: v2 } = await face.ask("/openapi/v2");
    const spec = v2.definitions[name].properties.spec;
    expect(spec.properties.free).toEqual({ "x-kubernetes-preserve-unknown-fields": true });
    expect(v2.paths[`${GROUP}/v1/namespaces/{namespace}/crontabs/{name}`].patch).toBeDefined();
    expect(v2.definitions["com.example.stable.v1beta1.CronTab"]).toBeDefined();
  });

  test("a new object is pruned, gets defaults and generation 1, and no status", async () => {
    const spec = { cronSpec: "x", unknown: 1, free: { a: { b: 1 } } };
    const body = { ...cronTab("one", spec), status: { replicas: 7 } };
    const created = await face.ask(CRONTABS, { method: "POST", body });
    expect(created.status, created.text).toBe(201);
    expect(created.body).toMatchObject({ metadata: { generation: 1 }, spec: { image: "busybox", free: spec.free } });
    expect(created.body.spec.unknown).toBeUndefined();
    expect(created.body.status).toBeUndefined();
    expect(created.headers["warning"]).toBe('299 - "unknown field \\"spec.unknown\\""');
    expect((await face.ask(`${CRONTABS}/one`)).body).toEqual(created.body);
  });

  const refused: readonly (readonly [what: string, asked: Asked, status: number, message: string])[] = [
    [
      "a wrong type",
      { body: cronTab("bad", { cronSpec: "x", replicas: "3" }) },
      422,
      'CronTab.stable.example.com "bad" is invalid: [spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: 3 is of the type string, expected int64]',
    ],
    [
      "a missing field",
      { body: cronTab("bad", {}) },
      422,
      'CronTab.stable.example.com "bad" is invalid: spec.cronSpec: Required value',
    ],
    [
      "a set with an item twice",
      { body: cronTab("bad", { cronSpec: "x", tags: ["a", "a"] }) },
      422,
      'CronTab.stable.example.com "bad" is invalid: spec.tags[1]: Duplicate value: "a"',
    ],
    [
      "another version",
      { body: cronTab("bad", { cronSpec: "x" }, "v2") },
      400,
      "the API version in the data (stable.example.com/v2) does not match the expected API version (stable.example.com/v1)",
    ],
    [
      "another kind",
      { body: { ...cronTab("bad", { cronSpec: "x" }), kind: "Pod" } },
      422,
      'CronTab.stable.example.com "bad" is invalid: kind: Invalid value: "Pod": must be CronTab',
    ],
    [
      "metadata of a wrong type",
      { body: { ...cronTab("bad", { cronSpec: "x" }), metadata: { name: "bad", labels: 1 } } },
      400,
      'CronTab in version "v1" cannot be handled as a CronTab: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string',
    ],
  ];
  for (const [what, asked, status, message] of refused) {
    test(`refused: ${what}`, async () => {
      const answer = await face.ask(CRONTABS, { method: "POST", ...asked });
      expect([answer.status, answer.body.message]).toEqual([status, message]);
    });
  }

  test("strict validation names unknown and repeated fields", async () => {
    const { status, body } = await create("strict", { cronSpec: "x", unknown: 1 }, "?fieldValidation=Strict");
    expect(status).toBe(400);
    expect(body.message).toContain('strict decoding error: unknown field "spec.unknown"');
    const text = JSON.stringify(cronTab("strict", { cronSpec: "x" })).replace('"x"', '"x","cronSpec":"y"');
    const twice = await face.ask(`${CRONTABS}?fieldValidation=Strict`, { method: "POST", body: text });
    expect(twice.body.message).toContain('duplicate field "spec.cronSpec"');
  });

  test("a change of the spec counts, one of the metadata does not", async () => {
    await create("counted", { cronSpec: "x" });
    const patch = (body: object) => face.ask(`${CRONTABS}/counted`, { method: "PATCH", headers: MERGE, body });
    expect((await patch({ metadata: { labels: { a: "b" } } })).body.metadata.generation).toBe(1);
    expect((await patch({ spec: { replicas: 2 } })).body.metadata.generation).toBe(2);
    expect((await patch({ status: { replicas: 2 } })).body).not.toHaveProperty("status");
  });

  test("/status changes the status only", async () => {
    const { body: before } = await create("stated", { cronSpec: "x" });
    const put = { ...before, spec: { cronSpec: "y" }, metadata: { ...before.metadata, labels: { a: "b" } } };
    const { body } = await face.ask(`${CRONTABS}/stated/status`, {
      method: "PUT",
      body: { ...put, status: { replicas: 3 } },
    });
    expect([body.spec.cronSpec, body.metadata.labels, body.status]).toEqual(["x", undefined, { replicas: 3 }]);
    expect(body.metadata.generation).toBe(1);
  });

  test("/scale reads and writes the paths of the definition", async () => {
    await create("scaled", { cronSpec: "x", replicas: 2 });
    const path = `${CRONTABS}/scaled/scale`;
    expect((await face.ask(path)).body).toMatchObject({
      kind: "Scale",
      spec: { replicas: 2 },
      status: { replicas: 0 },
    });
    const patched = await face.ask(path, { method: "PATCH", headers: MERGE, body: { spec: { replicas: 4 } } });
    expect(patched.body.spec.replicas).toBe(4);
    const { body } = await face.ask(`${CRONTABS}/scaled`);
    expect([body.spec.replicas, body.metadata.generation]).toEqual([4, 2]);
  });

  test("patches: JSON and merge patch, but no strategic one", async () => {
    await create("patched", { cronSpec: "x" });
    const patch = (type: string, body: unknown) =>
      face.ask(`${CRONTABS}/patched`, {
        method: "PATCH",
        headers: { "content-type": `application/${type}+json` },
        body,
      });
    const json = await patch("json-patch", [{ op: "add", path: "/spec/tags", value: ["a"] }]);
    expect(json.body.spec.tags).toEqual(["a"]);
    const strategic = await patch("strategic-merge-patch", { spec: {} });
    expect([strategic.status, strategic.body.reason]).toEqual([415, "UnsupportedMediaType"]);
    expect(strategic.body.message).toContain("application/json-patch+json, application/merge-patch+json");
  });

  test("an applied configuration merges sets", async () => {
    const apply = (spec: object, manager: string) =>
      face.ask(`${CRONTABS}/applied?force=true&fieldManager=${manager}`, {
        method: "PATCH",
        headers: { "content-type": "application/apply-patch+yaml" },
        body: cronTab("applied", spec),
      });
    expect((await apply({ cronSpec: "x", tags: ["a"] }, "one")).status).toBe(201);
    const { body } = await apply({ tags: ["b"], image: "nginx" }, "two");
    expect(body.spec).toMatchObject({ cronSpec: "x", image: "nginx", tags: ["a", "b"] });
  });

  test("a table has the columns of the version", async () => {
    await create("shown", { cronSpec: "* *", replicas: 2 });
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const { body } = await face.ask(`${CRONTABS}/shown`, { headers });
    const columns = body.columnDefinitions.map(
      (one: { name: string; priority: number }) => `${one.name} ${one.priority}`,
    );
    expect(columns).toEqual(["Name 0", "Spec 0", "Replicas 1", "Age 0"]);
    expect(body.rows[0].cells).toEqual(["shown", "* *", 2, "0s"]);
  });

  test("the other version is a view, without its unknown fields, with a warning", async () => {
    await create("viewed", { cronSpec: "x" });
    const path = `${GROUP}/v1beta1/namespaces/default/crontabs`;
    const { body, headers } = await face.ask(`${path}/viewed`);
    expect([body.apiVersion, body.spec]).toEqual(["stable.example.com/v1beta1", { cronSpec: "x" }]);
    expect(headers["warning"]).toBe(
      '299 - "stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab"',
    );
    await face.ask(path, { method: "POST", body: cronTab("old", { cronSpec: "y" }, "v1beta1") });
    const { body: stored } = await face.ask(`${CRONTABS}/old`);
    // Defaults of the storage version apply when it is read.
    expect([stored.apiVersion, stored.spec]).toEqual(["stable.example.com/v1", { cronSpec: "y", image: "busybox" }]);
    const list = (await face.ask(path)).body;
    expect(list.kind).toBe("CronTabList");
    expect(new Set(list.items.map((one: { apiVersion?: string }) => one.apiVersion))).toEqual(new Set([undefined]));
  });

  test("deletion: one object, then all", async () => {
    await create("going", { cronSpec: "x" });
    const deleted = await face.ask(`${CRONTABS}/going`, { method: "DELETE" });
    expect(deleted.body).toMatchObject({ kind: "Status", status: "Success", details: { kind: "crontabs" } });
    await face.ask(CRONTABS, { method: "DELETE" });
    expect((await face.ask(CRONTABS)).body.items).toEqual([]);
  });

  test("a watch ends when the schema changes, and the new schema holds", async () => {
    const name = "crontabs.stable.example.com";
    const watch = await face.open(`${CRONTABS}?watch=true`, { as: { ...face.admin } });
    const ended = new Promise((resolve) => watch.once("end", resolve).resume());
    const { body } = await face.ask(`${DEFINITIONS}/${name}`);
    body.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.more = { type: "string", default: "M" };
    expect((await face.ask(`${DEFINITIONS}/${name}`, { method: "PUT", body })).status).toBe(200);
    await ended;
    expect((await create("more", { cronSpec: "x" })).body.spec.more).toBe("M");
  });
});

describe("definitions", () => {
  test("a name in use is not accepted until it is free", async () => {
    await define(definition("firsts", "First", { names: { shortNames: ["f"] } }));
    const second = definition("seconds", "Second", { names: { shortNames: ["f"] } });
    await face.ask(DEFINITIONS, { method: "POST", body: second });
    const conditions = await until("seconds.stable.example.com", "NamesAccepted", "False");
    expect(conditions).toMatchObject([
      { type: "NamesAccepted", reason: "ShortNamesConflict", message: '"f" is already in use' },
      { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" },
    ]);
    expect((await face.ask(`${GROUP}/v1/seconds`)).status).toBe(404);
    await face.ask(`${DEFINITIONS}/firsts.stable.example.com`, { method: "DELETE" });
    await until("seconds.stable.example.com", "Established");
    expect((await face.ask(`${GROUP}/v1/seconds`)).status).toBe(200);
  });

  test("its objects go first, those with finalizers when they are ready", async () => {
    await define(definition("leavings", "Leaving"));
    const path = `${GROUP}/v1/namespaces/default/leavings`;
    const body = {
      ...cronTab("held", { cronSpec: "x" }),
      kind: "Leaving",
      metadata: { name: "held", finalizers: ["example.com/hold"] },
    };
    await face.ask(path, { method: "POST", body });
    const deleted = await face.ask(`${DEFINITIONS}/leavings.stable.example.com`, { method: "DELETE" });
    expect(deleted.body.metadata.finalizers).toEqual(["customresourcecleanup.apiextensions.k8s.io"]);
    expect(deleted.body.status.conditions.at(-1)).toMatchObject({
      type: "Terminating",
      reason: "InstanceDeletionPending",
    });
    while ((await face.ask(`${path}/held`)).body.metadata.deletionTimestamp === undefined);
    const refused = await face.ask(path, { method: "POST", body: { ...body, metadata: { name: "late" } } });
    expect([refused.status, refused.body.message]).toEqual([
      405,
      "create not allowed while custom resource definition is terminating",
    ]);
    await face.ask(`${path}/held`, { method: "PATCH", headers: MERGE, body: { metadata: { finalizers: null } } });
    await face.clock.advance(5_000);
    await gone(`${DEFINITIONS}/leavings.stable.example.com`);
    expect((await face.ask(`${path}/held`)).status).toBe(404);
  });

  test("an unserved storage version has no path, but keeps the objects", async () => {
    const versions = [
      { ...V1, served: false },
      { ...V1BETA1, deprecated: false },
    ];
    await define(definition("hiddens", "Hidden", { versions, group: "hidden.example.com" }));
    const { body } = await face.ask("/apis/hidden.example.com");
    expect(body.versions.map((one: { version: string }) => one.version)).toEqual(["v1beta1"]);
    const path = "/apis/hidden.example.com/v1beta1/namespaces/default/hiddens";
    const object = { apiVersion: "hidden.example.com/v1beta1", kind: "Hidden", metadata: { name: "a" }, spec: {} };
    expect((await face.ask(path, { method: "POST", body: object })).status).toBe(201);
    expect((await face.ask(path)).body.items.length).toBe(1);
  });

  const broken: readonly (readonly [what: string, spec: unknown, status: number])[] = [
    [
      "no versions",
      { group: "x.example.com", names: { plural: "xs", kind: "X" }, scope: "Cluster", versions: [] },
      422,
    ],
    ["nothing", {}, 422],
    ["null", null, 422],
    ["versions of a wrong type", { versions: "v1" }, 400],
    ["a schema that is a list", { versions: [{ name: "v1", schema: { openAPIV3Schema: [] } }] }, 400],
    [
      "items as a list",
      { versions: [{ name: "v1", schema: { openAPIV3Schema: { type: "array", items: [{}] } } }] },
      422,
    ],
  ];
  for (const [what, spec, status] of broken) {
    test(`a broken definition is refused: ${what}`, async () => {
      const body = { ...definition("xs", "X", { group: "x.example.com" }), spec };
      const answer = await face.ask(DEFINITIONS, { method: "POST", body });
      expect([answer.status, answer.text], answer.text).toEqual([status, expect.not.stringContaining("Internal")]);
    });
  }

  test("what a webhook should convert is refused, not shown wrongly", async () => {
    const body = definition("hookeds", "Hooked", { versions: [V1, V1BETA1] });
    const clientConfig = { url: "https://127.0.0.1:1/convert" };
    const conversion = { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } };
    await define({ ...body, spec: { ...body.spec, conversion } } as typeof body);
    const object = { ...cronTab("a", { cronSpec: "x" }), kind: "Hooked" };
    const namespaced = (version: string) => `${GROUP}/${version}/namespaces/default/hookeds`;
    expect((await face.ask(namespaced("v1"), { method: "POST", body: object })).status).toBe(201);
    expect((await face.ask(`${namespaced("v1")}/a`)).status).toBe(200);
    const other = await face.ask(`${namespaced("v1beta1")}/a`);
    expect([other.status, other.body.message]).toEqual([
      500,
      "conversion webhook for stable.example.com/v1, Kind=Hooked failed: this embedded API server does not call conversion webhooks",
    ]);
  });

  test("rules hold for objects, and are compiled with the definition", async () => {
    const ruled = (rule: string) => {
      const spec = { ...SPEC, "x-kubernetes-validations": [{ rule, message: "replicas stay" }] };
      const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
      return definition("ruleds", "Ruled", { versions: [{ ...V1, subresources: {}, schema }] });
    };
    const bad = await face.ask(DEFINITIONS, { method: "POST", body: ruled("self.nothing == 1") });
    expect([bad.status, bad.body.message]).toEqual([422, expect.stringContaining("compilation failed")]);
    await define(ruled("!has(oldSelf.replicas) || self.replicas == oldSelf.replicas"));
    const path = `${GROUP}/v1/namespaces/default/ruleds`;
    const object = { ...cronTab("a", { cronSpec: "x", replicas: 1 }), kind: "Ruled" };
    expect((await face.ask(path, { method: "POST", body: object })).status).toBe(201);
    const patch = { method: "PATCH", headers: MERGE, body: { spec: { replicas: 2 } } };
    const { status, body } = await face.ask(`${path}/a`, patch);
    expect([status, body.message]).toEqual([
      422,
      'Ruled.stable.example.com "a" is invalid: spec: Invalid value: "object": replicas stay',
    ]);
  });

  test("a built-in kind keeps its paths", async () => {
    const body = definition("leases", "Lease", { group: "coordination.k8s.io" });
    const annotations = { "api-approved.kubernetes.io": "unapproved, a test" };
    await face.ask(DEFINITIONS, { method: "POST", body: { ...body, metadata: { ...body.metadata, annotations } } });
    await until("leases.coordination.k8s.io", "Established");
    const { body: list } = await face.ask("/apis/coordination.k8s.io/v1/leases");
    expect(list.kind).toBe("LeaseList");
  });
});
