// What the package has of its own source: chapters to read, and where each place of the bundle comes from.
import { readdir, readFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";

/**
 * Where the code of each file of the bundle comes from, for the stack of a crash report.
 * @param chunks of rolldown, with the folder of each
 * @returns the map of each file: paths relative to the repository, and positions as source maps encode them
 */
export function stackMaps(chunks) {
  const root = `${resolve(".")}${sep}`;
  const maps = chunks.flatMap(({ folder, fileName, map }) => {
    if (map === null || map === undefined) return [];
    // rolldown has them relative to a folder `dist`.
    const sources = map.sources.map((path) => resolve("dist", path).replace(root, "").split(sep).join("/"));
    return [[join(folder, fileName).replace(/^dist\//, ""), { sources, mappings: map.mappings }]];
  });
  return Object.fromEntries(maps);
}

/** @returns the text of each TypeScript file below a folder, by its path */
export async function chapterSources(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  const texts = paths.sort().map(async (path) => [path.split(sep).join("/"), await readFile(path, "utf8")]);
  return Object.fromEntries(await Promise.all(texts));
}
