import { constants } from "node:fs";
import { lstat, open, rename } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname } from "node:path";

/**
 * Makes a socket that nobody listens at, for programs that look for its file. Does nothing if the path exists, or if the system has no
 * /proc/self/fd, through which the path may be longer than a socket's address.
 */
export async function makeSocketFile(path: string): Promise<void> {
  if ((await lstat(path).catch(() => undefined)) !== undefined) return;
  const folder = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  const server = createServer();
  try {
    const address = `/proc/self/fd/${folder.fd}/.new`;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(address, resolve);
    });
    // The server removes its own path when it ends.
    await rename(address, path);
  } catch {
    // not Linux, or a file system without sockets: a pod that mounts it waits, with an event
  } finally {
    server.close();
    await folder.close();
  }
}
