import { withResourceVersion } from "../resource-version.js";
import type { StoredEntry } from "../storage.js";
import type { StorageCodec } from "./codec.js";
import { UndecodableError } from "./errors.js";
import type { KeyValue } from "./messages.js";

/** An entry of etcd, with the length of its value. */
export interface DecodedEntry extends StoredEntry {
  readonly bytes: number;
  /** what a kube-apiserver wrote: kept with the next version, and not shown */
  readonly managedFields?: unknown;
}

interface Known {
  readonly entry: DecodedEntry;
  /** the version before: the next watch event has it as the previous one */
  readonly before: DecodedEntry | undefined;
}

/** Reports that are remembered. */
const MAX_REPORTED = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Decodes values, each version of a key once: a list, the watch event and the writer share one object. Keeps the newest versions
 * of the keys that were read or written last.
 * Differs: upstream decodes each value that it reads; its watch cache takes most reads.
 */
export class DecodedValues {
  readonly #known = new Map<string, Known>();
  /** the version of each key that was reported */
  readonly #reported = new Map<string, bigint>();
  #bytes = 0;
  #hasManagedFields = false;

  constructor(
    readonly codec: StorageCodec,
    /** receives each value that cannot be read, once per version */
    readonly reportUndecodable: (error: UndecodableError) => void,
    readonly maxBytes = MAX_BYTES,
  ) {}

  /** @throws UndecodableError */
  async one(kv: KeyValue): Promise<DecodedEntry> {
    await this.codec.prepare([kv]);
    return this.#entry(kv);
  }

  /** Leaves out the values that cannot be read, and reports them. */
  async all(kvs: readonly KeyValue[]): Promise<readonly DecodedEntry[]> {
    await this.codec.prepare(kvs);
    return kvs.flatMap((kv) => this.tryOne(kv) ?? []);
  }

  /** undefined and a report for a value that cannot be read. It must have been prepared. */
  tryOne(kv: KeyValue): DecodedEntry | undefined {
    try {
      return this.#entry(kv);
    } catch (error) {
      if (!(error instanceof UndecodableError)) throw error;
      this.#report(error, kv.modRevision);
      return undefined;
    }
  }

  /** Each list of the resource reads the value again. */
  #report(error: UndecodableError, modRevision: bigint): void {
    if (this.#reported.get(error.key) === modRevision) return;
    if (this.#reported.size >= MAX_REPORTED) this.#reported.clear();
    this.#reported.set(error.key, modRevision);
    this.reportUndecodable(error);
  }

  #entry(kv: KeyValue): DecodedEntry {
    const key = kv.key.toString();
    const modRevision = Number(kv.modRevision);
    const known = this.find(key, modRevision);
    if (known !== undefined) return known;
    const decoded = this.codec.decode(key, kv.value);
    const { managedFields } = decoded.metadata as { readonly managedFields?: unknown };
    this.#hasManagedFields ||= managedFields !== undefined;
    const object = withResourceVersion(decoded, modRevision);
    const common = { key, object, createRevision: Number(kv.createRevision), modRevision, bytes: kv.value.length };
    const entry: DecodedEntry = managedFields === undefined ? common : { ...common, managedFields };
    this.add(entry);
    return entry;
  }

  /** Whether a value had managedFields so far. */
  get hasManagedFields(): boolean {
    return this.#hasManagedFields;
  }

  /** The version of the key, if it is kept. */
  find(key: string, modRevision: number): DecodedEntry | undefined {
    const known = this.#known.get(key);
    if (known?.entry.modRevision === modRevision) return known.entry;
    return known?.before?.modRevision === modRevision ? known.before : undefined;
  }

  /** Keeps a version, unless a newer one is kept. */
  add(entry: DecodedEntry): void {
    const known = this.#known.get(entry.key);
    if (known !== undefined && known.entry.modRevision >= entry.modRevision) return;
    this.#remove(entry.key);
    this.#known.set(entry.key, { entry, before: known?.entry });
    this.#bytes += entry.bytes;
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= this.maxBytes) break;
      this.#remove(oldest);
    }
  }

  /** After the deletion of a key. */
  drop(key: string, revision: number): void {
    const known = this.#known.get(key);
    if (known !== undefined && known.entry.modRevision <= revision) this.#remove(key);
  }

  clear(): void {
    this.#known.clear();
    this.#bytes = 0;
  }

  #remove(key: string): void {
    const known = this.#known.get(key);
    if (known === undefined) return;
    this.#known.delete(key);
    this.#bytes -= known.entry.bytes;
  }
}
