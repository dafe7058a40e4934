// Mends the awk of just-bash, which differs from every other awk in what is listed here.
import assert from "node:assert/strict";

const PAD = String.raw`\{let (?<at>\w)=parseInt\(\k<width>,10\);(?<flags>\w)\.includes\("-"\)\?\k<text>=\k<text>\.padEnd\(\k<at>\):\k<text>=\k<text>\.padStart\(\k<at>\)\}`;
/** What just-bash's awk lacks in printf: `%05.2f`, `%+f`, `%u`, exponents of two digits, and numbers at the start of a text. */
const PRINTF = [
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

/** Texts that separate fields, and variables of the command line that have a meaning. */
const FIELDS = [
  [
    String.raw`let (?<fs>\w)=(?<text>\w\(await \w\.evalExpr\(\w\)\));(?<by>\w)=\k<fs>===" "\?(?<regex>\w)\("\\\\s\+"\):\k<fs>\}\}else (?<awk>\w)\.FS===" "&&\(\k<by>=\k<regex>\("\\\\s\+"\)\)`,
    "$<by>=awkSeparator($<text>,$<regex>)}}else $<by>=awkSeparator($<awk>.FS,$<regex>)",
  ],
  [
    String.raw`typeof (?<by>\w)=="string"\?(?<text>\w)\.split\(\k<by>,(?<max>\w\+1)\):\k<by>\.split\(\k<text>,\k<max>\)`,
    "awkSplit($<by>,$<text>,$<max>)",
  ],
  [
    String.raw`try\{(?<awk>\w)\.fieldSep=(?<regex>\w)\((?<text>\w)\)\}catch\{\k<awk>\.fieldSep=\k<regex>\(\k<text>\.replace\(.{1,40}?\)\)\}`,
    "$<awk>.fieldSep=awkSeparator($<text>,$<regex>)",
  ],
  [
    String.raw`(?<awk>\w)\.vars=Object\.assign\(Object\.create\(null\),(?<given>\w)\)`,
    '$&,awkConversion="%.6g",Object.entries($<given>).forEach(([name,value])=>awkSet($<awk>,name,value))',
  ],
];

/** RS, `getline` in BEGIN, and operands that set variables. */
const RECORDS = [
  [
    String.raw`(?<lines>\w)=(?<text>\w)\.split\(${"`\n`"}\);if\(\k<lines>\.length>0&&\k<lines>\[\k<lines>\.length-1\]===""&&\k<lines>\.pop\(\),(?=\k<lines>\.length>\w\).{1,150}?for\((?<awk>\w)\.FILENAME=)`,
    "$<lines>=awkRecords($<text>,$<awk>.vars.RS);if(",
  ],
  [
    String.raw`(?<awk>\w)\.FNR=0,\k<awk>\.lines=(?<lines>\w),\k<awk>\.lineIndex=-1,`,
    "$<awk>.awkIsOpen?($<awk>.awkIsOpen=!1,$<lines>=$<awk>.lines):($<awk>.FNR=0,$<awk>.lines=$<lines>,$<awk>.lineIndex=-1),",
  ],
  [
    String.raw`if\(!(?<awk>\w)\.lines\|\|\k<awk>\.lineIndex===void 0\)return-1;`,
    "if((!$<awk>.lines||$<awk>.lineIndex===void 0)&&!await $<awk>.awkOpen())return-1;",
  ],
  [String.raw`(?<awk>\w)\.NR\+\+,\k<awk>\.lineIndex=`, "$<awk>.FNR++,$&"],
  [
    String.raw`let (?<run>\w)=new (?<program>\w)\((?<awk>\w)\);\k<run>\.execute\((?<ast>\w)\);(?<middle>.{1,2500}?)if\((?<files>\w)\.length>0\)for\(let (?<name>\w) of \k<files>\)\{(?=.{1,40}?=(?<host>\w)\.fs\.resolvePath)`,
    "let $<run>=new $<program>($<awk>);$<run>.execute($<ast>);$<awk>.awkOpen=()=>awkOpen($<awk>,$<host>,$<files>.find(awkIsFile));$<middle>if($<files>.some(awkIsFile)||$<files>.some((one)=>!awkAssigns($<awk>,one)))for(let $<name> of $<files>){if(awkAssigns($<awk>,$<name>))continue;",
  ],
];

/** Where the output goes: `print > "a" $1`, `print | "sort"`, `close`, `system`; and functions that do not exist. */
const OUTPUT = [
  [
    String.raw`(?<p>\w)\.check\((?<t>\w)\.GT\)\?\(\k<p>\.advance\(\),(?<to>\w)=\{redirect:">",file:\k<p>\.parsePrimary\(\)\}\):\k<p>\.check\(\k<t>\.APPEND\)&&\(\k<p>\.advance\(\),\k<to>=\{redirect:">>",file:\k<p>\.parsePrimary\(\)\}\)`,
    '$<p>.check($<t>.GT)?($<p>.advance(),$<to>={redirect:">",file:awkName($<p>)}):$<p>.check($<t>.PIPE)?($<p>.advance(),$<to>={redirect:"|",file:awkName($<p>)}):$<p>.check($<t>.APPEND)&&($<p>.advance(),$<to>={redirect:">>",file:awkName($<p>)})',
    2,
  ],
  [
    String.raw`async function [\w$]+\((?<awk>\w),(?<how>\w),\w,(?<text>\w)\)\{\w\(\k<awk>,"file write execution"\);.{1,100}?let (?<name>\w)=.{1,100}?,\w=\w\.resolvePath\(\k<awk>\.cwd,\k<name>\);`,
    "$&if(awkWrites($<awk>,$<how>,$<name>,$<text>))return;",
  ],
  [
    String.raw`\{stdout:(?<run>\w)\.getOutput\(\),stderr:"",exitCode:\k<run>\.getExitCode\(\)\}`,
    " await awkEnd($<run>)",
    3,
  ],
  [
    String.raw`(?<name>\w)=>(?<within>\w)\("command pipe exec",\(\)=>(?<exec>\w)\(\k<name>,\{cwd:`,
    '($<name>,stdin="")=>$<within>("command pipe exec",()=>$<exec>($<name>,{stdin,stdinKind:"text",cwd:',
  ],
  [
    String.raw`\["system",\w+\(.{1,80}?\)\],\["close",\(\)=>0\]`,
    '["system",async([command],awk,{evalExpr})=>awkRun(awk,String(await evalExpr(command)))],["close",async([name],awk,{evalExpr})=>awkClose(awk,String(await evalExpr(name)))]',
  ],
  [
    String.raw`return (?<fn>\w)\?(?<call>\w+\(\w,\k<fn>,\w\)):""\}`,
    'if(!$<fn>)throw new Error("cmd. line:1: Call to undefined function");return $<call>}',
  ],
];

const BIT_FUNCTIONS = '["and","&"],["or","|"],["xor","^"],["lshift","<<"],["rshift",">>>"]';

/** Functions that just-bash refuses or lacks. */
const FUNCTIONS = [
  [
    String.raw`\["systime",\w+\("systime"\)\],\["mktime",\w+\("mktime"\)\],\["strftime",\w+\("strftime"\)\]`,
    `...awkFunctions([${BIT_FUNCTIONS}])`,
  ],
  [
    String.raw`\["length",(?<own>\w+)\]`,
    '["length",async(args,awk,run)=>awkArrayLength(awk,args)??$<own>(args,awk,run)]',
  ],
];

/** Expressions: `length` alone, the precedence of concatenation, and numbers as texts (CONVFMT). */
const EXPRESSIONS = [
  [
    String.raw`return\{type:"variable",name:(?<name>\w)\}`,
    'return $<name>==="length"?{type:"call",name:"length",args:[]}:{type:"variable",name:$<name>}',
    2,
  ],
  [
    String.raw`(?<head>parseConcatenation\(\)\{let \w=this\.)parseMatch\(\)(?<loop>;for\(.{1,80}?let \w=this\.)parseMatch\(\)`,
    "$<head>parseAddSub()$<loop>parseAddSub()",
  ],
  [
    String.raw`(?<head>parseComparison\(\)\{let \w=this\.)parseAddSub\(\)(?<loop>;for\(.{1,80}?,\w=this\.)parseAddSub\(\)`,
    "$<head>parseConcatenation()$<loop>parseConcatenation()",
  ],
  [String.raw`(?<head>parseIn\(\)\{let \w=this\.)parseConcatenation\(\)`, "$<head>parseMatch()"],
  // The same for print, where `>` is not a comparison.
  [
    String.raw`(?<isIn>let \w=)(?<concat>\w+)(?<of>\((?<p>\w)\);if\(\k<p>\.check\(\w\.IN\)\).{1,120}?function \k<concat>\(\k<p>\)\{let \w=)(?<match>\w+)\(\k<p>\)(?<loop>;for\(.{1,60}?let \w=)\k<match>\(\k<p>\)(?<rest>.{1,300}?let \w=)\k<p>\.parseAddSub\(\)(?<less>;for\(.{1,80}?,\w=)\k<p>\.parseAddSub\(\)`,
    "$<isIn>$<match>$<of>$<p>.parseAddSub()$<loop>$<p>.parseAddSub()$<rest>$<concat>($<p>)$<less>$<concat>($<p>)",
  ],
  [
    String.raw`function (?<name>\w)\((?<value>\w)\)\{return typeof \k<value>=="string"\?\k<value>:\(Number\.isInteger\(\k<value>\),String\(\k<value>\)\)\}`,
    "function $<name>($<value>){return awkText($<value>)}",
    2,
  ],
  // A text of the program is never a number, and a value that is read exists.
  [
    String.raw`return (?<compare>\w+)\((?<left>\w),(?<right>\w),(?<how>\w)\);(?=let \w=\w\(\k<left>\),)`,
    "return awkIsText(t.left)||awkIsText(t.right)?awkCompare(awkText($<left>),awkText($<right>),$<how>):$<compare>($<left>,$<right>,$<how>);",
  ],
  [
    String.raw`return (?<awk>\w)\.arrays\[(?<name>\w)\]\?\.\[(?<key>\w)\]\?\?""\}`,
    "return awkElement($<awk>,$<name>,$<key>)}",
  ],
  [String.raw`case"OFMT":(?<awk>\w)\.OFMT=(?<value>\w\(\w\));return;`, '$&case"CONVFMT":awkConversion=$<value>;break;'],
];

/** What the mended parts call, by the names that just-bash gives its own functions. */
const NAMES = {
  awkSet: /function (\w+)\(\w,\w,\w\)\{switch\(\w\)\{case"FS":/,
  awkFormat: /push\((\w+)\(\w\.OFMT,/,
  awkDecode: /=(\w+)\(\w\.stdout\)\.split\(/,
  awkName: /function (\w+)\((\w)\)\{let \w=\w+\(\2\);for\(;\w+\(\2\)&&!\w+\(\2\);\)/,
  awkRegex: /else\{let \w=\w\(await \w\.evalExpr\(\w\)\);\w=\w===" "\?(\w+)\(/,
};

const HELPERS = String.raw`
let awkConversion = "%.6g";
function awkText(value) {
  if (typeof value === "string") return value;
  return Number.isInteger(value) || !Number.isFinite(value) ? String(value) : awkFormat(awkConversion, [value]);
}
function awkSeparator(text, regex) {
  if (text === " ") return " ";
  const literal = text.replace(/[.*+?^$()|{}[\]\\]/g, "\\$&");
  if (text.length === 1) return regex(literal);
  try { return regex(text); } catch { return regex(literal); }
}
function awkSplit(by, text, max) {
  if (text === "") return [];
  return by === " " ? text.split(/[ \t\n]+/).filter(Boolean).slice(0, max) : by.split(text, max);
}
function awkRecords(text, separator = "\n") {
  const by = String(separator);
  const whole = by === "" ? text.replace(/^\n+|\n+$/g, "") : text;
  const records = by === "" ? whole.split(/\n\n+/) : by.length === 1 ? whole.split(by) : awkRegex(by).split(whole);
  if (records.at(-1) === "") records.pop();
  return records;
}
async function awkOpen(awk, host, file) {
  if (awk.inEndBlock) return false;
  try {
    const text = file === undefined ? awkDecode(host.stdin) : await host.fs.readFile(host.fs.resolvePath(host.cwd, file));
    Object.assign(awk, { lines: awkRecords(text, awk.vars.RS), lineIndex: -1, awkIsOpen: true });
    return true;
  } catch { return false; }
}
const AWK_ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s;
function awkIsFile(operand) { return !AWK_ASSIGNMENT.test(operand); }
function awkAssigns(awk, operand) {
  const [, name, value] = AWK_ASSIGNMENT.exec(operand) ?? [];
  if (name !== undefined) awkSet(awk, name, value);
  return name !== undefined;
}
const AWK_TEXTS = new Set(["substr", "toupper", "tolower", "sprintf", "strftime"]);
function awkIsText(node) {
  return node.type === "string" || (node.type === "binary" && node.operator === " ") || (node.type === "call" && AWK_TEXTS.has(node.name));
}
function awkCompare(left, right, how) {
  const order = left < right ? -1 : left > right ? 1 : 0;
  const results = { "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0, "==": order === 0, "!=": order !== 0 };
  return Number(results[how]);
}
function awkElement(awk, name, key) {
  const array = (awk.arrays[name] ??= Object.create(null));
  if (!(key in array)) {
    array[key] = "";
    awk.arrayElementCount++;
  }
  return array[key];
}
function awkArrayLength(awk, [argument]) {
  let name = argument?.type === "variable" ? argument.name : undefined;
  for (const seen = new Set(); awk.arrayAliases.has(name) && !seen.has(name); name = awk.arrayAliases.get(name)) seen.add(name);
  return awk.arrays[name] === undefined ? undefined : Object.keys(awk.arrays[name]).length;
}
function awkStrftime(format, seconds) {
  const at = new Date(seconds * 1000);
  const iso = at.toISOString();
  const named = (options) => at.toLocaleString("en-US", { timeZone: "UTC", ...options });
  const hours = at.getUTCHours();
  const parts = {
    Y: iso.slice(0, 4), y: iso.slice(2, 4), m: iso.slice(5, 7), d: iso.slice(8, 10), e: String(at.getUTCDate()).padStart(2),
    H: iso.slice(11, 13), M: iso.slice(14, 16), S: iso.slice(17, 19), I: String(hours % 12 || 12).padStart(2, "0"),
    p: hours < 12 ? "AM" : "PM", a: named({ weekday: "short" }), A: named({ weekday: "long" }), b: named({ month: "short" }),
    h: named({ month: "short" }), B: named({ month: "long" }), s: String(Math.floor(seconds)), u: String(at.getUTCDay() || 7),
    w: String(at.getUTCDay()), j: String(Math.floor((at - Date.UTC(at.getUTCFullYear())) / 864e5) + 1).padStart(3, "0"),
    Z: "UTC", z: "+0000", n: "\n", t: "\t", "%": "%",
  };
  const whole = { F: "%Y-%m-%d", T: "%H:%M:%S", R: "%H:%M", D: "%m/%d/%y", c: "%a %b %e %H:%M:%S %Y" };
  return format.replace(/%([FTRDc])/g, (_, letter) => whole[letter]).replace(/%(.)/g, (all, letter) => parts[letter] ?? all);
}
function awkMktime(text) {
  const parts = text.trim().split(/\s+/).map(Number);
  if (parts.length < 6 || parts.some(Number.isNaN)) return -1;
  const [year, month, ...rest] = parts;
  return Date.UTC(year, month - 1, ...rest.slice(0, 4)) / 1000;
}
const AWK_BITS = { "&": (a, b) => a & b, "|": (a, b) => a | b, "^": (a, b) => a ^ b, "<<": (a, b) => a << b, ">>>": (a, b) => a >>> b };
function awkFunctions(bits) {
  const valuesOf = async (args, { evalExpr }) => {
    const values = [];
    for (const one of args) values.push(await evalExpr(one));
    return values;
  };
  const now = () => Math.floor(globalThis.awkNowMs / 1000);
  return [
    ["systime", now],
    ["mktime", async (args, _awk, run) => awkMktime(awkText((await valuesOf(args, run))[0] ?? ""))],
    ["strftime", async (args, _awk, run) => {
      const [format = "%a %b %e %H:%M:%S %Z %Y", seconds = now()] = await valuesOf(args, run);
      return awkStrftime(awkText(format), Number.parseFloat(seconds) || 0);
    }],
    ...bits.map(([name, sign]) => [name, async (args, _awk, run) => {
      const [left = 0, right = 0] = (await valuesOf(args, run)).map(awkValue);
      return AWK_BITS[sign](left, right) >>> 0;
    }]),
  ];
}
function awkWrites(awk, how, name, text) {
  if (how === "|") {
    awk.awkPipes ??= new Map();
    awk.awkPipes.set(name, (awk.awkPipes.get(name) ?? "") + text);
  } else if (name === "/dev/stdout" || name === "-") awk.output += text;
  else if (name === "/dev/stderr") awk.awkErrors = (awk.awkErrors ?? "") + text;
  else return false;
  return true;
}
async function awkRun(awk, command, stdin = "") {
  const { stdout, stderr, exitCode } = await awk.exec(command, stdin);
  awk.output += awkDecode(stdout);
  awk.awkErrors = (awk.awkErrors ?? "") + stderr;
  return exitCode;
}
async function awkClose(awk, name) {
  const text = awk.awkPipes?.get(name);
  awk.awkPipes?.delete(name);
  awk.getlineCommandStreams.delete(name);
  awk.getlineFileStreams.delete(awk.fs.resolvePath(awk.cwd, name));
  return text === undefined ? 0 : awkRun(awk, name, text);
}
async function awkEnd(run) {
  const awk = run.getContext();
  for (const name of [...(awk.awkPipes?.keys() ?? [])]) await awkClose(awk, name);
  return { stdout: awk.output, stderr: awk.awkErrors ?? "", exitCode: run.getExitCode() };
}
function awkValue(value) { return typeof value === "number" ? value : Number.parseFloat(value) || 0; }
function awkNumber(text, flags, width) {
  const sign = text.startsWith("-") ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  const digits = text.replace(/^-/, "").replace(/(e[+-])(\d)$/i, "$10$2");
  const length = Number.parseInt(width || "0", 10);
  if (flags.includes("-")) return (sign + digits).padEnd(length);
  return flags.includes("0") ? sign + digits.padStart(length - sign.length, "0") : (sign + digits).padStart(length);
}`;

const AWK = /case"d":case"i":\{let \w=\w!==void 0\?Math\.floor/;

/** @param {string} code */
export function isAwk(code) {
  return AWK.test(code);
}

/** @param {string} code */
export function mendAwk(code) {
  let names = "";
  for (const [name, pattern] of Object.entries(NAMES)) {
    const own = pattern.exec(code)?.[1];
    assert.ok(own !== undefined, `just-bash writes its awk in another way: ${name}`);
    names += `const ${name} = ${own};\n`;
  }
  let mended = code;
  for (const [pattern, by, count = 1] of [...PRINTF, ...FIELDS, ...RECORDS, ...OUTPUT, ...FUNCTIONS, ...EXPRESSIONS]) {
    const all = new RegExp(pattern, "gs");
    assert.equal(mended.match(all)?.length, count, `just-bash writes its awk in another way: ${pattern}`);
    mended = mended.replace(all, by);
  }
  return `${mended}\n${names}${HELPERS}`;
}
