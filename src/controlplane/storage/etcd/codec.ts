import type { KubeObject } from "../../../apimachinery/api/meta.js";
import type { KindRef } from "../../../apimachinery/scheme/schema.js";
import { messageOf } from "../../../util/errors.js";
import { storedJson } from "../resource-version.js";
import { UndecodableError } from "./errors.js";

/** The kind that a key's value has; undefined for keys of resources that this server does not have. */
export type KindOfKey = (key: string) => KindRef | undefined;

type DecodeProtobuf = (value: Buffer, kind: KindRef) => { readonly object: KubeObject };

const OPEN_BRACE = 0x7b;
const PROTOBUF_MAGIC = Buffer.from("k8s\0");

/**
 * Objects as etcd has them: JSON, as kube-apiserver writes it with `--storage-media-type=application/json`; it reads protobuf,
 * too. The key's revision takes the place of resourceVersion.
 * Mirrors k8s.io/apiserver/pkg/storage/etcd3/store.go (decode).
 */
export class StorageCodec {
  #decodeProtobuf: DecodeProtobuf | undefined;

  constructor(readonly kindOf: KindOfKey) {}

  encode(object: KubeObject): Buffer {
    return Buffer.from(`${storedJson(object)}\n`);
  }

  /** Loads the decoder of protobuf if a value needs it. Most clusters have none. */
  async prepare(values: readonly { readonly value: Buffer }[]): Promise<void> {
    if (this.#decodeProtobuf !== undefined || !values.some(({ value }) => isProtobuf(value))) return;
    const { decodeProtobufBody } = await import("../../../apimachinery/scheme/protobuf/envelope.js");
    this.#decodeProtobuf = decodeProtobufBody;
  }

  /** @throws UndecodableError */
  decode(key: string, value: Buffer): KubeObject {
    const object = value[0] === OPEN_BRACE ? decodeJson(key, value) : this.#fromProtobuf(key, value);
    const expected = this.kindOf(key);
    if (expected !== undefined && object.kind !== expected.kind) {
      throw new UndecodableError(key, `it is a ${object.kind}, not a ${expected.kind}`);
    }
    return object;
  }

  #fromProtobuf(key: string, value: Buffer): KubeObject {
    const kind = this.kindOf(key);
    if (kind === undefined || this.#decodeProtobuf === undefined || !isProtobuf(value)) {
      const what = isProtobuf(value) ? "protobuf of a kind that is not known here" : "neither JSON nor protobuf";
      throw new UndecodableError(key, `it is ${what}`);
    }
    try {
      return this.#decodeProtobuf(value, kind).object;
    } catch (error) {
      throw new UndecodableError(key, messageOf(error));
    }
  }
}

function isProtobuf(value: Buffer): boolean {
  return value.subarray(0, PROTOBUF_MAGIC.length).equals(PROTOBUF_MAGIC);
}

function decodeJson(key: string, value: Buffer): KubeObject {
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
  return parsed as KubeObject;
}
