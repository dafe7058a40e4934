import type { Self } from "../process/process.js";
import { complain, parseArgs, print, usage } from "./console.js";

/** Programs that request operations of the kernel which a container may not be allowed, or that show its tables. */

const REFUSED = "Operation not permitted";

export function mayAdministerNetwork({ machine }: Self): boolean {
  return machine.user.uid === 0 && machine.confinement.capabilities.has("NET_ADMIN");
}

/** `brctl addbr NAME`, `brctl delbr NAME`, `brctl show`. Differs: as `ip link add`. */
export async function brctl(self: Self): Promise<number> {
  const [action = "", name = ""] = self.argv.slice(1);
  if (action === "show") {
    await print(self, "bridge name\tbridge id\t\tSTP enabled\tinterfaces\n");
    return 0;
  }
  if (mayAdministerNetwork(self)) return 0;
  await complain(self, `${action === "addbr" ? "add" : "delete"} bridge ${name} failed: ${REFUSED}`);
  return 1;
}

/** `ipcs`: the tables of System V IPC. Differs: always empty, because no program here uses it. */
export async function ipcs(self: Self): Promise<number> {
  const table = (title: string, columns: string) => `\n------ ${title} --------\n${columns}\n`;
  await print(
    self,
    table("Message Queues", "key        msqid      owner      perms      used-bytes   messages") +
      table("Shared Memory Segments", "key        shmid      owner      perms      bytes      nattch     status") +
      table("Semaphore Arrays", "key        semid      owner      perms      nsems"),
  );
  return 0;
}

/** `sysctl [-n] NAME...` and `sysctl NAME=VALUE`, which is refused: /proc/sys is read-only. */
export async function sysctl(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "nwe");
  if (unknown !== undefined) return usage(self, unknown);
  let code = 0;
  for (const word of rest) {
    const [name = "", value] = word.split("=");
    const path = `/proc/sys/${name.replaceAll(".", "/")}`;
    if (value !== undefined || !self.machine.fs.exists(path)) {
      const why = value === undefined ? "No such file or directory" : "Read-only file system";
      await complain(self, `error ${value === undefined ? "stat-ing" : "setting"} key '${name}': ${why}`);
      code = 1;
      continue;
    }
    const content = self.machine.fs.readFile(path).toString();
    await print(self, options.has("n") ? content : `${name} = ${content}`);
  }
  return code;
}

/** `nnp`: a program with the setuid bit of root; the kernel ignores the bit if the container cannot gain privileges. */
export async function nnp(self: Self): Promise<number> {
  const { user, confinement } = self.machine;
  await print(self, `Effective uid: ${confinement.noNewPrivileges ? user.uid : 0}\n`);
  return 0;
}
