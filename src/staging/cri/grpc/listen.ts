import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, lstat, rename, stat, unlink } from "node:fs/promises";
import { createConnection, type ListenOptions } from "node:net";
import { basename, dirname, join } from "node:path";
import { LabError, messageOf } from "../../../util/errors.js";
import { describeFileError } from "../../../util/os/files.js";
import { type Endpoint, isLoopback } from "./endpoint.js";

/** Binds the server to an address; resolves with the port. */
type Listen = (address: ListenOptions) => Promise<number>;

/** Where a server listens. */
export interface Bound {
  readonly url: string;
  /** Removes the socket file unless another server has replaced it. */
  remove(): Promise<void>;
}

type UnixEndpoint = Endpoint & { readonly kind: "unix" };
type TcpEndpoint = Endpoint & { readonly kind: "tcp" };

/**
 * Listens on a socket file with mode 0600. The file is created under a temporary name, restricted, and then renamed, so that
 * it is never open to other users.
 *
 * Mirrors pkg/kubelet/cri/remote/util/util_unix.go (CreateListener), which also moves it into place.
 * Differs: keeps a file that is not a socket, and a socket with a server behind it.
 * @throws LabError BAD_FILE
 */
export async function bindUnix({ path, url }: UnixEndpoint, listen: Listen): Promise<Bound> {
  await checkPlaceIsFree(path);
  const name = basename(path);
  const temporary = join(
    dirname(path),
    randomBytes(8)
      .toString("hex")
      .slice(0, Math.max(1, Math.min(name.length, 12))),
  );
  try {
    await listen({ path: temporary });
    await chmod(temporary, 0o600);
    await rename(temporary, path);
    const { ino } = await stat(path);
    return { url, remove: () => removeSocket(path, ino) };
  } catch (cause) {
    throw cannotListen(url, describeListenError(cause), cause);
  }
}

/** Another server may have replaced the socket, which then stays. */
async function removeSocket(path: string, ino: number): Promise<void> {
  try {
    if ((await stat(path)).ino === ino) await unlink(path);
  } catch {
    // The file or its folder is already gone.
  }
}

async function checkPlaceIsFree(path: string): Promise<void> {
  let isSocket: boolean;
  try {
    isSocket = (await lstat(path)).isSocket();
  } catch {
    // libuv reports a missing folder as "permission denied".
    if (existsSync(dirname(path))) return;
    throw cannotListen(`unix://${path}`, "its folder does not exist");
  }
  if (!isSocket) throw cannotListen(`unix://${path}`, "a file with that name exists and is not a socket");
  if (await isListening(path)) throw cannotListen(`unix://${path}`, "another server listens on it");
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const answer = (listening: boolean) => {
      socket.destroy();
      resolve(listening);
    };
    socket.once("connect", () => answer(true));
    // Only a refused connection shows that no server is there; with EACCES there may be one.
    socket.once("error", (error: NodeJS.ErrnoException) => answer(error.code !== "ECONNREFUSED"));
  });
}

/**
 * Listens on a loopback address. @throws LabError USAGE, BAD_FILE
 */
export async function bindTcp(endpoint: TcpEndpoint, listen: Listen): Promise<Bound> {
  if (!isLoopback(endpoint)) {
    throw new LabError(
      "USAGE",
      `${endpoint.url} would be reachable from other machines, and a runtime does not authenticate its clients`,
      "Listen on tcp://127.0.0.1:PORT or on a socket, unix:///path.",
    );
  }
  const host = endpoint.host.includes(":") ? `[${endpoint.host}]` : endpoint.host;
  try {
    const port = await listen({ host: endpoint.host, port: endpoint.port });
    return { url: `tcp://${host}:${port}`, remove: async () => {} };
  } catch (cause) {
    throw cannotListen(endpoint.url, describeListenError(cause), cause);
  }
}

function describeListenError(error: unknown): string {
  const text = messageOf(error);
  if (/EADDRINUSE/.test(text)) return "the port is taken";
  if (/EACCES|EPERM/.test(text)) return "permission denied";
  return describeFileError(error);
}

function cannotListen(url: string, why: string, cause?: unknown): LabError {
  return new LabError("BAD_FILE", `cannot listen on ${url}: ${why}`, "Choose another path or port with --listen.", {
    cause,
  });
}
