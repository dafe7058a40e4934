import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { NodeAddress } from "../../staging/apimachinery/api/node.js";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder } from "../../util/os/files.js";
import { isAlive } from "../../util/os/processes.js";

/** The nodes' network, 10.240.0.0/16. It exists only between the runtimes of one cluster; `.0.1` is this machine. */
const PREFIX = "10.240.";
const FIRST = 2;
const LAST = 0xff_fe;

/** An address that no other node of the cluster has. */
export interface ClaimedAddress {
  readonly address: string;
  release(): Promise<void>;
}

/**
 * Gives a node the first free address of the nodes' network, as a DHCP server would.
 * @param folder through which the runtimes of the cluster find each other
 * @throws LabError BAD_FILE, FAILED if all addresses are taken
 */
export async function claimNodeAddress(folder: string, nodeName: string): Promise<ClaimedAddress> {
  await makeFolder(folder, 0o700).catch((cause: unknown) => {
    throw badFile(`cannot make the folder ${folder}`, cause);
  });
  for (let number = FIRST; number <= LAST; number++) {
    const address = `${PREFIX}${number >> 8}.${number & 0xff}`;
    const path = join(folder, address);
    if (await claim(path, nodeName)) return { address, release: () => rm(path, { force: true }) };
  }
  const message = `all addresses of the nodes' network are taken in ${folder}`;
  throw new LabError("FAILED", message, "Remove the folder while no node of the cluster runs.");
}

async function claim(path: string, nodeName: string): Promise<boolean> {
  for (;;) {
    try {
      await writeFile(path, `${process.pid} ${nodeName}\n`, { flag: "wx", mode: 0o600 });
      return true;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") {
        throw badFile(`cannot write ${path}`, cause);
      }
      if (await isTaken(path, nodeName)) return false;
      await rm(path, { force: true });
    }
  }
}

function badFile(what: string, cause: unknown): LabError {
  const hint = "Name another folder with XDG_STATE_HOME.";
  return new LabError("BAD_FILE", `${what}: ${describeFileError(cause)}`, hint, { cause });
}

/** A killed process leaves its file. A node that comes back gets its address again. */
async function isTaken(path: string, nodeName: string): Promise<boolean> {
  // The other process may have released it in the meantime.
  const [pid = "", owner = ""] = (await readFile(path, "utf8").catch(() => "")).trim().split(" ");
  return owner !== nodeName && (pid === "" || (await isAlive(Number(pid))));
}

/**
 * The addresses of a node in a cluster of kubelab. Pods reach it at its own address. From outside that network, such as
 * for the API server on this machine, it is `localhost`.
 */
export function addressesInNetwork(address: string): readonly NodeAddress[] {
  return [
    { type: "InternalIP", address },
    { type: "ExternalDNS", address: "localhost" },
  ];
}
