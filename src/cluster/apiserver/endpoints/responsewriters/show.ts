import type { KubeList, KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { Turns } from "../../../../util/async/turns.js";
import type { Clock } from "../../../../util/clock.js";
import type { ResourceDefinition } from "../../registry/rest/definition.js";
import type { Exchange } from "../exchange.js";
import { JSON_TYPE, type Representation } from "../media-types.js";
import { writeValue } from "./answer.js";
import { ListWriter } from "./list-body.js";
import { encodeLong, type LongList, wholeOf } from "./long-list.js";
import type { Serializer } from "./serialize.js";
import { includeObjectOf, isAList, notAList, partialOf, rowsOf, type TableOptions, tableOf } from "./table.js";

/** Lists up to this length are encoded at once. */
const SHORT_LIST = 50;

/** Writes objects and lists in the requested form. */
export class Presenter {
  readonly #lists: ListWriter;
  readonly #turns: Turns;

  constructor(
    readonly serializer: Serializer,
    readonly clock: Clock,
  ) {
    this.#lists = new ListWriter(clock);
    this.#turns = new Turns();
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
    const options = this.#tableOptions(exchange, shown);
    return this.#write(exchange, code, shown, tableOf(definition, metadata, [object], options));
  }

  async list(exchange: Exchange, definition: ResourceDefinition, list: KubeList, shown: Representation): Promise<void> {
    const { as, asVersion } = shown;
    if (as === "") {
      if (isCompact(exchange, shown)) {
        const text = await this.serializer.list(list, this.#turns, () => exchange.response.destroyed);
        return text && this.#lists.write(exchange, text);
      }
      const { items: objects, ...head } = list;
      const element = ({ kind: _kind, apiVersion: _version, ...rest }: KubeObject) => rest;
      return this.#writeLong(exchange, shown, { head, key: "items", objects, element });
    }
    if (as === "PartialObjectMetadata") throw isAList(`${goType(definition)}List`);
    const { metadata, items: objects } = list;
    if (as === "PartialObjectMetadataList") {
      const head = { kind: as, apiVersion: `meta.k8s.io/${asVersion}`, metadata };
      return this.#writeLong(exchange, shown, {
        head,
        key: "items",
        objects,
        element: (one) => partialOf(one, asVersion),
      });
    }
    const options = this.#tableOptions(exchange, shown);
    const { rows: _none, ...head } = tableOf(definition, metadata, [], options);
    return this.#writeLong(exchange, shown, { head, key: "rows", objects, element: rowsOf(definition, options) });
  }

  async #writeLong(exchange: Exchange, { mediaType, pretty }: Representation, list: LongList): Promise<void> {
    const how = { mediaType, pretty: pretty || exchange.isPretty };
    if (list.objects.length <= SHORT_LIST) return writeValue(exchange, 200, wholeOf(list), how);
    const encoded = await encodeLong(list, how, this.#turns, () => exchange.response.destroyed);
    if (encoded === undefined) return;
    const { parts, mediaType: type } = encoded;
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    if (type !== JSON_TYPE) exchange.bodies?.got({ length: bytes }, wholeOf(list));
    await this.#lists.write(exchange, { parts, bytes }, type);
  }

  #tableOptions(exchange: Exchange, { asVersion }: Representation): TableOptions {
    return {
      version: asVersion,
      nowMs: this.clock.now(),
      include: includeObjectOf(exchange.query),
      withColumns: true,
    };
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
