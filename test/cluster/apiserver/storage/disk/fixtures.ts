import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterIdentity } from "../../../../../src/cluster/apiserver/storage/cluster-identity.js";
import type { DiskConfig } from "../../../../../src/cluster/apiserver/storage/disk/config.js";
import { type OpenDiskDeps, openDisk } from "../../../../../src/cluster/apiserver/storage/disk/open.js";
import type { DiskStorage, DiskStorageOptions } from "../../../../../src/cluster/apiserver/storage/disk/store.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { FakeClock } from "../../../../support/fake-clock.js";

export const PREFIX = "/registry/things/";

export function thing(name: string, value: unknown = 0): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name }, value };
}

export function newFolder(): string {
  return join(mkdtempSync(join(tmpdir(), "kubelab-disk-")), "data");
}

export interface OpenedFolder {
  readonly storage: DiskStorage;
  readonly identity: ClusterIdentity;
  /** what was reported */
  readonly problems: string[];
}

let made = 0;

export async function openFolder(
  folder: string,
  options: DiskStorageOptions & Partial<Pick<DiskConfig, "fsync"> & Pick<OpenDiskDeps, "openLogFile">> = {},
): Promise<OpenedFolder> {
  const problems: string[] = [];
  const pem = (what: string) => `-----BEGIN ${what} ${++made}-----`;
  const makeIdentity = async () => ({
    caCertificatePem: pem("CA"),
    caKeyPem: pem("CA KEY"),
    serviceAccountKeyPem: pem("KEY"),
  });
  const { fsync = "batch", openLogFile, ...rest } = options;
  const deps = {
    clock: new FakeClock(),
    makeIdentity,
    report: (problem: string) => void problems.push(problem),
    ...(openLogFile === undefined ? {} : { openLogFile }),
  };
  const { storage, identity } = await openDisk(deps, { folder, fsync }, rest);
  return { storage, identity, problems };
}

/** Creates or updates a key. @returns its revision */
export async function put(storage: DiskStorage, name: string, value: unknown = 0): Promise<number> {
  const key = PREFIX + name;
  const { entry } = await storage.get(key);
  const written =
    entry === undefined
      ? await storage.create(key, thing(name, value))
      : await storage.update(key, thing(name, value), entry.modRevision);
  return written?.modRevision ?? 0;
}

/** `a1@7 b0@3 | 8`: names, values and revisions, and that of the storage. */
export async function contents(storage: DiskStorage): Promise<string> {
  const { entries, revision } = await storage.list("/registry/");
  const texts = entries.map(
    ({ object, modRevision }) => `${object.metadata.name}${String(object["value"])}@${modRevision}`,
  );
  return `${texts.join(" ")} | ${revision}`;
}
