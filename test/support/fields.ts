import { isRecord } from "../../src/util/records.js";

/** Reads fields of answers: a wrong or absent value reads as empty. */

export function fields(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
