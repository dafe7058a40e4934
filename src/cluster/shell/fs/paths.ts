import { withoutEnding } from "../../../util/text/linear-text.js";

/** Resolves `path` in a folder to an absolute path without `.` and `..`. */
export function resolvePath(folder: string, path: string): string {
  const out: string[] = [];
  for (const name of (path.startsWith("/") ? path : `${folder}/${path}`).split("/")) {
    if (name === "..") out.pop();
    else if (name !== "" && name !== ".") out.push(name);
  }
  return `/${out.join("/")}`;
}

/** The last component of a path. */
export function baseName(path: string): string {
  return withoutEnding(path, "/").split("/").at(-1) || "/";
}
