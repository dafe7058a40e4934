import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, lstat, rename, stat, unlink } from "node:fs/promises";
import { createConnection, type ListenOptions } from "node:net";
import { basename, dirname, join } from "node:path";
import { LabError, messageOf } from "../util/errors.js";
import { describeFileError } from "../util/files.js";
import { type Endpoint, isLoopback } from "./endpoint.js";

/** Binds the server to an address; resolves with the port. */
type Listen = (address: ListenOptions) => Promise<number>;

/** Where a server listens. */
export interface Bound {
  readonly url: string;
  /** Removes the socket file, if there is one and it is still the one that was made. */
  remove(): Promise<void>;
}

type UnixEndpoint = Endpoint & { readonly kind: "unix" };
type TcpEndpoint = Endpoint & { readonly kind: "tcp" };

/**
 * Listens on a socket file that only its owner may use. It is made under another name, restricted, and then moved into
 * place: nobody ever finds it open to others, or half made.
 *
 * Mirrors pkg/kubelet/cri/remote/util/util_unix.go (CreateListener), which also moves it into place.
 * Differs: a file that is no socket, or a socket that somebody listens on, is not removed.
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

/** The socket may have been replaced by another server's since: that one stays. */
async function removeSocket(path: string, ino: number): Promise<void> {
  try {
    if ((await stat(path)).ino === ino) await unlink(path);
  } catch {
    // It is gone already, or its folder is: nothing is left to remove.
  }
}

async function checkPlaceIsFree(path: string): Promise<void> {
  let isSocket: boolean;
  try {
    isSocket = (await lstat(path)).isSocket();
  } catch {
    // libuv calls a missing folder "permission denied".
    if (existsSync(dirname(path))) return;
    throw cannotListen(`unix://${path}`, "its folder does not exist");
  }
  if (!isSocket) throw cannotListen(`unix://${path}`, "there is a file of that name, and it is no socket");
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
    // Only a refusal says that nobody is there; where one may not look (EACCES), somebody might be.
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
      `${endpoint.url} could be reached by other machines, and a runtime asks nobody who they are`,
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
