import { EtcdClient } from "../../../../../src/cluster/apiserver/storage/etcd/client.js";
import { type KindOfKey, StorageCodec } from "../../../../../src/cluster/apiserver/storage/etcd/codec.js";
import type { EtcdConfig } from "../../../../../src/cluster/apiserver/storage/etcd/config.js";
import { openEndpoints } from "../../../../../src/cluster/apiserver/storage/etcd/endpoints.js";
import { EtcdStorage, type EtcdStorageOptions } from "../../../../../src/cluster/apiserver/storage/etcd/store.js";
import { TestEtcd } from "../../../../support/etcd.js";

export interface OpenedStorage {
  readonly storage: EtcdStorage;
  /** what the storage reported */
  readonly problems: string[];
}

/** Kinds are only checked below this prefix. */
export const TYPED_PREFIX = "/registry/configmaps/";
const CONFIG_MAP = { group: "", version: "v1", kind: "ConfigMap", schema: "ConfigMap" };

export const kindOf: KindOfKey = (key) => (key.startsWith(TYPED_PREFIX) ? CONFIG_MAP : undefined);

export async function openStorage(config: EtcdConfig, options: EtcdStorageOptions = {}): Promise<OpenedStorage> {
  const problems: string[] = [];
  const report = (problem: string) => void problems.push(problem);
  const client = new EtcdClient(await openEndpoints(config));
  const storage = new EtcdStorage({ client, codec: new StorageCodec(kindOf), report }, options);
  return { storage, problems };
}

/** A storage with an etcd of its own. */
export async function openOwnEtcd(
  options: EtcdStorageOptions = {},
  flags: readonly string[] = [],
): Promise<OpenedStorage & { readonly etcd: TestEtcd; stop(): Promise<void> }> {
  const etcd = await TestEtcd.start(undefined, flags);
  const opened = await openStorage({ servers: [etcd.url] }, options);
  const stop = async () => {
    await opened.storage.close();
    await etcd.stop();
  };
  return { ...opened, etcd, stop };
}
