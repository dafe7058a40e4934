import { encodeText } from "../byte-text.js";
import { unescapeText } from "./escapes.js";

/** The output of echo for these arguments: flags -n, -e and -E as in busybox. */
export function echoBytes(args: readonly string[]): Buffer {
  let at = 0;
  let newline = "\n";
  let escapes = false;
  for (; /^-[neE]+$/.test(args[at] ?? ""); at++) {
    for (const letter of (args[at] as string).slice(1)) {
      if (letter === "n") newline = "";
      else escapes = letter === "e";
    }
  }
  const text = args.slice(at).join(" ");
  if (!escapes) return encodeText(text + newline);
  const stop = text.search(/(?<!\\)(?:\\\\)*\\c/);
  const shown = stop < 0 ? text : text.slice(0, text.indexOf("\\c", stop));
  return encodeText(unescapeText(shown) + (stop < 0 ? newline : ""));
}
