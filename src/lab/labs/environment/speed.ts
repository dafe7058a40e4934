import type { Say } from "../../../util/i18n/catalogue.js";
import { LocalizedError } from "../../../util/i18n/message-error.js";
import type { LabEnvironment } from "./environment.js";

const SLOWEST = 0.01;
const FASTEST = 10_000;

/** Learners take longer than a lab's given time, and its setup also takes time. */
const UNHURRIED = 3;

/**
 * How far behind the machine's time a lab's clock starts, so that it does not get ahead while the lab is played: kubectl
 * counts the ages of `describe` on the machine's clock and prints `<invalid>` for a time to come. Certificates stay valid
 * for TLS peers, which use the machine's clock as well: theirs begin in the past and last a year.
 * @param minutes how long the lab takes, on the machine's clock
 */
export function startsBehindMs(minutes: number, speed: number): number {
  return minutes * UNHURRIED * 60_000 * Math.max(0, speed - 1);
}

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
