/** The absolute path, without `.` and `..`, that `path` means in a folder. */
export function resolvePath(folder: string, path: string): string {
  const out: string[] = [];
  for (const name of (path.startsWith("/") ? path : `${folder}/${path}`).split("/")) {
    if (name === "..") out.pop();
    else if (name !== "" && name !== ".") out.push(name);
  }
  return `/${out.join("/")}`;
}

/** The last name of a path. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) || "/";
}
