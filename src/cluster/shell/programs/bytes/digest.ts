import { createHash } from "node:crypto";
import { errorText } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { openSource } from "../../process/descriptors.js";
import type { Self } from "../../process/process.js";
import { readAll, unitsOf } from "../../streams.js";
import { complain, parseArgs, print, usage } from "../console.js";
import { forEachInput } from "../text.js";
import { piecesOf } from "./zip.js";

/** `md5sum [-c [-sw]] [FILE...]`, `sha1sum`, `sha256sum`, `sha512sum`: of any amount of bytes. */
export async function digest(self: Self): Promise<number> {
  const algorithm = (self.argv[0]?.split("/").at(-1) ?? "").replace("sum", "");
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "cswb");
  if (unknown !== undefined) return usage(self, unknown);
  const sumOf = async (source: AsyncIterable<Buffer>) => {
    const hash = createHash(algorithm);
    for await (const bytes of source) {
      hash.update(bytes);
      await self.turn(unitsOf(bytes.length));
    }
    return hash.digest("hex");
  };
  if (!options.has("c")) {
    return forEachInput(self, rest, async (source, name) => {
      await print(self, `${await sumOf(piecesOf(source, self))}  ${name}\n`);
    });
  }
  let [failed, read] = [0, 0];
  const code = await forEachInput(self, rest, async (source) => {
    const lines = (await readAll(source, self.signal, self)).toString().replace(/\n$/, "").split("\n");
    for (const line of lines) {
      const [, sum, name] = /^(\w+) [ *](.+)$/.exec(line) ?? [];
      read++;
      let isSame = false;
      try {
        if (name === undefined) {
          if (options.has("w")) await complain(self, "invalid format");
        } else {
          const file = openSource(self, resolvePath(self.cwd, name));
          isSame = (await sumOf(piecesOf(file, self))) === sum?.toLowerCase();
        }
      } catch (error) {
        await complain(self, `can't open '${name}': ${errorText(error)}`);
      }
      if (!isSame) failed++;
      if (name !== undefined && !options.has("s")) await print(self, `${name}: ${isSame ? "OK" : "FAILED"}\n`);
    }
  });
  if (failed > 0 && !options.has("s"))
    await complain(self, `WARNING: ${failed} of ${read} computed checksums did NOT match`);
  return failed > 0 ? 1 : code;
}
