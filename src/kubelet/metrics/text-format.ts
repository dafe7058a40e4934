/** A measured value of a family. */
export interface Sample {
  /** in the order in which Prometheus sorts them: by name */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Unix ms; undefined: the moment of the request */
  readonly timeMs?: number;
}

/** The description of a family. All are ALPHA except cAdvisor's, which have no stability level. */
export interface FamilyHead {
  readonly isRaw?: true;
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
}

/** A family in Prometheus' text format, its samples sorted; "" without samples. */
export function familyText({ name, help, type, isRaw }: FamilyHead, samples: readonly Sample[]): string {
  if (samples.length === 0) return "";
  const lines = samples.map((sample) => line(name, sample)).sort();
  const level = isRaw === true ? "" : "[ALPHA] ";
  return `# HELP ${name} ${level}${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function line(name: string, { labels, value, timeMs }: Sample): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
  const time = timeMs === undefined ? "" : ` ${Math.trunc(timeMs)}`;
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${goFloat(value)}${time}\n`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

/** Mirrors strconv.FormatFloat(value, 'g', -1, 64). */
function goFloat(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}
