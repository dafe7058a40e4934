import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { httpError, writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";

const TYPES: Readonly<Record<string, string>> = { gz: "application/gzip", json: "application/json" };

/**
 * Serves the files below the node's log folder, and lists its folders.
 *
 * Mirrors ServeLogs in pkg/kubelet/kubelet_pods.go and FileServer of Go's net/http.
 * Differs: the folder is the kubelet's own, because the rest of /var/log is the machine's; no ranges.
 */
export async function serveLogs({ host }: HandlerDeps, call: Call): Promise<void> {
  const { response, path, signal } = call;
  const found = await findBelow(host.logsFolder, path.slice("/logs/".length));
  if (found === undefined) return httpError(response, 404, "404 page not found");
  const isFolderPath = path.endsWith("/");
  if (found.isFolder !== isFolderPath) {
    const name = path.split("/").at(isFolderPath ? -2 : -1) ?? "";
    response.setHeader("Location", isFolderPath ? `../${name}` : `${name}/`);
    return writeText(response, 301, "");
  }
  if (found.isFolder) return list(call, found.file);
  const ending = found.file.slice(found.file.lastIndexOf(".") + 1);
  const type = TYPES[ending] ?? "text/plain; charset=utf-8";
  response.writeHead(200, { "Content-Type": type, "Content-Length": String(found.size) });
  if (call.method === "HEAD" || found.size === 0) {
    response.end();
    return;
  }
  // A log that grows meanwhile is longer than announced. A client that leaves is not an error.
  const content = createReadStream(found.file, { end: found.size - 1 });
  await pipeline(content, response, { signal }).catch(() => {});
}

interface Found {
  readonly file: string;
  readonly isFolder: boolean;
  readonly size: number;
}

/** Links that lead out of the folder are not followed. */
async function findBelow(folder: string | undefined, path: string): Promise<Found | undefined> {
  if (folder === undefined || path.includes("\0")) return undefined;
  try {
    const root = await realpath(folder);
    const file = await realpath(join(root, path.replace(/\/$/, "")));
    if (file !== root && !file.startsWith(root + sep)) return undefined;
    const stats = await stat(file);
    const isFolder = stats.isDirectory();
    return stats.isFile() || isFolder ? { file, isFolder, size: stats.size } : undefined;
  } catch {
    // It does not exist, or no longer exists.
    return undefined;
  }
}

/** Mirrors dirList. */
async function list({ response }: Call, folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  const lines = names.map((name) => `<a href="${encodeURI(name)}">${escapeHtml(name)}</a>\n`);
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
  response.end(`<pre>\n${lines.join("")}</pre>\n`);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
