import type { KubeList, KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Clock } from "../../../../util/clock.js";
import type { ResourceDefinition } from "../../registry/rest/definition.js";
import type { Exchange } from "../exchange.js";
import { JSON_TYPE, type Representation } from "../media-types.js";
import { writeValue } from "./answer.js";
import { ListWriter } from "./list-body.js";
import type { Serializer } from "./serialize.js";
import { includeObjectOf, isAList, notAList, partialListOf, partialOf, tableOf } from "./table.js";

/** Writes objects and lists in the requested form. */
export class Presenter {
  readonly #lists: ListWriter;

  constructor(
    readonly serializer: Serializer,
    readonly clock: Clock,
  ) {
    this.#lists = new ListWriter(clock);
  }

  /** @throws StatusError 406 when the requested form does not apply */
  async object(
    exchange: Exchange,
    code: number,
    definition: ResourceDefinition,
    object: KubeObject,
    shown: Representation,
  ): Promise<void> {
    const { as, asVersion } = shown;
    if (as === "") {
      if (isCompact(exchange, shown)) {
        const compact = this.serializer.object(object, exchange.method !== "GET");
        return writeValue(exchange, code, undefined, { compact });
      }
      const { kind, apiVersion, ...rest } = object;
      return this.#write(exchange, code, shown, { kind, apiVersion, ...rest });
    }
    if (as === "PartialObjectMetadataList") throw notAList(goType(definition));
    if (as === "PartialObjectMetadata") return this.#write(exchange, code, shown, partialOf(object, asVersion));
    const { resourceVersion } = object.metadata;
    const metadata = resourceVersion === undefined ? {} : { resourceVersion };
    return this.#write(exchange, code, shown, this.#table(exchange, definition, metadata, [object], shown));
  }

  async list(exchange: Exchange, definition: ResourceDefinition, list: KubeList, shown: Representation): Promise<void> {
    const { as, asVersion } = shown;
    if (as === "") {
      if (isCompact(exchange, shown)) return this.#lists.write(exchange, this.serializer.list(list));
      const items = list.items.map(({ kind: _kind, apiVersion: _version, ...rest }) => rest);
      return this.#write(exchange, 200, shown, { ...list, items });
    }
    if (as === "PartialObjectMetadata") throw isAList(`${goType(definition)}List`);
    if (as === "PartialObjectMetadataList") return this.#write(exchange, 200, shown, partialListOf(list, asVersion));
    return this.#write(exchange, 200, shown, this.#table(exchange, definition, list.metadata, list.items, shown));
  }

  #table(
    exchange: Exchange,
    definition: ResourceDefinition,
    metadata: KubeList["metadata"],
    objects: readonly KubeObject[],
    { asVersion }: Representation,
  ): unknown {
    return tableOf(definition, metadata, objects, {
      version: asVersion,
      nowMs: this.clock.now(),
      include: includeObjectOf(exchange.query),
      withColumns: true,
    });
  }

  #write(exchange: Exchange, code: number, { mediaType, pretty }: Representation, value: unknown): Promise<void> {
    return writeValue(exchange, code, value, { mediaType, pretty: pretty || exchange.isPretty });
  }
}

/** Most responses: these can use the cached text of the object. */
function isCompact(exchange: Exchange, { mediaType, pretty }: Representation): boolean {
  return mediaType === JSON_TYPE && !pretty && !exchange.isPretty;
}

/** `*core.Pod`: how upstream's messages name an object of this kind. */
function goType({ group, kind }: ResourceDefinition): string {
  return `*${group === "" ? "core" : (group.split(".")[0] ?? group)}.${kind}`;
}
