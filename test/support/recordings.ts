import { existsSync, readFileSync } from "node:fs";

/** One exchange in a recording of a real API server. */
export interface RecordedItem {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly bodyText?: string;
  };
  readonly response: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string | readonly string[]>>;
    readonly body?: unknown;
    readonly events?: readonly unknown[];
  };
}

const RECORDINGS = "../shared/recordings/apiserver-v1.25";

/** The reason to skip a test without the recordings; undefined if they exist. */
export const MISSING_RECORDINGS: string | undefined = existsSync(RECORDINGS) ? undefined : `${RECORDINGS} is missing`;

/** @param topic `lease-node` @returns the exchanges; empty without the recordings */
export function recorded(topic: string): readonly RecordedItem[] {
  if (MISSING_RECORDINGS !== undefined) return [];
  const { items } = JSON.parse(readFileSync(`${RECORDINGS}/${topic}.json`, "utf8")) as { items: RecordedItem[] };
  return items.filter((item) => item.request !== undefined && item.response !== undefined);
}
