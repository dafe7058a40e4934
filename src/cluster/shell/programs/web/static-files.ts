import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  css: "text/css",
  js: "application/javascript",
  json: "application/json",
  txt: "text/plain",
  svg: "image/svg+xml",
};

export interface StaticFile {
  readonly body: Buffer;
  /** `text/html` */
  readonly type: string;
}

/**
 * The file below `root` that a request's URL names; of a folder, its index.html.
 * @returns undefined if there is none, or if it cannot be read
 */
export function findStaticFile({ machine: { fs } }: Self, root: string, url: string): StaticFile | undefined {
  const inRoot = `${root}${resolvePath("/", decodePath(url))}`;
  const path = fs.exists(inRoot) && fs.stat(inRoot).type === "directory" ? resolvePath(inRoot, "index.html") : inRoot;
  try {
    return { type: TYPES[path.split(".").at(-1) ?? ""] ?? "application/octet-stream", body: fs.readFile(path) };
  } catch {
    return undefined; // the server's answer is a page
  }
}

function decodePath(url: string): string {
  try {
    return decodeURIComponent(url.split("?")[0] ?? "/");
  } catch {
    return "/"; // an invalid escape; nginx also answers such requests with its index
  }
}
