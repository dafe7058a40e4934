/**
 * What changed between Kubernetes releases, for everything that this project quotes or does. The baseline is v1.25; a
 * newer `--kube-version` selects later values. A single table lets a trace show since which release a value holds.
 */
export interface ReleaseFact<T> {
  /** the name of the constant or behaviour upstream */
  readonly name: string;
  /** the file of the Kubernetes repository that defines it */
  readonly file: string;
  /** oldest first; the first entry holds since v1.25 or an earlier release */
  readonly values: readonly { readonly since: string; readonly value: T; readonly text: string }[];
}

/** `[first release, value]`, oldest first. */
type Since<T> = readonly [since: string, value: T];

/** A value of any type. @param text its words */
export function fact<T>(
  name: string,
  file: string,
  text: (value: T) => string,
  values: readonly Since<T>[],
): ReleaseFact<T> {
  return { name, file, values: values.map(([since, value]) => ({ since, value, text: text(value) })) };
}

/** `200 ms`, `40 s`, `5 min`, `24 h`: the largest unit that needs no fraction. */
export function durationText(ms: number): string {
  if (ms % 1000 !== 0) return `${ms} ms`;
  if (ms % 3_600_000 === 0 && ms !== 0) return `${ms / 3_600_000} h`;
  // 60 s and 90 s are written in seconds upstream and in its documentation, so minutes start at 2.
  if (ms % 60_000 === 0 && ms > 60_000) return `${ms / 60_000} min`;
  return `${ms / 1000} s`;
}

/** A span of time, in ms. */
export function duration(name: string, file: string, ...values: readonly Since<number>[]): ReleaseFact<number> {
  return fact(name, file, durationText, values);
}

/** A number of `unit`; "" for a plain number. */
export function count(
  name: string,
  file: string,
  unit: string,
  ...values: readonly Since<number>[]
): ReleaseFact<number> {
  return fact(name, file, (value) => (unit === "" ? `${value}` : `${value} ${unit}`), values);
}

/** A behaviour that a release turned on or off, with the words for both. */
export function change(
  name: string,
  file: string,
  ...values: readonly (readonly [since: string, value: boolean, text: string])[]
): ReleaseFact<boolean> {
  return { name, file, values: values.map(([since, value, text]) => ({ since, value, text })) };
}

/** A feature that a release turned on (or off) by default. */
export function gate(name: string, ...values: readonly Since<boolean>[]): ReleaseFact<boolean> {
  return fact(name, "pkg/features/kube_features.go", (value) => (value ? "on" : "off"), values);
}

/** A text. */
export function word<T extends string>(name: string, file: string, ...values: readonly Since<T>[]): ReleaseFact<T> {
  return fact<T>(name, file, (value) => value, values);
}
