import { describe } from "vitest";
import { FSYNC_POLICIES } from "../../../../../src/cluster/apiserver/storage/disk/config.js";
import { closeContract, type OpenContract, storageContract } from "../contract.js";
import { newFolder, openFolder } from "./fixtures.js";

for (const fsync of FSYNC_POLICIES) {
  // A snapshot after a few changes each: it must not be noticed.
  const open = async (): Promise<OpenContract> => {
    const { storage } = await openFolder(newFolder(), { fsync, maxLogBytes: 500, watchBacklog: { changes: 90 } });
    return { storage, close: () => storage.close() };
  };
  describe(`on disk, fsync ${fsync}`, () => {
    storageContract(open);
    closeContract(open);
  });
}
