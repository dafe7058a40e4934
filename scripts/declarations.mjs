// The types of what programs import.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { isolatedDeclaration } from "rolldown/experimental";

const RELATIVE = /from "(\.[^"]+)\.js"/g;
/** A program may compile for an older ECMAScript, which has no AsyncDisposable. */
const LIBRARY = '/// <reference lib="esnext.disposable" />\n';

/** Writes the declarations of a file, and of each file that they name. */
export async function writeDeclarations(entry, folder) {
  const source = dirname(entry);
  const todo = [entry];
  for (const file of todo) {
    const { code, errors } = await isolatedDeclaration(file, await readFile(file, "utf8"), { stripInternal: true });
    if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
    for (const [, path] of code.matchAll(RELATIVE)) {
      const named = relative(".", resolve(dirname(file), `${path}.ts`));
      if (!todo.includes(named)) todo.push(named);
    }
    const target = join(folder, relative(source, file).replace(/\.ts$/, ".d.ts"));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, file === entry ? LIBRARY + code : code);
  }
}
