import assert from "node:assert/strict";
import { test } from "vitest";
import type { Exchange } from "../../../../../src/cluster/apiserver/endpoints/exchange.js";
import { JSON_TYPE, PROTOBUF_TYPE, YAML_TYPE } from "../../../../../src/cluster/apiserver/endpoints/media-types.js";
import { Serializer } from "../../../../../src/cluster/apiserver/endpoints/responsewriters/serialize.js";
import { Presenter } from "../../../../../src/cluster/apiserver/endpoints/responsewriters/show.js";
import { SeenBodies } from "../../../../../src/cluster/apiserver/endpoints/seen-bodies.js";
import { RESOURCES } from "../../../../../src/cluster/apiserver/registry/table.js";
import { FakeClock } from "../../../../support/fake-clock.js";

const definition = RESOURCES.find(({ kind }) => kind === "ConfigMap");
assert.ok(definition !== undefined);

const FORMS: readonly (readonly [as: string, mediaType: string])[] = [
  ["", PROTOBUF_TYPE],
  ["", YAML_TYPE],
  ["Table", JSON_TYPE],
  ["PartialObjectMetadataList", JSON_TYPE],
];
for (const [as, mediaType] of FORMS) {
  test(`a long ${as || "list"} as ${mediaType} is not encoded in one piece for a trace with bodies either`, async () => {
    let read = 0;
    const items = Array.from({ length: 100 }, (_, index) => ({
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: `c${index}` },
      get data() {
        return { name: String(read++) };
      },
    }));
    // Only an answer that has turns sees that its client has left.
    const exchange = { bodies: new SeenBodies(), query: new URLSearchParams(), response: { destroyed: true } };
    const presenter = new Presenter(new Serializer(), new FakeClock());
    const list = { kind: "ConfigMapList", apiVersion: "v1", metadata: {}, items };
    const cells = (one: { data?: object }) => [Object.keys(one.data ?? {}).length];
    const table = { columns: [], cells } as unknown as NonNullable<typeof definition.table>;
    const shown = { as, asVersion: "v1", mediaType, pretty: false } as Parameters<Presenter["list"]>[3];
    await presenter.list(exchange as unknown as Exchange, { ...definition, table }, list, shown);
    assert.deepEqual(Object.values(exchange.bodies.masked(undefined as never, "/")), []);
    if (as === "Table") assert.equal(read, 1);
  });
}
