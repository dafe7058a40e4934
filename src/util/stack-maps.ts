import { readFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";

/** Set in the bundled program: the file next to it with the map of each of its files. */
declare const KUBELAB_STACK_MAPS: string | undefined;

/** Of one file of the bundle, as scripts/sources.mjs writes it. */
interface StackMap {
  readonly sources: string[];
  readonly mappings: string;
}

/** `file:///usr/lib/node_modules/kubelab/dist/start-x.js:1:2345` */
const PLACE = /(file:\/\/[^\s()]+?):(\d+):(\d+)/g;

/**
 * The stack of an error with places of the source (`src/util/clock.ts:91:15`) in place of those of the minified bundle.
 * The maps are read only here, because they would slow down the start.
 * @returns the same stack if there are no maps: a program that runs from its source
 */
export async function withSources(stack: string): Promise<string> {
  if (typeof KUBELAB_STACK_MAPS !== "string") return stack;
  try {
    const file = new URL(KUBELAB_STACK_MAPS, import.meta.url);
    const maps = JSON.parse(String(await promisify(brotliDecompress)(await readFile(file)))) as Readonly<
      Record<string, StackMap>
    >;
    const folder = new URL("./", file).href;
    return stack.replace(PLACE, (place, url: string, line: string, column: string) => {
      const map = url.startsWith(folder) ? maps[decodeURI(url.slice(folder.length))] : undefined;
      return (map && sourceOf(map, Number(line), Number(column))) ?? place;
    });
  } catch {
    // A stack of the bundle is better than none.
    return stack;
  }
}

/** @param line from 1, as in a stack, and so is `column` */
function sourceOf({ sources, mappings }: StackMap, line: number, column: number): string | undefined {
  const payload = { version: 3, file: "", sources, sourcesContent: [], names: [], mappings, sourceRoot: "" };
  const entry = new SourceMap(payload).findEntry(line - 1, column - 1);
  if (!("originalSource" in entry)) return undefined;
  return `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}
