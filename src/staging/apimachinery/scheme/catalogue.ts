import assert from "node:assert";
import apiextensions from "../../../../fixtures/scheme/apiextensions.json" with { type: "json" };
import apps from "../../../../fixtures/scheme/apps.json" with { type: "json" };
import authentication from "../../../../fixtures/scheme/authentication.json" with { type: "json" };
import authorization from "../../../../fixtures/scheme/authorization.json" with { type: "json" };
import autoscaling from "../../../../fixtures/scheme/autoscaling.json" with { type: "json" };
import autoscalingV2 from "../../../../fixtures/scheme/autoscaling-v2.json" with { type: "json" };
import batch from "../../../../fixtures/scheme/batch.json" with { type: "json" };
import certificates from "../../../../fixtures/scheme/certificates.json" with { type: "json" };
import coordination from "../../../../fixtures/scheme/coordination.json" with { type: "json" };
import core from "../../../../fixtures/scheme/core.json" with { type: "json" };
import discovery from "../../../../fixtures/scheme/discovery.json" with { type: "json" };
import events from "../../../../fixtures/scheme/events.json" with { type: "json" };
import meta from "../../../../fixtures/scheme/meta.json" with { type: "json" };
import metrics from "../../../../fixtures/scheme/metrics.json" with { type: "json" };
import networking from "../../../../fixtures/scheme/networking.json" with { type: "json" };
import node from "../../../../fixtures/scheme/node.json" with { type: "json" };
import policy from "../../../../fixtures/scheme/policy.json" with { type: "json" };
import rbac from "../../../../fixtures/scheme/rbac.json" with { type: "json" };
import scheduling from "../../../../fixtures/scheme/scheduling.json" with { type: "json" };
import storage from "../../../../fixtures/scheme/storage.json" with { type: "json" };
import { parseType } from "./notation.js";
import type { Field, TypeSchema, TypeTable } from "./schema.js";

const TABLES: readonly TypeTable[] = [
  meta,
  core,
  certificates,
  rbac,
  authentication,
  authorization,
  coordination,
  events,
  policy,
  scheduling,
  node,
  discovery,
  storage,
  apps,
  autoscaling,
  autoscalingV2,
  batch,
  networking,
  apiextensions,
  metrics,
];

/** Tables of types that no API server serves. */
const OTHER_TABLES = new Set<TypeTable>();

/**
 * Registers a table of types with the decoder: a component's configuration. Its module calls it once.
 * Mirrors AddToScheme. The API's own tables are always known.
 */
export function addToScheme(table: TypeTable): void {
  OTHER_TABLES.add(table);
}

/** Types parsed so far. The tables are constants, so this is a cache, not state. */
const parsed = new Map<string, TypeSchema>();
const flattened = new Map<string, readonly Field[]>();

/** @param name `PodSpec`, `events.Event` @throws AssertionError for an unknown type */
export function typeSchema(name: string): TypeSchema {
  const known = parsed.get(name);
  if (known !== undefined) return known;
  const table = [...TABLES, ...OTHER_TABLES].find(({ types }) => Object.hasOwn(types, name));
  const rows = table?.types[name];
  assert(table !== undefined && rows !== undefined, `no type table describes ${name}`);
  const schema = parseType(name, table.package, rows);
  parsed.set(name, schema);
  return schema;
}

/** The fields in JSON form: those of embedded structs are siblings of the other fields. */
export function jsonFields(name: string): readonly Field[] {
  const known = flattened.get(name);
  if (known !== undefined) return known;
  const fields = typeSchema(name).fields.flatMap((field) =>
    field.inline && field.type.type === "object" ? jsonFields(field.type.ref) : [field],
  );
  flattened.set(name, fields);
  return fields;
}

/** All types of the API, in the order of the tables. */
export function typeNames(): string[] {
  return TABLES.flatMap(({ types }) => Object.keys(types));
}
