import { createHash } from "node:crypto";
import type { ResourceDefinition, SubresourceDefinition } from "../../registry/rest/definition.js";
import type { GroupVersion, Routes } from "../routes.js";

const GROUP = "apidiscovery.k8s.io";
const AS = "APIGroupDiscoveryList";

/** A document with its ETag and media type. */
export interface AggregatedList {
  readonly text: string;
  readonly etag: string;
  readonly contentType: string;
}

/**
 * Discovery in one request: all resources of all groups (/apis) or of the core group (/api).
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/discovery/aggregated (handler.go, wrapper.go, negotiation.go).
 */
export class AggregatedDiscovery {
  readonly #lists = new Map<string, AggregatedList>();
  /** of the routes that the lists show */
  #generation = 0;

  /** @param versions of apidiscovery.k8s.io in this release; if empty, the server serves only the plain lists */
  constructor(
    readonly routes: Routes,
    readonly versions: readonly string[],
  ) {}

  /**
   * @param core true for the core group, false for all other groups
   * @returns undefined when the client prefers or accepts only plain lists
   */
  list(accept: string | undefined, core: boolean): AggregatedList | undefined {
    const version = this.versions.length === 0 ? undefined : versionAskedFor(accept, this.versions);
    if (version === undefined) return undefined;
    if (this.#generation !== this.routes.generation) this.#lists.clear();
    this.#generation = this.routes.generation;
    const key = `${version} ${core ? "core" : "groups"}`;
    let list = this.#lists.get(key);
    if (list === undefined) {
      const text = `${JSON.stringify(this.#document(version, core))}\n`;
      const etag = `"${createHash("sha512").update(text).digest("hex").toUpperCase()}"`;
      list = { text, etag, contentType: `application/json;g=${GROUP};v=${version};as=${AS}` };
      this.#lists.set(key, list);
    }
    return list;
  }

  #document(version: string, core: boolean): unknown {
    const groups = core ? new Map([["", ["v1"]]]) : this.routes.groups;
    return {
      kind: AS,
      apiVersion: `${GROUP}/${version}`,
      metadata: {},
      items: [...groups].map(([name, versions]) => ({
        metadata: { ...(name === "" ? {} : { name }), creationTimestamp: null },
        versions: versions.flatMap((one) => {
          const found = this.routes.groupVersion(name, one);
          return found === undefined ? [] : [{ version: one, resources: resources(found), freshness: "Current" }];
        }),
      })),
    };
  }
}

/** The first supported clause wins. */
function versionAskedFor(accept: string | undefined, versions: readonly string[]): string | undefined {
  if (accept === undefined || !accept.includes(AS)) return undefined;
  for (const clause of accept.split(",")) {
    const [type = "", ...params] = clause.split(";").map((part) => part.trim());
    if (type !== "application/json" && type !== "*/*" && type !== "application/*") continue;
    const value = (name: string) => params.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
    if (value("as") === undefined) return undefined;
    const version = value("v");
    if (value("as") === AS && value("g") === GROUP && version !== undefined && versions.includes(version))
      return version;
  }
  return undefined;
}

function resources({ routes }: GroupVersion): unknown[] {
  const definitions = [...routes.values()].map((route) => route.definition);
  definitions.sort((a, b) => (a.resource < b.resource ? -1 : 1));
  return definitions.map(resource);
}

function resource(definition: ResourceDefinition): unknown {
  const { group, version, kind, shortNames = [], categories = [], subresources = [] } = definition;
  return {
    resource: definition.resource,
    responseKind: { group, version, kind },
    scope: definition.namespaced ? "Namespaced" : "Cluster",
    singularResource: definition.singular,
    verbs: definition.verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map((one) => subresource(definition, one)) }),
  };
}

function subresource({ group, version, kind }: ResourceDefinition, one: SubresourceDefinition): unknown {
  return {
    subresource: one.name,
    responseKind: { group: one.group ?? group, version: one.version ?? version, kind: one.kind ?? kind },
    verbs: one.verbs,
  };
}
