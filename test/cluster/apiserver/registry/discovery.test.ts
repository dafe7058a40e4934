import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ResourceDefinition } from "../../../../src/cluster/apiserver/registry/rest/definition.js";
import { RESOURCES, resourcesFor } from "../../../../src/cluster/apiserver/registry/table.js";
import { MISSING_RECORDINGS, recorded } from "../../../support/recordings.js";

interface ListedResource {
  readonly name: string;
}

function entriesOf(definition: ResourceDefinition) {
  const {
    resource,
    namespaced,
    kind,
    verbs,
    shortNames,
    categories,
    storageVersionHash,
    subresources = [],
  } = definition;
  const own = { name: resource, singularName: "", namespaced, kind, verbs, shortNames, categories, storageVersionHash };
  const views = subresources.map((one) => ({
    name: `${resource}/${one.name}`,
    singularName: "",
    namespaced,
    group: one.group,
    version: one.version,
    kind: one.kind ?? kind,
    verbs: one.verbs,
  }));
  return [own, ...views].map((entry) => JSON.parse(JSON.stringify(entry)) as ListedResource);
}

function listOf(groupVersion: string): ListedResource[] {
  const rows = resourcesFor("1.25").filter(
    ({ group, version }) => groupVersion === (group === "" ? version : `${group}/${version}`),
  );
  return rows.flatMap(entriesOf).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function why(missing: string | undefined): string {
  return missing === undefined ? "" : ` (skipped: ${missing})`;
}

describe.skipIf(MISSING_RECORDINGS !== undefined)(`discovery lists from the table${why(MISSING_RECORDINGS)}`, () => {
  for (const item of recorded("discovery")) {
    const body = item.response.body as { kind?: string; groupVersion?: string; resources?: unknown[] } | undefined;
    if (body?.kind !== "APIResourceList" || body.groupVersion === undefined) continue;
    const wanted = (body.resources ?? []).filter((one) => typeof one !== "string");
    test(`${body.groupVersion} has the real server's list`, () => {
      // The recorded list of apps/v1 is incomplete.
      const listed = listOf(body.groupVersion ?? "").slice(0, wanted.length);
      assert.deepEqual(listed, wanted);
    });
  }
});

test("a kind of a later release does not exist before", () => {
  const has = (kubeVersion: string) => resourcesFor(kubeVersion).some((row) => row.resource === "selfsubjectreviews");
  assert.deepEqual([has("1.27"), has("1.28")], [false, true]);
});

test("a storage version hash is the digest of group, version and kind as stored", () => {
  const hashOf = (resource: string, group: string) =>
    RESOURCES.find((row) => row.resource === resource && row.group === group)?.storageVersionHash;
  assert.equal(hashOf("deployments", "apps"), "8aSe+NMegvE=");
  assert.equal(hashOf("events", "events.k8s.io"), hashOf("events", ""));
});

test("no resource is listed twice", () => {
  const names = RESOURCES.map((row) => `${row.group}/${row.version}/${row.resource}`);
  assert.equal(new Set(names).size, names.length);
});
