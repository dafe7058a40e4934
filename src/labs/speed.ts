import type { Say } from "../i18n/catalogue.js";
import { LocalizedError } from "../i18n/message-error.js";
import type { LabEnvironment } from "./environment.js";

const SLOWEST = 0.01;
const FASTEST = 10_000;

/** @returns undefined for an invalid speed */
export function factorOf(word: string): number | undefined {
  const factor = Number(word);
  return word.trim() !== "" && factor >= SLOWEST && factor <= FASTEST ? factor : undefined;
}

/** @throws LabError USAGE for an invalid speed */
export function parseFactor(word: string, say: Say): number {
  const factor = factorOf(word);
  if (factor !== undefined) return factor;
  throw new LocalizedError("USAGE", say("speedBad", { given: word }), "kubelab learn speed 20");
}

/** `+` doubles the speed, `-` halves it. @returns the new speed; undefined for another key */
export async function speedByKey(key: string, environment: LabEnvironment): Promise<number | undefined> {
  const change = key === "+" || key === "=" ? 2 : key === "-" ? 0.5 : undefined;
  if (change === undefined) return undefined;
  const factor = Math.min(FASTEST, Math.max(SLOWEST, environment.speed * change));
  await environment.setSpeed(factor);
  return factor;
}
