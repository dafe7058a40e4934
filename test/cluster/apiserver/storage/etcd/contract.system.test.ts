import { suiteNeeding } from "../../../../support/requirements.js";
import { closeContract, type OpenContract, storageContract } from "../contract.js";
import { openOwnEtcd } from "./fixtures.js";

async function open(): Promise<OpenContract> {
  const { storage, stop } = await openOwnEtcd({ watchBacklog: { changes: 90 } });
  return { storage, close: stop };
}

suiteNeeding(["etcd"], "the storage on etcd", () => {
  storageContract(open);
  closeContract(open);
});
