import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { groupVersion } from "../../../../staging/apimachinery/api/resource.js";
import { decodeWalking } from "../../../../staging/apimachinery/scheme/decode.js";
import type { KindRef } from "../../../../staging/apimachinery/scheme/schema.js";
import { messageOf } from "../../../../util/errors.js";
import { storedJson } from "../resource-version.js";
import { UndecodableError } from "./errors.js";
import { storedVersion, toStoredVersion } from "./stored-versions.js";

/** The kind that a key's value has; undefined for keys of resources that this server does not have. */
export type KindOfKey = (key: string) => KindRef | undefined;

type Fields = Readonly<Record<string, unknown>>;
type ReadProtobuf = (value: Buffer, schemaOf: (apiVersion: string, kind: string) => string) => Fields;

const OPEN_BRACE = 0x7b;
const PROTOBUF_MAGIC = Buffer.from("k8s\0");

/**
 * Objects as etcd has them: JSON, as kube-apiserver writes it with `--storage-media-type=application/json`; it reads protobuf,
 * too. The key's revision takes the place of resourceVersion. A few kinds are stored in another version than they are served.
 * Mirrors k8s.io/apiserver/pkg/storage/etcd3/store.go (decode).
 */
export class StorageCodec {
  #readProtobuf: ReadProtobuf | undefined;

  constructor(readonly kindOf: KindOfKey) {}

  /** @param managedFields of the version before */
  encode(object: KubeObject, managedFields?: unknown): Buffer {
    return Buffer.from(`${storedJson(toStoredVersion(object), managedFields)}\n`);
  }

  /** Loads the decoder of protobuf if a value needs it. Most clusters have none. */
  async prepare(values: readonly { readonly value: Buffer }[]): Promise<void> {
    if (this.#readProtobuf !== undefined || !values.some(({ value }) => isProtobuf(value))) return;
    const { readStoredProtobuf } = await import("../../../../staging/apimachinery/scheme/protobuf/envelope.js");
    this.#readProtobuf = readStoredProtobuf;
  }

  /**
   * The object with its managedFields, if it has any, and with defaults: of fields that its writer did not know, too.
   * @throws UndecodableError
   */
  decode(key: string, value: Buffer): KubeObject {
    const expected = this.kindOf(key);
    const fields = this.asStored(key, value);
    if (expected === undefined) return fields;
    const { group, version, kind, schema } = expected;
    if (fields["kind"] !== kind) throw new UndecodableError(key, `it is a ${fields["kind"]}, not a ${kind}`);
    const apiVersion = groupVersion({ group, version });
    const stored = String(fields["apiVersion"]);
    const other = storedVersion(stored, kind);
    if (other === undefined && stored !== apiVersion) {
      throw new UndecodableError(key, `its version ${stored} is not known here`);
    }
    try {
      const converted = other?.fromStored?.(fields) ?? fields;
      return decodeWalking(schema, { ...converted, apiVersion }, { unknown: false, keys: 0 });
    } catch (error) {
      throw new UndecodableError(key, messageOf(error));
    }
  }

  /** The object in the version of the value, without defaults. @throws UndecodableError */
  asStored(key: string, value: Buffer): KubeObject {
    return (value[0] === OPEN_BRACE ? decodeJson(key, value) : this.#fromProtobuf(key, value)) as KubeObject;
  }

  #fromProtobuf(key: string, value: Buffer): Fields {
    const kind = this.kindOf(key);
    if (kind === undefined || this.#readProtobuf === undefined || !isProtobuf(value)) {
      const what = isProtobuf(value) ? "protobuf of a kind that is not known here" : "neither JSON nor protobuf";
      throw new UndecodableError(key, `it is ${what}`);
    }
    try {
      return this.#readProtobuf(value, (version, name) => storedVersion(version, name)?.schema ?? kind.schema);
    } catch (error) {
      throw new UndecodableError(key, messageOf(error));
    }
  }
}

function isProtobuf(value: Buffer): boolean {
  return value.subarray(0, PROTOBUF_MAGIC.length).equals(PROTOBUF_MAGIC);
}

function decodeJson(key: string, value: Buffer): Fields {
  let parsed: Partial<KubeObject> | null;
  try {
    parsed = JSON.parse(value.toString());
  } catch (error) {
    throw new UndecodableError(key, messageOf(error));
  }
  const { kind, apiVersion, metadata } = parsed ?? {};
  if (typeof kind !== "string" || typeof apiVersion !== "string" || typeof metadata !== "object" || metadata === null) {
    throw new UndecodableError(key, "it has no kind, apiVersion or metadata");
  }
  return parsed as Fields;
}
