// Leaves out of the bundle what just-bash has and no container can reach: its other commands, and its HTTP client.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** The commands that a shell of a container knows: src/cluster/shell/utility/process.ts registers no others. */
const COMMANDS = new Set(
  JSON.parse(readFileSync(new URL("../src/cluster/shell/utility/commands.json", import.meta.url), "utf8")),
);
/** No file of it has effects of its own. */
const FILES = /\/just-bash\/dist\/bundle\//;
const INDEX = /\/just-bash\/dist\/bundle\/index\.js$/;
const COMMAND = /\{name:"([^"]+)",load:async\(\)=>\(await import\("[^"]+"\)\)\.\w+\}/g;
/** Loaded for a network, which containers reach through their own programs, and for a report about just-bash's tests. */
const OTHER = /await import\("\.\/chunks\/(?:undici|flag-coverage)-\w+\.js"\)/g;

const PAD = String.raw`\{let (?<at>\w)=parseInt\(\k<width>,10\);(?<flags>\w)\.includes\("-"\)\?\k<text>=\k<text>\.padEnd\(\k<at>\):\k<text>=\k<text>\.padStart\(\k<at>\)\}`;
/** What just-bash's awk lacks in printf: `%05.2f`, `%+f`, `%u`, exponents of two digits, and numbers at the start of a text. */
const AWK_PRINTF = [
  [
    `let (?<text>\\w)=(?<value>\\w\\.toFixed\\(\\w\\));if\\((?<width>\\w)\\)${PAD}`,
    "let $<text>=awkNumber($<value>,$<flags>,$<width>);",
  ],
  [
    `let (?<text>\\w)=(?<value>\\w\\.toExponential\\(\\w\\));if\\((?<verb>\\w)==="E"&&\\(\\k<text>=\\k<text>\\.toUpperCase\\(\\)\\),(?<width>\\w)\\)${PAD}`,
    'let $<text>=awkNumber($<verb>==="E"?$<value>.toUpperCase():$<value>,$<flags>,$<width>);',
  ],
  [
    `(?<verb>\\w)==="G"&&\\((?<text>\\w)=\\k<text>\\.toUpperCase\\(\\)\\)(?<strip>.{1,200}?),(?<width>\\w)\\)${PAD}`,
    '0$<strip>,!0){$<text>=awkNumber($<verb>==="G"?$<text>.toUpperCase():$<text>,$<flags>,$<width>)}',
  ],
  [
    String.raw`(?<text>\w)\.includes\("\."\)&&\(\k<text>=\k<text>\.replace\(/\\\.\?0\+\$/,""\)\.replace\(/\\\.\?0\+e/,"e"\)\)`,
    String.raw`$<text>.includes(".")&&!$<text>.includes("e")&&($<text>=$<text>.replace(/\.?0+$/,""))`,
  ],
  ['case"d":case"i":\\{', 'case"d":case"i":case"u":{'],
  ["\\?Number\\((?<value>\\w)\\):0;Number\\.isNaN", "?awkValue($<value>):0;Number.isNaN", 3],
  [
    "\\?Math\\.floor\\(Number\\((?<value>\\w)\\)\\):0;Number\\.isNaN",
    "?Math.trunc(awkValue($<value>)):0;Number.isNaN",
    3,
  ],
];
const AWK_HELPERS = `
function awkValue(value) { return typeof value === "number" ? value : Number.parseFloat(value) || 0; }
function awkNumber(text, flags, width) {
  const sign = text.startsWith("-") ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  const digits = text.replace(/^-/, "").replace(/(e[+-])(\\d)$/i, "$10$2");
  const length = Number.parseInt(width || "0", 10);
  if (flags.includes("-")) return (sign + digits).padEnd(length);
  return flags.includes("0") ? sign + digits.padStart(length - sign.length, "0") : (sign + digits).padStart(length);
}`;

const AWK = /case"d":case"i":\{let \w=\w!==void 0\?Math\.floor/;

/** @param {string} code */
function mendAwk(code) {
  let mended = code;
  for (const [pattern, by, count = 1] of AWK_PRINTF) {
    const all = new RegExp(pattern, "g");
    assert.equal(mended.match(all)?.length, count, `just-bash writes awk's printf in another way: ${pattern}`);
    mended = mended.replace(all, by);
  }
  return mended + AWK_HELPERS;
}

/** @param commands those of a container's shell; none for a bundle that needs just-bash's parser only */
const justBash = (commands) => ({
  name: "just-bash",
  transform: {
    filter: { id: FILES },
    handler(code, id) {
      // Containers have no locale: texts are compared byte by byte.
      const inC = code.replace(/([\w$]+)\.localeCompare\(([\w$]+)\)/g, "($1<$2?-1:$1>$2?1:0)");
      if (AWK.test(code)) return { code: mendAwk(inC), map: null, moduleSideEffects: false };
      if (!INDEX.test(id)) return { code: inC, map: null, moduleSideEffects: false };
      const known = Array.from(code.matchAll(COMMAND), ([, name]) => name);
      const missing = [...COMMANDS].filter((name) => !known.includes(name));
      assert.deepEqual(missing, [], "just-bash writes its table of commands in another way: see COMMAND");
      assert.equal(code.match(OTHER)?.length, 2, "just-bash loads other parts than before: see OTHER");
      const reachable = code
        .replace(COMMAND, (entry, name) => (commands.has(name) ? entry : `{name:"${name}",load:async()=>({})}`))
        .replace(OTHER, "({})");
      return { code: reachable, map: null, moduleSideEffects: false };
    },
  },
});

export const JUST_BASH = justBash(COMMANDS);
/** For what never runs the commands in its own process. */
export const JUST_BASH_PARSER = justBash(new Set());
