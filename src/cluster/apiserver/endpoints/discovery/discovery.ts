import { groupVersion } from "../../../../staging/apimachinery/api/resource.js";
import type { ResourceDefinition, SubresourceDefinition } from "../../registry/rest/definition.js";
import type { GroupVersion, Routes } from "../routes.js";

/** The contents of /api, /apis and the resource lists. Mirrors k8s.io/apiserver/pkg/endpoints/discovery. */
export class Discovery {
  /** @param withSingularNames true from v1.27 on; earlier releases leave the singular names empty */
  constructor(
    readonly routes: Routes,
    readonly withSingularNames: boolean,
  ) {}

  /** @param address host and port that the client connected to */
  apiVersions(address: string): unknown {
    return {
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
    };
  }

  groupList(): unknown {
    return {
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: [...this.routes.groups.keys()].map((group) => this.#group(group)),
    };
  }

  /** @returns undefined for a group that is not served */
  group(group: string): unknown {
    return this.routes.groups.has(group) ? { kind: "APIGroup", apiVersion: "v1", ...this.#group(group) } : undefined;
  }

  /** @returns undefined for a group-version that is not served */
  resourceList(group: string, version: string): unknown {
    const found = this.routes.groupVersion(group, version);
    if (found === undefined) return undefined;
    return {
      kind: "APIResourceList",
      // The core group's list has no apiVersion: it is older than that convention.
      ...(group === "" ? {} : { apiVersion: "v1" }),
      groupVersion: groupVersion({ group, version }),
      resources: this.#resources(found),
    };
  }

  #group(name: string) {
    const versions = (this.routes.groups.get(name) ?? []).map((version) => ({
      groupVersion: groupVersion({ group: name, version }),
      version,
    }));
    return { name, versions, preferredVersion: versions[0] };
  }

  #resources({ routes }: GroupVersion): unknown[] {
    const entries = [...routes.values()].flatMap(({ definition }) => [
      { name: definition.resource, entry: this.#resource(definition) },
      ...(definition.subresources ?? []).map((sub) => ({
        name: `${definition.resource}/${sub.name}`,
        entry: subresource(definition, sub),
      })),
    ]);
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    return entries.map((one) => one.entry);
  }

  #resource(definition: ResourceDefinition): unknown {
    const { shortNames, categories, storageVersionHash } = definition;
    return {
      name: definition.resource,
      singularName: this.withSingularNames || definition.custom !== undefined ? definition.singular : "",
      namespaced: definition.namespaced,
      kind: definition.kind,
      verbs: definition.verbs,
      ...(shortNames === undefined || shortNames.length === 0 ? {} : { shortNames }),
      ...(categories === undefined || categories.length === 0 ? {} : { categories }),
      ...(storageVersionHash === undefined ? {} : { storageVersionHash }),
    };
  }
}

function subresource(definition: ResourceDefinition, sub: SubresourceDefinition): unknown {
  return {
    name: `${definition.resource}/${sub.name}`,
    singularName: "",
    namespaced: definition.namespaced,
    ...(sub.group === undefined ? {} : { group: sub.group }),
    ...(sub.version === undefined ? {} : { version: sub.version }),
    kind: sub.kind ?? definition.kind,
    verbs: sub.verbs,
  };
}
