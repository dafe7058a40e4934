/** A family of metrics as a scraper reads it. */
export interface ParsedFamily {
  readonly type: string;
  readonly help: string;
  readonly samples: ParsedSample[];
}

export interface ParsedSample {
  /** with `_bucket`, `_sum` or `_count` in a histogram */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/y;

/**
 * Reads Prometheus' text format, version 0.0.4.
 * @throws when a line is not of the format, is not in its family, or stands twice
 */
export function parseMetrics(text: string): Map<string, ParsedFamily> {
  const families = new Map<string, ParsedFamily>();
  const seen = new Set<string>();
  let help: [string, string] | undefined;
  let name = "";
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, kind, about = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === "HELP") help = [about, rest];
    else if (kind === "TYPE") {
      if (help?.[0] !== about || families.has(about)) throw new Error(`not after its HELP, or twice: ${line}`);
      families.set(about, { type: rest, help: help[1], samples: [] });
      name = about;
    } else {
      const sample = parseSample(line);
      const family = families.get(name);
      const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      const suffix = family?.type === "histogram" ? /^(_bucket|_sum|_count)$/ : /^$/;
      const isOfFamily = sample.name.startsWith(name) && suffix.test(sample.name.slice(name.length));
      if (family === undefined || !isOfFamily || seen.has(key)) throw new Error(`not of ${name}, or twice: ${line}`);
      seen.add(key);
      family.samples.push(sample);
    }
  }
  return families;
}

/** The value of a series; undefined: there is none. @param name with the suffix of a histogram */
export function sampleOf(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
  const wanted = JSON.stringify(Object.entries(labels).sort());
  const isIt = (one: ParsedSample) => one.name === name && JSON.stringify(Object.entries(one.labels).sort()) === wanted;
  return family?.samples.find(isIt)?.value;
}

function parseSample(line: string): ParsedSample {
  const [, name, pairs = "", value = ""] = SAMPLE.exec(line) ?? [];
  const number = { "+Inf": Infinity, "-Inf": -Infinity, NaN: Number.NaN }[value] ?? Number(value);
  if (name === undefined || (Number.isNaN(number) && value !== "NaN")) throw new Error(`not a sample: ${line}`);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < pairs.length) {
    const [, label = "", escaped = ""] = LABEL.exec(pairs) ?? [];
    if (label === "" || label in labels) throw new Error(`bad labels: ${line}`);
    labels[label] = escaped.replace(/\\(.)/g, (_, char) => (char === "n" ? "\n" : char));
  }
  return { name, labels, value: number };
}
