import { createHash } from "node:crypto";
import { groupVersion } from "../../../staging/apimachinery/api/resource.js";
import type { Clock } from "../../../util/clock.js";
import type { Exchange } from "../endpoints/exchange.js";
import { commonHeaders, writeBody } from "../endpoints/responsewriters/answer.js";
import type { Routes } from "../endpoints/routes.js";

/** Builds the documents. */
export interface OpenApiSource {
  /** the OpenAPI v3 document of one group-version */
  v3(group: string, version: string): Promise<unknown>;
  /** the OpenAPI v2 document of all groups, also as the protobuf message that kubectl requests */
  v2(info: {
    readonly title: string;
    readonly version: string;
  }): Promise<{ readonly json: unknown; readonly protobuf: Buffer }>;
}

interface Document {
  readonly text: string;
  readonly hash: string;
}

const V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const INDEX_PATH = "/openapi/v3";
const YEAR_MS = 365 * 24 * 3_600_000;

/**
 * /openapi/v3: an index and a document per group-version; /openapi/v2: one document for all. Built on first request.
 *
 * Mirrors k8s.io/kube-openapi/pkg/handler3/handler.go and .../pkg/handler/handler.go.
 */
export class OpenApi {
  readonly #documents = new Map<string, Promise<Document>>();
  readonly #startedAt: string;
  #v2: Promise<Document & { readonly protobuf: Buffer }> | undefined;
  /** of the routes that the documents describe */
  #generation = 0;

  constructor(
    readonly routes: Routes,
    readonly source: OpenApiSource,
    readonly version: string,
    readonly clock: Pick<Clock, "now">,
  ) {
    this.#startedAt = new Date(clock.now()).toUTCString();
  }

  /** @returns false when the path is not an OpenAPI path */
  async answer(exchange: Exchange): Promise<boolean> {
    const { path } = exchange.info;
    if (!path.startsWith("/openapi/")) return false;
    this.#forgetOld();
    if (path === "/openapi/v2") await this.#sendV2(exchange);
    else if (path === INDEX_PATH || path === `${INDEX_PATH}/`) await this.#index(exchange);
    else if (path.startsWith(`${INDEX_PATH}/`)) await this.#document(exchange, path.slice(INDEX_PATH.length + 1));
    else return false;
    return true;
  }

  /** A custom resource that comes or goes changes the documents. */
  #forgetOld(): void {
    if (this.#generation === this.routes.generation) return;
    this.#generation = this.routes.generation;
    this.#documents.clear();
    this.#v2 = undefined;
  }

  async #index(exchange: Exchange): Promise<void> {
    const paths: Record<string, { serverRelativeURL: string }> = {};
    for (const { group, version } of this.routes.all()) {
      const name = group === "" ? `api/${version}` : `apis/${groupVersion({ group, version })}`;
      const { hash } = await this.#load(group, version, name);
      paths[name] = { serverRelativeURL: `${INDEX_PATH}/${name}?hash=${hash}` };
    }
    const sorted = Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1)));
    const text = JSON.stringify({ paths: sorted });
    await this.#send(exchange, text, "text/plain; charset=utf-8", hashOf(text));
  }

  async #document(exchange: Exchange, name: string): Promise<void> {
    const found = this.routes
      .all()
      .find(({ group, version }) => name === (group === "" ? `api/${version}` : `apis/${group}/${version}`));
    if (found === undefined) return writeBody(exchange, 404, "", undefined);
    const { text, hash } = await this.#load(found.group, found.version, name);
    const asked = exchange.query.get("hash") ?? "";
    if (asked !== "" && asked !== hash) return redirect(exchange, `${INDEX_PATH}/${name}?hash=${hash}`);
    if (asked !== "") {
      // A document whose URL contains its hash never changes: kubectl caches it on disk and does not request it again.
      exchange.cacheControl = "public, immutable";
      exchange.vary = ["Accept"];
    }
    const headers = asked === "" ? [] : ["Expires", new Date(this.clock.now() + YEAR_MS).toUTCString()];
    await this.#send(exchange, text, "application/json", hash, headers);
  }

  async #sendV2(exchange: Exchange): Promise<void> {
    this.#v2 ??= this.source.v2({ title: "Kubernetes", version: this.version }).then(({ json, protobuf }) => {
      const text = JSON.stringify(json);
      return { text, protobuf, hash: hashOf(text) };
    });
    const { text, protobuf, hash } = await this.#v2;
    exchange.vary = ["Accept-Encoding", "Accept"];
    if (exchange.accept?.includes(V2_PROTOBUF) === true) {
      await this.#send(exchange, protobuf, "application/octet-stream", hash);
    } else {
      await this.#send(exchange, text, "text/plain; charset=utf-8", hash);
    }
  }

  #load(group: string, version: string, name: string): Promise<Document> {
    let document = this.#documents.get(name);
    if (document === undefined) {
      document = this.source.v3(group, version).then((value) => {
        const text = JSON.stringify(value);
        return { text, hash: hashOf(text) };
      });
      this.#documents.set(name, document);
    }
    return document;
  }

  async #send(
    exchange: Exchange,
    body: string | Buffer,
    contentType: string,
    hash: string,
    further: readonly string[] = [],
  ): Promise<void> {
    const etag = `"${hash}"`;
    const headers = ["Etag", etag, "Last-Modified", this.#startedAt, "Accept-Ranges", "bytes", ...further];
    if (exchange.request.headers["if-none-match"] === etag) {
      exchange.response.writeHead(304, [...commonHeaders(exchange), ...headers]);
      exchange.response.end();
      return;
    }
    await writeBody(exchange, 200, body, contentType, { headers, framedBytes: 0 });
  }
}

/** The document has changed since the client read its URL from the index. */
function redirect(exchange: Exchange, location: string): Promise<void> {
  return writeBody(exchange, 301, "", undefined, { headers: ["Location", location] });
}

function hashOf(text: string): string {
  return createHash("sha512").update(text).digest("hex").toUpperCase();
}
