// Leaves out of the bundle what just-bash has and no container can reach: its other commands, and its HTTP client.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isAwk, mendAwk } from "./just-bash-awk.mjs";

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

const EXEC =
  /exec\((?<text>\w)\)\{let (?<matcher>\w)=this\.acquireMatcher\(\k<text>\),(?<at>\w)=this\._global\?this\._lastIndex:0;if\(/;
const FOUND = /\w+\(\w,\w\+\w\),(?<match>\w)\[0\]\.length===0&&(?<regex>\w)\.lastIndex\+\+/g;

const FOLDER =
  /if\((?<count>\w\(\w\)),(?<entry>\w(?:\.name)?)\.startsWith\("\."\)\)continue;let (?<path>\w)=\w==="\."\?\k<entry>:/g;
const SORT_KEY = /(?<key>\w)&&(?<options>\w)\.keys\.push\(\k<key>\)/g;
const SORT_HELPER = `
function ownOptions(key) {
  const options = ["numeric", "ignoreCase", "humanNumeric", "versionSort", "dictionaryOrder", "monthSort", "reverse"];
  if (options.every((option) => key[option] === undefined)) return key;
  return { ...Object.fromEntries(options.map((option) => [option, false])), ...key };
}`;

/** `grep -r` also reads hidden files and keeps `./`; a key of `sort` with options of its own has no others. */
function mendCommands(code) {
  const mended = mendMatches(code).replace(FOLDER, "$<count>;let $<path>=");
  if (!SORT_KEY.test(mended)) return mended;
  return mended.replace(SORT_KEY, "$<key>&&$<options>.keys.push(ownOptions($<key>))") + SORT_HELPER;
}

/** `grep -o` of a pattern that also matches nothing: such a match is not printed, and the end of a line ends the search. */
function mendMatches(code) {
  return code
    .replace(EXEC, "$&$<at>>$<text>.length||")
    .replace(
      FOUND,
      (all, match, regex) =>
        `${match}[0].length===0?${regex}.lastIndex=${match}.index+1:${all.slice(0, all.indexOf(`,${match}[0]`))}`,
    );
}

/** @param commands those of a container's shell; none for a bundle that needs just-bash's parser only */
const justBash = (commands) => ({
  name: "just-bash",
  transform: {
    filter: { id: FILES },
    handler(code, id) {
      // Containers have no locale: texts are compared byte by byte.
      const inC = mendCommands(code).replace(/([\w$]+)\.localeCompare\(([\w$]+)\)/g, "($1<$2?-1:$1>$2?1:0)");
      if (isAwk(code)) return { code: mendAwk(inC), map: null, moduleSideEffects: false };
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
