import assert from "node:assert";
import { parseType } from "./notation.js";
import type { Field, TypeSchema, TypeTable } from "./schema.js";
import { apps } from "./types/apps.js";
import { authentication, authorization, certificates, rbac } from "./types/auth.js";
import {
  apiextensions,
  autoscaling,
  coordination,
  discovery,
  events,
  nodeGroup,
  policy,
  scheduling,
  storage,
} from "./types/cluster-groups.js";
import { coreCluster } from "./types/core-cluster.js";
import { coreConfig } from "./types/core-config.js";
import { coreContainer } from "./types/core-container.js";
import { coreNetwork } from "./types/core-network.js";
import { corePod } from "./types/core-pod.js";
import { coreReferences } from "./types/core-references.js";
import { coreStorage } from "./types/core-storage.js";
import { coreVolumes } from "./types/core-volumes.js";
import { meta } from "./types/meta.js";

const TABLES: readonly TypeTable[] = [
  meta,
  coreReferences,
  coreContainer,
  corePod,
  coreVolumes,
  coreCluster,
  coreConfig,
  coreNetwork,
  coreStorage,
  certificates,
  rbac,
  authentication,
  authorization,
  coordination,
  events,
  policy,
  scheduling,
  nodeGroup,
  discovery,
  storage,
  apps,
  autoscaling,
  apiextensions,
];

/** What was read out of the tables so far: they are constants, so this is a cache and no state. */
const parsed = new Map<string, TypeSchema>();
const flattened = new Map<string, readonly Field[]>();

/** @param name `PodSpec`, `events.Event` @throws when there is no such type: a programmer's mistake */
export function typeSchema(name: string): TypeSchema {
  const known = parsed.get(name);
  if (known !== undefined) return known;
  const table = TABLES.find(({ types }) => Object.hasOwn(types, name));
  const text = table?.types[name];
  assert(table !== undefined && text !== undefined, `no type table describes ${name}`);
  const schema = parseType(name, table.package, text);
  parsed.set(name, schema);
  return schema;
}

/** The fields as JSON shows them: those of embedded structs stand beside their siblings. */
export function jsonFields(name: string): readonly Field[] {
  const known = flattened.get(name);
  if (known !== undefined) return known;
  const fields = typeSchema(name).fields.flatMap((field) =>
    field.inline && field.type.type === "object" ? jsonFields(field.type.ref) : [field],
  );
  flattened.set(name, fields);
  return fields;
}

/** Every type that has a table, in the order of the tables. */
export function typeNames(): string[] {
  return TABLES.flatMap(({ types }) => Object.keys(types));
}
