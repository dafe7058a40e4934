import { existsSync, readFileSync } from "node:fs";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";

/** Next to the repository; not part of it. */
const RECORDING = "../shared/recordings/apiserver-v1.25/auth.json";

export interface RecordedItem {
  readonly name: string;
  readonly as: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: Partial<KubeObject>;
  };
  readonly response: { readonly status: number; readonly body?: unknown };
}

/** @returns undefined if the recordings are missing */
export function recordedAuth(): readonly RecordedItem[] | undefined {
  if (!existsSync(RECORDING)) return undefined;
  const { items } = JSON.parse(readFileSync(RECORDING, "utf8")) as { items: readonly Partial<RecordedItem>[] };
  return items.filter((item): item is RecordedItem => item.request !== undefined && item.response !== undefined);
}
