import { MemoryStorage } from "../../../../src/cluster/apiserver/storage/memory.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { closeContract, type OpenContract, storageContract } from "./contract.js";

async function open(): Promise<OpenContract> {
  const storage = new MemoryStorage({ clock: new FakeClock() }, { watchBacklog: { changes: 90 } });
  return { storage, close: () => storage.close() };
}

storageContract(open);
closeContract(open);
