import assert from "node:assert/strict";
import { test } from "vitest";
import { JSON_TYPE, PROTOBUF_TYPE, YAML_TYPE } from "../../../../../src/cluster/apiserver/endpoints/media-types.js";
import {
  encodeLong,
  type LongList,
  wholeOf,
} from "../../../../../src/cluster/apiserver/endpoints/responsewriters/long-list.js";
import { partialOf, rowsOf, tableOf } from "../../../../../src/cluster/apiserver/endpoints/responsewriters/table.js";
import { toYaml } from "../../../../../src/cluster/apiserver/endpoints/yaml.js";
import { RESOURCES } from "../../../../../src/cluster/apiserver/registry/table.js";
import { encodeProtobuf } from "../../../../../src/staging/apimachinery/scheme/protobuf/envelope.js";
import { Turns } from "../../../../../src/util/async/turns.js";
import { FakeClock } from "../../../../support/fake-clock.js";

const objects = ["a", "b", "c"].map((name) => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name, namespace: "default", resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z" },
  data: { items: `one\ntwo: []\n`, [name]: '\nitems: []\n$& "quoted"' },
}));
const metadata = { resourceVersion: "9" };
const options = { version: "v1", nowMs: 0, include: "Metadata", withColumns: true } as const;
const definition = RESOURCES.find(({ kind }) => kind === "ConfigMap");
assert.ok(definition !== undefined);
const { rows: _rows, ...table } = tableOf(definition, metadata, [], options);

const LISTS: Readonly<Record<string, LongList>> = {
  list: {
    head: { kind: "ConfigMapList", apiVersion: "v1", metadata },
    key: "items",
    objects,
    element: ({ kind: _kind, apiVersion: _version, ...rest }) => rest,
  },
  metadata: {
    head: { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata },
    key: "items",
    objects,
    element: (object) => partialOf(object, "v1"),
  },
  table: { head: table, key: "rows", objects, element: rowsOf(definition, options) },
};
/** The encoding of a whole value, which answers to short lists have. */
const WHOLE: readonly (readonly [mediaType: string, pretty: boolean, encode: (value: object) => string | Buffer])[] = [
  [JSON_TYPE, false, (value) => `${JSON.stringify(value)}\n`],
  [JSON_TYPE, true, (value) => JSON.stringify(value, null, 2)],
  [YAML_TYPE, false, toYaml],
  [PROTOBUF_TYPE, false, (value) => encodeProtobuf(value) ?? `${JSON.stringify(value)}\n`],
];

for (const [name, list] of Object.entries(LISTS)) {
  for (const [mediaType, pretty, encode] of WHOLE) {
    test(`${name} as ${mediaType}${pretty ? ", pretty" : ""}: element by element as in one piece`, async () => {
      const encoded = await encodeLong(list, { mediaType, pretty }, new Turns(new FakeClock()), () => false);
      const whole = Buffer.from(encode(wholeOf(list)));
      const text = (bytes: Buffer) => bytes.toString(mediaType === PROTOBUF_TYPE ? "latin1" : "utf8");
      assert.equal(text(Buffer.concat(encoded?.parts ?? [])), text(whole));
    });

    test(`${name} as ${mediaType}${pretty ? ", pretty" : ""}: a turn after each element, until the client has left`, async () => {
      let turns = 0;
      const counted = { next: () => void turns++ } as unknown as Turns;
      const how = { mediaType, pretty };
      await encodeLong(list, how, counted, () => false);
      assert.equal(turns, 3);
      assert.equal(await encodeLong(list, how, counted, () => turns === 4), undefined);
    });
  }
}
