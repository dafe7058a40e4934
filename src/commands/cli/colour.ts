import { Chalk, type ChalkInstance, supportsColor, supportsColorStderr } from "chalk";
import { createSupportsHyperlinks } from "supports-hyperlinks";

interface ColourQuestion {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTTY: boolean | undefined;
  /** false: --no-color */
  readonly wanted: boolean;
}

/** Whether to colour one stream: --no-color and NO_COLOR off, FORCE_COLOR on, else a terminal that is not `dumb`. */
function hasColour({ env, isTTY, wanted }: ColourQuestion): boolean {
  if (!wanted || (env["NO_COLOR"] ?? "") !== "") return false;
  const force = env["FORCE_COLOR"];
  if (force !== undefined && force !== "") return force !== "0" && force !== "false";
  return isTTY === true && env["TERM"] !== "dumb";
}

/** chalk ignores NO_COLOR, so each stream gets its own instance. */
export function chalkFor(stream: "stdout" | "stderr", question: ColourQuestion): ChalkInstance {
  if (!hasColour(question)) return new Chalk({ level: 0 });
  const seen = stream === "stdout" ? supportsColor : supportsColorStderr;
  return new Chalk({ level: seen === false ? 1 : seen.level });
}

/** Makes links (OSC 8) for a terminal that shows them; other terminals get only the text. */
export function linker(
  stream: { readonly isTTY?: boolean },
  hasColour: boolean,
): (text: string, url: string) => string {
  const hasLinks = hasColour && createSupportsHyperlinks({ isTTY: stream.isTTY === true });
  return (text, url) => (hasLinks ? `\u001b]8;;${url}\u001b\\${text}\u001b]8;;\u001b\\` : text);
}

/** Whether the locale can show characters beyond ASCII. */
export function hasUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return /utf-?8/i.test(locale) && env["TERM"] !== "linux";
}
