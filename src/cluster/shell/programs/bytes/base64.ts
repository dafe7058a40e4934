import type { Self } from "../../process/process.js";
import { readAll } from "../../streams.js";
import { complain, fail, parseArgs, print, usage } from "../console.js";
import { forEachInput } from "../text.js";

const LINE_WIDTH = 76;

/** `base64 [-d] [-w COLUMNS] [FILE]` */
export async function base64(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "dw:");
  if (unknown !== undefined) return usage(self, unknown);
  const width = Number(options.get("w") ?? LINE_WIDTH);
  if (!Number.isInteger(width)) return fail(self, `invalid number '${options.get("w")}'`);
  let code = 0;
  const opened = await forEachInput(self, rest.slice(0, 1), async (source) => {
    const bytes = await readAll(source, self.signal, self);
    if (!options.has("d")) {
      const text = bytes.toString("base64");
      const lines = width > 0 ? text.replace(new RegExp(`.{1,${width}}`, "g"), "$&\n") : text;
      await print(self, lines);
      return;
    }
    const [text = ""] = /^[A-Za-z0-9+/=]*/.exec(bytes.toString("latin1").replace(/\s+/g, "")) ?? [];
    const groups = text.match(/.{4}/g) ?? [];
    await self.stdout.write(Buffer.concat(groups.map((group) => Buffer.from(group, "base64"))), self.signal);
    if (text.length % 4 === 0) return;
    code = 1;
    await complain(self, "truncated input");
  });
  return opened || code;
}
